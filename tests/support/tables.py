"""Tables drawn with reportlab, as they stand in reports and papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table as Drawn

from core.types import Table
from tests.support.pdfs import HEIGHT, Draw

GRID = [("GRID", (0, 0), (-1, -1), 0.5, "black")]
BOOKTABS = [
    ("LINEABOVE", (0, 0), (-1, 0), 1, "black"),
    ("LINEBELOW", (0, 0), (-1, 0), 0.5, "black"),
    ("LINEBELOW", (0, -1), (-1, -1), 1, "black"),
]


def table(
    cells: Sequence[Sequence[str]], style: Sequence[Any], left: float = 72, top: float = 200, **options: Any
) -> Draw:
    """A table whose upper left corner stands there, in points from the page's upper left."""

    def draw(canvas: Canvas) -> None:
        drawn = Drawn([list(row) for row in cells], style=list(style), **options)
        _, height = drawn.wrapOn(canvas, 500, 700)
        drawn.drawOn(canvas, left, HEIGHT - top - height)

    return draw


def texts(found: Table, joined: str = " ") -> list[list[str]]:
    return [[joined.join(cell.text.split("\n")) for cell in row.cells] for row in found.rows]
