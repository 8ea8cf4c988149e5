"""The application's part that builds the knowledge graph."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from core.errors import LibraryError
from core.graph import Extractor, GraphEstimate, GraphReport
from core.ports import OnEvent
from graph.build import GraphBuilder

_log = logging.getLogger(__name__)


class GraphBuilding:
    _builder: GraphBuilder

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
        return await self._builder.build(chosen, by, passes, again, on_event)

    async def _catch_up(self) -> None:
        try:
            await self._builder.catch_up()
        except LibraryError as error:  # a full disk, say: the next start goes on
            _log.warning("relations were not read from all documents: %s", error.message)
