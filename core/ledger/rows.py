"""Between rows and types."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from core.types import Anchor, Chunk, Document, Figure, Gap, Page, Span, Summary, Table

Row = Mapping[str, Any]


def document_row(document: Document) -> dict[str, Any]:
    row = document.model_dump(exclude={"gaps", "added_at"})
    gaps = [gap.model_dump() for gap in document.gaps]
    # One zone and one length, so that the database's order of strings is the order in time.
    added_at = document.added_at.astimezone(UTC).isoformat(timespec="microseconds")
    return row | {"gaps": json.dumps(gaps, ensure_ascii=False), "added_at": added_at}


def document_of(row: Row) -> Document:
    gaps = tuple(Gap(**gap) for gap in json.loads(row["gaps"]))
    return Document(**{**row, "gaps": gaps, "added_at": datetime.fromisoformat(row["added_at"])})


def page_row(document_id: str, page: Page) -> dict[str, Any]:
    boxes = np.asarray(page.boxes, dtype=np.float32).tobytes()
    return {
        "document_id": document_id,
        "number": page.number,
        "width": page.width,
        "height": page.height,
        "text": page.text,
        "boxes": zlib.compress(boxes, 1),
        "anchors": json.dumps([[anchor.start, anchor.name] for anchor in page.anchors], ensure_ascii=False),
        "ocr": page.ocr,
    }


def page_of(row: Row) -> Page:
    boxes = np.frombuffer(zlib.decompress(row["boxes"]), dtype=np.float32).reshape(-1, 4)
    return Page(
        number=row["number"],
        width=row["width"],
        height=row["height"],
        text=row["text"],
        boxes=boxes,
        anchors=tuple(Anchor(start=start, name=name) for start, name in json.loads(row["anchors"])),
        ocr=bool(row["ocr"]),
    )


def chunk_row(chunk: Chunk, embed_hash: str) -> dict[str, Any]:
    return chunk.model_dump(exclude={"spans"}) | {"spans": _packed(chunk.spans), "embed_hash": embed_hash}


def chunk_of(row: Row) -> Chunk:
    fields = {key: value for key, value in row.items() if key not in ("spans", "embed_hash")}
    return Chunk(**fields, spans=_unpacked(row["spans"]))


def table_row(document_id: str, number: int, table: Table) -> dict[str, Any]:
    return {"document_id": document_id, "number": number, "page": table.page, "content": table.model_dump_json()}


def table_of(row: Row) -> Table:
    return Table.model_validate_json(row["content"])


def figure_row(document_id: str, number: int, figure: Figure) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "number": number,
        "page": figure.page,
        "content": figure.model_dump_json(exclude={"png", "description"}),
        "description": figure.description,
        "png": figure.png,
    }


def figure_of(row: Row) -> Figure:
    figure = Figure.model_validate_json(row["content"])
    return figure.model_copy(update={"description": row["description"], "png": bytes(row.get("png") or b"")})


def summary_row(document_id: str, position: int, summary: Summary) -> dict[str, Any]:
    row = summary.model_dump(exclude={"spans"}) | {"spans": _packed(summary.spans)}
    return row | {"document_id": document_id, "position": position}


def summary_of(row: Row) -> Summary:
    fields = {key: value for key, value in row.items() if key not in ("spans", "document_id", "position")}
    return Summary(**fields, spans=_unpacked(row["spans"]))


def _packed(spans: Sequence[Span]) -> str:
    return json.dumps([[span.page, span.start, span.end] for span in spans])


def _unpacked(spans: str) -> tuple[Span, ...]:
    return tuple(Span(page=page, start=start, end=end) for page, start, end in json.loads(spans))
