"""The application's part that builds the knowledge graph."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from core.errors import LibraryError
from core.graph import Extractor, GraphEstimate, GraphReport
from core.ports import OnEvent
from core.settings import Settings
from core.spending import account
from graph.extraction.build import GraphBuilder
from graph.resolve.service import Resolver
from quaere.graph import KnowledgeGraph

_log = logging.getLogger(__name__)


class GraphBuilding:
    _builder: GraphBuilder
    _graph: KnowledgeGraph
    _resolver: Resolver
    _settings: Settings

    def _resolved(self, documents: Sequence[str]) -> tuple[str, ...]:
        """Ids of documents by id or name."""
        raise NotImplementedError

    async def estimate_graph(
        self, *, documents: Sequence[str] = (), by: Extractor = "auto", passes: int = 0, again: bool = False
    ) -> GraphEstimate:
        chosen = self._resolved(documents) if documents else None
        return await asyncio.to_thread(self._builder.estimate, chosen, by, passes, again)

    async def build_graph(
        self,
        *,
        documents: Sequence[str] = (),
        by: Extractor = "auto",
        passes: int = 0,
        again: bool = False,
        on_event: OnEvent | None = None,
    ) -> GraphReport:
        chosen = self._resolved(documents) if documents else None
        report = await self._builder.build(chosen, by, passes, again, on_event)
        if by != "rules" and not report.stopped:
            with account(self._settings.budget.job):
                await self._resolver.ask()
        entities, relations = await self._graph.update()
        return report.model_copy(update={"entities": entities, "relations": relations})

    async def _catch_up(self) -> None:
        try:
            await self._builder.catch_up()
        except LibraryError as error:  # a full disk, say: the next start goes on
            _log.warning("relations were not read from all documents: %s", error.message)
