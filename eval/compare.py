"""Two runs of the same questions: what got better, and what got worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from core.errors import InvalidInput
from core.types import Frozen
from eval.rates import Interval, paired_interval, rate
from eval.run import Outcome, Run, Setup

Pair = tuple[Outcome, Outcome]


class Change(Frozen):
    """A question that one run answers and the other does not, at that level."""

    id: str
    question: str
    level: Literal["page", "quote"]
    rank_before: int | None
    rank_after: int | None


class Difference(Frozen):
    """Rates over the questions that both runs could judge; `interval` is the 95 % of after less before."""

    n: int
    before: float | None
    after: float | None
    interval: Interval | None


class Comparison(Frozen):
    n: int = Field(description="questions that both runs have")
    questions_worse: int = Field(description="that lost a hit at one level or both")
    questions_better: int
    page_hit_at_5: Difference
    quote_hit_at_5: Difference
    worse: tuple[Change, ...]
    better: tuple[Change, ...]
    only_before: tuple[str, ...] = Field(description="ids of questions that the other run does not have")
    only_after: tuple[str, ...]
    setup: dict[str, tuple[str, str]] = Field(description="what differs in what the runs hold for")


def compare(before: Run, after: Run) -> Comparison:
    """Raises InvalidInput where the runs have no question in common."""
    old, new = _by_question(before), _by_question(after)
    pairs = [(one, new[key]) for key, one in old.items() if key in new]
    if not pairs:
        raise InvalidInput("the runs have no question in common", hint="compare runs of the same question file")
    worse, better = _changes(pairs), _changes([(after, before) for before, after in pairs])
    return Comparison(
        n=len(pairs),
        questions_worse=len({change.id for change in worse}),
        questions_better=len({change.id for change in better}),
        page_hit_at_5=_difference([(one.page_hit, other.page_hit) for one, other in pairs]),
        quote_hit_at_5=_difference([(one.quote_hit, other.quote_hit) for one, other in pairs]),
        worse=tuple(worse),
        better=tuple(_turned(change) for change in better),
        only_before=tuple(one.id for key, one in old.items() if key not in new),
        only_after=tuple(one.id for key, one in new.items() if key not in old),
        setup=_unlike(before.setup, after.setup),
    )


def _by_question(run: Run) -> dict[tuple[str, str], Outcome]:
    """By id and wording: an id whose question was changed is another question."""
    return {(one.id, one.question): one for one in run.per_question}


def _changes(pairs: Sequence[Pair]) -> list[Change]:
    """What the first has and the second has not."""
    found = []
    for one, other in pairs:
        about = {"id": one.id, "question": one.question}
        if one.page_hit and not other.page_hit:
            found.append(Change(**about, level="page", rank_before=one.page_rank, rank_after=other.page_rank))
        if one.quote_hit and other.quote_hit is False:
            found.append(Change(**about, level="quote", rank_before=one.quote_rank, rank_after=other.quote_rank))
    return found


def _turned(change: Change) -> Change:
    return change.model_copy(update={"rank_before": change.rank_after, "rank_after": change.rank_before})


def _difference(pairs: Sequence[tuple[bool | None, bool | None]]) -> Difference:
    judged = [(one, other) for one, other in pairs if one is not None and other is not None]
    old, new = [one for one, _ in judged], [other for _, other in judged]
    return Difference(n=len(judged), before=rate(old), after=rate(new), interval=paired_interval(old, new))


def _unlike(one: Setup, other: Setup) -> dict[str, tuple[str, str]]:
    values = {name: (_shown(getattr(one, name)), _shown(getattr(other, name))) for name in Setup.model_fields}
    return {name: pair for name, pair in values.items() if pair[0] != pair[1]}


def _shown(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)
