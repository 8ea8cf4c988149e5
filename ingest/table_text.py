"""A table as text to search in. None of it is quoted: what can be quoted of a row is the text at its spans."""

from __future__ import annotations

from core.types import Table, TableRow


def head_of(table: Table) -> tuple[str, ...]:
    """A name for each column: its heads from the top, each once; empty where the table has no header."""
    first = [row for row in table.rows if row.is_header and row.page == table.page]
    names = []
    for column in range(table.columns):
        parts = dict.fromkeys(_flat(row.cells[column].text) for row in first)
        names.append(" ".join(part for part in parts if part))
    return tuple(names)


def row_text(table: Table, row: TableRow) -> str:
    """'Row: Egret-2 | RMSE: 4.1': each filled cell behind its column's name; the first one's is 'Row' without one."""
    cells = _cells_once(row)
    if len(cells) == 1 and table.columns > 1:
        return cells[0][1]
    names = head_of(table)
    return " | ".join(f"{names[at] or ('Row' if at == 0 else f'column {at + 1}')}: {text}" for at, text in cells)


def plain_row(row: TableRow) -> str:
    """'Egret-2 | 4.1': the cells as they stand, a merged one once."""
    return " | ".join(_flat(cell.text) for cell in row.cells if not cell.repeated)


def table_text(table: Table) -> str:
    """The caption, then a line for each row with its columns' names; a row that names a group of rows alone."""
    lines = [_flat(table.caption)] if table.caption else []
    lines += [row_text(table, row) for row in table.rows if not row.is_header]
    if len(lines) == bool(table.caption):  # nothing but heads
        lines += [plain_row(row) for row in table.rows]
    return "\n".join(line for line in lines if line)


def _cells_once(row: TableRow) -> list[tuple[int, str]]:
    """(column, text) of the filled cells; what goes over several columns once, what comes from a row above too."""
    found: list[tuple[int, str]] = []
    for at, cell in enumerate(row.cells):
        text = _flat(cell.text)
        before = row.cells[at - 1] if at else None
        if text and not (cell.repeated and before is not None and before.spans == cell.spans):
            found.append((at, text))
    return found


def _flat(text: str) -> str:
    return " ".join(text.split())
