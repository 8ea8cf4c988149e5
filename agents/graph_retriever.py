"""The graph's part of retrieval: what is stated of a question of relation, and the passages that state it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from agents.citing import Sentence
from core.errors import LLMError
from core.graph import Evidence, GraphResult, GraphRow
from core.graph_text import answer_line
from core.ledger import Ledger
from core.terms import tokenise
from core.text import spans_within
from core.trace import Step
from core.types import ChannelHit, Passage, Route, Span
from retrieval.search import Found, passage_of

ROWS = 12  # handed on
PASSAGES = 4
FROM_PASSAGES = "answered from passages"


class GraphAsker(Protocol):
    async def ask(
        self, question: str, *, documents: Sequence[str] | None = None, limit: int = 50, by_rules: bool = False
    ) -> GraphResult:
        """Rows that the question asks for; `documents` are ids, None is every one. `by_rules`: without a model."""


@dataclass(frozen=True)
class Related:
    """Rows, those that say most of what is asked first, and the passages that hold their quotes, in that order."""

    rows: tuple[GraphRow, ...] = ()
    passages: tuple[Passage, ...] = ()
    exact: bool = False
    """whether they answer a question of which every word was read"""

    def before(self, found: Found) -> Found:
        """These passages, then what a search found; of a passage of both what was searched, which is longer."""
        searched = {passage.chunk_id: passage for passage in found.passages}
        first = tuple(_joined(own, searched.get(own.chunk_id)) for own in self.passages)
        known = {passage.chunk_id for passage in first}
        rest = tuple(passage for passage in found.passages if passage.chunk_id not in known)
        return replace(found, passages=(*first, *rest))

    def stated(self, sentences: Iterable[Sentence]) -> list[tuple[GraphRow, Sentence]]:
        """For each row the first of the sentences in which one of its quotes stands; rows without one are left out."""
        places = [(each, spans_within(each.passage.spans, each.start, each.end)) for each in sentences]
        found = []
        for row in self.rows:
            quotes = [(said.document_id, said.spans) for said in row.evidence]
            for sentence, spans in places:
                if any(sentence.passage.document_id == owner and _share(spans, own) for owner, own in quotes):
                    found.append((row, sentence))
                    break
        return found


NONE = Related()


class GraphRetriever:
    def __init__(self, graph: GraphAsker, ledger: Ledger, limit: int) -> None:
        self._graph = graph
        self._ledger = ledger
        self._limit = limit

    async def retrieve(self, route: Route, step: Step, *, by_rules: bool = False) -> Related:
        """What the graph has of `route.documents` (none: of all), said in `step` too; `by_rules`: no model is asked.

        A language model that fails costs the rows, not the answer. Raises LibraryError.
        """
        try:
            found = await self._graph.ask(
                route.question, documents=route.documents or None, limit=self._limit, by_rules=by_rules
            )
        except LLMError as error:
            step.summary, step.degraded = "no rows", f"{error.message}: {FROM_PASSAGES}"
            return NONE
        _note(found, step)
        if not _fits(found):
            return NONE
        rows = _ranked(found.rows, route.question)[:ROWS]
        return Related(tuple(rows), self._passages(rows), found.exact)

    def _passages(self, rows: Sequence[GraphRow]) -> tuple[Passage, ...]:
        said: dict[str, list[Evidence]] = {}
        for evidence in (one for row in rows for one in row.evidence):
            said.setdefault(evidence.chunk_id, []).append(evidence)
        parents = self._ledger.chunks(list(said)[:PASSAGES])
        owners = self._ledger.documents_by_id(parent.document_id for parent in parents)
        passages: list[Passage] = []
        for parent in parents:
            if parent.document_id not in owners:
                continue  # removed in the meantime
            quotes = said[parent.id]
            hit = ChannelHit(channel="graph", rank=len(passages) + 1, score=quotes[0].confidence)
            spans = quotes[0].spans or parent.spans
            found = parent.model_copy(update={"text": "\n".join(one.quote for one in quotes), "spans": spans})
            hits = {parent.id: (hit,)}
            passages.append(passage_of([parent], found, owners[parent.document_id], 1 / hit.rank, hits))
        return tuple(passages)


def _share(one: Sequence[Span], other: Sequence[Span]) -> bool:
    """Whether at least half of the shorter lies in the longer."""
    common = sum(max(0, min(a.end, b.end) - max(a.start, b.start)) for a in one for b in other if a.page == b.page)
    shorter = min(sum(span.end - span.start for span in spans) for spans in (one, other))
    return common > 0 and 2 * common >= shorter


def _fits(found: GraphResult) -> bool:
    """Whether the rows are what was asked for: rows without an answer are only said of what the question names."""
    return bool(found.rows and (found.answers or found.relations))


def _joined(own: Passage, searched: Passage | None) -> Passage:
    if searched is None:
        return own
    best = f"{own.best_child}\n{searched.best_child}"
    return searched.model_copy(update={"best_child": best, "channels": (*own.channels, *searched.channels)})


def _ranked(rows: Sequence[GraphRow], question: str) -> list[GraphRow]:
    """Those that share most terms with the question first; of equals as the graph gave them."""
    asked = set(tokenise(question))

    def shared(row: GraphRow) -> int:
        relation = f"{row.relation.replace('_', ' ')} {row.wording}"
        names = [name for end in (row.subject, row.object) for name in (end.name, *end.aliases)]
        return len(asked & set(tokenise(" ".join([relation, *names]))))

    return sorted(rows, key=shared, reverse=True)


def _note(found: GraphResult, step: Step) -> None:
    """What a person sees of it in the trace."""
    count = f"{len(found.rows)}{'+' if found.truncated else ''} rows"
    answer = answer_line(found)
    step.summary = f"{count} by {found.backend or 'no store'}" + (f"; {answer}" if answer and found.rows else "")
    step.details = {"backend": found.backend, "rows": len(found.rows)}
    step.details |= {"pattern": found.pattern, "asked by": found.asked_by} if found.pattern else {}
    said = [inner.degraded for inner in found.trace if inner.degraded]
    if not _fits(found):
        why = f" ({found.note})" if found.note else ""
        said.append(f"nothing in the knowledge graph fits{why}: {FROM_PASSAGES}")
    elif found.note:
        step.details["note"] = found.note
    step.degraded = "; ".join(said)
