"""A document's tables and figures together, and its blocks marked where they are a table's, a figure's or a caption."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import pypdfium2 as pdfium

from core.types import Block, Box, Figure, Page, Span, Table
from ingest.captions import captions_of
from ingest.drawing import Drawing
from ingest.figures import Place, figure_of, places_of
from ingest.tables import find_tables
from ingest.words import Word, words_of

_MOSTLY = 0.5  # of a table: where a figure holds more of it, it is a part of the figure
Mark = tuple[Literal["table", "figure", "caption"], int]  # kind, and which one on the page


Words = Sequence[Sequence[Word]]  # those of each page


def find_places(
    pages: Sequence[Page], blocks: Sequence[Block], drawings: Sequence[Drawing], words: Words
) -> list[list[Place]]:
    """The figures of each page."""
    by_page = _by_page(blocks)
    found = []
    for page, drawing, held in zip(pages, drawings, words, strict=True):
        own = by_page.get(page.number, [])
        captions = captions_of(page, own)
        named = any(caption.kind == "figure" for caption in captions)
        found.append(places_of(page, own, held, captions, drawing) if named else [])
    return found


def find_objects(
    document: pdfium.PdfDocument,
    pages: Sequence[Page],
    blocks: Sequence[Block],
    drawings: Sequence[Drawing],
    draw: Callable[[pdfium.PdfDocument, Page, Place], Figure] = figure_of,
) -> tuple[tuple[Table, ...], tuple[Figure, ...], tuple[Block, ...]]:
    """(tables, figures, the blocks marked), each in the order of the pages."""
    words = [words_of(page) for page in pages]
    places = find_places(pages, blocks, drawings, words)
    pictures = [[place.box for place in own] for own in places]
    tables = find_tables(pages, blocks, drawings, words, pictures)
    named = [box for table in tables for box in table.boxes if table.caption]
    kept = [
        (page, place)
        for page, own in zip(pages, places, strict=True)
        for place in own
        if not any(number == page.number and share(place.box, box) > _MOSTLY for number, box in named)
    ]
    figures = tuple(draw(document, page, place) for page, place in kept)
    return tables, figures, mark_blocks(pages, blocks, words, tables, figures)


def rows_apart(pages: Sequence[Page], tables: Sequence[Table]) -> tuple[Page, ...]:
    """The pages with a line break for the blank before each row, so that a row can be quoted alone; nothing moves.

    Where words of two rows stand between each other, as in cells of several lines, they stay together.
    """
    breaks: dict[int, list[int]] = {}
    for table in tables:
        for number, _ in table.boxes:
            stretches = sorted(
                (min(s.start for s in row.spans), max(s.end for s in row.spans))
                for row in table.rows_on(number)
                if row.spans
            )
            last = -1
            for start, end in stretches:
                if start >= last:
                    breaks.setdefault(number, []).append(start - 1)
                last = max(last, end)
    return tuple(_broken(page, breaks[page.number]) if page.number in breaks else page for page in pages)


def _broken(page: Page, places: Iterable[int]) -> Page:
    text = list(page.text)
    for at in places:
        if at >= 0 and text[at] == " ":
            text[at] = "\n"
    return page.model_copy(update={"text": "".join(text)})


def share(box: Box, holder: Box) -> float:
    """How much of the box lies within the holder, 0 to 1."""
    width = min(box[2], holder[2]) - max(box[0], holder[0])
    height = min(box[3], holder[3]) - max(box[1], holder[1])
    return max(width, 0.0) * max(height, 0.0) / max((box[2] - box[0]) * (box[3] - box[1]), 1e-6)


def mark_blocks(
    pages: Sequence[Page], blocks: Sequence[Block], words: Words, tables: Sequence[Table], figures: Sequence[Figure]
) -> tuple[Block, ...]:
    """The same text in the same order: blocks cut where a table, a figure's labels or a caption begins or ends."""
    marks = _marks(pages, words, tables, figures)
    texts = {page.number: page.text for page in pages}
    found: list[Block] = []
    last: Mark | None = None
    for block in blocks:
        own = marks.get(block.span.page)
        if own is None:
            found.append(block)
            last = None
            continue
        text = texts[block.span.page]
        for start, end, mark in _runs(text, block.span, own):
            before = found[-1].span if found else None
            joined = before is not None and before.page == block.span.page and not text[before.end : start].strip()
            if mark is not None and mark == last and joined and before is not None:
                found[-1] = found[-1].model_copy(update={"span": before.model_copy(update={"end": end})})
            else:
                span = Span(page=block.span.page, start=start, end=end)
                kind = mark[0] if mark else block.kind
                found.append(Block(kind=kind, span=span, level=0 if mark else block.level))
            last = mark
    return tuple(found)


def _by_page(blocks: Iterable[Block]) -> dict[int, list[Block]]:
    found: dict[int, list[Block]] = {}
    for block in blocks:
        found.setdefault(block.span.page, []).append(block)
    return found


def _marks(
    pages: Sequence[Page], words: Words, tables: Sequence[Table], figures: Sequence[Figure]
) -> dict[int, list[Mark | None]]:
    """For each page with a table or a figure, what each of its characters is of."""
    lengths = {page.number: len(page.text) for page in pages}
    found: dict[int, list[Mark | None]] = {}

    def mark(span: Span, what: Mark) -> None:
        own = found.setdefault(span.page, [None] * lengths[span.page])
        for at in range(span.start, span.end):
            own[at] = what

    held = {page.number: own for page, own in zip(pages, words, strict=True)}
    for number, figure in enumerate(figures):
        for word in held[figure.page]:
            if share(word.box, figure.box) > 0.9:
                mark(Span(page=figure.page, start=word.start, end=word.end), ("figure", number))
        for span in figure.caption_spans:
            mark(span, ("caption", number))
    for number, table in enumerate(tables):
        for span in table.caption_spans:
            mark(span, ("caption", len(figures) + number))
        for row in table.rows:
            for span in row.spans:
                mark(span, ("table", number))
    return found


def _runs(text: str, span: Span, marks: Sequence[Mark | None]) -> Iterator[tuple[int, int, Mark | None]]:
    """(start, end, mark) of stretches of one mark, without the blanks around them."""
    start, end = span.start, span.start
    current: Mark | None = None
    for at in range(span.start, span.end):
        if text[at].isspace():
            continue
        if end > start and marks[at] != current:
            yield start, end, current
            start = at
        elif end == start:
            start = at
        current = marks[at]
        end = at + 1
    if end > start:
        yield start, end, current
