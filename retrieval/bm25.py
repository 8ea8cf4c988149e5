"""The lexical index: BM25+ over children, title and section in front (Lv and Zhai, CIKM 2011)."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Plus

from core.ledger import Ledger
from core.terms import tokenise
from core.text import embedding_text


class _Idf:
    """rank_bm25's idf, made when it is asked for: each chunk that comes or goes would change all of it."""

    def __init__(self, model: _Growing) -> None:
        self._model = model

    def get(self, term: str) -> float | None:
        holding = self._model.holding.get(term)
        return math.log((self._model.corpus_size + 1) / holding) if holding else None


class _Growing(BM25Plus):  # type: ignore[misc]
    """rank_bm25's BM25Plus, whose scores it gives, over a corpus that chunks come to and go from one by one."""

    def __init__(self) -> None:
        self.k1, self.b, self.delta = 1.5, 0.75, 1
        self.corpus_size, self.avgdl = 0, 0.0
        self.doc_freqs: list[Counter[str]] = []
        self.doc_len: list[int] = []
        self.holding: Counter[str] = Counter()  # chunks that hold a term
        self.idf = _Idf(self)
        self.ids: list[str] = []
        self.documents: list[str] = []
        self._at: dict[str, int] = {}
        self._of: dict[str, set[str]] = {}
        self._tokens = 0

    def add(self, item: str, document: str, tokens: Sequence[str]) -> None:
        terms = Counter(tokens)
        self._at[item] = len(self.ids)
        self._of.setdefault(document, set()).add(item)
        self.ids.append(item)
        self.documents.append(document)
        self.doc_freqs.append(terms)
        self.doc_len.append(len(tokens))
        self.holding.update(terms.keys())
        self._count(len(tokens))

    def remove(self, item: str) -> None:
        """The last takes its place."""
        at = self._at.pop(item)
        self.holding.subtract(self.doc_freqs[at].keys())
        for term in self.doc_freqs[at]:
            if not self.holding[term]:
                del self.holding[term]
        tokens = self.doc_len[at]
        inside = self._of[self.documents[at]]
        inside.discard(item)
        if not inside:
            del self._of[self.documents[at]]
        for column in self._columns():
            last = column.pop()
            if at < len(column):
                column[at] = last
        if at < len(self.ids):
            self._at[self.ids[at]] = at
        self._count(-tokens)

    def _columns(self) -> tuple[list[Any], ...]:
        return self.ids, self.documents, self.doc_freqs, self.doc_len

    def held(self, document: str = "") -> frozenset[str]:
        """Ids of all chunks, or of that document's."""
        return frozenset(self._of.get(document, ())) if document else frozenset(self._at)

    def _count(self, tokens: int) -> None:
        self._tokens += tokens
        self.corpus_size = len(self.ids)
        self.avgdl = self._tokens / self.corpus_size if self.corpus_size else 0.0


class Bm25Index:
    """In memory, read from the ledger at the start, 0.2 s for 1,000 chunks; then chunk by chunk as documents change.

    BM25Plus, not Okapi: Okapi's idf is zero or below for a term in half of a small library.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._model = _Growing()
        self._wordless: dict[str, str] = {}  # chunks without a term, which can't be found, with their documents
        self._titles: dict[str, str] = {}  # which each document's chunks are indexed with
        self._lock = threading.Lock()

    def sync(self, document_id: str = "") -> None:
        wanted = {item: owner for item, (owner, _) in self._ledger.indexed_children(document_id).items()}
        titles = {d.id: d.title for d in self._ledger.documents_by_id(wanted.values()).values()}
        with self._lock:
            self._forget_retitled(titles, document_id)
            wordless = {item for item, owner in self._wordless.items() if document_id in ("", owner)}
            have = self._model.held(document_id) | wordless
            tokens = self._tokens([item for item in wanted if item not in have])
            for item in have - set(wanted):
                if self._wordless.pop(item, None) is None:
                    self._model.remove(item)
            for item, found in tokens.items():
                if found:
                    self._model.add(item, wanted[item], found)
                else:
                    self._wordless[item] = wanted[item]

    def _forget_retitled(self, titles: Mapping[str, str], document_id: str) -> None:
        """Take out the chunks of documents that have another title now, so that they are indexed anew."""
        for document, title in titles.items():
            if self._titles.get(document, title) != title:
                for item in self._model.held(document):
                    self._model.remove(item)
                self._wordless = {item: owner for item, owner in self._wordless.items() if owner != document}
        if document_id and document_id not in titles:
            self._titles.pop(document_id, None)
        self._titles = {**(self._titles if document_id else {}), **titles}

    def _tokens(self, ids: Sequence[str]) -> Mapping[str, list[str]]:
        chunks = self._ledger.chunks(ids)
        titles = {d.id: d.title for d in self._ledger.documents_by_id(c.document_id for c in chunks).values()}
        return {
            chunk.id: tokenise(embedding_text(titles[chunk.document_id], chunk.section, chunk.searched))
            for chunk in chunks
            if chunk.document_id in titles
        }

    def rebuild(self) -> None:
        """Forget what is held, and read the ledger anew."""
        with self._lock:
            self._model, self._wordless, self._titles = _Growing(), {}, {}
        self.sync()

    @property
    def ids(self) -> frozenset[str]:
        return self._model.held()

    @property
    def held(self) -> frozenset[str]:
        """Ids of all chunks it knows, also of those that have no term to be found by."""
        return self._model.held() | self._wordless.keys()

    def __len__(self) -> int:
        return self._model.corpus_size

    def search(self, query: str, k: int, documents: Sequence[str] = ()) -> list[tuple[str, float]]:
        """(chunk id, score), best first, only chunks that hold a term of the query; unbounded, higher is better."""
        terms = tokenise(query)
        with self._lock:
            model = self._model
            if not model.corpus_size or not terms:
                return []
            # BM25+ gives delta * idf to every chunk, whether it holds the term or not: taken off, 0 is no match.
            floor = sum((model.idf.get(term) or 0.0) * model.delta for term in terms)
            scores = np.asarray(model.get_scores(terms)) - floor
            if documents:
                allowed = set(documents)
                scores[[owner not in allowed for owner in model.documents]] = 0.0
            # Of equal scores the smaller id, whatever the order in which documents came.
            found = [(model.ids[i], float(scores[i])) for i in _best(scores, k)]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:k]

    def idf(self, term: str) -> float:
        """Of one index term; a term that no chunk holds weighs as much as the rarest."""
        size = self._model.corpus_size
        return float(self._model.idf.get(term) or math.log(size + 1)) if size else 0.0


def _best(scores: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Where the k highest scores above 0 are, and all that equal the last of them."""
    found = np.flatnonzero(scores > 1e-9)
    if len(found) <= k:
        return found
    least = np.partition(scores[found], len(found) - k)[len(found) - k]
    best: NDArray[np.intp] = found[scores[found] >= least]
    return best
