"""The retriever: runs a route's channels and returns passages to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anyio import to_thread

from agents.rewriter import Rewriter
from core.errors import NothingIngested
from core.types import Document, Route
from retrieval.search import Found, HybridSearch, Rewritten


class Retriever:
    def __init__(self, search: HybridSearch, top_k: int, rewriter: Rewriter | None = None) -> None:
        self._search = search
        self._top_k = top_k
        self._rewriter = rewriter

    async def retrieve(self, route: Route, library: Sequence[Document]) -> Found:
        """Passages, best first; of an overview those that the summaries rest on come before what the search found.

        `library` are the documents that are searched. Raises NothingIngested where none is ready.
        """
        if not len(self._search.bm25):
            raise NothingIngested("no document is ready to be asked", hint="add one: `quaere add paper.pdf`")
        rewritten = await self._rewriter.rewrite(route.question, library) if self._rewriter else Rewritten()
        # anyio's thread, since a reranker may call the language model, which belongs to this loop.
        return await to_thread.run_sync(self._retrieve, route, rewritten, abandon_on_cancel=True)

    def _retrieve(self, route: Route, rewritten: Rewritten) -> Found:
        found = self._search.search(
            route.question, top_k=self._top_k, documents=route.documents, rewritten=rewritten, explain=True
        )
        if route.kind != "summary":
            return found
        lead = self._search.overview(route.documents)
        known = {passage.chunk_id for passage in lead}
        passages = (*lead, *(passage for passage in found.passages if passage.chunk_id not in known))
        return replace(found, passages=passages[: max(self._top_k, len(lead))])
