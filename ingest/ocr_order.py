"""The order in which the lines of a picture are read: by rows, and where columns of prose stand side by side, by those.

Unlike a PDF's text, lines that were recognised have no order of their own, so every page goes through this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from core.text import is_cjk
from core.types import Box

_MOST = 1200  # lines of a page; with more, looking for gutters would take seconds
_FEWEST = 3  # lines of a column
_PROSE = 22  # letters of a line of prose, on average, or half as many Chinese characters
_BESIDE = 0.6  # of a column's lines that stand beside one of the other column: more are a table's cells


@dataclass(frozen=True)
class Line:
    """A line of text in a picture: its box in pixels, from the top left, and a score from 0 to 1 (best)."""

    text: str
    box: Box
    score: float

    @property
    def middle(self) -> float:
        return (self.box[1] + self.box[3]) / 2

    @property
    def height(self) -> float:
        return self.box[3] - self.box[1]


def in_reading_order(lines: Sequence[Line]) -> list[Line]:
    lines = sorted(lines, key=lambda line: line.middle)
    if not 2 * _FEWEST <= len(lines) <= _MOST:
        return _by_rows(lines)
    gutter = _gutter(lines)
    if gutter is None:
        return _by_rows(lines)
    found: list[Line] = []
    for band in _bands(lines, gutter):
        left = [line for line in band if line.box[2] <= gutter]
        right = [line for line in band if line.box[0] >= gutter]
        if _are_columns(left, right):
            found += [*in_reading_order(left), *in_reading_order(right)]
        else:
            found += _by_rows(band)
    return found


def _gutter(lines: Sequence[Line]) -> float | None:
    """Where the most lines stand in columns to its left and right; None where there are no columns."""
    room = 0.4 * median(line.height for line in lines)
    best: tuple[int, float] | None = None
    for edge in sorted({line.box[2] for line in lines}):
        following = min((line.box[0] for line in lines if line.box[0] >= edge), default=None)
        if following is None or following - edge < room:
            continue
        middle = (edge + following) / 2
        score = 0
        for band in _bands(lines, middle):
            left = [line for line in band if line.box[2] <= middle]
            right = [line for line in band if line.box[0] >= middle]
            score += len(band) if _are_columns(left, right) else 0
        if score and (best is None or score > best[0]):
            best = score, middle
    return None if best is None else best[1]


def _bands(lines: Sequence[Line], gutter: float) -> Iterator[list[Line]]:
    """Runs of lines that leave the gutter free, and each line that crosses it."""
    band: list[Line] = []
    for line in lines:
        if line.box[0] < gutter < line.box[2]:
            if band:
                yield band
            yield [line]
            band = []
        else:
            band.append(line)
    if band:
        yield band


def _are_columns(left: Sequence[Line], right: Sequence[Line]) -> bool:
    """Both are prose; or one is, and the other, as a figure's labels do, stands in no rows with it."""
    if len(left) < _FEWEST or len(right) < _FEWEST:
        return False
    if left[0].middle > right[-1].middle or right[0].middle > left[-1].middle:
        return False
    prose = _is_prose(left), _is_prose(right)
    if all(prose):
        return True
    few, many = (left, right) if len(left) <= len(right) else (right, left)
    return any(prose) and sum(any(_beside(a, b) for b in many) for a in few) < _BESIDE * len(few)


def _is_prose(lines: Sequence[Line]) -> bool:
    return sum(1 + is_cjk(char) for line in lines for char in line.text) / len(lines) >= _PROSE


def _beside(one: Line, other: Line) -> bool:
    return abs(one.middle - other.middle) < 0.3 * min(one.height, other.height)


def _by_rows(lines: Sequence[Line]) -> list[Line]:
    """Lines whose middles lie within one line's height from left to right, the rows from top to bottom."""
    rows: list[list[Line]] = []
    for line in lines:
        if rows and abs(line.middle - rows[-1][0].middle) < 0.4 * min(line.height, rows[-1][0].height):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda line: line.box[0])]
