"""Hybrid search: channels over children, fused by rank, their parents reranked and grown to passages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from core.errors import InvalidInput
from core.ledger import Ledger
from core.ports import Embedder, Mentions, Walked
from core.settings import RetrievalSettings
from core.text import embedding_text, text_of
from core.types import Candidate, ChannelHit, Chunk, Document, Passage, Span
from retrieval.bm25 import Bm25Index
from retrieval.dense_chroma import ChromaIndex
from retrieval.fusion import by_parent, maximal_marginal_relevance, reciprocal_rank_fusion
from retrieval.growing import Room, Run, grown
from retrieval.parts import parts_of
from retrieval.rerank import Reranked, Reranking
from retrieval.sparse import SparseIndex

CHANNELS = ("dense", "bm25", "sparse", "mentions")  # that search with the question itself
_A_PART = 30  # of all chunks one in so many is few
_FADING = 6  # how fast a walk loses its weight that spread over more than a few
_SEEDS = 5  # children of other channels from which a walk over mentions may begin
_NEAR = 4  # positions from a parent that was found within which its passage can grow
_PART = "part "
_OF_PARTS = ("dense", "bm25")  # a third channel gave nothing more
_LOADED = 30  # parents of which the passages are made
_DIVERSE = 30  # parents among which MMR chooses
Ranking = list[tuple[str, float]]


@dataclass(frozen=True)
class Rewritten:
    """What a language model made of the question, where one was asked to: '' for nothing."""

    hypothetical: str = ""  # a passage that would answer it (HyDE), searched for as a vector: channel 'hyde'
    translation: str = ""  # into the library's language, searched for by BM25: channel 'translated'


@dataclass(frozen=True)
class Found:
    """Passages, best first, and what became of each candidate; `notes` are what a person should know."""

    passages: tuple[Passage, ...]
    candidates: tuple[Candidate, ...] = ()
    channels: tuple[str, ...] = ()
    reranker: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class HybridSearch:
    ledger: Ledger
    embedder: Embedder
    dense: ChromaIndex
    bm25: Bm25Index
    sparse: SparseIndex | None
    settings: RetrievalSettings
    reranking: Reranking | None = None
    mentions: Mentions | None = None

    def search(
        self,
        query: str,
        *,
        top_k: int,
        channels: Sequence[str] = (),
        documents: Sequence[str] = (),
        rewritten: Rewritten | None = None,
        explain: bool = False,
    ) -> Found:
        """At most `top_k` passages, of `settings.context_chars` in all. Raises InvalidInput (an unknown channel).

        The channels run side by side. Costs a query embedding, 25 ms, as much for the sparse channel, and the reranker
        where one is set.
        """
        ways = self._ways(query, channels, documents, rewritten or Rewritten())
        parts = parts_of(query, self.bm25.knows, min(self.settings.parts, top_k - 1))
        for number, part in enumerate(parts, 1):
            ways[f"{_PART}{number}"] = partial(self._best_of, part, documents, [*ways])
        with ThreadPoolExecutor(max(len(ways), 1)) as side_by_side:
            rankings = dict(zip(ways, side_by_side.map(lambda search: search(), ways.values()), strict=True))
        walked = Walked([])
        if self.mentions is not None and "mentions" in (channels or self._default_channels()):
            seeds = list(self._fused(rankings, channels).items())[:_SEEDS]
            walked = self.mentions.search(query, seeds, self.settings.candidates, documents)
            rankings["mentions"] = walked.ranking
        fused = self._fused(rankings, channels, walked)
        kin = self.ledger.kin(list(fused))
        scores = by_parent(kin, fused, self.settings.decay)
        of_parts = {item for name, ranking in rankings.items() if name.startswith(_PART) for item, _ in ranking}
        theirs = {kin[item].parent_id for item in of_parts if item in kin}
        first = list(scores)[: max(_LOADED, self.settings.reranked, 3 * top_k)]
        parents = self.ledger.chunks([*first, *sorted(theirs - set(first))])
        owners = self.ledger.documents_by_id(parent.document_id for parent in parents)
        parents = [parent for parent in parents if parent.document_id in owners]  # else removed in the meantime
        best = {kin[item].parent_id: item for item in reversed(fused) if item in kin}
        ordered, reranked = self._reranked(query, parents, owners)
        ordered = self._diverse(ordered, best, scores if reranked is None else {})
        ordered = _with_parts(ordered, theirs, top_k)
        runs = self._grown(ordered, top_k)
        hits = _hits(rankings)
        children = {child.parent_id: child for child in self.ledger.chunks([best[parent.id] for parent, _ in runs])}
        passages = tuple(
            passage_of(run, children[parent.id], owners[parent.document_id], scores[parent.id], hits)
            for parent, run in runs
            if parent.id in children
        )
        fate = _Fate(fused, hits, reranked, parents, runs, [*(parent.id for parent in ordered), *scores], top_k)
        return Found(
            passages=passages,
            candidates=self._candidates(fate) if explain else (),
            channels=tuple(rankings),
            reranker=self.reranking.fingerprint if self.reranking else "",
            notes=self._notes(rankings, reranked),
        )

    def _fused(
        self, rankings: Mapping[str, Ranking], asked: Sequence[str] = (), walked: Walked | None = None
    ) -> dict[str, float]:
        """A channel that was asked for by name counts even where its weight is 0; a walk that spread over many chunks
        counts less, for it says little of each."""
        ids = {channel: [item for item, _ in hits] for channel, hits in rankings.items()}
        weights = {channel: self.settings.weights.get(channel, 0.0) or float(channel in asked) for channel in ids}
        if walked and walked.ranking:
            focus = min(self.settings.focus, walked.known / _A_PART)
            weights["mentions"] *= min(focus / walked.spread, 1.0) ** _FADING
        return reciprocal_rank_fusion(ids, weights, self.settings.rrf_k)

    def _best_of(self, part: str, documents: Sequence[str], channels: Sequence[str]) -> Ranking:
        """The child of the best passage for a part of the question. Costs an embedding, 25 ms."""
        every = self._channels(part, documents)
        fused = self._fused({name: every[name]() for name in _OF_PARTS if name in channels}, channels)
        kin = self.ledger.kin(list(fused))
        scores = by_parent(kin, fused, self.settings.decay)
        first = next(iter(scores), "")
        return [(item, scores[first]) for item in fused if item in kin and kin[item].parent_id == first][:1]

    def _default_channels(self) -> tuple[str, ...]:
        """Those that there are with this embedder and that weigh anything."""
        absent = {"sparse": self.sparse is None, "mentions": self.mentions is None}
        there = [name for name in CHANNELS if not absent.get(name)]
        return tuple(name for name in there if self.settings.weights.get(name, 1.0) > 0)

    def _ways(
        self, query: str, channels: Sequence[str], documents: Sequence[str], rewritten: Rewritten
    ) -> dict[str, Callable[[], Ranking]]:
        """All but the walk over mentions, which begins where these end."""
        k, every = self.settings.candidates, self._channels(query, documents)
        unknown = [channel for channel in channels if channel not in CHANNELS]
        if unknown:
            raise InvalidInput(f"unknown channel {unknown[0]!r}", hint=f"channels: {', '.join(CHANNELS)}")
        if "sparse" in channels and self.sparse is None:
            raise InvalidInput(
                "this library's embedder gives no sparse weights", hint=f"channels here: {', '.join(every)}"
            )
        wanted = tuple(dict.fromkeys(channels)) or self._default_channels()
        ways = {channel: every[channel] for channel in wanted if channel in every}
        if not wanted:
            raise InvalidInput(
                "no channel of this library weighs anything", hint=f"QUAERE_RETRIEVAL__WEIGHTS: {', '.join(every)}"
            )
        if rewritten.hypothetical:
            passage = rewritten.hypothetical
            ways["hyde"] = lambda: self.dense.search(self.embedder.passages([passage])[0], k, documents)
        if rewritten.translation:
            ways["translated"] = lambda: self.bm25.search(rewritten.translation, k, documents)
        return ways

    def _channels(self, query: str, documents: Sequence[str]) -> dict[str, Callable[[], Ranking]]:
        k = self.settings.candidates
        every: dict[str, Callable[[], Ranking]] = {
            "dense": lambda: self.dense.search(self.embedder.query(query), k, documents),
            "bm25": lambda: self.bm25.search(query, k, documents),
        }
        if self.sparse is not None:
            every["sparse"] = partial(self.sparse.search, query, k, documents)
        return every

    def _reranked(
        self, query: str, parents: Sequence[Chunk], owners: Mapping[str, Document]
    ) -> tuple[list[Chunk], Reranked | None]:
        if self.reranking is None:
            return list(parents), None
        first, rest = parents[: self.settings.reranked], parents[self.settings.reranked :]
        texts = [embedding_text(owners[parent.document_id].title, parent.section, parent.text) for parent in first]
        reranked = self.reranking.rank(query, texts)
        return [*(first[place] for place in reranked.order), *rest], reranked

    def _diverse(self, parents: list[Chunk], best: Mapping[str, str], scores: Mapping[str, float]) -> list[Chunk]:
        """By maximal marginal relevance, where `settings.mmr` asks for it; after a reranker relevance is 1 / rank."""
        if self.settings.mmr == 1.0 or not parents:
            return parents
        first = parents[:_DIVERSE]
        hashes = self.ledger.embed_hashes([best[parent.id] for parent in first])
        known = self.ledger.load_embeddings(self.embedder.fingerprint, list(hashes.values()))
        size = len(next(iter(known.values()), np.zeros(1)))
        blank = np.zeros(size, dtype=np.float32)  # like nothing: references have no vector
        vectors = np.stack([known.get(hashes.get(best[parent.id], ""), blank) for parent in first])
        relevance = [scores.get(parent.id, 1.0 / rank) for rank, parent in enumerate(first, 1)]
        order = maximal_marginal_relevance(relevance, vectors, self.settings.mmr)
        return [*(first[place] for place in order), *parents[_DIVERSE:]]

    def _grown(self, parents: Sequence[Chunk], top_k: int) -> list[tuple[Chunk, Run]]:
        room = Room(self.settings.passage_chars, self.settings.context_chars)
        # Those found may lie in a passage before them: twice as many are enough to fill the places.
        near = self.ledger.parents_near([(p.document_id, p.position) for p in parents[: 2 * top_k]], _NEAR)
        return grown(parents, {(p.document_id, p.position): p for p in (*near, *parents)}, top_k, room)

    def _candidates(self, fate: _Fate) -> tuple[Candidate, ...]:
        """Of every channel, in the order of their passages; 40 ms for 100."""
        children = self.ledger.chunks(list(fate.fused))
        owners = self.ledger.documents_by_id(child.document_id for child in children)
        known = [child for child in children if child.document_id in owners and child.parent_id in fate.place]
        known.sort(key=lambda child: (fate.place[child.parent_id], -fate.fused[child.id]))
        return tuple(
            Candidate(
                chunk_id=child.id,
                document_id=child.document_id,
                document=owners[child.document_id].name,
                page=child.page,
                text=" ".join(child.text.split())[:120],
                channels=fate.hits[child.id],
                fused=fate.fused[child.id],
                rank=fate.place[child.parent_id],
                logit=fate.logits.get(child.parent_id),
                passage=fate.passage.get(child.parent_id, 0),
                why=fate.why(child.parent_id),
            )
            for child in known
        )

    def _notes(self, rankings: Mapping[str, Ranking], reranked: Reranked | None) -> tuple[str, ...]:
        notes = [reranked.summary] if reranked else []
        if "sparse" in rankings and self.sparse is not None and len(self.sparse) < len(self.dense):
            without = len(self.dense) - len(self.sparse)
            notes.append(f"{without} passages have no sparse weights yet: run `quaere check --repair`")
        return tuple(notes)

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
                yield passage_of([parent], parent.model_copy(update={"text": said, "spans": inside}), document, 0.0, {})


def _with_parts(parents: Sequence[Chunk], theirs: set[str], top_k: int) -> list[Chunk]:
    """The best passages of the question's parts among the first `top_k`, in place of the last of the whole's."""
    first = list(parents[: top_k - len(theirs)])
    found = [parent for parent in parents[len(first) :] if parent.id in theirs]
    return [*first, *found, *(parent for parent in parents[len(first) :] if parent.id not in theirs)]


class _Fate:
    """What became of each parent, for the trace."""

    def __init__(
        self,
        fused: Mapping[str, float],
        hits: Mapping[str, tuple[ChannelHit, ...]],
        reranked: Reranked | None,
        parents: Sequence[Chunk],
        runs: Sequence[tuple[Chunk, Sequence[Chunk]]],
        order: Sequence[str],
        top_k: int,
    ) -> None:
        self.fused, self.hits = fused, hits
        self.place = {parent: rank for rank, parent in enumerate(dict.fromkeys(order), 1)}
        scored = reranked.scores if reranked else {}
        self.logits = {parents[place].id: score for place, score in scored.items()}
        self.passage = {chunk.id: number for number, (_, run) in enumerate(runs, 1) for chunk in run}
        full = len(runs) < top_k and len(parents) > len(runs)
        self._left = "no room in the characters for all" if full else f"beyond the {top_k} passages asked for"

    def why(self, parent: str) -> str:
        return "" if parent in self.passage else self._left


def _holds(outer: Span, inner: Span) -> bool:
    return outer.page == inner.page and outer.start <= inner.start and inner.end <= outer.end


def passage_of(
    run: Sequence[Chunk], child: Chunk, document: Document, score: float, hits: Mapping[str, tuple[ChannelHit, ...]]
) -> Passage:
    """Of neighbouring parents, one of which holds the child that was found."""
    own = next((parent for parent in run if parent.id == child.parent_id), run[0])
    return Passage(
        chunk_id=own.id,
        document_id=document.id,
        document=document.name,
        title=document.title,
        page=child.page,
        section=own.section,
        text="\n".join(parent.text for parent in run),
        spans=tuple(span for parent in run for span in parent.spans),
        best_child=child.text,
        described=child.indexed if child.kind == "description" else "",
        rows=child.indexed if child.kind == "table" else "",
        score=score,
        channels=hits.get(child.id, ()),
    )


def _hits(rankings: Mapping[str, Ranking]) -> dict[str, tuple[ChannelHit, ...]]:
    found: dict[str, tuple[ChannelHit, ...]] = {}
    for channel, ranking in rankings.items():
        for rank, (item, score) in enumerate(ranking, 1):
            found[item] = (*found.get(item, ()), ChannelHit(channel=channel, rank=rank, score=score))
    return found
