"""The lexical index: BM25+ over children, title and section in front (Lv and Zhai, CIKM 2011)."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rank_bm25 import BM25Plus

from core.ledger import Ledger
from core.terms import tokenise
from core.text import embedding_text


@dataclass(frozen=True)
class _State:
    ids: tuple[str, ...]
    documents: tuple[str, ...]
    model: BM25Plus | None


class Bm25Index:
    """In memory, rebuilt from the ledger when its chunks change: 0.2 s for 1,000 chunks; tokens are kept by chunk.

    BM25Plus, not Okapi: Okapi's idf is zero or below for a term in half of a small library.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tokens: dict[str, list[str]] = {}
        self._state = _State((), (), None)
        self._lock = threading.Lock()

    def sync(self) -> None:
        with self._lock:
            wanted = self._ledger.indexed_children()
            if set(wanted) != set(self._tokens):
                self._state = self._rebuilt({item: owner for item, (owner, _) in wanted.items()})

    def _rebuilt(self, owners: dict[str, str]) -> _State:
        titles = {document.id: document.title for document in self._ledger.documents()}
        new = self._ledger.chunks([item for item in owners if item not in self._tokens])
        for chunk in new:
            self._tokens[chunk.id] = tokenise(embedding_text(titles[chunk.document_id], chunk.section, chunk.text))
        self._tokens = {item: tokens for item, tokens in self._tokens.items() if item in owners}
        ids = tuple(sorted(item for item, tokens in self._tokens.items() if tokens))
        # An empty corpus divides by zero in rank_bm25.
        model = BM25Plus([self._tokens[item] for item in ids]) if ids else None
        return _State(ids, tuple(owners[item] for item in ids), model)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(self._state.ids)

    def search(self, query: str, k: int, documents: Sequence[str] = ()) -> list[tuple[str, float]]:
        """(chunk id, score), best first, only chunks that hold a term of the query; unbounded, higher is better."""
        state = self._state
        terms = tokenise(query)
        if state.model is None or not terms:
            return []
        # BM25+ gives delta * idf to every chunk, whether it holds the term or not: taken off, so that 0 is no match.
        floor = sum((state.model.idf.get(term) or 0.0) * state.model.delta for term in terms)
        scores = np.asarray(state.model.get_scores(terms)) - floor
        if documents:
            allowed = set(documents)
            scores[[owner not in allowed for owner in state.documents]] = 0.0
        order = np.argsort(-scores, kind="stable")[:k]
        return [(state.ids[i], float(scores[i])) for i in order if scores[i] > 1e-9]

    def idf(self, term: str) -> float:
        """Of one index term; a term that no chunk holds weighs as much as the rarest."""
        model = self._state.model
        if model is None:
            return 0.0
        return float(model.idf.get(term) or math.log(model.corpus_size + 1))
