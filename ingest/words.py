"""Words of a page with their boxes, from its text; lines of words; the text of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.text import is_cjk
from core.types import Box, Page, Span


class Word(NamedTuple):
    """Characters start to end of the page's text, on one line, without a blank or a gap between them."""

    start: int
    end: int
    box: Box
    center: float
    middle: float
    height: float


def make_word(page: Page, start: int, end: int) -> Word:
    boxes = page.boxes[start:end]
    left, top, right, bottom = boxes[0] if len(boxes) == 1 else around(boxes)
    return Word(start, end, (left, top, right, bottom), (left + right) / 2, (top + bottom) / 2, bottom - top)


def words_of(page: Page) -> list[Word]:
    """In the order of the text."""
    found: list[Word] = []
    start = -1
    last: Box = (0, 0, 0, 0)
    for at, (char, box) in enumerate(zip(page.text, page.boxes, strict=True)):
        blank = char == " " or box[2] <= box[0] or box[3] <= box[1] or char.isspace()
        if start >= 0 and (
            blank or (not (abs(box[0] - last[2]) < 1 and box[1] == last[1]) and not _touches(last, box))
        ):
            found.append(make_word(page, start, at))
            start = -1
        if not blank:
            start = at if start < 0 else start
            last = box
    if start >= 0:
        found.append(make_word(page, start, len(page.text)))
    return found


def _touches(one: Box, other: Box) -> bool:
    """Whether two characters are of one word: side by side, or for text that is drawn sideways, one on the other."""
    height = max(one[3] - one[1], other[3] - other[1])
    overlap = min(one[3], other[3]) - max(one[1], other[1])
    if overlap > 0.3 * min(one[3] - one[1], other[3] - other[1]):
        return -0.5 * height < max(other[0] - one[2], one[0] - other[2]) < 0.3 * height  # or from right to left
    beside = min(one[2], other[2]) - max(one[0], other[0])
    apart = max(other[1] - one[3], one[1] - other[3])
    return beside > 0.8 * min(one[2] - one[0], other[2] - other[0]) and apart < 0.2 * (one[2] - one[0])


def around(boxes: Iterable[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def lines_of(words: Sequence[Word]) -> list[list[Word]]:
    """Words that stand on one line together, lines from the top, each from the left."""
    lines: list[list[Word]] = []
    tallest: list[Word] = []  # of each line: its baseline is what the others stand on
    for word in sorted(words, key=lambda w: w.middle):
        best, least = -1, 0.4 * max(word.height, 1.0)
        # The lowest lines are looked at: a superscript or a taller sign may stand between two of them.
        for at in range(max(len(lines) - 2, 0), len(lines)):
            if abs(tallest[at].middle - word.middle) < least:
                best, least = at, abs(tallest[at].middle - word.middle)
        if best < 0:
            lines.append([word])
            tallest.append(word)
            continue
        lines[best].append(word)
        if word.height > tallest[best].height:
            tallest[best] = word
    for line in lines:
        line.sort(key=lambda w: w.box[0])
    return lines


def text_of_words(page: Page, words: Sequence[Word]) -> str:
    """As it is read: words of a line with a blank between, lines with a line break; a hyphened word is joined."""
    parts: list[str] = []
    last: Word | None = None
    usual = sum(_runs_to_the_right(page, word) for word in words) * 2 >= len(words)
    lines = lines_of(words) if usual else [sorted(words, key=lambda w: w.start)]
    for line in lines:
        for number, word in enumerate(line):
            if last is not None:
                parts.append(_between(page, last, word, new_line=number == 0))
            parts.append(page.text[word.start : word.end])
            last = word
    return "".join(parts)


def _runs_to_the_right(page: Page, word: Word) -> bool:
    """Not sideways, upside down, or of a script that is written to the left."""
    first, last = page.boxes[word.start], page.boxes[word.end - 1]
    return word.end - word.start == 1 or last[0] - first[0] > abs(last[1] - first[1])


def _between(page: Page, last: Word, word: Word, new_line: bool) -> str:
    joined = last.end == word.start
    if new_line:
        return "" if joined and not is_cjk(page.text[word.start]) else "\n"
    return "" if joined and word.box[0] - last.box[2] < 0.3 * max(word.height, last.height) else " "


def spans_of(page: Page, words: Iterable[Word]) -> tuple[Span, ...]:
    """The words' places in the page's text; words with nothing but blanks between them share a span."""
    found: list[tuple[int, int]] = []
    for word in sorted(words, key=lambda w: w.start):
        if found and not page.text[found[-1][1] : word.start].strip():
            found[-1] = (found[-1][0], max(word.end, found[-1][1]))
        else:
            found.append((word.start, word.end))
    return tuple(Span(page=page.number, start=start, end=end) for start, end in found)
