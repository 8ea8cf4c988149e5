"""Tables drawn with rules: pdfplumber's way from edges to cells, on edges that pdfium reads in 3 ms a page."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.types import Box, Page
from ingest.drawing import Drawing
from ingest.words import Word, around, make_word

_TOLERANCE = 3.0  # points, pdfplumber's own: for snapping, joining, the shortest edge, and where edges meet
_MAX_POINTS = 1_500  # where edges meet, a page: more is a plot's grid
_MAX_EDGES = 3_000
_EDGE = 0.1  # share of the page's height where running heads stand


@dataclass
class GridCell:
    """A cell at its first row and column; `rows` and `columns` are how many it goes over."""

    row: int
    column: int
    box: Box
    rows: int = 1
    columns: int = 1
    words: list[Word] = field(default_factory=list)


@dataclass
class Grid:
    """A table of one page before its words become text. `header` counts rows from the top, -1 when it isn't known."""

    box: Box
    rows: int
    columns: int
    cells: list[GridCell]
    header: int = -1

    def at(self) -> dict[tuple[int, int], GridCell]:
        """The cell of each row and column, merged ones in all of theirs."""
        return {
            (row, column): cell
            for cell in self.cells
            for row in range(cell.row, cell.row + cell.rows)
            for column in range(cell.column, cell.column + cell.columns)
        }


@dataclass(frozen=True)
class Rules:
    """Edges of a page, merged: boxes without thickness, from the top and from the left."""

    across: list[Box]
    down: list[Box]


Edge = dict[str, Any]


def merged_edges(drawing: Drawing) -> list[Edge]:
    edges = [_edge(box, "h") for box in drawing.across] + [_edge(box, "v") for box in drawing.down]
    long = [edge for edge in edges if _length(edge) >= 1]
    if not long or len(long) > _MAX_EDGES:
        return []
    from pdfplumber.table import merge_edges  # slow to start: only for pages with rules

    merged: list[Edge] = merge_edges(long, _TOLERANCE, _TOLERANCE, _TOLERANCE, _TOLERANCE)
    return [edge for edge in merged if _length(edge) >= _TOLERANCE]


def rules_of(edges: Sequence[Edge]) -> Rules:
    boxes = [(edge["orientation"], _box(edge)) for edge in edges]
    return Rules(
        across=sorted((box for way, box in boxes if way == "h"), key=lambda box: (box[1], box[0])),
        down=sorted((box for way, box in boxes if way == "v"), key=lambda box: (box[0], box[1])),
    )


def grids_of(edges: Sequence[Edge]) -> list[Grid]:
    """Grids of at least two cells, from the top; their cells have no words yet."""
    if not edges:
        return []
    from pdfplumber.table import cells_to_tables, edges_to_intersections, intersections_to_cells

    meet = edges_to_intersections(list(edges), _TOLERANCE, _TOLERANCE)
    if not 4 <= len(meet) <= _MAX_POINTS:
        return []
    return [_grid(cells) for cells in cells_to_tables(intersections_to_cells(meet))]


def boxes_at_edges(drawing: Drawing, height: float) -> tuple[Box, ...]:
    """Boxes of grids that begin or end where running heads stand, and go on beyond: their rows are no running heads."""
    low, high = _EDGE * height, (1 - _EDGE) * height
    if not any(rule[1] < low or rule[3] > high for rule in drawing.across):
        return ()
    grids = grids_of(merged_edges(drawing))
    return tuple(
        g.box for g in grids if g.rows > 1 and g.columns > 1 and g.box[3] > 2 * low and g.box[1] < height - 2 * low
    )


def _grid(boxes: Sequence[Box]) -> Grid:
    tops, lefts = sorted({box[1] for box in boxes}), sorted({box[0] for box in boxes})
    cells = []
    for box in sorted(boxes, key=lambda b: (b[1], b[0])):
        row, column = tops.index(box[1]), lefts.index(box[0])
        end_row, end_column = bisect_right(tops, box[3] - 0.1), bisect_right(lefts, box[2] - 0.1)
        cells.append(GridCell(row, column, box, rows=end_row - row, columns=end_column - column))
    return Grid(around(boxes), len(tops), len(lefts), cells)


def complete(grid: Grid) -> None:
    """Cells where the grid has none, as in tables without rules at their sides."""
    taken = grid.at()
    tops = [*sorted({cell.box[1] for cell in grid.cells}), grid.box[3]]
    lefts = [*sorted({cell.box[0] for cell in grid.cells}), grid.box[2]]
    for row in range(grid.rows):
        for column in range(grid.columns):
            if (row, column) not in taken:
                box = (lefts[column], tops[row], lefts[column + 1], tops[row + 1])
                grid.cells.append(GridCell(row, column, box))


def fill(grid: Grid, page: Page, words: Iterable[Word]) -> None:
    """Put each word into the cell that its middle is in; one that goes over a border is cut there."""
    for cell in grid.cells:
        cell.words.clear()
    cells = grid.at()
    tops = sorted({cell.box[1] for cell in grid.cells})
    lefts = sorted({cell.box[0] for cell in grid.cells})

    def cell_of(box: Box) -> GridCell | None:
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        cell = cells.get((bisect_right(tops, y) - 1, bisect_right(lefts, x) - 1))
        return cell if cell and cell.box[0] <= x < cell.box[2] and cell.box[1] <= y < cell.box[3] else None

    for word in words:
        if not touches(word.box, grid.box):
            continue
        first = cell_of(page.boxes[word.start])
        if first is not None and first is cell_of(page.boxes[word.end - 1]):
            first.words.append(word)
            continue
        start = word.start
        owner = cell_of(page.boxes[start])
        for at in range(word.start + 1, word.end + 1):
            new = cell_of(page.boxes[at]) if at < word.end else None
            if at == word.end or new is not owner:
                if owner is not None:
                    owner.words.append(make_word(page, start, at))
                start, owner = at, new


def touches(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _edge(box: Box, way: str) -> Edge:
    left, top, right, bottom = box
    if way == "h":
        top = bottom = (top + bottom) / 2
    else:
        left = right = (left + right) / 2
    return {
        "x0": left,
        "x1": right,
        "top": top,
        "bottom": bottom,
        "width": right - left,
        "height": bottom - top,
        "orientation": way,
    }


def _length(edge: Edge) -> float:
    left, top, right, bottom = _box(edge)
    return max(right - left, bottom - top)


def _box(edge: Edge) -> Box:
    return float(edge["x0"]), float(edge["top"]), float(edge["x1"]), float(edge["bottom"])
