from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from core.errors import CorruptDocument, InvalidInput, NoText, PasswordNeeded
from core.text import line_boxes
from core.types import Block, Boxes
from ingest.pdf import ParsedDocument, parse_pdf
from ingest.render import render_png
from tests.support.pdfs import HEIGHT, both, lines, pdf, picture, rows

PROSE = [
    "A heron stands in the shallow water and waits for a fish to come near it, and it",
    "may wait for an hour. When the fish is near, the bird strikes with its long bill.",
]


def text_of_block(parsed: ParsedDocument, block: Block) -> str:
    return parsed.pages[block.span.page - 1].text[block.span.start : block.span.end]


def blocks_of(parsed: ParsedDocument, kind: str) -> list[str]:
    return [text_of_block(parsed, block) for block in parsed.blocks if block.kind == kind]


def test_columns_drawn_row_by_row_are_read_column_by_column(tmp_path: Path) -> None:
    path = pdf(
        tmp_path / "a.pdf",
        rows(
            ["The committee reviewed the annual", "approved the budget for the"],
            ["report and", "coming fiscal year."],
        ),
    )
    text = " ".join(parse_pdf(path, 10).pages[0].text.split())
    assert text == "The committee reviewed the annual report and approved the budget for the coming fiscal year."


def test_three_columns_drawn_row_by_row(tmp_path: Path) -> None:
    columns = [
        ["the first column begins", "here and is continued in", "its third line."],
        ["the second column is in", "the middle of this page and", "ends here."],
        ["the third column stands", "at the right of the page", "and is the last."],
    ]
    path = pdf(tmp_path / "a.pdf", rows(*zip(*columns, strict=True), lefts=(60, 240, 420)))
    text = " ".join(parse_pdf(path, 10).pages[0].text.split())
    assert text == " ".join(line for column in columns for line in column)


def test_a_table_stays_in_rows(tmp_path: Path) -> None:
    cells = [
        ["Model name", "Score on the test"],
        ["Heron base", "81.2 of 100 points"],
        ["Heron large", "84.9 of 100 points"],
    ]
    path = pdf(tmp_path / "a.pdf", rows(*cells))
    text = " ".join(parse_pdf(path, 10).pages[0].text.split())
    assert text == " ".join(cell for row in cells for cell in row)


@pytest.mark.parametrize(
    ("drawn", "read"),
    [
        (["The embed-", "ding is short."], "The embedding is short."),
        (["A pre-trained model. The pre-", "trained one wins."], "A pre-trained model. The pre-trained one wins."),
        (["Our 34-", "layer net is small."], "Our 34-layer net is small."),
        (["The M3-", "Embedding is small."], "The M3-Embedding is small."),
    ],
)
def test_hyphens_at_line_ends(tmp_path: Path, drawn: list[str], read: str) -> None:
    assert parse_pdf(pdf(tmp_path / "a.pdf", lines(drawn)), 10).pages[0].text == read


def test_ligatures_are_spelled_out_and_control_characters_dropped(tmp_path: Path) -> None:
    font = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
    if not font.exists():
        pytest.skip("DejaVu Sans is not installed")
    pdfmetrics.registerFont(TTFont("DejaVu", str(font)))
    path = pdf(tmp_path / "a.pdf", lines(["An eﬃcient ﬁlter ﬂows\u00ad"], font="DejaVu"), title="The\x00 title of it")
    parsed = parse_pdf(path, 10)
    assert parsed.pages[0].text == "An efficient filter flows"
    assert len(parsed.pages[0].boxes) == len(parsed.pages[0].text)
    assert parsed.title == "The title of it"


