"""Between rows and types."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from core.types import (
    Anchor,
    Chunk,
    Collection,
    Document,
    Figure,
    Job,
    JobError,
    JobRequest,
    Page,
    Span,
    Summary,
    Table,
)

Row = Mapping[str, Any]


def document_row(document: Document) -> dict[str, Any]:
    row = document.model_dump(exclude={"gaps", "added_at", "needs_review"})
    gaps = [gap.model_dump() for gap in document.gaps]
    return row | {
        "gaps": json.dumps(gaps, ensure_ascii=False),
        "added_at": _stamp(document.added_at),
        "tags": json.dumps(document.tags, ensure_ascii=False),
        "fields": json.dumps(document.fields, ensure_ascii=False, sort_keys=True),
        "published_at": _iso(document.published_at),
        "valid_until": _iso(document.valid_until),
    }


def _stamp(time: datetime) -> str:
    """One zone and one length, so that the database's order of strings is the order in time."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def document_of(row: Row) -> Document:
    """`review_undated`, its collection's, is in the row too."""
    values = {key: value for key, value in row.items() if key not in ("embedded_title", "review_undated")}
    undated = not row["published_at"] and not row["valid_until"]
    values |= {key: json.loads(row[key]) for key in ("gaps", "tags", "fields")}
    values["added_at"] = datetime.fromisoformat(row["added_at"])
    return Document.model_validate(values | {"needs_review": undated and bool(row["review_undated"])})


def collection_row(collection: Collection) -> dict[str, Any]:
    fields = [field.model_dump(mode="json") for field in collection.fields]
    return collection.model_dump(exclude={"fields"}) | {"fields": json.dumps(fields, ensure_ascii=False)}


def collection_of(row: Row) -> Collection:
    return Collection.model_validate({**row, "fields": json.loads(row["fields"])})


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


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
    return chunk.model_dump(exclude={"spans"}) | {"spans": packed(chunk.spans), "embed_hash": embed_hash}


def chunk_of(row: Row) -> Chunk:
    fields = {key: value for key, value in row.items() if key not in ("spans", "embed_hash")}
    return Chunk(**fields, spans=unpacked(row["spans"]))


def table_row(document_id: str, number: int, table: Table) -> dict[str, Any]:
    place = {"document_id": document_id, "number": number, "page": table.page}
    return place | {"last_page": max(row.page for row in table.rows), "content": table.model_dump_json()}


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
    row = summary.model_dump(exclude={"spans"}) | {"spans": packed(summary.spans)}
    return row | {"document_id": document_id, "position": position}


def summary_of(row: Row) -> Summary:
    fields = {key: value for key, value in row.items() if key not in ("spans", "document_id", "position")}
    return Summary(**fields, spans=unpacked(row["spans"]))


def job_row(job: Job) -> dict[str, Any]:
    row = job.model_dump(exclude={"error", "created_at", "updated_at"})
    error = job.error.model_dump_json() if job.error else ""
    return row | {"error": error, "created_at": _stamp(job.created_at), "updated_at": _stamp(job.updated_at)}


def job_of(row: Row) -> Job:
    fields = {key: value for key, value in row.items() if key not in ("number", "request")}
    error = JobError.model_validate_json(row["error"]) if row["error"] else None
    times = {key: datetime.fromisoformat(row[key]) for key in ("created_at", "updated_at")}
    return Job(**fields | times | {"error": error})


def request_of(row: Row) -> JobRequest:
    return JobRequest.model_validate_json(row["request"])


def packed(spans: Sequence[Span]) -> str:
    return json.dumps([[span.page, span.start, span.end] for span in spans])


def unpacked(spans: str) -> tuple[Span, ...]:
    return tuple(Span(page=page, start=start, end=end) for page, start, end in json.loads(spans))
