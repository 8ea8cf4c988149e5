"""REST under /v1/graph. Queries go through the tools, what only pages and commands show to the library."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from core.graph import Entity, Extractor, GraphEstimate, GraphResult, GraphView
from core.metadata import parsed
from core.ports import Service
from core.types import Filter, Frozen
from ui.running import Tools

Name = Annotated[str, Query(max_length=1000)]


class GraphQuestion(Frozen):
    """Exactly one of `question`, `entity` and `cypher`."""

    question: str = Field(default="", description="in plain language")
    entity: str = Field(default="", description="a name or an id: what it is related to")
    cypher: str = Field(default="", description="read-only Cypher; what it returns is fixed: whole rows")
    hops: int = Field(default=2, ge=1, le=5)
    limit: int = Field(default=50, ge=1, le=1000)
    documents: tuple[str, ...] = Field(default=(), description="ids or names; empty is the whole library")
    filters: Filter = Filter()


def add_graph(router: APIRouter, service: Service, tools: Tools) -> None:
    @router.post("/graph/query")
    async def query_graph(asked: GraphQuestion) -> GraphResult:
        """Relations with the verbatim quotes that state them. Where nothing fits, `rows` is empty and `note` says
        why."""
        return await tools.query_graph(
            asked.question,
            entity=asked.entity,
            cypher=asked.cypher,
            hops=asked.hops,
            limit=asked.limit,
            documents=asked.documents,
            filters=asked.filters,
        )

    @router.get("/graph/view")
    async def graph_view(
        entity: Annotated[Name, Query(description="a name or an id; empty: those with the most relations")] = "",
        hops: Annotated[int, Query(ge=1, le=5)] = 1,
        limit: Annotated[int, Query(ge=1, le=1000, description="entities at most")] = 300,
        document: Annotated[tuple[str, ...], Query(description="id or name; may be repeated")] = (),
        collection: Name = "",
    ) -> GraphView:
        """A part of the graph to be drawn, with a place between 0 and 1 for each entity."""
        filters = parsed(Filter, {"collection": collection})
        return await service.graph_view(entity, hops=hops, limit=limit, documents=document, filters=filters)

    @router.get("/graph/entities")
    async def entities(q: Name = "", limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> list[Entity]:
        """Those with a name like `q`, the likest first; without it those of which most is said."""
        return await service.entities(q, limit=limit)

    @router.get("/graph/estimate")
    async def estimate(
        document: Annotated[tuple[str, ...], Query(description="id or name; may be repeated")] = (),
        by: Extractor = "auto",
        passes: Annotated[int, Query(ge=0, le=2, description="0: as the settings say")] = 0,
        again: bool = False,
    ) -> GraphEstimate:
        """What building the graph (`quaere graph build`) would read, and cost at most. Nothing is asked of a model."""
        return await service.estimate_graph(documents=document, by=by, passes=passes, again=again)
