"""Reading order: a page whose content runs row by row across a gutter is put into columns.

pdfium's own order is the content's, which reads almost every two-column paper right, so it is only touched where
consecutive fragments of prose stand side by side, row after row, with an empty gutter between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.text import is_cjk
from core.types import Boxes

_WORDS_A_CELL = 3.0  # prose has more on average, a table's cells fewer
_CHARS_A_CELL = 12  # the same for scripts without blanks
_RUNS_ON = 0.3  # of the lines of a column of prose, at least so many go on in the next line's small letter
_DIGITS = 0.15  # of a column of prose, at most so many characters are digits
_UNFINISHED = re.compile(r"[^.!?:;。！？]$")


@dataclass(frozen=True, eq=False, slots=True)
class Fragment:
    """Characters of one line without a wide gap; `size` is the font's in points on the page.

    `boxes` are on the page as it is shown; the edges are on the page turned so that the fragment runs to the right.
    """

    text: str
    boxes: Boxes
    size: float
    bold: bool
    frame: int  # how it runs, see ingest.chars
    upright: bool  # whether it runs as most of its page does
    left: float
    top: float
    right: float
    bottom: float
    hyphen: Boxes | None = None  # where a hyphen ends the line that perhaps only the line break made

    @property
    def height(self) -> float:
        return self.bottom - self.top


def in_reading_order(fragments: Sequence[Fragment]) -> list[Fragment]:
    """The same fragments, columns that were interleaved one after the other."""
    rows: list[list[Fragment]] = []
    for fragment in _lines_in_order(fragments):
        if rows and fragment.upright and _beside(rows[-1][-1], fragment):
            rows[-1].append(fragment)
        else:
            rows.append([fragment])
    return [fragment for band in _bands(rows) for fragment in band]


def _lines_in_order(fragments: Sequence[Fragment]) -> Iterator[Fragment]:
    """pdfium sorts the pieces of a line from left to right as they stand on the page: wrong for turned text."""
    line: list[Fragment] = []
    for fragment in fragments:
        if line and not (fragment.frame == line[-1].frame != 0 and same_line(line[-1], fragment)):
            yield from sorted(line, key=lambda f: f.left)
            line = []
        line.append(fragment)
    yield from sorted(line, key=lambda f: f.left)


def same_line(one: Fragment, other: Fragment) -> bool:
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    return overlap > 0.4 * min(one.height, other.height)


def _beside(one: Fragment, other: Fragment) -> bool:
    middle = (other.top + other.bottom) / 2
    return one.upright and one.top <= middle <= one.bottom and other.left >= one.right


def _bands(rows: Sequence[list[Fragment]]) -> list[list[Fragment]]:
    """Runs of rows that share a gutter, each read column by column; other rows as they are."""
    found: list[list[Fragment]] = []
    index = 0
    while index < len(rows):
        end, gutter = _band(rows, index)
        band = rows[index:end]
        left = [f for row in band for f in row if gutter is not None and f.right <= gutter]
        right = [[f for f in row if gutter is not None and f.right > gutter] for row in band]
        paired = sum(1 for row in band if len(row) > 1)
        if paired >= 2 and _is_prose(left) and _is_prose([f for row in right for f in row]):
            found += [left, *_bands([row for row in right if row])]
        else:
            found += band
        index = end
    return found


def _band(rows: Sequence[list[Fragment]], start: int) -> tuple[int, float | None]:
    """(end of the run of rows from `start` that one gutter passes through, the gutter's middle or None)."""
    if len(rows[start]) < 2:
        return start + 1, None
    low, high = rows[start][0].right, rows[start][1].left
    end = start + 1
    while end < len(rows):
        row = rows[end]
        new_low = max([low, *(f.right for f in row if f.right <= high)])
        new_high = min([high, *(f.left for f in row if f.left >= low)])
        crossed = any(f.left < new_high and f.right > new_low for f in row)
        pitch = row[0].top - rows[end - 1][0].top
        if crossed or new_high - new_low < 4 or not 0 < pitch < 4 * row[0].size:
            break
        low, high = new_low, new_high
        end += 1
    return end, (low + high) / 2


def _is_prose(column: Sequence[Fragment]) -> bool:
    """Whether these are the lines of running text, and not the cells of a table or labels of a figure."""
    text = "".join(fragment.text for fragment in column)
    if len(column) < 2 or sum(char.isdigit() for char in text) > _DIGITS * len(text):
        return False
    if sum(is_cjk(char) for char in text) > len(text) / 3:
        return len(text) / len(column) >= _CHARS_A_CELL
    pairs = [(one, other) for one, other in pairwise(column) if not _beside(one, other)]
    going_on = sum(1 for one, other in pairs if _UNFINISHED.search(one.text) and other.text[0].islower())
    words = sum(len(fragment.text.split()) for fragment in column)
    return words / len(column) >= _WORDS_A_CELL * 0.8 and going_on >= max(1.0, _RUNS_ON * len(pairs))
