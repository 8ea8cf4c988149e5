"""The application's part that answers for the knowledge graph, as core.ports.GraphService describes it."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import InvalidInput
from core.graph import Entity, GraphResult, GraphView
from core.settings import Settings
from core.spending import account
from core.types import Filter, Selection
from quaere.graph import KnowledgeGraph


class GraphDoor:
    _graph: KnowledgeGraph
    _settings: Settings

    def _select(self, documents: Sequence[str], filters: Filter | None) -> Selection:
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
        question, entity, cypher = (text.replace("\x00", "").strip() for text in (question, entity, cypher))
        if len([way for way in (question, entity, cypher) if way]) != 1:
            raise InvalidInput("give exactly one of question, entity and cypher", hint="leave the others out")
        chosen = self._select(documents, filters).documents
        with account(self._settings.budget.question):
            if question:
                return await self._graph.ask(question, documents=chosen, hops=hops, limit=limit)
            if entity:
                return await self._graph.about(entity, documents=chosen, hops=hops, limit=limit)
            return await self._graph.match(cypher, documents=chosen, limit=limit)

    async def graph_view(
        self,
        entity: str = "",
        *,
        hops: int = 1,
        limit: int = 300,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
    ) -> GraphView:
        chosen = self._select(documents, filters).documents
        return await self._graph.view(entity, documents=chosen, hops=hops, limit=limit)

    async def entities(self, query: str = "", *, limit: int = 50) -> list[Entity]:
        return await self._graph.entities(query, limit)
