"""Pieces of a file that has no printed pages, put on pages.

Where the file says its page breaks (DOCX, form feeds), those are the pages. Elsewhere a page begins at each heading of
the outermost level that occurs more than once. What is longer than PAGE_CHARS is cut evenly, between two pieces and
best before a heading, so a page can always be read at one glance.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from core.errors import InvalidInput, NoText
from core.text import clean, sentences
from core.types import Anchor, Block, Gap, Page, Span
from ingest.headings import opens_references
from ingest.pdf import ParsedDocument

PAGE_CHARS = 3000
_LONGEST_HEADING = 300
_HEADINGS_IN_A_ROW = 12  # more are no outline: their nesting would cost the chunker quadratic time
_LINE = re.compile(r"[^\n]+")
_SLUG_DROPPED = re.compile(r"[^\w\- ]")

Kind = Literal["heading", "text", "list", "table", "caption", "footnote"]


@dataclass(frozen=True)
class Piece:
    """A heading, paragraph, list item, table (a row a line, the header first), code, caption or footnote."""

    kind: Kind
    text: str
    level: int = 0  # of a heading, 1 is the outermost
    anchor: str = ""
    new_page: bool = False  # the file has a page break before it


def paged(name: str, title: str, pieces: Iterable[Piece], max_pages: int, gaps: tuple[Gap, ...] = ()) -> ParsedDocument:
    """The document of these pieces. Raises NoText, InvalidInput (more than `max_pages`)."""
    tidy = list(_split(_tidied(pieces)))
    if not tidy:
        raise NoText(f"{name} has no text", hint="nothing but blanks, markup or pictures is in it")
    builder = _Builder()
    for page in _pages(tidy):
        if len(builder.pages) == max_pages:
            raise InvalidInput(
                f"{name} has more than the {max_pages:,} pages allowed, at about {PAGE_CHARS:,} characters a page",
                hint="raise QUAERE_INGEST__MAX_PAGES",
            )
        builder.add(page)
    title = " ".join(clean(title).split())[:300]
    return ParsedDocument(title=title, pages=tuple(builder.pages), blocks=tuple(builder.blocks), gaps=gaps)


def check_length(name: str, text: str, max_pages: int) -> None:
    """Before a parser that is slow is given a text that will have too many pages in any case."""
    if len(text) > 4 * PAGE_CHARS * max_pages:
        raise InvalidInput(
            f"{name} has {len(text):,} characters, more than {max_pages:,} pages hold",
            hint="raise QUAERE_INGEST__MAX_PAGES",
        )


def one_line(text: str) -> str:
    return " ".join(text.split())


def row_text(cells: Sequence[str]) -> str:
    """A table's row as it is read: 'a | b | c'."""
    return " | ".join(one_line(cell) for cell in cells).strip()


def table_text(rows: Iterable[Sequence[str]]) -> str:
    """A row a line; rows without any text are left out."""
    return "\n".join(row_text(row) for row in rows if any(cell.strip() for cell in row))


def slug(heading: str) -> str:
    """A heading's name in the address of a rendered page, as GitHub and most generators make it."""
    text = unicodedata.normalize("NFC", heading).strip().lower()
    return _SLUG_DROPPED.sub("", text).replace(" ", "-")


class Slugs:
    """Slugs of one document: the second of a name is 'name-1'."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, heading: str) -> str:
        name = slug(heading)
        count = self._seen[name]
        self._seen[name] += 1
        return f"{name}-{count}" if count else name


def _tidied(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Cleaned, the empty ones dropped; their page break and anchor go to the piece after them."""
    anchor, new_page, in_a_row = "", False, 0
    for piece in pieces:
        text = "\n".join(line.rstrip() for line in clean(piece.text).split("\n")).strip("\n").rstrip()
        if piece.kind != "text":
            text = text.strip()
        new_page = new_page or piece.new_page
        anchor = piece.anchor or anchor
        if not text.strip():
            continue
        kind, level = piece.kind, piece.level
        if kind == "heading":
            text, in_a_row = one_line(text), in_a_row + 1
            if in_a_row > _HEADINGS_IN_A_ROW or len(text) > _LONGEST_HEADING:
                kind, level = "text", 0
        else:
            in_a_row = 0
        yield Piece(kind, text, level, anchor, new_page)
        anchor, new_page = "", False


