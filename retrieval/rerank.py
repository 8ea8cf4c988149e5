"""Reranking: the order that a cross-encoder or a listwise model gives to candidates, as far as its time goes.

Nogueira and Cho, 2019 (arXiv:1901.04085) put question and passage through one model; Sun et al., EMNLP 2023, let a
language model sort a list.
"""

from __future__ import annotations

import logging
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import LLMError, ServiceError
from core.ports import Reranker
from retrieval.batching import by_length, size_of

_NEWEST = 0.5  # weight of the last batch in the estimate of how long the next one takes
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reranked:
    """`order` are places in the candidates, best first, each once. `scores` are of those that were reranked, by place.

    Those that were not keep the rank they had, and the others are sorted among the ranks that are left. `late` were
    left out by the budget, `failed` since the model failed; `cut` were scored by their beginning.
    """

    order: tuple[int, ...]
    scores: dict[int, float]
    cut: int = 0
    late: int = 0
    failed: int = 0
    ms: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """For the trace: '20 reranked in 812 ms; 3 were cut; 12 left in fused order: the budget of … ran out'."""
        return "; ".join((f"{len(self.scores)} reranked in {self.ms:.0f} ms", *self.notes))


class Reranking:
    """One reranker under a budget of time for a question; shared by all questions.

    Without a budget all candidates are scored, in batches of about one length. With one, the candidates that come
    first in fused order are taken as long as they are expected to fit, by the time that batches took so far; of a
    model that was never called the first text alone is scored, to see. One that can stop is stopped instead.
    """

    def __init__(self, reranker: Reranker, budget_ms: int = 0, clock: Callable[[], float] = time.perf_counter) -> None:
        self.reranker = reranker
        self._budget_ms = budget_ms
        self._clock = clock
        self._pace = 0.0  # seconds a byte, padding counted; 0: not known
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        return self.reranker.fingerprint

    def rank(self, query: str, texts: Sequence[str]) -> Reranked:
        """The candidates' order; `texts` are in fused order. A model that fails leaves it as it is, and says so.

        Costs a pass through the model for each batch, within the budget where there is one. A model on the CPU can
        go over it by as much as its last batch was slower than foreseen.
        """
        run = _Run(query, texts, self._clock() + (self._budget_ms / 1000 if self._budget_ms else float("inf")))
        start = self._clock()
        failure = self._score(run)
        return _reranked(run, (self._clock() - start) * 1000, self._budget_ms, failure)

    def _score(self, run: _Run) -> str:
        """Score what fits; what went wrong, '' for nothing."""
        while run.left and (batch := self._next(run)):
            started = self._clock()
            try:
                scored = self.reranker.scores(
                    run.query, [run.texts[place] for place in batch], within_s=run.end - started
                )
            except TimeoutError:
                return ""
            except (ServiceError, LLMError) as error:
                _log.warning("the reranker failed: %s", error.message)
                return error.message
            if not np.isfinite(scored.scores).all():
                return "the reranker gave a score that is no number"
            self._learn(run.work(batch), self._clock() - started)
            run.take(batch, scored.scores)
            run.cut += scored.cut
            run.notes.extend(note for note in scored.notes if note not in run.notes)
        return ""

    def _next(self, run: _Run) -> list[int]:
        """The places to score now; none where nothing more fits."""
        left_s = run.end - self._clock()
        if left_s <= 0:
            return []
        if left_s == float("inf") or self.reranker.stops:
            return self._batches(run, run.left)[0]
        if not self._pace:
            return run.left[:1]
        fitting = bisect_right(range(len(run.left) + 1), left_s, key=lambda n: self._seconds(run, run.left[:n])) - 1
        if not fitting and not run.scores:
            self._doubt()
        return self._batches(run, run.left[:fitting])[0] if fitting else []

    def _seconds(self, run: _Run, places: Sequence[int]) -> float:
        return sum(map(run.work, self._batches(run, places))) * self._pace

    def _batches(self, run: _Run, places: Sequence[int]) -> list[list[int]]:
        """Batches of one length, that with the first candidate first: what is broken off is of the least promise."""
        batches = by_length([run.sizes[place] for place in places], self.reranker.batch_size)
        return sorted([places[item] for item in batch] for batch in batches)

    def _learn(self, work: int, seconds: float) -> None:
        with self._lock:
            pace = seconds / work
            self._pace = pace if not self._pace else (1 - _NEWEST) * self._pace + _NEWEST * pace

    def _doubt(self) -> None:
        """A pace at which nothing fits is halved: what was slow once is tried again some questions later."""
        with self._lock:
            self._pace /= 2


class _Run:
    """One question's candidates: which are left, in fused order, and the scores of the others."""

    def __init__(self, query: str, texts: Sequence[str], end: float) -> None:
        self.query = query
        self.texts = texts
        self.end = end
        self.sizes = [size_of(text) for text in texts]
        self.left = list(range(len(texts)))
        self.scores: dict[int, float] = {}
        self.cut = 0
        self.notes: list[str] = []
        self._asked = size_of(query)

    def work(self, batch: Sequence[int]) -> int:
        """What a batch costs, in bytes: each of its rows is as long as its longest."""
        return len(batch) * (self._asked + max(self.sizes[place] for place in batch) + 1)

    def take(self, batch: Sequence[int], scores: NDArray[np.float32]) -> None:
        self.scores |= {place: float(score) for place, score in zip(batch, scores, strict=True)}
        self.left = [place for place in self.left if place not in self.scores]


def _reranked(run: _Run, ms: float, budget_ms: int, failure: str) -> Reranked:
    notes = list(run.notes)
    if run.cut:
        notes.append(f"{run.cut} were cut to the reranker's length")
    left = len(run.left)
    if left and failure:
        notes.append(f"{left} left in fused order: {failure}")
    elif left:
        notes.append(f"{left} left in fused order: the budget of {budget_ms} ms ran out")
    late, failed = (0, left) if failure else (left, 0)
    return Reranked(_order(run), run.scores, run.cut, late, failed, ms, tuple(notes))


def _order(run: _Run) -> tuple[int, ...]:
    best = iter(sorted(run.scores, key=lambda place: (-run.scores[place], place)))
    return tuple(next(best) if place in run.scores else place for place in range(len(run.texts)))
