"""Personalised PageRank between names and chunks (Page et al. 1999; for passages HippoRAG, Gutiérrez et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
DAMPING = 0.7  # probability to go on; what decided it is in eval/results
_STEPS = 12  # 0.7 ** 12 = 0.014 of the mass is still on its way
_LEAST = 1e-4  # mass that is not followed any further


class _Half:
    """Edges from one side to the other by rows, weights of a row adding up to 1."""

    def __init__(self, source: Ints, target: Ints, weight: Floats, rows: int, columns: int) -> None:
        order = np.argsort(source, kind="stable")
        self._target = target[order]
        sums = np.bincount(source, weight, minlength=rows)
        self._weight = weight[order] / sums[source[order]]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=rows))])
        self._columns = columns

    def step(self, mass: Floats) -> Floats:
        """(columns,): where the mass of (rows,) goes. Costs what is reached, not what there is."""
        at = np.flatnonzero(mass > _LEAST)
        starts = self._starts[at]
        counts = self._starts[at + 1] - starts
        before = np.cumsum(counts) - counts
        edges = np.repeat(starts - before, counts) + np.arange(counts.sum())
        spread = np.repeat(mass[at], counts) * self._weight[edges]
        found: Floats = np.bincount(self._target[edges], spread, minlength=self._columns).astype(np.float64)
        return found


class Bipartite:
    """Chunks and names. `to_name` weighs an edge as a chunk chooses it, `to_chunk` as a name does; above 0, (n,)."""

    def __init__(
        self,
        edges: Sequence[tuple[int, int]],
        to_name: Sequence[float],
        to_chunk: Sequence[float],
        size: tuple[int, int],
    ) -> None:
        both = np.array(edges, dtype=np.int64).reshape(-1, 2)
        chunks, names = both[:, 0], both[:, 1]
        self._chunks, self._names = size
        self._to_names = _Half(chunks, names, np.asarray(to_name, dtype=np.float64), *size)
        self._to_chunks = _Half(names, chunks, np.asarray(to_chunk, dtype=np.float64), size[1], size[0])

    def walk(
        self, names: Mapping[int, float], chunks: Mapping[int, float], closed: NDArray[np.bool_] | None = None
    ) -> Floats:
        """(chunks,) of stationary mass, at most 1 in all; it starts anew from these names and chunks, by their weights.

        No mass passes through the chunks that are `closed`.
        """
        start_names, start_chunks = _starting(names, self._names), _starting(chunks, self._chunks)
        if closed is not None:
            start_chunks[closed] = 0
        total = start_names.sum() + start_chunks.sum()
        if not total:
            return np.zeros(self._chunks)
        start_names, start_chunks = start_names / total, start_chunks / total
        at_names: Floats = start_names
        at_chunks: Floats = start_chunks
        for _ in range(_STEPS):
            to_chunks, to_names = self._to_chunks.step(at_names), self._to_names.step(at_chunks)
            if closed is not None:
                to_chunks[closed] = 0
            at_chunks = DAMPING * to_chunks + (1 - DAMPING) * start_chunks
            at_names = DAMPING * to_names + (1 - DAMPING) * start_names
        return at_chunks


def _starting(weights: Mapping[int, float], size: int) -> Floats:
    found = np.zeros(size)
    found[list(weights)] = list(weights.values())
    return found
