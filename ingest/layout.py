"""Fragments of lines to pages of text: running heads dropped, columns in order, lines joined to blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from core.text import is_cjk
from core.types import Block, Box, Boxes, Page, Span
from ingest import headings
from ingest.columns import Fragment, in_reading_order, same_line
from ingest.drawing import Drawing
from ingest.footnotes import footnotes_last, opens_note
from ingest.headings import Style
from ingest.scrambled import in_drawn_or_placed_order

_EDGE = 0.1  # share of the page's height at its top and bottom where running heads stand
_SAME_PLACE = 4.0  # points: half of what a running head may move up or down from page to page
_CLOSED = re.compile(r"[.!?:;。！？：][\"'”’)\]」』）]*$")
_ENTRY = re.compile(r"^(\[[\w+-]{1,12}\]|\d{1,3}\.)\s")
_ITEM = re.compile(r"^(?:[•‣▪●◦∙·■□▶➢✓](?:\s|$)|(?:[–—*-]|\(?\d{1,2}[.)]|\(?[a-z]\)|\(?[ivx]{1,4}\))\s)")
_RELATION = re.compile(r"[=≤≥≈≡∝∈∑∏∫√→⇒≠≜∥]")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_PROSE = 0.35  # of a formula's characters, at most so many stand in words
_LONGEST_FORMULA = 300
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")

Kind = Literal["heading", "text", "list", "caption", "formula", "footnote", "reference"]
Vocabulary = frozenset[str]
_NO_BOX: Boxes = np.zeros((1, 4), dtype=np.float32)


@dataclass(frozen=True)
class RawPage:
    number: int
    width: float
    height: float
    fragments: tuple[Fragment, ...]
    gap: str
    turned: tuple[float, float] = (0.0, 0.0)  # width and height of the page turned so that its text runs to the right
    is_blank: bool = False  # nothing at all was found on it
    drawing: Drawing = field(default_factory=Drawing)
    edge_tables: tuple[Box, ...] = ()  # whose rows are no running heads, though they stand where those do


def build_pages(raw_pages: Sequence[RawPage]) -> tuple[tuple[Page, ...], tuple[Block, ...]]:
    """Pages with their text, and blocks whose spans cover it, in reading order."""
    every = [fragment for raw in raw_pages for fragment in raw.fragments]
    builder = _Builder(headings.style_of(every), _vocabulary(every))
    heads = _running_heads(raw_pages)
    pages = []
    for raw in raw_pages:
        kept = [f for f in raw.fragments if not (keys := _keys(f, raw)) or keys[0] not in heads]
        pages.append(builder.page(raw, in_reading_order(in_drawn_or_placed_order(kept))))
    return tuple(pages), tuple(builder.blocks)


def pick_title(metadata: str, raw_pages: Sequence[RawPage]) -> str:
    if not raw_pages:
        return metadata
    return headings.pick_title(metadata, raw_pages[0].fragments, raw_pages[0].turned[1])


def _vocabulary(fragments: Sequence[Fragment]) -> Vocabulary:
    """Words and hyphenated words that stand whole in a line somewhere: they tell which hyphens belong."""
    return frozenset(_WORD.findall("\n".join([fragment.text for fragment in fragments]).lower()))


Key = tuple[str, str, int]


def _keys(fragment: Fragment, page: RawPage) -> tuple[Key, ...]:
    """(edge, text with its numbers masked, place), the places next to it too; none away from the page's edges."""
    height = page.turned[1]
    if not fragment.upright:
        return ()
    if any(box[1] < fragment.bottom and fragment.top < box[3] for box in page.edge_tables):
        return ()
    if fragment.bottom < height * _EDGE:
        edge, place = "top", fragment.top
    elif fragment.top > height * (1 - _EDGE):
        edge, place = "bottom", height - fragment.bottom
    else:
        return ()
    text = re.sub(r"\d+|\b[ivxl]+\b", "#", fragment.text)
    row = round(place / _SAME_PLACE)
    return (edge, text, row), (edge, text, row - 1), (edge, text, row + 1)


def _running_heads(pages: Sequence[RawPage]) -> set[Key]:
    """What stands at one place on at least half of the pages, or of the left or the right ones, and on 3 or more."""
    on: dict[Key, set[int]] = {}
    for page in pages:
        for fragment in page.fragments:
            for key in _keys(fragment, page):
                on.setdefault(key, set()).add(page.number)
    return {key for key, numbers in on.items() if _is_running(numbers, len(pages))}


