"""Whether what looks like a table is one. A table that is missed is still read as text; prose cut to cells is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from statistics import median

from core.types import Page
from ingest.grids import Grid, GridCell
from ingest.words import text_of_words

_NUMBERS = re.compile(r"^[\W\d]*\d[\W\d]*(?:[KMBTkx%e]|ms|pp|GB|MB)?[\W\d]*$|^[-–—−.*✓✗×/]+$|^(?i:n/?a|nan)$")
_LEADERS = re.compile(r"(?:\. ?){4,}|…{2,}|·{4,}")
_MARKER = re.compile(r"^(?:[•‣▪●◦–—*·-]|\[[\w+-]{1,12}\]|\(?[0-9ivx]{1,3}[.)]|\(?[a-zA-Z][.)])$")
_LISTING = re.compile(r"^(?:Algorithm|Listing|Procedure|Require|Input:|算法)", re.IGNORECASE)
_ROMAN = re.compile(r"^[ivxl]+$")
_ALIGNED = 2.0  # points
_TEXT_WORD = re.compile(r"[^\W\d_]{2,}")


def is_number(text: str) -> bool:
    return bool(_NUMBERS.match(text))


def filled_share(grid: Grid) -> float:
    return sum(bool(cell.words) for cell in grid.cells) / max(len(grid.cells), 1)


def is_ruled_table(grid: Grid) -> bool:
    """At least two rows and columns, and not the grid of a plot or the boxes of a form."""
    if grid.columns < 2 or grid.rows < 2 or filled_share(grid) < 0.3:
        return False
    rows = {cell.row for cell in grid.cells if cell.words}
    columns = {cell.column for cell in grid.cells if cell.words}
    if len(grid.cells) < 0.35 * grid.rows * grid.columns:
        return False  # boxes at any place: marked words, a drawing
    return len(rows) >= 2 and len(columns) >= 2 and not (grid.columns > 12 and filled_share(grid) < 0.5)


def is_open_table(page: Page, grid: Grid, captioned: bool, pictured: bool) -> bool:
    """For a table between horizontal rules. `pictured`: a figure's caption is nearer than a table's."""
    texts = _texts(page, grid)
    if grid.columns < 2 or grid.rows < 2 or (texts and _LISTING.match(texts[0])):
        return False
    if captioned:
        return filled_share(grid) >= 0.2
    if pictured or filled_share(grid) < 0.4 or _filled_rows(grid) < max(2, 0.5 * grid.rows):
        return False
    words = [len(_TEXT_WORD.findall(text)) for text in texts]
    if sum(words) > 5 * len(words) or _is_code(texts):
        return False
    return _keeps_columns(grid) and sum("=" in text for text in texts) <= 0.25 * len(texts)


def is_loose_table(page: Page, grid: Grid, captioned: bool, pictured: bool) -> bool:
    """For lines that keep to the same columns with no rule to say that they are a table's."""
    rows = 2 if captioned else 3 if grid.columns > 2 else 4
    if pictured or grid.columns < 2 or grid.rows < rows or _filled_rows(grid) < rows:
        return False
    texts = _texts(page, grid)
    if any(_LEADERS.search(text) for text in texts) or sum("@" in text for text in texts) > 1:
        return False
    first = [text_of_words(page, cell.words) for cell in grid.cells if cell.column == 0 and cell.words]
    if _is_contents(page, grid):
        return False
    if sum(bool(_MARKER.match(text)) for text in first) > 0.5 * len(first) and grid.columns == 2:
        return False  # a list
    if sum("=" in text for text in texts) > 0.25 * len(texts) or not _keeps_columns(grid):
        return False
    return captioned or _looks_tabular(grid, texts)


def _is_code(texts: list[str]) -> bool:
    return sum(text.rstrip().endswith(("{", "}", ";")) for text in texts) >= 2


def _is_contents(page: Page, grid: Grid) -> bool:
    """A table of contents: at the right numbers of pages that only go up."""
    last = [c for c in grid.cells if c.column == grid.columns - 1 and c.words]
    texts = [text_of_words(page, cell.words) for cell in sorted(last, key=lambda c: c.row)]
    numbers = [int(text) for text in texts if text.isdecimal()]
    roman = sum(bool(_ROMAN.match(text)) for text in texts)
    up = all(one <= other for one, other in pairwise(numbers))
    return grid.columns <= 3 and up and len(numbers) > 1 and len(numbers) + roman > 0.8 * len(texts)


def _looks_tabular(grid: Grid, texts: list[str]) -> bool:
    """Without a caption: short cells, and numbers or at least three columns or many rows."""
    words = [len(_TEXT_WORD.findall(text)) for text in texts]
    if sum(words) / max(len(words), 1) > 4 or filled_share(grid) < 0.6:
        return False
    numbers = sum(is_number(text) for text in texts) / max(len(texts), 1)
    return numbers >= 0.3 or (grid.columns >= 3 and grid.rows >= 4) or grid.rows >= 6


def _keeps_columns(grid: Grid) -> bool:
    """Whether the cells of each column share their left or right edge or their middle."""
    for column in range(grid.columns):
        cells = [c for c in grid.cells if c.column == column and c.columns == 1 and c.words]
        if len(cells) < 2 or not any(_share(cells, at) >= 0.6 for at in (_left, _right, _center)):
            return False
    return True


def _share(cells: list[GridCell], at: Callable[[GridCell], float]) -> float:
    places = [at(cell) for cell in cells]
    middle = median(places)
    return sum(abs(place - middle) < _ALIGNED for place in places) / len(places)


def _left(cell: GridCell) -> float:
    return min(word.box[0] for word in cell.words)


def _right(cell: GridCell) -> float:
    return max(word.box[2] for word in cell.words)


def _center(cell: GridCell) -> float:
    return (_left(cell) + _right(cell)) / 2


def _filled_rows(grid: Grid) -> int:
    """Rows with at least two filled cells."""
    rows = [cell.row for cell in grid.cells if cell.words]
    return sum(rows.count(row) >= 2 for row in set(rows))


def _texts(page: Page, grid: Grid) -> list[str]:
    return [text_of_words(page, cell.words) for cell in grid.cells if cell.words]
