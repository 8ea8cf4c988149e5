"""The knowledge graph of a library that another process owns."""

from __future__ import annotations

from collections.abc import Sequence

from core.graph import Entity, Extractor, GraphEstimate, GraphReport, GraphView
from core.ports import OnEvent
from core.types import Filter
from mcp_tools.client import ToolClient, sent
from mcp_tools.graph_tools import EntityList


class RemoteGraph(ToolClient):
    """`core.ports.GraphService` over the owner's door; `query_graph` is a tool that everybody has."""

    async def graph_view(
        self,
        entity: str = "",
        *,
        hops: int = 1,
        limit: int = 300,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
    ) -> GraphView:
        arguments = {"entity": entity, "hops": hops, "limit": limit, "documents": list(documents)} | sent(filters)
        return await self.get("library_graph_view", arguments, GraphView)

    async def entities(self, query: str = "", *, limit: int = 50) -> list[Entity]:
        return (await self.get("library_entities", {"query": query, "limit": limit}, EntityList)).entities

    async def estimate_graph(
        self, *, documents: Sequence[str] = (), by: Extractor = "auto", passes: int = 0, again: bool = False
    ) -> GraphEstimate:
        arguments = {"documents": list(documents), "by": by, "passes": passes, "again": again}
        return await self.get("library_estimate_graph", arguments, GraphEstimate)

    async def build_graph(
        self,
        *,
        documents: Sequence[str] = (),
        by: Extractor = "auto",
        passes: int = 0,
        again: bool = False,
        on_event: OnEvent | None = None,
    ) -> GraphReport:
        arguments = {"documents": list(documents), "by": by, "passes": passes, "again": again}
        return await self.get("library_build_graph", arguments, GraphReport, on_event)
