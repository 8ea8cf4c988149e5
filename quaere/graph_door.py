"""The application's part that answers for the knowledge graph, as core.ports.GraphService describes it."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import NothingIngested
from core.graph import Entity, GraphResult, GraphView
from core.types import Filter


class GraphDoor:
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
        raise _nothing()

    async def graph_view(
        self,
        entity: str = "",
        *,
        hops: int = 1,
        limit: int = 300,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
    ) -> GraphView:
        raise _nothing()

    async def entities(self, query: str = "", *, limit: int = 50) -> list[Entity]:
        raise _nothing()


def _nothing() -> NothingIngested:
    return NothingIngested("the library has no knowledge graph", hint="ask with `quaere ask`, or search for passages")
