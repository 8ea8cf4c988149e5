"""Hybrid search: dense and BM25 over children, fused by rank, each child grown to its parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import InvalidInput
from core.ledger import Ledger
from core.ports import Embedder
from core.settings import RetrievalSettings
from core.types import ChannelHit, Chunk, Document, Passage
from retrieval.bm25 import Bm25Index
from retrieval.dense_chroma import ChromaIndex
from retrieval.fusion import reciprocal_rank_fusion

CHANNELS = ("dense", "bm25")
Ranking = list[tuple[str, float]]


@dataclass(frozen=True)
class HybridSearch:
    ledger: Ledger
    embedder: Embedder
    dense: ChromaIndex
    bm25: Bm25Index
    settings: RetrievalSettings

    def search(
        self, query: str, *, top_k: int, channels: Sequence[str] = (), documents: Sequence[str] = ()
    ) -> tuple[Passage, ...]:
        """At most `top_k` passages (parents), best first. Costs one query embedding, about 25 ms on two cores."""
        rankings = {channel: self._rank(channel, query, documents) for channel in _known(channels)}
        fused = reciprocal_rank_fusion(
            {channel: [item for item, _ in hits] for channel, hits in rankings.items()},
            self.settings.weights,
            self.settings.rrf_k,
        )
        children = self.ledger.chunks(list(fused))
        hits = _hits(rankings)
        # References answer by their titles' words alone: findable, but behind content of equal rank.
        order = sorted(children, key=lambda c: (-fused[c.id] * (0.5 if c.is_reference else 1.0), c.id))
        return self._grow(order, fused, hits, top_k)

    def _rank(self, channel: str, query: str, documents: Sequence[str]) -> Ranking:
        k = self.settings.candidates
        if channel == "dense":
            return self.dense.search(self.embedder.query(query), k, documents)
        return self.bm25.search(query, k, documents)

    def _grow(
        self, children: Sequence[Chunk], fused: dict[str, float], hits: dict[str, tuple[ChannelHit, ...]], top_k: int
    ) -> tuple[Passage, ...]:
        best: dict[str, Chunk] = {}
        for child in children:
            best.setdefault(child.parent_id, child)
        chosen = list(best)[:top_k]
        documents = {document.id: document for document in self.ledger.documents()}
        return tuple(
            passage_of(parent, best[parent.id], documents[parent.document_id], fused[best[parent.id].id], hits)
            for parent in self.ledger.chunks(chosen)
        )

    def lead(self, documents: Sequence[str], per_document: int) -> tuple[Passage, ...]:
        """For questions of overview: of each document the abstract, conclusion and introduction, at most so many."""
        found: list[Passage] = []
        for document in self.ledger.documents():
            if documents and document.id not in documents:
                continue
            parents = [c for c in self.ledger.chunks_of(document.id) if not c.parent_id and not c.is_reference]
            parents.sort(key=lambda chunk: (_overview_rank(chunk.section), chunk.position))
            found += [passage_of(parent, parent, document, 0.0, {}) for parent in parents[:per_document]]
        return tuple(found)


def passage_of(
    parent: Chunk, child: Chunk, document: Document, score: float, hits: dict[str, tuple[ChannelHit, ...]]
) -> Passage:
    return Passage(
        chunk_id=parent.id,
        document_id=document.id,
        document=document.name,
        title=document.title,
        page=child.page,
        section=parent.section,
        text=parent.text,
        spans=parent.spans,
        best_child=child.text,
        score=score,
        channels=hits.get(child.id, ()),
    )


def _known(channels: Sequence[str]) -> tuple[str, ...]:
    unknown = [channel for channel in channels if channel not in CHANNELS]
    if unknown:
        raise InvalidInput(f"unknown channel {unknown[0]!r}", hint=f"channels: {', '.join(CHANNELS)}")
    return tuple(dict.fromkeys(channels)) or CHANNELS


def _hits(rankings: dict[str, Ranking]) -> dict[str, tuple[ChannelHit, ...]]:
    found: dict[str, tuple[ChannelHit, ...]] = {}
    for channel, ranking in rankings.items():
        for rank, (item, score) in enumerate(ranking, 1):
            found[item] = (*found.get(item, ()), ChannelHit(channel=channel, rank=rank, score=score))
    return found


def _overview_rank(section: str) -> int:
    name = section.lower()
    for rank, word in enumerate(("abstract", "conclusion", "introduction", "summary")):
        if word in name:
            return rank
    return 9
