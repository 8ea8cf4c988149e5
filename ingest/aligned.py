"""Tables without a full grid: columns from white space, rows from lines, and which cell goes over which.

What spans what is read from rules under a head, else from where a text lies over the columns.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from core.types import Box, Page
from ingest.grids import Grid, GridCell
from ingest.gutters import Line, Phrase, Region, cut, em_of, is_mostly_ruled, phrases_of, place, splits_of
from ingest.words import Word, around, lines_of

_NUMBER = re.compile(r"^[\W\d]*(?:[KMBTkx%e]|ms|pp|GB|MB)?[\W\d]*$")
_GOES_ON = re.compile(r"^[a-zß-ÿ(\[,;/&+]")
_MOST_HEADS = 12  # lines


def grid_of(page: Page, words: Sequence[Word], region: Region) -> Grid | None:
    """The table of the region, whose words are given; None where there are no two columns and two rows."""
    if len(words) < 4:
        return None
    em = em_of(words)
    lines = [phrases_of(line, em, region.down) for line in lines_of(words)]
    heads = _head_lines(lines, region)
    splits = splits_of(lines, heads, region, em)
    if not splits:
        return None
    lines = [cut(line, splits, lines[heads:]) for line in lines]
    for line in lines:
        for phrase in line:
            place(phrase, splits, em)
    lines = _without_split_lines(lines, region, em)
    heads = _head_lines(lines, region)
    boxed = is_mostly_ruled([(split, split) for split in splits], region)
    head, body = _head_rows(lines[:heads], region), list(_body_rows(page, lines[heads:], region, em, boxed))
    if not body:
        return None
    return _grid([*head, *body], len(head), splits, region)


# --- rows


def _top(line: Line) -> float:
    return min(phrase.box[1] for phrase in line)


def _bottom(line: Line) -> float:
    return max(phrase.box[3] for phrase in line)


def _middle(line: Line) -> float:
    """Of the tallest text's box."""
    box = max((phrase.box for phrase in line), key=lambda b: b[3] - b[1])
    return (box[1] + box[3]) / 2


def _columns(line: Line) -> set[int]:
    return {column for phrase in line for column in range(phrase.first, phrase.last + 1)}


def _band(y: float, region: Region) -> int:
    return bisect_right(region.across, y)


