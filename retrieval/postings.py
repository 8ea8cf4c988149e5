"""BM25+ over postings that chunks come to and go from one by one (Lv and Zhai, CIKM 2011)."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.highest import highest

K1, B, DELTA = 1.5, 0.75, 1.0
UNSORTED = 100_000  # of the newest postings: looked through for each term of a query, 0.05 ms
DEAD = 1000  # rows that may wait for the next settling, however few are alive
_MOST = 0xFFFF  # occurrences of a term in one chunk that are told apart


class Postings:
    """rank_bm25's BM25Plus, whose scores it gives up to rounding; a query costs what its terms' postings cost.

    The body is sorted by term: of each, the rows (chunks) that hold it and how often. What comes stands unsorted in
    a tail, which is sorted in when it is longer than an eighth of the body; what goes is only marked as dead until a
    fifth of the rows are. So a chunk costs the same whatever the size, and no score is ever stale: idf and lengths
    are counted when they are asked for. About 6 bytes a posting and 250 a chunk, beside one entry a term. Not
    thread-safe.
    """

    def __init__(self) -> None:
        self._vocabulary: dict[str, int] = {}
        self._starts = np.zeros(1, dtype=np.int64)  # where a term's postings begin in the body, and a last entry
        self._rows = np.zeros(0, dtype=np.int32)
        self._counts = np.zeros(0, dtype=np.uint16)
        self._new_terms, self._new_rows, self._new_counts = array("i"), array("i"), array("H")
        self._ids: list[str] = []
        self._row_of: dict[str, int] = {}
        self._documents: dict[str, int] = {}
        self._owners = array("i")  # by row, as _documents numbers them
        self._lengths = array("i")  # by row, in tokens
        self._alive = bytearray()  # by row
        self._tokens = 0  # of the rows that are alive
        self._norms: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self._row_of)

    def held(self, document: str = "") -> frozenset[str]:
        """Ids of all chunks, or of that document's."""
        if not document:
            return frozenset(self._row_of)
        if document not in self._documents:
            return frozenset()
        owned = _view(self._owners) == self._documents[document]
        return frozenset(self._ids[row] for row in np.flatnonzero(owned & self._living()))

    def add(self, item: str, document: str, tokens: Sequence[str]) -> None:
        """`item` must not be held yet."""
        terms, row = Counter(tokens), len(self._ids)
        number = self._vocabulary.setdefault
        self._new_terms.extend([number(term, len(self._vocabulary)) for term in terms])
        self._new_rows.extend([row] * len(terms))
        self._new_counts.extend([min(count, _MOST) for count in terms.values()])
        self._ids.append(item)
        self._row_of[item] = row
        self._owners.append(self._documents.setdefault(document, len(self._documents)))
        self._lengths.append(len(tokens))
        self._alive.append(True)
        self._counted(len(tokens))

    def remove(self, item: str) -> None:
        row = self._row_of.pop(item)
        self._alive[row] = False
        self._counted(-self._lengths[row])

    def _counted(self, tokens: int) -> None:
        self._tokens += tokens
        self._norms = None

    def settle_when_due(self) -> None:
        """To be called after changes: scores are right without it, but take longer and longer."""
        dead = len(self._ids) - len(self._row_of)
        if len(self._new_terms) > max(UNSORTED, len(self._rows) // 8) or dead > max(DEAD, len(self._row_of) // 4):
            self.settle()

    def settle(self) -> None:
        """Sorts the tail in and forgets the dead: 0.2 s and a copy of the body for 8 million postings."""
        self._sort_in()
        if len(self._row_of) < len(self._ids):
            self._bury()

    def _sort_in(self) -> None:
        terms, size = _view(self._new_terms), len(self._vocabulary)
        order = np.argsort(terms, kind="stable")
        starts = np.pad(self._starts, (0, size + 1 - len(self._starts)), mode="edge")
        ends = starts[terms[order] + 1]
        self._rows = np.insert(self._rows, ends, _view(self._new_rows)[order])
        self._counts = np.insert(self._counts, ends, np.frombuffer(self._new_counts, dtype=np.uint16)[order])
        self._starts = starts + _sums(np.bincount(terms, minlength=size))
        self._new_terms, self._new_rows, self._new_counts = array("i"), array("i"), array("H")

    def _bury(self) -> None:
        living = self._living()
        kept = living[self._rows]
        renumbered = _sums(living).astype(np.int32)
        self._rows, self._counts = renumbered[self._rows[kept]], self._counts[kept]
        self._starts = _sums(kept)[self._starts]
        used = np.diff(self._starts) > 0
        self._vocabulary = _numbered(term for term, number in self._vocabulary.items() if used[number])
        self._starts = self._starts[np.append(used, True)]
        rows = np.flatnonzero(living)
        names = [*self._documents]
        owners = [names[self._owners[row]] for row in rows]
        self._documents = _numbered(dict.fromkeys(owners))
        self._owners = array("i", [self._documents[owner] for owner in owners])
        self._lengths = array("i", _view(self._lengths)[rows].tobytes())
        self._ids = [self._ids[row] for row in rows]
        self._row_of = _numbered(self._ids)
        self._alive = bytearray(b"\x01" * len(rows))

    def _living(self) -> NDArray[np.bool_]:
        return np.frombuffer(self._alive, dtype=np.bool_)

    def _postings(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """(rows, occurrences) of a term among the living, each row once."""
        number = self._vocabulary.get(term)
        if number is None:
            return self._rows[:0], self._counts[:0]
        rows, counts = self._rows[:0], self._counts[:0]
        if number + 1 < len(self._starts):
            part = slice(self._starts[number], self._starts[number + 1])
            rows, counts = self._rows[part], self._counts[part]
        if self._new_terms:
            new = np.flatnonzero(_view(self._new_terms) == number)
            rows = np.concatenate([rows, _view(self._new_rows)[new]])
            counts = np.concatenate([counts, np.frombuffer(self._new_counts, dtype=np.uint16)[new]])
        if len(self._row_of) < len(self._ids):
            living = self._living()[rows]
            rows, counts = rows[living], counts[living]
        return rows, counts

    def idf(self, term: str) -> float:
        """ln((n + 1) / n_term), as rank_bm25's BM25Plus has it; 0 for a term that no chunk holds."""
        return self._idf(len(self._postings(term)[0]))

    def _idf(self, holding: int) -> float:
        return math.log((len(self._row_of) + 1) / holding) if holding else 0.0

    def scores(self, terms: Sequence[str]) -> tuple[NDArray[np.float64], float]:
        """((rows,) scores, what BM25+ gives each chunk on top of them). Unbounded, higher is better, 0 for no match.

        BM25+ gives delta * idf to every chunk, whether it holds the term or not: that part is apart, so that 0 is
        no match. A term counts as often as it is repeated.
        """
        scores, floor = np.zeros(len(self._ids)), 0.0
        if self._norms is None and self._row_of:
            lengths = _view(self._lengths).astype(np.float64)
            self._norms = K1 * (1 - B + B * lengths / (self._tokens / len(self._row_of)))
        for term, repeated in Counter(terms).items():
            rows, counts = self._postings(term)
            weight = repeated * self._idf(len(rows))
            floor += weight * DELTA
            if len(rows) and self._norms is not None:
                scores[rows] += weight * (counts * (K1 + 1) / (self._norms[rows] + counts))
        return scores, floor

    def search(self, terms: Sequence[str], k: int, documents: Sequence[str] = ()) -> list[tuple[str, float]]:
        """(id, score), best first, only chunks that hold a term; of those documents only, where there are any."""
        scores, _ = self.scores(terms)
        if documents:
            allowed = np.zeros(len(self._documents), dtype=np.bool_)
            allowed[[self._documents[item] for item in documents if item in self._documents]] = True
            scores[~allowed[_view(self._owners)]] = 0.0
        # Of equal scores the smaller id, whatever the order in which documents came.
        found = [(self._ids[row], float(scores[row])) for row in highest(scores, k, above=0.0)]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:k]


def _view(numbers: array[int]) -> NDArray[np.int32]:
    """Not to be held: the array can't grow meanwhile."""
    return np.frombuffer(numbers, dtype=np.int32)


def _sums(numbers: NDArray[np.integer] | NDArray[np.bool_]) -> NDArray[np.int64]:
    """The sum of what stands before each place, and of all: one longer than `numbers`."""
    return np.concatenate([[0], np.cumsum(numbers, dtype=np.int64)])


def _numbered(items: Iterable[str]) -> dict[str, int]:
    return {item: number for number, item in enumerate(items)}
