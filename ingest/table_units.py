"""Where a document's tables and figures stand in its text, and what is indexed for a table's rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from core.types import Block, Span
from ingest.pdf import ParsedDocument
from ingest.table_text import head_of, plain_row, row_text

Group = tuple[Literal["table", "figure"], int]  # which table it is of; all figures are one
FIGURE: Group = ("figure", 0)
_CAPTION = 300  # characters of it that are indexed with each piece of the table
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Piece:
    """Characters start to end of a block's text. `rows` are those of the table that it holds whole."""

    start: int
    end: int
    rows: tuple[int, ...]


class Objects:
    def __init__(self, parsed: ParsedDocument) -> None:
        self._tables = parsed.tables
        self._rows: dict[int, list[tuple[Span, int, int]]] = {}  # page: (span, table, row)
        self._captions: dict[int, list[tuple[Span, Group]]] = {}
        for number, table in enumerate(parsed.tables):
            for at, row in enumerate(table.rows):
                self._rows.setdefault(row.page, []).extend((span, number, at) for span in row.spans)
            for span in table.caption_spans:
                self._captions.setdefault(span.page, []).append((span, ("table", number)))
        for figure in parsed.figures:
            for span in figure.caption_spans:
                self._captions.setdefault(span.page, []).append((span, FIGURE))

    def group_of(self, block: Block) -> Group | None:
        """The table that a block is of, with its caption; a figure's labels and caption; None for all else."""
        if block.kind == "figure":
            return FIGURE
        if block.kind == "caption":
            return next((group for span, group in self._captions.get(block.span.page, ()) if _meet(span, block)), None)
        if block.kind == "table":
            rows = self._rows.get(block.span.page, ())
            return next((("table", table) for span, table, _ in rows if _meet(span, block)), None)
        return None

    def pieces(self, block: Block, group: Group, text: str) -> Iterator[Piece]:
        """The block of a table cut between rows; rows whose words stand in each other stay together."""
        span, length = block.span, len(text)
        stretches: dict[int, tuple[int, int]] = {}
        for own, table, row in self._rows.get(span.page, ()):
            if table == group[1] and _meet(own, block):
                first, last = own.start - span.start, own.end - span.start
                start, end = stretches.get(row, (first, last))
                stretches[row] = (min(start, first), max(end, last))
        runs: list[tuple[int, int, list[int]]] = []
        for row, (start, end) in sorted(stretches.items(), key=lambda item: item[1]):
            if runs and start < runs[-1][1]:
                first, last, rows = runs[-1]
                runs[-1] = (first, max(last, end), [*rows, row])
            else:
                runs.append((start, end, [row]))
        starts = [0, *(start for start, _, _ in runs[1:]), length]
        for (start, end), (first, last, rows) in zip(pairwise(starts), runs, strict=True):
            held = first >= 0 and last <= length
            yield Piece(start, start + len(text[start:end].rstrip()), tuple(rows) if held else ())

    def caption_chars(self, group: Group) -> int:
        return min(len(self._tables[group[1]].caption), _CAPTION)

    def indexed(self, group: Group, rows: Sequence[int], text: str) -> str:
        """Caption, then each row with its columns' names; then the text itself, where it has words beyond those."""
        table = self._tables[group[1]]
        held = [table.rows[row] for row in rows]
        lines = [row_text(table, row) for row in held if not row.is_header] or [plain_row(row) for row in held]
        caption = " ".join(table.caption.split())[:_CAPTION]
        found = "\n".join(line for line in [caption, *lines] if line)
        known = set(_WORD.findall(f"{found} {' '.join(head_of(table))} {table.caption}"))
        return found if lines and known.issuperset(_WORD.findall(text)) else f"{found}\n{text}"


def _meet(span: Span, block: Block) -> bool:
    return span.start < block.span.end and block.span.start < span.end
