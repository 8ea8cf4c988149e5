"""Chunks: parents within a section for reading, children of whole sentences inside them for finding.

A document is a row of units: sentences, headings, and pieces of what has no sentences. A chunk is a run of
neighbouring units, so its spans are exact, one a page, and no word is left out or in two chunks of one level.
A table is a row of units too, one a row: a parent holds it whole where it fits, children hold whole rows of it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from core.text import sentences, text_of
from core.types import Block, Chunk, Span
from ingest.pdf import ParsedDocument
from ingest.table_units import FIGURE, Group, Objects

SEPARATOR = " › "
_WHOLE = ("list", "caption", "formula", "footnote")  # kinds that are not cut where they fit
_INDEXED = 2  # times a child's size: what is indexed for rows is longer than they, by the names of their columns
_SMALL_SECTION = 0.3  # of a parent: a section shorter than this is put together with its neighbour
_WORD = re.compile(r"\w")
_CLOSED = re.compile(r"[.!?:;。！？：][\"'”’)\]」』）]*$")


@dataclass(frozen=True)
class _Unit:
    page: int
    start: int
    end: int
    path: tuple[str, ...]
    heading: int  # its level, 0 for what is no heading
    reference: bool
    opens: bool  # the first unit of its block
    tied: bool  # to the unit after it: a heading, or a sentence that runs on over the page's end
    group: Group | None = None
    rows: tuple[int, ...] = ()  # of the table, where it is of one


_Run = Sequence[_Unit]


def chunk_document(
    document_id: str, sha256: str, parsed: ParsedDocument, child_chars: int, parent_chars: int
) -> tuple[list[Chunk], list[Chunk]]:
    """(parents, children), each in the order of the text, the footnotes behind all. A word is in one parent, one child.

    A parent has at most `parent_chars` characters; a child about `child_chars`, and at most a quarter more.
    A chunk's text is the text of its spans, one line break between two (core.text.text_of), so it can be cited.
    Of a table's rows, caption and columns' names are indexed with them (Chunk.indexed).
    """
    texts = {page.number: page.text for page in parsed.pages}
    objects = Objects(parsed)
    maker = _Maker(document_id, sha256, texts, objects)
    parents: list[Chunk] = []
    children: list[Chunk] = []
    limit = min(child_chars * 5 // 4, parent_chars)
    body, notes = _apart(parsed.blocks)
    units = _whole_tables(_units(body, texts, min(child_chars, parent_chars), objects), parent_chars)
    paths = {unit.page: unit.path for unit in units}
    footnotes = _units(notes, texts, min(child_chars, parent_chars), objects, paths)
    for section in [*_sections(units, parent_chars), *_by_page(footnotes)]:
        for run in _filled(section, parent_chars, parent_chars):
            parent = maker.make("parent", len(parents), run)
            parents.append(parent)
            for group, segment in _segments(run):
                if group is None or group == FIGURE:
                    parts = _filled(segment, child_chars, limit)
                else:
                    parts = maker.rows_filled(group, segment, child_chars * _INDEXED, limit)
                for part in parts:
                    children.append(maker.make("child", len(children), part, parent.id, group))
    return parents, children


def _whole_tables(units: _Run, parent_chars: int) -> list[_Unit]:
    """Each table with its caption, and each figure's labels with its caption, tied together where a parent holds it."""
    found: list[_Unit] = []
    for group, run in groupby(units, key=lambda unit: unit.group):
        own = list(run)
        if group is not None and _size(own) <= parent_chars:
            own = [*(replace(unit, tied=True) for unit in own[:-1]), own[-1]]
        found += own
    return found


def _segments(run: _Run) -> list[tuple[Group | None, list[_Unit]]]:
    """Tables and figures apart from the text, each with the heading right before it."""
    found: list[tuple[Group | None, list[_Unit]]] = []
    for group, part in groupby(run, key=lambda unit: unit.group):
        own = [unit if group is None else replace(unit, tied=False) for unit in part]
        before = found[-1][1] if found else []
        headings: list[_Unit] = []
        while group is not None and found and found[-1][0] is None and before and before[-1].heading:
            headings.insert(0, before.pop())
        if found and not before:
            found.pop()
        found.append((group, [*headings, *own]))
    return found