def test_nul_in_the_text_is_dropped(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        lines(["First line"], font="Helvetica")(canvas)
        canvas._code.append(r"BT /F1 11 Tf 72 600 Td (A line of words, one NUL\000 in it) Tj ET")

    text = parse_pdf(pdf(tmp_path / "a.pdf", draw), 10).pages[0].text
    assert "A line of words, one NUL" in text and "\x00" not in text


def test_encrypted(tmp_path: Path) -> None:
    path = pdf(tmp_path / "secret.pdf", lines(PROSE), password="open sesame")
    with pytest.raises(PasswordNeeded, match=r"secret\.pdf is encrypted: a password is needed") as error:
        parse_pdf(path, 10)
    assert error.value.hint
    with pytest.raises(PasswordNeeded, match="the password is wrong"):
        parse_pdf(path, 10, password="no")
    with pytest.raises(PasswordNeeded):
        render_png(path, 1)
    assert "heron" in parse_pdf(path, 10, password="open sesame").pages[0].text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"<html>not found</html>", "not a PDF"),
        (b"%PDF-1.7\n%cut", "damaged beyond repair or cut short"),
    ],
)
def test_no_pdf(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    with pytest.raises(CorruptDocument, match=says):
        parse_pdf(path, 10)
    with pytest.raises(CorruptDocument, match=says):
        render_png(path, 1)


def test_truncated_is_refused_or_read_never_a_raw_error(tmp_path: Path) -> None:
    whole = pdf(tmp_path / "whole.pdf", *[lines(PROSE)] * 5).read_bytes()
    path = tmp_path / "cut.pdf"
    for share in range(5, 100, 5):
        path.write_bytes(whole[: len(whole) * share // 100])
        try:
            assert parse_pdf(path, 10).pages
        except (CorruptDocument, NoText) as error:
            assert error.hint


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CorruptDocument, match="can't be read"):
        parse_pdf(tmp_path / "none.pdf", 10)


def test_scan(tmp_path: Path) -> None:
    with pytest.raises(NoText, match="no text layer, looks like a scan") as error:
        parse_pdf(pdf(tmp_path / "a.pdf", picture, picture), 10)
    assert "OCR" in error.value.hint


def test_a_scanned_page_is_a_gap_and_a_blank_one_is_none(tmp_path: Path) -> None:
    parsed = parse_pdf(pdf(tmp_path / "a.pdf", lines(PROSE), picture, lambda _: None), 10)
    assert [(gap.page, gap.reason) for gap in parsed.gaps] == [(2, "no text layer (a scan?)")]
    assert [bool(page.text) for page in parsed.pages] == [True, False, False]


def test_blank_document(tmp_path: Path) -> None:
    with pytest.raises(NoText, match="blank"):
        parse_pdf(pdf(tmp_path / "a.pdf", lambda _: None), 10)


def test_too_many_pages_and_progress(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", *[lines(PROSE)] * 3)
    with pytest.raises(InvalidInput, match="3 pages, more than the 2 allowed"):
        parse_pdf(path, 2)
    seen: list[tuple[int, int]] = []
    parse_pdf(path, 3, on_page=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_headings_captions_and_references(tmp_path: Path) -> None:
    path = pdf(
        tmp_path / "a.pdf",
        both(
            lines(["On Herons"], top=90, size=20),
            lines(["1 Introduction"], top=130, size=14, font="Times-Bold"),
            lines(PROSE, top=155),
            lines(["1.1 Where Herons Live"], top=200, size=12, font="Times-Bold"),
            lines(PROSE, top=220),
            lines(["2 Methods"], top=260, size=14, font="Times-Bold"),
            lines(["2.1 How We Counted"], top=285, size=12, font="Times-Bold"),
            lines(PROSE, top=305),
            lines(["Figure 3: A heron at dawn."], top=350),
        ),
        both(
            lines(["References"], top=100, size=14, font="Times-Bold"),
            lines(["[1] A. Smith. Herons. 2017.", "[2] B. Jones. More herons. 2019."], top=125),
            lines(["A More Herons"], top=200, size=14, font="Times-Bold"),
            lines(PROSE, top=225),
        ),
    )
    parsed = parse_pdf(path, 10)
    found = [(block.level, text_of_block(parsed, block)) for block in parsed.blocks if block.kind == "heading"]
    assert found == [
        (1, "1 Introduction"),
        (2, "1.1 Where Herons Live"),
        (1, "2 Methods"),
        (2, "2.1 How We Counted"),
        (1, "References"),
        (1, "A More Herons"),
    ]
    assert blocks_of(parsed, "caption") == ["Figure 3: A heron at dawn."]
    assert blocks_of(parsed, "reference") == ["[1] A. Smith. Herons. 2017.", "[2] B. Jones. More herons. 2019."]
    assert parsed.title == "On Herons"


def test_running_heads_are_left_out(tmp_path: Path) -> None:
    pages = [
        both(
            lines(["Journal of Herons"], top=40, size=9),
            lines([f"{name} is the word of this page.", *PROSE]),
            lines([f"Page {number}"], top=760, size=9),
        )
        for number, name in enumerate(["Alpha", "Beta", "Gamma", "Delta"], 1)
    ]
    parsed = parse_pdf(pdf(tmp_path / "a.pdf", *pages), 10)
    everything = " ".join(page.text for page in parsed.pages)
    assert "Journal" not in everything and "Page" not in everything
    assert all(name in everything for name in ("Alpha", "Beta", "Gamma", "Delta"))
    assert "Journal of Herons" in parse_pdf(pdf(tmp_path / "b.pdf", pages[0]), 10).pages[0].text


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_lie_on_the_word(tmp_path: Path, rotation: int) -> None:
    """The page as it is drawn is dark inside of the word's box, whichever way the page is turned."""
    path = pdf(tmp_path / "a.pdf", both(lines(["before WORD after"], left=150, top=200)), rotation=rotation)
    page = parse_pdf(path, 10).pages[0]
    at = page.text.index("WORD")
    left, top, right, bottom = (
        line_boxes(page, at, at + 4)[0] if rotation in (0, 180) else _around(page.boxes[at : at + 4])
    )
    image = Image.open(io.BytesIO(render_png(path, 1, scale=2))).convert("L")
    assert image.size == (round(page.width * 2), round(page.height * 2))
    inside = image.crop((round(left * 2), round(top * 2), round(right * 2), round(bottom * 2)))
    assert inside.getextrema()[0] < 60
    if rotation == 0:
        assert left == pytest.approx(150 + 33, abs=3)  # behind 'before ' in 11 point Times
        assert HEIGHT - top > HEIGHT - 200 > HEIGHT - bottom


def _around(boxes: Boxes) -> tuple[float, float, float, float]:
    (left, top), (right, bottom) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
    return left, top, right, bottom


def test_every_character_has_a_box_and_added_blanks_have_no_area(tmp_path: Path) -> None:
    page = parse_pdf(pdf(tmp_path / "a.pdf", lines(PROSE)), 10).pages[0]
    assert len(page.boxes) == len(page.text)
    assert all(
        box[2] > box[0] and box[3] > box[1] for char, box in zip(page.text, page.boxes, strict=True) if char != " "
    )
    joined = page.text.index("and it may") + len("and it")
    left, top, right, bottom = page.boxes[joined]
    assert (right - left) * (bottom - top) == 0
    assert len(line_boxes(page, 0, len(page.text))) == 2


def test_render_marks_and_bounds(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", lines(PROSE))
    image = Image.open(io.BytesIO(render_png(path, 1, [(300, 400, 360, 420)], scale=1)))
    assert image.getpixel((330, 410)) != (255, 255, 255) and image.getpixel((100, 700)) == (255, 255, 255)
    small = Image.open(io.BytesIO(render_png(path, 1, scale=50, max_pixels=10_000)))
    assert small.size[0] * small.size[1] < 10_500
    with pytest.raises(InvalidInput, match="no page 2"):
        render_png(path, 2)
