"""The lexical index: BM25+ over children, title and section in front (Lv and Zhai, CIKM 2011)."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence

from core.ledger import Ledger
from core.terms import tokenise
from core.text import embedding_text
from retrieval.postings import Postings

_BATCH = 1000  # chunks that are read at once: their texts and terms take 40 times the room of their postings


class Bm25Index:
    """In memory, read from the ledger at the start, 0.3 s for 1,000 chunks; then chunk by chunk as documents change.

    BM25Plus, not Okapi: Okapi's idf is zero or below for a term in half of a small library.
    """

    of_embedder = False

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._model = Postings()
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
            for item in have - set(wanted):
                if self._wordless.pop(item, None) is None:
                    self._model.remove(item)
            new = [item for item in wanted if item not in have]
            for first in range(0, len(new), _BATCH):
                for item, found in self._tokens(new[first : first + _BATCH]).items():
                    if found:
                        self._model.add(item, wanted[item], found)
                    else:
                        self._wordless[item] = wanted[item]
            self._model.settle_when_due()

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
            self._model, self._wordless, self._titles = Postings(), {}, {}
        self.sync()

    @property
    def ids(self) -> frozenset[str]:
        with self._lock:
            return self._model.held()

    @property
    def held(self) -> frozenset[str]:
        """Ids of all chunks it knows, also of those that have no term to be found by."""
        with self._lock:
            return self._model.held() | self._wordless.keys()

    def __len__(self) -> int:
        return len(self._model)

    def search(self, query: str, k: int, documents: Sequence[str] = ()) -> list[tuple[str, float]]:
        """(chunk id, score), best first, only chunks that hold a term of the query; unbounded, higher is better."""
        terms = tokenise(query)
        with self._lock:
            return self._model.search(terms, k, documents)

    def knows(self, term: str) -> bool:
        """Whether a chunk holds this index term."""
        with self._lock:
            return self._model.idf(term) > 0

    def idf(self, term: str) -> float:
        """Of one index term; a term that no chunk holds weighs as much as the rarest."""
        with self._lock:
            return self._model.idf(term) or math.log(len(self._model) + 1)
