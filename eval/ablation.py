"""What each search channel gives: each alone, all, and all but each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import Field

from core.errors import QuaereError
from core.ports import Service
from core.types import Filter, Frozen
from eval.questions import QuestionSet
from eval.retrieval import HITS_AT, check_places, measure
from eval.run import Run
from retrieval.search import CHANNELS


class Arranged(Frozen):
    """One choice of channels, measured; `run` is None where it could not be, and `error` says why."""

    name: str
    channels: tuple[str, ...]
    run: Run | None
    error: str = ""


class Ablation(Frozen):
    arrangements: tuple[Arranged, ...] = Field(description="each channel alone, all, then all but each")

    @property
    def runs(self) -> dict[str, Run]:
        return {one.name: one.run for one in self.arrangements if one.run is not None}

    @property
    def failed(self) -> dict[str, str]:
        return {one.name: one.error for one in self.arrangements if one.run is None}


def arrangements(channels: Sequence[str] = CHANNELS) -> dict[str, tuple[str, ...]]:
    """By name. What comes to the same channels stands once: of two, all but one is the other alone."""
    named: dict[str, tuple[str, ...]] = {f"only {channel}": (channel,) for channel in channels}
    named["all"] = tuple(channels)
    named |= {f"all but {one}": tuple(channel for channel in channels if channel != one) for one in channels}
    once: dict[frozenset[str], str] = {}
    for name, chosen in named.items():
        once.setdefault(frozenset(chosen), name)
    return {name: named[name] for chosen, name in once.items() if chosen}


async def ablate(
    service: Service,
    asked: QuestionSet,
    *,
    top_k: int = HITS_AT,
    on_question: Callable[[], None] = lambda: None,
) -> Ablation:
    """Asks every question once for each arrangement. A channel that can't be used fails its arrangements only; raises
    what the first said where all fail."""
    check_places(asked.answerable, await service.list_documents(Filter(include_expired=True)))
    found: list[Arranged] = []
    errors: list[QuaereError] = []
    for name, channels in arrangements().items():
        try:
            run = await measure(service, asked, channels=channels, top_k=top_k, on_question=on_question)
        except QuaereError as error:
            errors.append(error)
            found.append(Arranged(name=name, channels=channels, run=None, error=error.message))
        else:
            found.append(Arranged(name=name, channels=channels, run=run))
    if len(errors) == len(found):
        raise errors[0]
    return Ablation(arrangements=tuple(found))
