"""Chunks: parents within a section for reading, children of whole sentences inside them for finding.

A document is a row of units: sentences, headings, and pieces of what has no sentences. A chunk is a run of
neighbouring units, so its spans are exact, one a page, and no word is left out or in two chunks of one level.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from core.text import sentences, text_of
from core.types import Block, Chunk, Span
from ingest.pdf import ParsedDocument

SEPARATOR = " › "
_WHOLE = ("list", "caption", "formula", "footnote")  # kinds that are not cut where they fit
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


_Run = Sequence[_Unit]


def chunk_document(
    document_id: str, sha256: str, parsed: ParsedDocument, child_chars: int, parent_chars: int
) -> tuple[list[Chunk], list[Chunk]]:
    """(parents, children), each in the order of the text, the footnotes behind all. A word is in one parent, one child.

    A parent has at most `parent_chars` characters; a child about `child_chars`, and at most a quarter more.
    A chunk's text is the text of its spans, one line break between two (core.text.text_of), so it can be cited.
    """
    texts = {page.number: page.text for page in parsed.pages}
    maker = _Maker(document_id, sha256, texts)
    parents: list[Chunk] = []
    children: list[Chunk] = []
    limit = min(child_chars * 5 // 4, parent_chars)
    body, notes = _apart(parsed.blocks)
    units = _units(body, texts, min(child_chars, parent_chars))
    paths = {unit.page: unit.path for unit in units}
    footnotes = _units(notes, texts, min(child_chars, parent_chars), paths)
    for section in [*_sections(units, parent_chars), *_by_page(footnotes)]:
        for run in _filled(section, parent_chars, parent_chars):
            parent = maker.make("parent", len(parents), run)
            parents.append(parent)
            for part in _filled(run, child_chars, limit):
                children.append(maker.make("child", len(children), part, parent.id))
    return parents, children


@dataclass(frozen=True)
class _Maker:
    document_id: str
    sha256: str
    texts: dict[int, str]

    def make(self, level: str, position: int, run: _Run, parent: str = "") -> Chunk:
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
        )


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
    blocks: Sequence[Block], texts: dict[int, str], limit: int, paths: Mapping[int, tuple[str, ...]] | None = None
) -> list[_Unit]:
    """`paths`: the section that each page ends in, for footnotes, which are under no heading of their own."""
    found: list[_Unit] = []
    path: list[tuple[int, str]] = []
    for at, block in enumerate(blocks):
        text = texts[block.span.page][block.span.start : block.span.end]
        if block.kind == "heading":
            path = [(level, name) for level, name in path if level < block.level] + [(block.level, text)]
        whole = block.kind in _WHOLE and len(text) <= limit
        pieces = [
            piece for piece in ([(0, len(text))] if whole else _pieces(text, limit)) if _WORD.search(text, *piece)
        ]
        runs_on = _runs_on(text, blocks[at + 1 : at + 2], block.span.page, texts)
        for number, (start, end) in enumerate(pieces):
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
                )
            )
    return found


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
