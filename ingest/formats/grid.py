"""An HTML table's cells as rows of one length: spans filled, the rows of a header put together as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

_COLUMNS = 200  # more are cut off
_FILLED = 20_000  # cells of one table that spans may fill: a span can claim a thousand columns of 65,534 rows
_LONGEST_FILLED = 300  # characters of a cell that is repeated


def rows_of(table: Any, text_of: Callable[[Any], str]) -> list[list[str]]:
    """The table's rows, its header first where it has one. A cell that spans rows or columns stands in each of them;
    one that spans a whole row, as a heading of the rows below it, stands once."""
    grid = _Grid(text_of)
    header: list[list[str]] = []
    body: list[list[str]] = []
    for row, in_head in _rows(table):
        cells = [cell for cell in row if cell.tag in ("td", "th")]
        filled = grid.add(cells)
        is_header = in_head or (not body and len(cells) > 1 and all(cell.tag == "th" for cell in cells))
        (header if is_header and not body else body).append(filled)
    return [*([_merged(header)] if header else []), *map(_once, body)]


def _rows(table: Any) -> Iterator[tuple[Any, bool]]:
    for child in table:
        if child.tag == "tr":
            yield child, False
        elif child.tag in ("thead", "tbody", "tfoot"):
            for row in child:
                if row.tag == "tr":
                    yield row, child.tag == "thead"


class _Grid:
    """Rows one after the other; what spans down from the rows above is kept by its column."""

    def __init__(self, text_of: Callable[[Any], str]) -> None:
        self._text_of = text_of
        self._down: dict[int, tuple[int, str]] = {}  # rows still to fill, text
        self._left = _FILLED

    def add(self, cells: Sequence[Any]) -> list[str]:
        row: list[str] = []
        for cell in cells:
            self._fill_from_above(row)
            text = " ".join(self._text_of(cell).split())
            across, down = _span(cell, "colspan"), _span(cell, "rowspan")
            repeated = text if len(text) <= _LONGEST_FILLED else ""
            for column in range(across):
                if len(row) >= _COLUMNS or (column and self._left <= 0):
                    break
                self._left -= column > 0
                if down > 1 and self._left > 0:
                    self._down[len(row)] = (down - 1, repeated)
                row.append(repeated if column else text)
        self._fill_from_above(row)
        return row

    def _fill_from_above(self, row: list[str]) -> None:
        while (kept := self._down.pop(len(row), None)) is not None:
            rows, text = kept
            self._left -= 1
            if rows > 1 and self._left > 0:
                self._down[len(row)] = (rows - 1, text)
            row.append(text)


def _span(cell: Any, name: str) -> int:
    value = cell.get(name, "1").strip()
    return min(max(int(value), 1), 65_534) if value.isdecimal() and len(value) < 9 else 1


def _merged(header: Sequence[Sequence[str]]) -> list[str]:
    """Several rows of a header as one: 'Error' above 'cm' and 'percent' become 'Error cm' and 'Error percent'."""
    width = max(map(len, header))
    columns = [[row[at] for row in header if at < len(row) and row[at]] for at in range(width)]
    return [" ".join(dict.fromkeys(column)) for column in columns]


def _once(row: list[str]) -> list[str]:
    return row[:1] if len(row) > 1 and len(set(row)) == 1 and row[0] else row
