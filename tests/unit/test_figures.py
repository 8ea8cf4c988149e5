from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingest import figures
from ingest.pdf import parse_pdf
from tests.support.pdfs import HEIGHT, both, lines, pdf
from tests.support.tables import GRID, table

PROSE = [
    "A heron stands in the shallow water and waits for a fish to come near it, and it",
    "may wait for an hour. When the fish is near, the bird strikes with its long bill.",
]


def image(left: float, top: float, width: float, height: float, pixels: int = 40) -> object:
    def draw(canvas: Canvas) -> None:
        buffer = io.BytesIO()
        Image.new("L", (pixels, pixels), 100).save(buffer, "PNG")
        buffer.seek(0)
        canvas.drawImage(ImageReader(buffer), left, HEIGHT - top - height, width, height)

    return draw


def plot(canvas: Canvas) -> None:
    path = canvas.beginPath()
    path.moveTo(120, HEIGHT - 300)
    path.curveTo(160, HEIGHT - 180, 220, HEIGHT - 320, 320, HEIGHT - 200)
    canvas.drawPath(path)
    canvas.line(115, HEIGHT - 305, 330, HEIGHT - 305)
    canvas.line(115, HEIGHT - 305, 115, HEIGHT - 190)
    lines(["hours ahead"], left=190, top=318, size=8)(canvas)


def test_a_picture_with_its_caption(tmp_path: Path) -> None:
    path = pdf(
        tmp_path / "a.pdf",
        both(
            lines(PROSE, top=80),
            image(100, 130, 200, 120),
            lines(["Figure 3: A heron at dawn."], top=270),
            lines(PROSE, top=320),
        ),
    )
    document = parse_pdf(path, 10)
    (figure,) = document.figures
    assert (figure.page, figure.caption) == (1, "Figure 3: A heron at dawn.")
    left, top, right, bottom = figure.box
    assert left <= 100 and right >= 300 and top <= 130.5 and 249 <= bottom < 272
    drawn = Image.open(io.BytesIO(figure.png)).convert("L")
    assert max(drawn.size) <= 1600 and drawn.getpixel((drawn.width // 2, drawn.height // 2)) == 100
    assert [block.kind for block in document.blocks].count("caption") == 1


def test_a_drawing_with_its_labels_in_another_language_and_below_its_caption(tmp_path: Path) -> None:
    document = parse_pdf(pdf(tmp_path / "a.pdf", both(lines(["Fig. 2. Errors."], top=170), plot)), 10)
    (figure,) = document.figures
    assert figure.box[3] >= 318
    kinds = {document.pages[0].text[block.span.start : block.span.end]: block.kind for block in document.blocks}
    assert kinds["hours ahead"] == "figure"


def test_two_figures_side_by_side_in_columns(tmp_path: Path) -> None:
    left, right = 60.0, 330.0
    path = pdf(
        tmp_path / "a.pdf",
        both(
            image(left, 100, 200, 100),
            lines(["Figure 1: The left one stands here."], left=left, top=215, size=9),
            image(right, 100, 200, 100),
            lines(["Figure 2: The right one stands here."], left=right, top=215, size=9),
        ),
    )
    boxes = [figure.box for figure in parse_pdf(path, 10).figures]
    assert [round(box[0] / 10) for box in boxes] == [6, 33]
    assert boxes[0][2] < boxes[1][0]


def test_no_caption_no_figure_and_no_logo(tmp_path: Path) -> None:
    logo = both(lines(PROSE, top=200), image(72, 40, 18, 18), image(100, 300, 200, 120), lines(PROSE, top=500))
    assert parse_pdf(pdf(tmp_path / "a.pdf", logo), 10).figures == ()
    near = both(image(72, 80, 18, 18), lines(["Figure 1: Nothing is above but a logo."], top=115))
    assert parse_pdf(pdf(tmp_path / "b.pdf", near), 10).figures == ()


def test_a_table_is_no_figure(tmp_path: Path) -> None:
    shaded = [*GRID, ("BACKGROUND", (0, 0), (-1, 0), "lightgrey")]
    cells = [["Model", "RMSE"], ["HeronNet", "3.9"], ["Egret-2", "4.1"]]
    draw = both(
        lines(["Table 1: Errors."], top=100),
        table(cells, shaded, top=110),
        image(72, 250, 200, 120),
        lines(["Figure 1: A heron."], top=390),
    )
    document = parse_pdf(pdf(tmp_path / "a.pdf", draw), 10)
    assert len(document.tables) == 1
    assert [figure.caption for figure in document.figures] == ["Figure 1: A heron."]
    assert document.figures[0].box[1] > 240


def test_a_huge_picture_is_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_MAX_IMAGE_PIXELS", 1_000)
    path = pdf(tmp_path / "a.pdf", both(image(100, 130, 200, 120), lines(["Figure 1: A heron."], top=270)))
    (figure,) = parse_pdf(path, 10).figures
    assert figure.png == b"" and figure.caption == "Figure 1: A heron."
