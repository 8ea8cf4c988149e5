"""What one ingestion is told from outside, and tells: it can be stopped at any step before its document is ready."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class Stopped(Exception):
    """Somebody wanted the ingestion to end. What it stored is a checkpoint, to be continued or discarded."""


def _never() -> bool:
    return False


def _nothing(stage: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class Run:
    """`tell(stage, done, total)`; `stopped()` is looked at by the second, in threads."""

    tell: Callable[[str, int, int], None] = _nothing
    stopped: Callable[[], bool] = _never

    def step(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Say how far it is. Raises Stopped."""
        self.check()
        self.tell(stage, done, total)

    def check(self) -> None:
        if self.stopped():
            raise Stopped
