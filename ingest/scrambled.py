"""Content that was drawn in no reading order: the cells of a table in any order, or lines from the bottom upwards.

Such a page, or the part of it that is a table, is read by where its fragments stand: row by row, left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ingest.columns import Fragment

_CELLS = 3  # a row of a table has at least so many
_ROWS = 5  # and a table so many rows
_LONGEST_CELL = 12  # words
_LONG_CELL = 7  # prose beside a table has more in almost every row
_LONG_SHARE = 0.1
_AWAY = 12  # cells drawn between two of one row: more than another row of cells of several lines
_SCATTERED = 0.6  # of the rows
_UPWARDS = 0.5  # of the steps from line to line
_NUMBERS = 0.2  # of a table's cells, at least so many are numbers, and as many are words: no index, no axes

Row = list[Fragment]


def in_drawn_or_placed_order(fragments: Sequence[Fragment]) -> Sequence[Fragment]:
    """The fragments as they come, but for what was drawn in no reading order."""
    upright = [fragment for fragment in fragments if fragment.upright]
    if len(upright) < _ROWS:
        return fragments
    if _runs_upwards(upright):
        return [f for row in _rows(upright) for f in row] + [f for f in fragments if not f.upright]
    place = {id(fragment): at for at, fragment in enumerate(fragments)}
    ordered: Sequence[Fragment] = fragments
    for table in _tables(_rows(upright)):
        if _is_scrambled(table, place) and _has_both(table):
            ordered = _put(ordered, table)
    return ordered


def _runs_upwards(fragments: Sequence[Fragment]) -> bool:
    """Whether most lines stand right above the one that was drawn before them."""
    stacked = [(a, b) for a, b in pairwise(fragments) if min(a.right, b.right) > max(a.left, b.left)]
    upwards = sum(0 < a.top - b.top < 3 * max(a.height, 1) and a.top >= b.bottom - 0.3 * a.height for a, b in stacked)
    return upwards >= _ROWS and upwards > _UPWARDS * len(fragments)


def _rows(fragments: Sequence[Fragment]) -> list[Row]:
    """Rows from the top, each from the left."""
    rows: list[Row] = []
    for fragment in sorted(fragments, key=lambda f: (f.top + f.bottom) / 2):
        middle = (fragment.top + fragment.bottom) / 2
        if rows and rows[-1][0].top < middle < rows[-1][0].bottom:
            rows[-1].append(fragment)
        else:
            rows.append([fragment])
    return [sorted(row, key=lambda f: f.left) for row in rows]


def _tables(rows: Sequence[Row]) -> list[list[Row]]:
    """Runs of rows of short cells."""
    runs: list[list[Row]] = [[]]
    for row in rows:
        if len(row) >= _CELLS and all(len(fragment.text.split()) <= _LONGEST_CELL for fragment in row):
            runs[-1].append(row)
        elif not (runs[-1] and len(row) < _CELLS and _is_part(row, runs[-1])):
            runs.append([])
        else:
            runs[-1].append(row)
    return [run for run in runs if _is_long_enough(run) and not _has_prose(run)]


def _is_long_enough(run: Sequence[Row]) -> bool:
    return sum(len(row) >= _CELLS for row in run) >= _ROWS


def _has_prose(run: Sequence[Row]) -> bool:
    long = sum(any(len(fragment.text.split()) > _LONG_CELL for fragment in row) for row in run)
    return long > _LONG_SHARE * len(run)


def _is_part(row: Row, run: list[Row]) -> bool:
    """A second line of a cell: short, and near the row above."""
    near = row[0].top - run[-1][0].bottom < row[0].height
    return near and all(len(fragment.text.split()) <= _LONGEST_CELL for fragment in row)


def _has_both(run: Sequence[Row]) -> bool:
    """Whether numbers and words stand in it, as in a table."""
    cells = [fragment.text for row in run for fragment in row]
    numbers = sum(2 * sum(char.isdigit() for char in cell) >= len(cell) for cell in cells)
    words = sum(4 * sum(char.isalpha() for char in cell) >= 3 * len(cell.replace(" ", "")) for cell in cells)
    return min(numbers, words) >= _NUMBERS * len(cells)


def _is_scrambled(table: Sequence[Row], place: dict[int, int]) -> bool:
    """Whether the cells of most rows were drawn far from each other."""
    full = [[place[id(fragment)] for fragment in row] for row in table if len(row) >= _CELLS]
    scattered = sum(max(places) - min(places) > len(places) + _AWAY for places in full)
    return scattered > _SCATTERED * len(full) and not _stand_side_by_side(table, place)


def _stand_side_by_side(table: Sequence[Row], place: dict[int, int]) -> bool:
    """Whether these are two tables or lists, the left one drawn before the right one."""
    drawn = sorted((fragment for row in table for fragment in row), key=lambda f: place[id(f)])
    rights, lefts = [f.right for f in drawn], [f.left for f in drawn]
    for index in range(len(drawn) - 1, 0, -1):  # lefts: of this cell and all behind it; rights: of all before it
        lefts[index - 1] = min(lefts[index - 1], lefts[index])
    for index in range(1, len(drawn)):
        rights[index] = max(rights[index - 1], rights[index])
        if rights[index - 1] < lefts[index] and index > 1.5 * len(table):
            return True
    return False


def _put(fragments: Sequence[Fragment], table: Sequence[Row]) -> list[Fragment]:
    """The table, in rows, where its first cell was."""
    cells = [fragment for row in table for fragment in row]
    own = {id(fragment) for fragment in cells}
    first = next(at for at, fragment in enumerate(fragments) if id(fragment) in own)
    rest = [fragment for fragment in fragments[first:] if id(fragment) not in own]
    return [*fragments[:first], *cells, *rest]
