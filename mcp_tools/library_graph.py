"""The knowledge graph's calls of a library's handle: each goes to whoever owns the library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from core.graph import Entity, Extractor, GraphEstimate, GraphReport, GraphResult, GraphView
from core.ports import OnEvent, Service
from core.types import Filter

T = TypeVar("T")


class LibraryGraph:
    """`core.ports.GraphService` by `_call`, which the handle gives."""

    async def _call(self, use: Callable[[Service], Awaitable[T]]) -> T:
        raise NotImplementedError

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
        return await self._call(
            lambda service: service.query_graph(
                question, entity=entity, cypher=cypher, hops=hops, limit=limit, documents=documents, filters=filters
            )
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
        return await self._call(
            lambda service: service.graph_view(entity, hops=hops, limit=limit, documents=documents, filters=filters)
        )

    async def entities(self, query: str = "", *, limit: int = 50) -> list[Entity]:
        return await self._call(lambda service: service.entities(query, limit=limit))

    async def estimate_graph(
        self, *, documents: Sequence[str] = (), by: Extractor = "auto", passes: int = 0, again: bool = False
    ) -> GraphEstimate:
        return await self._call(
            lambda service: service.estimate_graph(documents=documents, by=by, passes=passes, again=again)
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
        return await self._call(
            lambda service: service.build_graph(
                documents=documents, by=by, passes=passes, again=again, on_event=on_event
            )
        )