def _head_lines(lines: Sequence[Line], region: Region) -> int:
    """How many lines stand above the first rule within the table; one where there is no such rule."""
    bands = [_band(_middle(line), region) for line in lines]
    first = bands.count(bands[0])
    if first in (0, len(lines)) or first > min(len(lines) // 2 + 1, _MOST_HEADS):
        return 1
    while _has_groups(lines[first - 1]) and bands.count(bands[first]) == 1 and first + 1 < len(lines):
        first += 1  # a head of groups, and under a rule of its own the names in them
    return first


def _has_groups(line: Line) -> bool:
    return len(line) > 1 and any(phrase.first != phrase.last for phrase in line)


def _without_split_lines(lines: list[Line], region: Region, em: float) -> list[Line]:
    """Lines that hold different columns of one row at heights that differ a little, put together."""
    found: list[Line] = []
    for line in lines:
        if found:
            last = found[-1]
            near = _middle(line) - _middle(last) < 0.75 * em / 0.8
            same = _band(_middle(line), region) == _band(_middle(last), region)
            if near and same and not _columns(line) & _columns(last):
                found[-1] = sorted([*last, *line], key=lambda p: p.box[0])
                continue
        found.append(line)
    return found


Row = list[Phrase]  # phrases of several lines may share a column


def _body_rows(page: Page, lines: Sequence[Line], region: Region, em: float, boxed: bool) -> Iterator[Row]:
    bands: dict[int, list[Line]] = {}
    for line in lines:
        bands.setdefault(_band(_middle(line), region), []).append(line)
    for band in bands.values():
        if len(bands) > 1 and len(band) > 1 and _is_one_row(page, band, boxed, many=len(bands) > 3):
            yield [phrase for line in band for phrase in line]
        else:
            rows = _rows_of_band(page, band, em, by_cells=True)
            # Where it would be one row, the text was written column by column.
            yield from rows if len(rows) > 1 or len(bands) > 1 else _rows_of_band(page, band, em, by_cells=False)


def _is_one_row(page: Page, band: Sequence[Line], boxed: bool, many: bool) -> bool:
    """Whether the lines between two rules are one row: with one label, or with a label of several lines."""
    labels = sum(0 in _columns(line) for line in band)
    if labels == 1:
        return boxed or not _has_column_of_numbers(page, band)
    return many and len(band) <= 4 and sum(_columns(line) > {0} for line in band) == 1


def _rows_of_band(page: Page, band: Sequence[Line], em: float, by_cells: bool) -> list[Row]:
    rows: list[Row] = []
    last: Line = []
    for line in band:
        if rows and (_goes_on(page, rows[-1], last, line, em) or (by_cells and _is_written_within(rows[-1], line))):
            rows[-1] += line
        else:
            rows.append(list(line))
        last = line
    return rows


def _goes_on(page: Page, row: Row, last: Line, line: Line, em: float) -> bool:
    """Whether the line holds second lines of the row's cells."""
    if _top(line) - _bottom(last) > 0.6 * em or any(phrase.first != phrase.last for phrase in line):
        return False
    columns, above = _columns(line), _columns(row)
    if 0 in columns:
        text = page.text[line[0].words[0].start : line[0].words[-1].end]
        return len(line) == 1 and len(above) > 1 and bool(_GOES_ON.match(text))
    return 0 in above and columns <= above and not any(_is_number(page, phrase) for phrase in line)


def _is_written_within(row: Row, line: Line) -> bool:
    """Whether most of the line's texts come, in the page's text, before texts of the row that stand right of them."""
    within = 0
    for phrase in line:
        start = phrase.words[0].start
        above = [p.words[0].start for p in row if p.first == phrase.first]
        right = [p.words[0].start for p in row if p.first > phrase.first]
        within += bool(above and right) and max(above) < start < min(right)
    return 2 * within > len(line)


def _is_number(page: Page, phrase: Phrase) -> bool:
    return bool(_NUMBER.match(page.text[phrase.words[0].start : phrase.words[-1].end]))


def _has_column_of_numbers(page: Page, lines: Sequence[Line]) -> bool:
    """Numbers in one column of two lines: they are of two rows."""
    columns = [phrase.first for line in lines for phrase in line if _is_number(page, phrase)]
    return len(columns) != len(set(columns))


def _head_rows(lines: Sequence[Line], region: Region) -> list[Row]:
    """Lines of the head put together to rows: a new one begins under a rule, and under a text over several columns."""
    rows: list[Row] = []
    for number, line in enumerate(lines):
        if number and not _parts(lines[number - 1], line, region):
            rows[-1] += line
        else:
            rows.append(list(line))
    for row in rows[:-1]:
        _widen(row, region)
    return rows


def _parts(above: Line, line: Line, region: Region) -> bool:
    if any(phrase.first != phrase.last for phrase in above):
        return True
    return any(_middle(above) < rule[1] < _middle(line) for rule in region.partly)


def _widen(row: Row, region: Region) -> None:
    """A text of an upper head is as wide as the rule below it."""
    for phrase in row:
        below = [r for r in region.partly if -1 < r[1] - phrase.box[3] < 12 and r[0] - 2 < phrase.center < r[2] + 2]
        if below:
            rule = min(below, key=lambda r: r[1])
            phrase.box = (min(rule[0], phrase.box[0]), phrase.box[1], max(rule[2], phrase.box[2]), phrase.box[3])


# --- cells


def _grid(rows: Sequence[Row], heads: int, splits: Sequence[float], region: Region) -> Grid:
    box = region.box
    edges = [box[0], *splits, box[2]]
    tops = _row_edges(rows, box)
    cells: list[GridCell] = []
    for number, row in enumerate(rows):
        _span_by_middle(row, edges, region, in_upper_head=number < heads - 1)
        if number >= heads and len(row) == 1 and (row[0].first != row[0].last or _is_amid(row[0], box)):
            row[0].first, row[0].last = 0, len(splits)
        cells += _cells_of_row(row, number, edges, (tops[number], tops[number + 1]))
    grid = Grid(box, len(rows), len(edges) - 1, cells, header=heads)
    _span_down(grid, heads)
    _spread_labels(grid, heads, [_band(_middle(row), region) for row in rows])
    return grid


def _row_edges(rows: Sequence[Row], box: Box) -> list[float]:
    inner = [(_bottom(above) + _top(below)) / 2 for above, below in pairwise(rows)]
    return [box[1], *inner, box[3]]


def _is_amid(phrase: Phrase, box: Box) -> bool:
    return abs(phrase.center - (box[0] + box[2]) / 2) < 0.05 * (box[2] - box[0]) and phrase.first > 0


def _span_by_middle(row: Row, edges: Sequence[float], region: Region, in_upper_head: bool) -> None:
    """A text that lies over several columns, or stands in an upper head, goes over those whose middle it stands at."""
    for phrase in row:
        lone = phrase.first == phrase.last
        if lone and (not in_upper_head or phrase.first in (0, len(edges) - 2)):
            continue
        others = {column for other in row if other is not phrase for column in range(other.first, other.last + 1)}
        low, high = phrase.first, phrase.last
        y = (phrase.box[1] + phrase.box[3]) / 2
        while low > 0 and low - 1 not in others and not _has_rule_at(edges[low], y, region):
            low -= 1
        while high + 2 < len(edges) and high + 1 not in others and not _has_rule_at(edges[high + 1], y, region):
            high += 1
        ranges = [(a, b) for a in range(low, phrase.first + 1) for b in range(phrase.last, high + 1)]
        phrase.first, phrase.last = min(
            ranges, key=lambda r: (round(abs(edges[r[0]] + edges[r[1] + 1] - 2 * phrase.center)), r[0] - r[1])
        )


def _has_rule_at(x: float, y: float, region: Region) -> bool:
    return any(abs(rule[0] - x) < 3 and rule[1] <= y <= rule[3] for rule in region.down)


def _cells_of_row(row: Row, number: int, edges: Sequence[float], height: tuple[float, float]) -> list[GridCell]:
    found: dict[int, GridCell] = {}
    free = set(range(len(edges) - 1))
    for phrase in sorted(row, key=lambda p: (p.first - p.last, p.box[1])):
        owner = next((c for c in found.values() if c.column <= phrase.first < c.column + c.columns), None)
        if owner is None:
            last = phrase.last
            while any(column not in free for column in range(phrase.first, last + 1)):
                last -= 1
            box = (edges[phrase.first], height[0], edges[last + 1], height[1])
            owner = found[phrase.first] = GridCell(number, phrase.first, box, columns=last + 1 - phrase.first)
            free -= set(range(phrase.first, last + 1))
        owner.words += phrase.words
    for column in free:
        found[column] = GridCell(number, column, (edges[column], height[0], edges[column + 1], height[1]))
    return sorted(found.values(), key=lambda c: c.column)


def _span_down(grid: Grid, heads: int) -> None:
    """A head's empty cell below a filled one of its column alone, or above one, is a part of it."""
    at = grid.at()
    for row in range(1, heads):
        for column in range(grid.columns):
            above, below = at[row - 1, column], at[row, column]
            if above is below or above.columns > 1 or below.columns > 1 or bool(above.words) == bool(below.words):
                continue
            top = above if above.row + above.rows == row else None
            if top is None:
                continue
            top.rows += below.rows
            top.words += below.words
            top.box = (top.box[0], top.box[1], top.box[2], below.box[3])
            grid.cells.remove(below)
            at = grid.at()


def _spread_labels(grid: Grid, heads: int, bands: Sequence[int]) -> None:
    """A label that stands alone in the first column between two rules is that of all the rows between them."""
    for band in sorted(set(bands[heads:])):
        rows = [row for row in range(heads, grid.rows) if bands[row] == band]
        first = [cell for cell in grid.cells if cell.column == 0 and cell.row in rows]
        labels = [cell for cell in first if cell.words]
        if len(set(bands[heads:])) < 2 or len(rows) < 2 or len(labels) != 1 or labels[0].columns > 1:
            continue
        label = labels[0]
        grid.cells = [cell for cell in grid.cells if cell is label or cell not in first]
        label.row, label.rows = rows[0], len(rows)
        label.box = around(cell.box for cell in first)
