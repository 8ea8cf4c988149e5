"""Nearest vectors by comparing every one: exact, whatever the data and however few documents are searched."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from core.ports import Vectors
from retrieval.highest import highest

_FIRST = 1024  # rows that there is room for at the beginning


class ExactVectors:
    """In memory, 1.5 kB a chunk of 384 dimensions; a chunk comes or goes by one row. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: Vectors = np.empty((0, 0), dtype=np.float32)  # unit vectors; behind the last is room for more
        self._ids: list[str] = []
        self._at: dict[str, int] = {}
        self._owners = array("i")  # by row, as _documents numbers them
        self._documents: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def held(self, document: str = "") -> set[str]:
        """Ids of all chunks, or of that document's."""
        with self._lock:
            if not document:
                return set(self._at)
            return {self._ids[row] for row in np.flatnonzero(self._owned([document]))}

    def add(self, items: Mapping[str, tuple[str, Vectors]]) -> None:
        """(document, vector) by id; none that is held already."""
        with self._lock:
            for item, (document, vector) in items.items():
                at = len(self._ids)
                if at == len(self._rows):
                    rows = np.empty((max(2 * at, _FIRST), len(vector)), dtype=np.float32)
                    if at:
                        rows[:at] = self._rows
                    self._rows = rows
                self._rows[at] = vector / max(float(np.linalg.norm(vector)), 1e-12)
                self._ids.append(item)
                self._at[item] = at
                self._owners.append(self._documents.setdefault(document, len(self._documents)))

    def remove(self, items: Iterable[str]) -> None:
        """The last takes the place of each."""
        with self._lock:
            for item in items:
                at, last, owner = self._at.pop(item), self._ids.pop(), self._owners.pop()
                if at < len(self._ids):
                    self._ids[at], self._owners[at], self._at[last] = last, owner, at
                    self._rows[at] = self._rows[len(self._ids)]

    def search(self, vector: Vectors, k: int, documents: Sequence[str] = ()) -> list[tuple[str, float]]:
        """(id, cosine -1 to 1), best first, of equals the smaller id; of those documents only, where there are any."""
        with self._lock:
            if not self._ids:
                return []
            rows = np.flatnonzero(self._owned(documents)) if documents else np.arange(len(self._ids))
            compared = self._rows[rows] if documents else self._rows[: len(self._ids)]
            # Not `@`: on one thread this takes half the time, and BLAS's threads would go on spinning for 20 ms, which
            # the next question's embedding waits for.
            scores = np.vecdot(compared, vector / max(float(np.linalg.norm(vector)), 1e-12))
            found = [(self._ids[rows[at]], float(scores[at])) for at in highest(scores, k)]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:k]

    def _owned(self, documents: Sequence[str]) -> NDArray[np.bool_]:
        wanted = np.zeros(len(self._documents), dtype=np.bool_)
        wanted[[self._documents[item] for item in documents if item in self._documents]] = True
        owned: NDArray[np.bool_] = wanted[np.frombuffer(self._owners, dtype=np.int32)]
        return owned
