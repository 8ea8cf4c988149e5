"""Reading order: a page whose content runs row by row across a gutter is put into columns.

pdfium's own order is the content's, which reads almost every two-column paper right, so it is only touched where
consecutive fragments of prose stand side by side, row after row, with an empty gutter between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.types import Box

_WORDS_A_CELL = 3.0  # prose has more on average, a table's cells fewer


@dataclass(frozen=True)
class Fragment:
    """Characters of one line without a wide gap; `size` is the height of its character boxes in points."""

    text: str
    boxes: tuple[Box, ...]
    size: float
    bold: bool
    upright: bool
    hyphen: bool

    @property
    def left(self) -> float:
        return self.boxes[0][0]

    @property
    def right(self) -> float:
        return self.boxes[-1][2]

    @property
    def top(self) -> float:
        return min(self.boxes[0][1], self.boxes[-1][1])

    @property
    def bottom(self) -> float:
        return max(self.boxes[0][3], self.boxes[-1][3])

    def with_hyphen(self) -> Fragment:
        return replace(self, hyphen=True)


def in_reading_order(fragments: Sequence[Fragment]) -> list[Fragment]:
    """The same fragments, columns that were interleaved one after the other."""
    rows: list[list[Fragment]] = []
    for fragment in fragments:
        if rows and fragment.upright and _beside(rows[-1][-1], fragment):
            rows[-1].append(fragment)
        else:
            rows.append([fragment])
    return [fragment for band in _bands(rows) for fragment in band]


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
        if gutter is not None and _is_prose(band):
            left = [[f for f in row if f.right <= gutter] for row in band]
            right = [[f for f in row if f.right > gutter] for row in band]
            found += [[f for row in left for f in row], *_bands([row for row in right if row])]
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


def _is_prose(band: Sequence[list[Fragment]]) -> bool:
    paired = [row for row in band if len(row) > 1]
    cells = [fragment for row in paired for fragment in row]
    words = sum(len(fragment.text.split()) for fragment in cells)
    return len(paired) >= 2 and words / len(cells) >= _WORDS_A_CELL
