"""Which figure a quote speaks of, and where the rows of a table that it quotes stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from core.text import line_boxes
from core.types import Box, Figure, FigureRef, Page, Span, Table, TableRow

_NAMED = re.compile(
    r"\b(?:fig(?:ure|\.)?|abb(?:ildung|\.)?|figura)\s*([A-Z]?\d{1,3})|[图圖図]\s*(\d{1,3})", re.IGNORECASE
)


def figure_of(
    quote: str,
    spans: Sequence[Span],
    boxes: Sequence[tuple[int, Box]],
    passage: Sequence[Span],
    known: Sequence[Figure],
) -> FigureRef | None:
    """The figure whose caption or labels the quote holds, else the one it names, else the nearest of the page whose
    caption the passage holds. `known` are all of the document; `boxes` are (page, box) of the quote."""
    near = [span for span in passage if span.page == spans[0].page]
    held = (
        [f for f in known if _meet(f.caption_spans, spans)]
        or [f for f in known if any(page == f.page and _inside(box, f.box) for page, box in boxes)]
        or [f for f in known if _numbers(f.caption[:30])[:1] and _numbers(f.caption[:30])[0] in _numbers(quote)]
        or sorted((f for f in known if _meet(f.caption_spans, near)), key=lambda f: _distance(f, spans[0]))
    )
    if not held:
        return None
    number = next(at for at, figure in enumerate(known, 1) if figure is held[0])
    return FigureRef(number=number, page=held[0].page, caption=held[0].caption, description=held[0].description)


def boxes_of(page: Page, span: Span, tables: Sequence[Table]) -> tuple[Box, ...]:
    """Boxes to highlight for a stretch of the page: one a line of text, and of a table one a row or cell."""
    rows = [row for table in tables for row in table.rows_on(page.number) if _meet(row.spans, [span])]
    text = [box for start, end in _outside(span, rows) for box in line_boxes(page, start, end)]
    return (*text, *(box for row in rows for box in _row_boxes(row, span)))


def _row_boxes(row: TableRow, span: Span) -> Sequence[Box]:
    filled = [cell for cell in row.cells if cell.spans and not cell.repeated]
    quoted = [cell for cell in filled if _meet(cell.spans, [span])]
    return [row.box] if len(quoted) == len(filled) else [cell.box for cell in quoted]


def _outside(span: Span, rows: Sequence[TableRow]) -> Iterator[tuple[int, int]]:
    """(start, end) of the stretches of the span that are in none of the rows."""
    start = span.start
    for own in sorted((own for row in rows for own in row.spans), key=lambda own: own.start):
        if start < min(own.start, span.end):
            yield start, min(own.start, span.end)
        start = max(start, own.end)
    if start < span.end:
        yield start, span.end


def _numbers(text: str) -> list[str]:
    return [match[1] or match[2] for match in _NAMED.finditer(text)]


def _meet(some: Sequence[Span], others: Sequence[Span]) -> bool:
    return any(a.page == b.page and a.start < b.end and b.start < a.end for a in some for b in others)


def _inside(box: Box, outer: Box) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def _distance(figure: Figure, span: Span) -> int:
    return min(abs(own.start - span.start) for own in figure.caption_spans)
