"""A scripted reranker: scores by the number in a text, on a clock of its own; notes each batch it was given."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from core.ports import Scored


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class ScriptedReranker:
    """A call takes `pace` seconds a byte, padding counted; with `limit` longer texts are cut and counted."""

    fingerprint = "scripted"

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        pace: float = 0.0,
        batch_size: int = 4,
        stops: bool = False,
        limit: int = 10**9,
        fails: Callable[[int], Exception | None] = lambda call: None,
    ) -> None:
        self._clock = clock or Clock()
        self.pace = pace
        self.batch_size = batch_size
        self.stops = stops
        self._limit = limit
        self._fails = fails
        self.batches: list[list[str]] = []
        self.within: list[float] = []

    def scores(self, query: str, texts: Sequence[str], *, within_s: float = float("inf")) -> Scored:
        self.batches.append(list(texts))
        self.within.append(within_s)
        if error := self._fails(len(self.batches)):
            raise error
        self._clock.now += self.pace * len(texts) * max(len(query) + len(text) for text in texts)
        found = [re.search(r"-?\d+", text) for text in texts]
        scores = [float(number[0]) if number else 0.0 for number in found]
        return Scored(np.array(scores, np.float32), cut=sum(len(text) > self._limit for text in texts))
