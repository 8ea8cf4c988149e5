"""Hybrid search: dense and BM25 over children, fused by rank, each child grown to its parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.errors import InvalidInput
from core.ledger import Ledger
from core.ports import Embedder
from core.settings import RetrievalSettings
from core.text import text_of
from core.types import ChannelHit, Chunk, Document, Passage, Span
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
        parents = self.ledger.chunks(chosen)
        documents = self.ledger.documents_by_id(parent.document_id for parent in parents)
        return tuple(
            passage_of(parent, best[parent.id], documents[parent.document_id], fused[best[parent.id].id], hits)
            for parent in parents
            if parent.document_id in documents  # removed in the meantime
        )

    def overview(self, documents: Sequence[str]) -> tuple[Passage, ...]:
        """Of each document the passages that its summary is made of, the summary's sentences as what was found."""
        chosen = set(documents)
        wanted = [d for d in self.ledger.documents() if not chosen or d.id in chosen]
        return tuple(passage for document in wanted for passage in self._summarised(document))

    def _summarised(self, document: Document) -> Iterator[Passage]:
        whole = next((s for s in self.ledger.summaries_of(document.id) if not s.section), None)
        if whole is None:
            return
        parents = [chunk for chunk in self.ledger.chunks_of(document.id) if not chunk.parent_id]
        texts = {span.page: self.ledger.page(document.id, span.page).text for span in whole.spans}
        for parent in parents:
            inside = [span for span in whole.spans if any(_holds(own, span) for own in parent.spans)]
            if inside:
                said = text_of(inside, texts)
                yield passage_of(parent, parent.model_copy(update={"text": said, "spans": inside}), document, 0.0, {})


def _holds(outer: Span, inner: Span) -> bool:
    return outer.page == inner.page and outer.start <= inner.start and inner.end <= outer.end


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
        described=child.indexed if child.kind == "description" else "",
        rows=child.indexed if child.kind == "table" else "",
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
