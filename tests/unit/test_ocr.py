"""Scanned pages through a scripted engine: turned upright, in order, with boxes on the page as it is shown."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pytest
from PIL import Image, ImageDraw, ImageFont

from core.errors import NoText
from ingest.ocr import Pixels, ScanReader, installed_engine, read_upright, without_engine
from ingest.ocr_order import Line, in_reading_order
from ingest.pdf import parse_pdf
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import settings_for
from tests.support.parsed import blocks
from tests.support.pdfs import lines as text_lines
from tests.support.pdfs import pdf, picture

WIDTH, HEIGHT = 600, 800  # of an upright page in points and in pixels at 72 dpi
TEXT = [
    ("Scanned Herons", (60, 60, 340, 84)),
    ("A heron waits for an hour in the shal-", (60, 120, 540, 134)),
    ("low water and then strikes.", (60, 140, 400, 154)),
]


def scan(path: Path, *turns: int) -> Path:
    """Pages without text: a black mark stands at the top left of the upright page, each page turned to the left."""
    page = Image.new("RGB", (WIDTH, HEIGHT), "white")
    ImageDraw.Draw(page).rectangle((0, 0, 40, 40), fill="black")
    pages = [page.rotate(90 * turn, expand=True) for turn in turns]
    pages[0].save(path, "PDF", save_all=True, append_images=pages[1:], resolution=72)
    return path


class ScriptedEngine:
    """Reads TEXT off pages of `scan` as an engine would: upside down badly, sideways as if turned to the left."""

    def __init__(self, text: Sequence[tuple[str, tuple[int, int, int, int]]] = TEXT) -> None:
        self.read_pictures = 0
        self._text = text

    def read(self, image: Pixels) -> list[Line]:
        self.read_pictures += 1
        height, width = image.shape[:2]
        corners = [image[5, 5], image[-6, 5], image[-6, -6], image[5, -6]]  # where the mark is after 0 to 3 turns
        turns = next(n for n, pixel in enumerate(corners) if pixel.sum() < 100)
        scale = max(width, height) / HEIGHT
        found = []
        for text, box in self._text:
            left, top, right, bottom = (value * scale for value in box)
            placed = {
                0: (left, top, right, bottom),
                1: (top, height - right, bottom, height - left),
                2: (width - right, height - bottom, width - left, height - top),
                3: (width - bottom, left, width - top, right),
            }[turns]
            good = turns in (0, 3)
            found.append(Line(text if good else "pqx", placed, 0.99 if good else 0.6))
        return found[::-1]


def reader(engine: ScriptedEngine, max_pages: int = 500) -> ScanReader:
    return ScanReader(lambda: engine, max_pages)


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_page_is_turned_upright_and_its_boxes_stay_where_it_shows_them(tmp_path: Path, turns: int) -> None:
    path = scan(tmp_path / "a.pdf", turns)
    parsed = reader(ScriptedEngine()).read(path, parse_pdf(path, 10, need_text=False))
    page = parsed.pages[0]
    assert page.ocr and parsed.gaps == () and parsed.title == "Scanned Herons"
    assert blocks(parsed) == [
        ("heading", "Scanned Herons"),
        ("text", "A heron waits for an hour in the shallow water and then strikes."),
    ]
    assert (page.width, page.height) == ((WIDTH, HEIGHT) if turns % 2 == 0 else (HEIGHT, WIDTH))
    assert len(page.boxes) == len(page.text)
    first = page.boxes[: len("Scanned Herons")]
    whole = [*first[:, :2].min(axis=0), *first[:, 2:].max(axis=0)]
    assert np.allclose(
        whole,
        {
            0: (60, 60, 340, 84),
            1: (60, WIDTH - 340, 84, WIDTH - 60),
            2: (WIDTH - 340, HEIGHT - 84, WIDTH - 60, HEIGHT - 60),
            3: (HEIGHT - 84, 60, HEIGHT - 60, 340),
        }[turns],
        atol=1.0,
    )


def test_an_upright_page_is_read_once(tmp_path: Path) -> None:
    engine = ScriptedEngine()
    path = scan(tmp_path / "a.pdf", 0)
    reader(engine).read(path, parse_pdf(path, 10, need_text=False))
    assert engine.read_pictures == 1


def test_scanned_pages_take_their_place_among_the_others(tmp_path: Path) -> None:
    path = tmp_path / "both.pdf"
    pdf(tmp_path / "text.pdf", text_lines(["Some words that stand in the file itself."]))
    scan(tmp_path / "scan.pdf", 0)
    both = pdfium.PdfDocument.new()
    for name in ("scan", "text", "scan"):
        both.import_pages(pdfium.PdfDocument(tmp_path / f"{name}.pdf"))
    both.save(path)
    parsed = reader(ScriptedEngine()).read(path, parse_pdf(path, 10, need_text=False))
    assert [page.ocr for page in parsed.pages] == [True, False, True]
    assert [block.span.page for block in parsed.blocks] == [1, 1, 2, 3, 3]


def test_what_cannot_be_read_is_a_gap_or_refused(tmp_path: Path) -> None:
    path = scan(tmp_path / "a.pdf", 0, 0, 0)
    parsed = parse_pdf(path, 10, need_text=False)
    seen: list[tuple[int, int]] = []
    read = reader(ScriptedEngine(), max_pages=2).read(path, parsed, lambda done, total: seen.append((done, total)))
    assert [page.ocr for page in read.pages] == [True, True, False]
    assert read.gaps[0].page == 3 and "QUAERE_INGEST__MAX_OCR_PAGES" in read.gaps[0].reason
    assert seen == [(1, 2), (2, 2)]
    with pytest.raises(NoText, match="no text could be read"):
        reader(ScriptedEngine([])).read(path, parsed)
    noise = [("§%&", (10, 10, 60, 30))]

    class Noise(ScriptedEngine):
        def read(self, image: Pixels) -> list[Line]:
            return [Line(line.text, line.box, 0.2) for line in super().read(image)]

    with pytest.raises(NoText):
        reader(Noise(noise)).read(path, parsed)


def test_without_an_engine_the_gaps_say_what_to_install(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", text_lines(["Some words."]), picture)
    assert without_engine(parse_pdf(path, 10)).gaps[0].reason == (
        "no text layer (a scan?); the extra quaere[ocr] reads it"
    )
    with pytest.raises(NoText) as error:
        parse_pdf(pdf(tmp_path / "b.pdf", picture), 10)
    assert "quaere[ocr]" in error.value.hint


def test_columns_are_read_one_after_the_other_and_tables_by_rows() -> None:
    def line(text: str, left: float, top: float, right: float) -> Line:
        return Line(text, (left, top, right, top + 10), 0.99)

    prose = "some words of a line of prose"
    two = [
        line(f"{prose} {side}{row}", x, 100 + 14 * row, x + 200)
        for row in range(6)
        for side, x in (("L", 0), ("R", 220))
    ]
    head = [line("A heading that spans both columns", 0, 80, 420)]
    order = [item.text.rsplit(" ", 1)[-1] for item in in_reading_order([*reversed(two), *head])]
    assert order == ["columns", *(f"L{n}" for n in range(6)), *(f"R{n}" for n in range(6))]

    cells = [
        line(f"{name}{row}", x, 14 * row, x + 60) for row in range(6) for name, x in (("a", 0), ("b", 100), ("c", 200))
    ]
    assert [item.text for item in in_reading_order(cells)] == [f"{name}{row}" for row in range(6) for name in "abc"]

    labels = [line(f"box {n}", 0, 100 + 19 * n, 60) for n in range(6)]
    beside = [line(f"{prose} {n}", 100, 103 + 14 * n, 320) for n in range(8)]
    assert [item.text for item in in_reading_order([*labels, *beside])] == [item.text for item in (*labels, *beside)]


async def test_an_answer_from_a_scan_says_so(tmp_path: Path) -> None:
    app: App = build(settings_for(tmp_path / "library"), HashEmbedder())
    app._ingestor.scans = reader(ScriptedEngine())
    document = await app.add_document(str(scan(tmp_path / "a.pdf", 1)))
    assert document.status == "ready" and document.title == "Scanned Herons"
    answer = await app.ask("How long does a heron wait in the shallow water?")
    citation = answer.citations[0]
    assert citation.ocr and citation.place == "page 1, OCR text" and citation.highlights[0].boxes
    view, png = await app.read_page(document.id, 1, highlight=citation.quote)
    assert view.ocr and view.highlights and Image.open(io.BytesIO(png)).size[0] > view.width
    await app.aclose()


@pytest.mark.skipif(installed_engine() is None, reason="RapidOCR is not installed: pip install 'quaere[ocr]'")
@pytest.mark.timeout(300)
def test_the_real_engine_reads_a_page_however_it_is_turned() -> None:
    make = installed_engine()
    assert make is not None
    engine = make()
    page = Image.new("RGB", (1654, 1000), "white")
    font = ImageFont.load_default(40)
    words = ["The heron stands in shallow water", "and waits for 45 minutes before it strikes."]
    for row, text in enumerate(words):
        ImageDraw.Draw(page).text((120, 150 + 90 * row), text, fill="black", font=font)
    for turns in range(4):
        found, lines = read_upright(np.asarray(page.rotate(90 * turns, expand=True)), engine)
        assert found == -turns % 4
        assert [line.text for line in in_reading_order(lines)] == words
