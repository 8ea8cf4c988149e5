"""Passages as a search gives them, and a library that gives those it is told to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.types import ChannelHit, Filter, Passage, SearchResult, Span, TraceStep
from tests.support.fake_service import FakeService


def passage(document: str, *pages: int, text: str = "nothing of note", rank: int = 1) -> Passage:
    return Passage(
        chunk_id=f"{document}-{pages}-{rank}",
        document_id=document,
        document=document,
        title=document,
        page=pages[0],
        text=text,
        spans=tuple(Span(page=page, start=0, end=len(text)) for page in pages),
        best_child=text,
        score=1 / rank,
        channels=(ChannelHit(channel="bm25", rank=rank, score=1.0),),
    )


def place(doc: str, page: int | None, quote: str = "", **more: Any) -> dict[str, Any]:
    return {"doc": doc, "page": page, "quote": quote, **more}


def row(question: str, *evidence: dict[str, Any], type: str = "fact", lang: str = "en", **more: Any) -> dict[str, Any]:
    return {"question": question, "type": type, "lang": lang, "evidence": list(evidence), **more}


def written(file: Path, *rows: object) -> Path:
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return file


class ScriptedSearch(FakeService):
    """Gives for each question its passages, up to top_k; what is not in the script finds nothing."""

    def __init__(self, found: Mapping[str, Sequence[Passage]], *names: str, trace: tuple[TraceStep, ...] = ()) -> None:
        super().__init__(*names)
        self.found = found
        self.trace_of_search = trace
        self.asked: list[tuple[str, int, tuple[str, ...]]] = []

    async def search_passages(
        self,
        query: str,
        *,
        top_k: int = 6,
        channels: Sequence[str] = (),
        documents: Sequence[str] = (),
        filters: Filter | None = None,
        explain: bool = False,
    ) -> SearchResult:
        self.asked.append((query, top_k, tuple(channels)))
        passages = tuple(self.found.get(query, ()))[:top_k]
        return SearchResult(query=query, passages=passages, trace=self.trace_of_search)
