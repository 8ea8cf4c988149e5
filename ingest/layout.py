"""Fragments of lines to pages of text: running heads dropped, columns in order, lines joined to blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from core.text import is_cjk
from core.types import Block, Box, Page, Span
from ingest import headings
from ingest.columns import Fragment, in_reading_order
from ingest.headings import Style

_EDGE = 0.1  # share of the page's height at its top and bottom where running heads stand
_SAME_PLACE = 4.0  # points: half of what a running head may move up or down from page to page
_CLOSED = re.compile(r"[.!?:;。！？：][\"'”’)\]」』）]*$")
_ENTRY = re.compile(r"^(\[[\w+-]{1,12}\]|\d{1,3}\.)\s")
_ITEM = re.compile(r"^([•‣▪●◦–—*-]|\(?\d{1,2}[.)]|\([a-z]\))\s")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")

Kind = Literal["heading", "text", "list", "caption", "reference"]
Vocabulary = frozenset[str]


@dataclass(frozen=True)
class RawPage:
    number: int
    width: float
    height: float
    fragments: tuple[Fragment, ...]
    gap: str


def build_pages(raw_pages: Sequence[RawPage]) -> tuple[tuple[Page, ...], tuple[Block, ...]]:
    """Pages with their text, and blocks whose spans cover it, in reading order."""
    every = [fragment for raw in raw_pages for fragment in raw.fragments]
    builder = _Builder(headings.style_of(every), _vocabulary(every))
    heads = _running_heads(raw_pages)
    pages = []
    for raw in raw_pages:
        kept = [f for f in raw.fragments if not _keys(f, raw) or _keys(f, raw)[0] not in heads]
        pages.append(builder.page(raw, in_reading_order(kept)))
    return tuple(pages), tuple(builder.blocks)


def pick_title(metadata: str, raw_pages: Sequence[RawPage]) -> str:
    if not raw_pages:
        return metadata
    return headings.pick_title(metadata, raw_pages[0].fragments, raw_pages[0].height)


def _vocabulary(fragments: Sequence[Fragment]) -> Vocabulary:
    """Words and hyphenated words that stand whole in a line somewhere: they tell which hyphens belong."""
    return frozenset(word.lower() for fragment in fragments for word in _WORD.findall(fragment.text))


Key = tuple[str, str, int]


def _keys(fragment: Fragment, page: RawPage) -> tuple[Key, ...]:
    """(edge, text with its numbers masked, place), the places next to it too; none away from the page's edges."""
    if fragment.bottom < page.height * _EDGE:
        edge, place = "top", fragment.top
    elif fragment.top > page.height * (1 - _EDGE):
        edge, place = "bottom", page.height - fragment.bottom
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
        self._chars: list[str] = []
        self._boxes: list[Box] = []

    def page(self, raw: RawPage, fragments: Sequence[Fragment]) -> Page:
        self._chars, self._boxes = [], []
        for group in self._groups(fragments):
            if self._chars:
                self._add_blank("\n")
            start = len(self._chars)
            self._join(group)
            span = Span(page=raw.number, start=start, end=len(self._chars))
            kind, level = self._kind("".join(self._chars[start:]), group[0])
            self.blocks.append(Block(kind=kind, span=span, level=level))
        # Built without validation: checking a box for each character would cost more than reading the page.
        return Page.model_construct(
            number=raw.number, width=raw.width, height=raw.height, text="".join(self._chars), boxes=tuple(self._boxes)
        )

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
        return ("list" if _ITEM.match(text) else "text"), 0

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
        if last.upright != new.upright:
            return True
        if _same_line(last, new):
            return abs(last.size - new.size) > 0.35 * body and new.left < last.right
        if last.hyphen:
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
        return len(group) <= 4 and bool(self._style.level(" ".join(f.text for f in group), group[0]))

    def _continues_heading(self, group: Sequence[Fragment], new: Fragment) -> bool:
        first, size = group[0], self._style.body
        alike = abs(first.size - new.size) < 0.06 * size and first.bold == new.bold
        near = 0 <= new.top - group[-1].top < 1.7 * new.size
        stands_out = new.bold or self._style.is_large(new)
        return alike and near and stands_out and len(group) < 4 and not headings.is_numbered(new.text)

    def _join(self, group: Sequence[Fragment]) -> None:
        for index, fragment in enumerate(group):
            joined = index == 0 or self._joined_hyphen(group[index - 1], fragment)
            if not joined and not (is_cjk(self._chars[-1]) and is_cjk(fragment.text[0])):
                self._add_blank(" ")
            self._chars += fragment.text
            self._boxes += fragment.boxes

    def _joined_hyphen(self, line: Fragment, following: Fragment) -> bool:
        """Whether the two lines share a word; its hyphen goes unless the document writes the word with one."""
        ends, begins = _LAST_WORD.search(line.text.removesuffix("-")), _FIRST_WORD.match(following.text)
        if line.hyphen:
            if ends and begins and self._is_hyphenated(ends[0], begins[0]):
                self._chars.append("-")
                self._boxes.append(line.hyphen)
            return True
        if not line.text.endswith("-") or len(line.text) < 2 or line.text[-2].isspace():
            return False
        if ends and begins and begins[0][0].islower() and not self._is_hyphenated(ends[0], begins[0]):
            del self._chars[-1], self._boxes[-1]
        return not _same_line(line, following)

    def _is_hyphenated(self, left: str, right: str) -> bool:
        whole = (left + right).lower()
        return whole not in self._vocabulary and f"{left}-{right}".lower() in self._vocabulary

    def _add_blank(self, char: str) -> None:
        _, _, right, bottom = self._boxes[-1]
        self._chars.append(char)
        self._boxes.append((right, bottom, right, bottom))


def _same_line(one: Fragment, other: Fragment) -> bool:
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    return overlap > 0.4 * min(one.height, other.height)