def _is_running(numbers: set[int], count: int) -> bool:
    if count <= 2:
        return count == 2 and len(numbers) == 2
    if len(numbers) < 3:
        return False
    sides = Counter(number % 2 for number in numbers)
    return len(numbers) * 2 >= count or any(sides[side] * 2 > (count + side) // 2 for side in (0, 1))


class _Builder:
    """Pages one after the other; whether the list of references has begun goes on from page to page."""

    def __init__(self, style: Style, vocabulary: Vocabulary) -> None:
        self.blocks: list[Block] = []
        self._style = style
        self._vocabulary = vocabulary
        self._in_references = False
        self._page = _PageText()

    def page(self, raw: RawPage, fragments: Sequence[Fragment]) -> Page:
        text = self._page = _PageText()
        body, feet = self._without_notes(fragments, raw.turned[1])
        for group in self._groups(body):
            start = self._add(group)
            kind, level = self._kind(text.since(start), group[0])
            self._add_block(kind, raw.number, start, level)
        for group in self._notes(feet):
            self._add_block("footnote", raw.number, self._add(group))
        # Built without validation, which would copy the boxes.
        return Page.model_construct(
            number=raw.number, width=raw.width, height=raw.height, text=text.since(0), boxes=text.boxes()
        )

    def _without_notes(self, fragments: Sequence[Fragment], height: float) -> tuple[list[Fragment], list[Fragment]]:
        """The text and the footnotes; the entries of the references are none, though they are numbered and small."""
        if self._in_references:
            return list(fragments), []
        end = next((at for at, f in enumerate(fragments) if headings.opens_references(f.text)), len(fragments))
        body, feet = footnotes_last(fragments[:end], self._style.body, height)
        return [*body, *fragments[end:]], feet

    def _add(self, group: Sequence[Fragment]) -> int:
        """Where the group's text begins."""
        if self._page.length:
            self._page.add_blank("\n")
        start = self._page.length
        self._join(group)
        return start

    def _add_block(self, kind: Kind, page: int, start: int, level: int = 0) -> None:
        self.blocks.append(Block(kind=kind, span=Span(page=page, start=start, end=self._page.length), level=level))

    def _notes(self, fragments: Sequence[Fragment]) -> Iterator[list[Fragment]]:
        group: list[Fragment] = []
        for fragment in fragments:
            if group and opens_note(fragment) and not same_line(group[-1], fragment):
                yield group
                group = []
            group.append(fragment)
        if group:
            yield group

    def _kind(self, text: str, first: Fragment) -> tuple[Kind, int]:
        level = self._style.level(text, first)
        if self._in_references and level and not headings.closes_references(text, level):
            level = 0
        if level:
            self._in_references = headings.opens_references(text)
            return "heading", level
        if self._in_references:
            return "reference", 0
        if headings.is_caption(text):
            return "caption", 0
        if _ITEM.match(text):
            return "list", 0
        return ("formula" if _is_formula(text) else "text"), 0

    def _groups(self, fragments: Sequence[Fragment]) -> Iterator[list[Fragment]]:
        """Fragments grouped to blocks, one by one: where the references begin changes how the next lines group."""
        group: list[Fragment] = []
        for fragment in fragments:
            if group and self._breaks(group, fragment):
                yield group
                group = []
            group.append(fragment)
        if group:
            yield group

    def _breaks(self, group: Sequence[Fragment], new: Fragment) -> bool:
        """Whether a new block begins with `new`."""
        last, body = group[-1], self._style.body
        if last.frame != new.frame:
            return True
        if same_line(last, new):
            return abs(last.size - new.size) > 0.35 * body and new.left < last.right
        if last.hyphen is not None:
            return False
        if len(new.text) > 3 and len(last.text) > 3 and abs(last.size - new.size) > 0.1 * body:
            return True
        if self._is_heading(group) or self._is_heading([new]):
            return not self._continues_heading(group, new)
        if new.top < last.top - last.size:  # a new column
            return bool(_CLOSED.search(last.text)) or not (new.text[0].islower() or is_cjk(new.text[0]))
        if new.top - last.bottom > 0.55 * body or headings.is_caption(new.text):
            return True
        return self._opens_paragraph(group, new)

    def _opens_paragraph(self, group: Sequence[Fragment], new: Fragment) -> bool:
        """By its own mark, or an indented first line after a line that ended a sentence."""
        last = group[-1]
        if (_ENTRY if self._in_references else _ITEM).match(new.text):
            return not self._in_references or bool(_ENTRY.match(group[0].text))
        if not _CLOSED.search(last.text):
            return False
        if self._in_references and len(group) > 1 and new.left < last.left - 0.6 * self._style.body:
            return True  # the entries have a hanging indent
        left = min(fragment.left for fragment in group[-6:])
        return len(group) > 1 and new.left > left + 0.6 * self._style.body

    def _is_heading(self, group: Sequence[Fragment]) -> bool:
        first, length = group[0], sum([len(f.text) for f in group])
        most = headings.LONGEST if first.bold or self._style.is_large(first) else headings.LONGEST_PLAIN
        return length <= most and len(group) <= 4 and bool(self._style.level(" ".join([f.text for f in group]), first))

    def _continues_heading(self, group: Sequence[Fragment], new: Fragment) -> bool:
        first, size = group[0], self._style.body
        alike = abs(first.size - new.size) < 0.06 * size and first.bold == new.bold
        near = 0 <= new.top - group[-1].top < 1.7 * new.size
        stands_out = new.bold or self._style.is_large(new)
        return alike and near and stands_out and len(group) < 4 and not headings.is_numbered(new.text)

    def _join(self, group: Sequence[Fragment]) -> None:
        text = self._page
        for index, fragment in enumerate(group):
            joined = (
                index == 0 or self._joined_hyphen(group[index - 1], fragment) or _touches(group[index - 1], fragment)
            )
            if not joined and not (is_cjk(text.last()) and is_cjk(fragment.text[0])):
                text.add_blank(" ")
            text.add(fragment.text, fragment.boxes)

    def _joined_hyphen(self, line: Fragment, following: Fragment) -> bool:
        """Whether the two lines share a word; its hyphen goes unless the document writes the word with one."""
        ends, begins = _LAST_WORD.search(line.text.removesuffix("-")), _FIRST_WORD.match(following.text)
        if line.hyphen is not None:
            if ends and begins and self._is_hyphenated(ends[0], begins[0]):
                self._page.add("-", line.hyphen[None])
            return True
        if not line.text.endswith("-") or len(line.text) < 2 or line.text[-2].isspace():
            return False
        if ends and begins and begins[0][0].islower() and not self._is_hyphenated(ends[0], begins[0]):
            self._page.drop_last()
        return not same_line(line, following)

    def _is_hyphenated(self, left: str, right: str) -> bool:
        whole = (left + right).lower()
        return whole not in self._vocabulary and f"{left}-{right}".lower() in self._vocabulary


def _is_formula(text: str) -> bool:
    if len(text) > _LONGEST_FORMULA or not _RELATION.search(text):
        return False
    return sum(map(len, _LONG_WORD.findall(text))) < _PROSE * len(text.replace(" ", ""))


class _PageText:
    """The text of a page as it grows, with its boxes. An added blank has a box without area, where the text ended."""

    def __init__(self) -> None:
        self.length = 0
        self._pieces: list[str] = []
        self._boxes: list[Boxes] = []
        self._blanks: list[int] = []

    def add(self, text: str, boxes: Boxes) -> None:
        self._pieces.append(text)
        self._boxes.append(boxes)
        self.length += len(text)

    def add_blank(self, char: str) -> None:
        self._blanks.append(self.length)
        self.add(char, _NO_BOX)

    def last(self) -> str:
        return self._pieces[-1][-1]

    def drop_last(self) -> None:
        self._pieces[-1], self._boxes[-1] = self._pieces[-1][:-1], self._boxes[-1][:-1]
        self.length -= 1

    def since(self, start: int) -> str:
        return "".join(self._pieces)[start:]

    def boxes(self) -> Boxes:
        if not self._boxes:
            return np.zeros((0, 4), dtype=np.float32)
        boxes = np.concatenate(self._boxes)
        blanks = np.array(self._blanks, dtype=np.int64)  # never two in a row
        boxes[blanks] = boxes[blanks - 1][:, [2, 3, 2, 3]]
        boxes.flags.writeable = False
        return boxes


def _touches(one: Fragment, other: Fragment) -> bool:
    """Whether a line merely rises or sinks here, as in a² + 8, where pdfium sees two lines."""
    size = max(one.size, other.size)
    alike = abs(one.size - other.size) < 0.1 * size
    most = 0.15 if one.frame else 0.08  # the boxes of turned text leave out the room beside a glyph
    return alike and -0.3 * size < other.left - one.right < most * size and same_line(one, other)
