"""The trace of one question: what each stage did, how long it took, and what it did without."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.errors import QuaereError
from core.ports import OnEvent
from core.spending import account
from core.types import Event, TraceStep, Usage


@dataclass
class Step:
    """Filled in by the stage while it runs."""

    summary: str = ""
    degraded: str = ""
    details: dict[str, str | int | float] = field(default_factory=dict)


class Tracer:
    """Collects the steps of one call and tells each, when it ends, to `on_event`."""

    def __init__(self, on_event: OnEvent | None = None) -> None:
        self.id = uuid.uuid4().hex
        self._steps: list[TraceStep] = []
        self._on_event = on_event

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        return tuple(self._steps)

    @asynccontextmanager
    async def stage(self, name: str) -> AsyncIterator[Step]:
        """One stage; what it spends on language models, and what its prompts went without, is recorded with it.

        A QuaereError that leaves it is recorded with its stage and given the trace's id.
        """
        step, start, error = Step(), time.perf_counter(), ""
        try:
            with account() as spent:
                try:
                    yield step
                finally:
                    step.details |= _spent(spent.usage)
                    step.degraded = "; ".join(filter(None, [step.degraded, *spent.notes]))
        except QuaereError as failure:
            error = failure.message
            failure.trace_id = self.id
            raise
        finally:
            ended = TraceStep(
                stage=name,
                ms=round((time.perf_counter() - start) * 1000, 1),
                summary=step.summary,
                degraded=step.degraded,
                error=error,
                details=step.details,
            )
            self._steps.append(ended)
            if not error:
                await self.tell(Event(kind="stage", stage=ended))

    async def tell(self, event: Event) -> None:
        if self._on_event is not None:
            await self._on_event(event)


def _spent(usage: Usage) -> dict[str, str | int | float]:
    """What was used at all, under the names of Usage."""
    return {name: value for name, value in usage.model_dump().items() if value}
