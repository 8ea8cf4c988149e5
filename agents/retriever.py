"""The retriever: runs a route's channels and returns passages to read."""

from __future__ import annotations

from anyio import to_thread

from core.errors import NothingIngested
from core.types import Passage, Route
from retrieval.search import HybridSearch


class Retriever:
    def __init__(self, search: HybridSearch, top_k: int) -> None:
        self._search = search
        self._top_k = top_k

    async def retrieve(self, route: Route) -> tuple[Passage, ...]:
        """Passages, best first; of an overview those that the summaries rest on come before what the search found.

        Raises NothingIngested where no document is ready.
        """
        # anyio's thread, since a reranker may call the language model, which belongs to this loop.
        return await to_thread.run_sync(self._retrieve, route, abandon_on_cancel=True)

    def _retrieve(self, route: Route) -> tuple[Passage, ...]:
        if not len(self._search.bm25):
            raise NothingIngested("no document is ready to be asked", hint="add one: `quaere add paper.pdf`")
        found = self._search.search(
            route.question, top_k=self._top_k, channels=route.channels, documents=route.documents
        )
        if route.kind != "summary":
            return found
        lead = self._search.overview(route.documents)
        known = {passage.chunk_id for passage in lead}
        return (*lead, *(passage for passage in found if passage.chunk_id not in known))[: max(self._top_k, len(lead))]