@dataclass(frozen=True)
class _Maker:
    document_id: str
    sha256: str
    texts: dict[int, str]
    objects: Objects

    def make(self, level: str, position: int, run: _Run, parent: str = "", group: Group | None = None) -> Chunk:
        spans = _spans(run)
        text = text_of(spans, self.texts)
        body = next((unit for unit in run if not unit.heading), run[-1])
        return Chunk(
            id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.sha256}:{level}:{position}:{text}")),
            document_id=self.document_id,
            parent_id=parent,
            position=position,
            section=SEPARATOR.join(body.path),
            text=text,
            spans=spans,
            is_reference=body.reference,
            kind="table" if group and group != FIGURE else "text",
            indexed=self._indexed(group, run) if group and group != FIGURE else "",
        )

    def _indexed(self, group: Group, run: _Run) -> str:
        rows = tuple(dict.fromkeys(row for unit in run for row in unit.rows))
        return self.objects.indexed(group, rows, text_of(_spans(run), self.texts))

    def rows_filled(self, group: Group, run: _Run, target: int, limit: int) -> list[list[_Unit]]:
        """Whole rows, as many as are indexed by about `target` characters and have at most `limit` themselves."""
        every = len(self._indexed(group, run))
        caption = self.objects.caption_chars(group)
        even = caption + (every - caption) / -(-every // target)
        found: list[list[_Unit]] = [[]]
        for unit in run:
            piece = [*found[-1], unit]
            if found[-1] and (_size(piece) > limit or len(self._indexed(group, piece)) > even * 1.1):
                found.append([])
            found[-1].append(unit)
        return found


def _spans(run: _Run) -> tuple[Span, ...]:
    """One span a page, from its first unit to its last."""
    ends: dict[int, tuple[int, int]] = {}
    for unit in run:
        start = ends[unit.page][0] if unit.page in ends else unit.start
        ends[unit.page] = (start, unit.end)
    return tuple(Span(page=page, start=start, end=end) for page, (start, end) in ends.items())


def _size(run: _Run) -> int:
    """Length of the run's text."""
    spans = _spans(run)
    return sum(span.end - span.start for span in spans) + len(spans) - 1


def _apart(blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """(the text, the footnotes that end their page): a run of either is one stretch of a page."""
    ends = {block.span.page: block.span.end for block in blocks if block.kind != "footnote"}
    notes = [b for b in blocks if b.kind == "footnote" and b.span.start >= ends.get(b.span.page, 0)]
    known = {id(block) for block in notes}
    return [block for block in blocks if id(block) not in known], notes


def _by_page(units: _Run) -> list[list[_Unit]]:
    return [list(run) for _, run in groupby(units, key=lambda unit: unit.page)]


def _units(
    blocks: Sequence[Block],
    texts: dict[int, str],
    limit: int,
    objects: Objects,
    paths: Mapping[int, tuple[str, ...]] | None = None,
) -> list[_Unit]:
    """`paths`: the section that each page ends in, for footnotes, which are under no heading of their own."""
    found: list[_Unit] = []
    path: list[tuple[int, str]] = []
    for at, block in enumerate(blocks):
        text = texts[block.span.page][block.span.start : block.span.end]
        if block.kind == "heading":
            path = [(level, name) for level, name in path if level < block.level] + [(block.level, text)]
        group = objects.group_of(block)
        pieces = _cut(block, text, limit, objects, group)
        runs_on = _runs_on(text, blocks[at + 1 : at + 2], block.span.page, texts)
        for number, (start, end, rows) in enumerate(pieces):
            found.append(
                _Unit(
                    page=block.span.page,
                    start=block.span.start + start,
                    end=block.span.start + end,
                    path=paths.get(block.span.page, ()) if paths is not None else tuple(name for _, name in path),
                    heading=block.level if block.kind == "heading" else 0,
                    reference=block.kind == "reference",
                    opens=number == 0,
                    tied=block.kind == "heading" or (runs_on and number == len(pieces) - 1),
                    group=group,
                    rows=rows,
                )
            )
    return found


def _cut(
    block: Block, text: str, limit: int, objects: Objects, group: Group | None
) -> list[tuple[int, int, tuple[int, ...]]]:
    """(start, end, rows) of the block's pieces, in its text: a table's rows, a whole item or caption, or sentences."""
    found: list[tuple[int, int, tuple[int, ...]]] = []
    if block.kind == "table" and group is not None:
        for piece in objects.pieces(block, group, text):
            if piece.end - piece.start <= limit:
                found.append((piece.start, piece.end, piece.rows))
            else:
                own = _pieces(text[piece.start : piece.end], limit)
                found += [(piece.start + start, piece.start + end, ()) for start, end in own]
    elif block.kind in _WHOLE and len(text) <= limit:
        found = [(0, len(text), ())]
    else:
        found = [(start, end, ()) for start, end in _pieces(text, limit)]
    return [(start, end, rows) for start, end, rows in found if _WORD.search(text, start, end)]


def _runs_on(text: str, following: Sequence[Block], page: int, texts: dict[int, str]) -> bool:
    """Whether the block's last sentence goes on in the next block, on the next page."""
    if not following or following[0].span.page == page or following[0].kind == "heading" or _CLOSED.search(text):
        return False
    span = following[0].span
    return texts[span.page][span.start : span.start + 1].islower()


def _pieces(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Sentences; one of more than `limit` characters is cut at blanks, or where there are none, anywhere."""
    for start, end in sentences(text):
        while end - start > limit:
            cut = text.rfind(" ", start + limit // 2, start + limit + 1)
            cut = cut if cut > 0 else start + limit
            yield start, cut
            start = cut
            while text[start].isspace():
                start += 1
        yield start, end


def _sections(units: _Run, parent_chars: int) -> list[list[_Unit]]:
    """Runs that a parent stays within: they begin at headings of level 1 and 2, and where the references begin."""
    found: list[list[_Unit]] = []
    for unit in units:
        if not found or _opens_section(found[-1], unit, parent_chars):
            found.append([])
        found[-1].append(unit)
    return found


def _opens_section(run: _Run, unit: _Unit, parent_chars: int) -> bool:
    if unit.reference != run[-1].reference and not _only_heading(run):
        return True
    return 0 < unit.heading <= 2 and not _is_small(run, unit, parent_chars)


def _only_heading(run: _Run) -> bool:
    return all(unit.heading for unit in run)


def _is_small(run: _Run, heading: _Unit, parent_chars: int) -> bool:
    """Whether the section is too small to stand alone; never a chapter's last crumb put with the next chapter."""
    if _only_heading(run):
        return True
    return heading.heading > 1 and not run[-1].reference and _size(run) < _SMALL_SECTION * parent_chars


def _filled(run: _Run, target: int, limit: int) -> list[list[_Unit]]:
    """The run cut into pieces of about equal size near `target` and at most `limit`, best at a block's begin."""
    count = -(-_size(run) // target)
    even = _size(run) / max(count, 1)
    found: list[list[_Unit]] = [[]]
    for at, unit in enumerate(run):
        piece = found[-1]
        if piece:
            grown = _size([*piece, unit])
            ahead = _size([*piece, *_bundle(run, at)])
            free = not piece[-1].tied
            full = ahead > max(even * 1.1, even + 60) or (unit.opens and _size(piece) > even * 0.85)
            if grown > limit or (free and (ahead > limit or full)):
                found.append([])
        found[-1].append(unit)
    return _without_crumb(found, target, limit)


def _bundle(run: _Run, at: int) -> _Run:
    """The unit and those that it is tied to."""
    end = at
    while run[end].tied and end + 1 < len(run):
        end += 1
    return run[at : end + 1]


def _without_crumb(pieces: list[list[_Unit]], target: int, limit: int) -> list[list[_Unit]]:
    """A short last piece joins the one before it where both fit."""
    if len(pieces) > 1 and _size(pieces[-1]) < target / 4 and _size([*pieces[-2], *pieces[-1]]) <= limit:
        pieces[-2:] = [[*pieces[-2], *pieces[-1]]]
    return pieces
