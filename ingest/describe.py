"""Descriptions of a document's figures by a vision model, so that what only a picture shows can be found."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from core.errors import LLMBudget, LLMError, LLMRejected, LLMUnavailable
from core.ledger import Ledger
from core.llm import LLM, Message
from core.prompts import prompt
from core.spending import current
from core.text import embedding_text, text_hash, text_of
from core.types import Chunk, Document, Figure, Span

_LASTING = (LLMUnavailable, LLMRejected, LLMBudget)  # the next figure would meet it too
_TOKENS = 400


class Describer:
    def __init__(self, ledger: Ledger, llm: LLM) -> None:
        self._ledger = ledger
        self._llm = llm

    async def describe(self, document: Document) -> None:
        """Store a description of each figure that was drawn and has none, one call a figure, kept as replies.

        It is found by its own chunk, whose text is the caption. Where the model fails the figure goes without.
        """
        figures = self._ledger.figures_of(document.id)
        todo = [(n, figure) for n, figure in enumerate(figures, 1) if figure.png and not figure.description]
        failed: list[LLMError] = []
        for number, figure in todo:
            if not (failed and isinstance(failed[-1], _LASTING)):
                try:
                    await self._describe(document, number, figure)
                    continue
                except LLMError as error:
                    failed.append(error)
            else:
                failed.append(failed[-1])
        if failed:
            current().note(f"{len(failed)} of {len(todo)} figures were not described: {failed[0].message}")

    async def _describe(self, document: Document, number: int, figure: Figure) -> None:
        asked = Message("user", prompt("describe", caption=figure.caption), (figure.png,))
        reply = await self._llm.complete([asked], max_tokens=_TOKENS)
        text = " ".join(reply.text.split())
        chunk = self._chunk(document, number, figure, text)
        if text and chunk is not None:
            key = text_hash(embedding_text(self._ledger.embedded_title(document.id), chunk.section, chunk.searched))
            self._ledger.store_description(document.id, number, text, chunk, key)

    def _chunk(self, document: Document, number: int, figure: Figure, text: str) -> Chunk | None:
        """A child of the parent that holds the caption; None where none does."""
        chunks = self._ledger.chunks_of(document.id)
        parent = next((c for c in chunks if not c.parent_id and _holds(c.spans, figure.caption_spans)), None)
        if parent is None:
            return None
        pages = {span.page: self._ledger.page(document.id, span.page).text for span in figure.caption_spans}
        return Chunk(
            id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{document.sha256}:description:{number}:{text}")),
            document_id=document.id,
            parent_id=parent.id,
            position=sum(1 for chunk in chunks if chunk.parent_id),
            section=parent.section,
            text=text_of(figure.caption_spans, pages),
            spans=figure.caption_spans,
            kind="description",
            indexed=f"{figure.caption}\n{text}",
        )


def _holds(outer: Sequence[Span], inner: Sequence[Span]) -> bool:
    return bool(inner) and any(
        span.page == inner[0].page and span.start <= inner[0].start and inner[0].start < span.end for span in outer
    )