def _split(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Pieces of at most about a page: longer ones are cut between lines or sentences, tables under their header."""
    for piece in pieces:
        if len(piece.text) <= PAGE_CHARS:
            yield piece
            continue
        header = piece.text.split("\n", 1)[0] if piece.kind == "table" else ""
        for number, text in enumerate(_cut(piece.text, by_line=piece.kind == "table")):
            if not number:
                yield replace(piece, text=text)
            else:
                repeated = f"{header}\n" if 0 < len(header) < PAGE_CHARS // 4 else ""
                yield Piece(piece.kind, repeated + text)


def _cut(text: str, by_line: bool) -> Iterator[str]:
    whole = [match.span() for match in _LINE.finditer(text)] if by_line else sentences(text)
    start = end = 0
    for first, last in _bits(text, whole):
        if end > start and last - start > PAGE_CHARS:
            yield text[start:end]
            start = first
        end = last
    yield text[start:end]


def _bits(text: str, whole: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Sentences or lines; one that is longer than a page is cut at blanks, or where there are none, anywhere."""
    for start, end in whole:
        while end - start > PAGE_CHARS:
            cut = text.rfind(" ", start + PAGE_CHARS // 2, start + PAGE_CHARS)
            cut = cut if cut > 0 else start + PAGE_CHARS
            yield start, cut
            start = cut
        yield start, end


def _pages(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    has_breaks = any(piece.new_page for piece in pieces[1:])
    top = 0 if has_breaks else _top_level(pieces)
    section: list[Piece] = []
    for piece in pieces:
        opens = piece.new_page if has_breaks else 0 < piece.level <= top and any(not p.level for p in section)
        if opens and section:
            yield from _even(section)
            section = []
        section.append(piece)
    yield from _even(section)


def _top_level(pieces: Sequence[Piece]) -> int:
    """The outermost level of which there are several headings; a lone first heading is the title."""
    counts = Counter(piece.level for piece in pieces if piece.level)
    return next((level for level in sorted(counts) if counts[level] > 1), 0)


def _even(section: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The section on as many pages as it needs, of about equal length; none ends with a heading."""
    count = max(1, round(sum(len(piece.text) + 1 for piece in section) / PAGE_CHARS))
    target = sum(len(piece.text) + 1 for piece in section) / count
    page: list[Piece] = []
    done, pages = 0, 1
    for piece in section:
        size = len(piece.text) + 1
        missing = pages * target - done  # until the page is full; a heading may come a little early
        if page and pages < count and (missing < size / 2 or (piece.level and missing < 0.3 * target)):
            kept = _without_last_headings(page)
            yield page[:kept]
            page = page[kept:]
            pages += 1
        page.append(piece)
        done += size
    yield page


def _without_last_headings(page: Sequence[Piece]) -> int:
    kept = len(page)
    while kept > 1 and page[kept - 1].level:
        kept -= 1
    return kept if not page[kept - 1].level else len(page)


class _Builder:
    """Pages one after the other; the section of references and the last anchor go on from page to page."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.blocks: list[Block] = []
        self._anchor = ""
        self._references = 0  # level of the heading under which they stand

    def add(self, pieces: Sequence[Piece]) -> None:
        number = len(self.pages) + 1
        parts: list[str] = []
        anchors = [Anchor(start=0, name=self._anchor)] if self._anchor and not pieces[0].anchor else []
        at = 0
        for piece in pieces:
            if piece.anchor:
                anchors.append(Anchor(start=at, name=piece.anchor))
                self._anchor = piece.anchor
            span = Span(page=number, start=at, end=at + len(piece.text))
            self.blocks.append(Block(kind=self._kind(piece), span=span, level=piece.level))
            parts.append(piece.text)
            at = span.end + 1
        text = "\n".join(parts)
        self.pages.append(
            Page(
                number=number,
                width=0,
                height=0,
                text=text,
                boxes=np.zeros((0, 4), dtype=np.float32),
                anchors=tuple(anchors),
            )
        )

    def _kind(self, piece: Piece) -> Literal["heading", "text", "list", "table", "caption", "footnote", "reference"]:
        if piece.level:
            if not self._references or piece.level <= self._references:
                self._references = piece.level if opens_references(piece.text) else 0
            return "heading"
        if self._references and piece.kind in ("text", "list"):
            return "reference"
        return piece.kind
