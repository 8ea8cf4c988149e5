"""A scripted knowledge graph: two entities, one relation, the same answers each time."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import InvalidInput, NotFound
from core.graph import (
    EdgeView,
    Entity,
    Evidence,
    Extractor,
    GraphEstimate,
    GraphReport,
    GraphResult,
    GraphRow,
    GraphView,
    NodeView,
)
from core.ports import OnEvent
from core.types import Event, Filter, Span, TraceStep

BRIDGE = Entity(id="e-bridge", name="Harbour Bridge", type="Place", aliases=("the Bridge",), mentions=3)
CITY = Entity(id="e-city", name="Sydney", type="Place", mentions=1)
SAID = "The Harbour Bridge was opened in Sydney."


def evidence(quote: str = SAID, document: str = "bridges.pdf", page: int = 2) -> Evidence:
    span = Span(page=page, start=0, end=len(quote))
    return Evidence(document_id="d-1", document=document, page=page, quote=quote, spans=(span,), chunk_id="c-1")


def row(subject: Entity = BRIDGE, relation: str = "LOCATED_IN", target: Entity = CITY, *said: Evidence) -> GraphRow:
    return GraphRow(
        subject=subject, relation=relation, wording="was opened in", object=target, evidence=said or (evidence(),)
    )


class FakeGraph:
    """`rows` are what every query gives; 'nothing' finds none; `seen` keeps what was asked."""

    def __init__(self) -> None:
        self.rows = [row()]
        self.seen: list[tuple[str, dict[str, object]]] = []
        self.empty = False

    async def query_graph(
        self,
        question: str = "",
        *,
        entity: str = "",
        cypher: str = "",
        hops: int = 2,
        limit: int = 50,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
    ) -> GraphResult:
        asked = {"question": question, "entity": entity, "cypher": cypher, "hops": hops, "limit": limit}
        self.seen.append(("query_graph", {**asked, "documents": tuple(documents), "filters": filters}))
        if len([way for way in (question, entity, cypher) if way]) != 1:
            raise InvalidInput("give exactly one of question, entity and cypher", hint="leave the others out")
        step = TraceStep(stage="graph", ms=1, summary="1 row")
        if self.empty or "nothing" in (question, entity):
            return GraphResult(question=question, backend="networkx", note="no entity is named", trace=(step,))
        return GraphResult(
            question=question,
            rows=tuple(self.rows[:limit]),
            answers=(CITY,),
            pattern='MATCH (a {name: "Harbour Bridge"})-[r]->(b)',
            asked_by="rules",
            backend="networkx",
            truncated=len(self.rows) > limit,
            trace=(step,),
        )

    async def graph_view(
        self,
        entity: str = "",
        *,
        hops: int = 1,
        limit: int = 300,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
    ) -> GraphView:
        asked = {"entity": entity, "hops": hops, "limit": limit, "documents": tuple(documents), "filters": filters}
        self.seen.append(("graph_view", asked))
        if self.empty:
            return GraphView(nodes=(), edges=(), entities=0, relations=0, shown="nothing")
        entities = list({item.id: item for found in self.rows for item in (found.subject, found.object)}.values())
        if entity and entity not in {name for item in entities for name in (item.id, item.name)}:
            raise NotFound(f"no entity {entity!r}", hint="see the list of entities")
        nodes = tuple(
            NodeView(id=e.id, name=e.name, type=e.type, x=(n + 1) / (len(entities) + 1), y=0.5, degree=1)
            for n, e in enumerate(entities[:limit])
        )
        edges = tuple(
            EdgeView(source=found.subject.id, target=found.object.id, relation=found.relation, documents=1)
            for found in self.rows
        )
        return GraphView(nodes=nodes, edges=edges, entities=len(entities), relations=len(edges), shown="all of it")

    async def entities(self, query: str = "", *, limit: int = 50) -> list[Entity]:
        self.seen.append(("entities", {"query": query, "limit": limit}))
        found = {item.id: item for one in self.rows for item in (one.subject, one.object)}.values()
        return [] if self.empty else [item for item in found if query.casefold() in item.name.casefold()][:limit]

    async def estimate_graph(
        self, *, documents: Sequence[str] = (), by: Extractor = "auto", passes: int = 0, again: bool = False
    ) -> GraphEstimate:
        asked = {"documents": tuple(documents), "by": by, "passes": passes, "again": again}
        self.seen.append(("estimate_graph", asked))
        return GraphEstimate(
            chunks=3, done=1, calls=3, prompt_tokens=900, completion_tokens=300, cost=0.5, extractor="m"
        )

    async def build_graph(
        self,
        *,
        documents: Sequence[str] = (),
        by: Extractor = "auto",
        passes: int = 0,
        again: bool = False,
        on_event: OnEvent | None = None,
    ) -> GraphReport:
        asked = {"documents": tuple(documents), "by": by, "passes": passes, "again": again}
        self.seen.append(("build_graph", asked))
        if on_event is not None:
            await on_event(Event(kind="ingest", document="graph", step="extract", done=3, total=3))
        return GraphReport(
            extractor="m", chunks=3, skipped=1, failed=0, kept=7, dropped={"no quote": 2}, entities=5, relations=6
        )
