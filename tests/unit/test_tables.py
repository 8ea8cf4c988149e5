from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from core.text import text_of
from core.types import Block, Page, Span, Table
from ingest.captions import captions_of
from ingest.pdf import ParsedDocument, parse_pdf
from ingest.table_text import head_of, plain_row, row_text, table_text
from tests.support.pdfs import both, lines, pdf, rows
from tests.support.tables import BOOKTABS, GRID, table, texts

SCORES = [
    ["Model", "RMSE", "MAE"],
    ["HeronNet", "3.9", "2.7"],
    ["Egret-2", "4.1", "3.0"],
    ["Bittern", "5.5", "4.2"],
]
PROSE = [
    "A heron stands in the shallow water and waits for a fish to come near it, and it",
    "may wait for an hour. When the fish is near, the bird strikes with its long bill.",
    "Herons that were ringed as chicks come back to the colony they were born in, and",
    "most of them build their nests in the same tree. The young leave after two months.",
]


def parsed(tmp_path: Path, *pages: object, **options: object) -> ParsedDocument:
    return parse_pdf(pdf(tmp_path / "a.pdf", *pages, **options), 20)  # type: ignore[arg-type]


def only(document: ParsedDocument) -> Table:
    assert len(document.tables) == 1
    return document.tables[0]


def check_whole(document: ParsedDocument) -> None:
    """No word of the pages is in no block or in two; each row's spans hold the words of its cells."""
    pages = {page.number: page.text for page in document.pages}
    for number, text in pages.items():
        spans = [block.span for block in document.blocks if block.span.page == number]
        assert [span.start for span in spans] == sorted(span.start for span in spans)
        held = "".join(text[span.start : span.end] for span in spans)
        assert "".join(held.split()) == "".join(text.split())
    for row in (row for found in document.tables for row in found.rows):
        words = sorted(word for cell in row.cells if not cell.repeated for word in cell.text.split())
        assert sorted(text_of(row.spans, pages).split()) == words or any(cell.repeated for cell in row.cells)
        for cell in row.cells:
            assert "".join(text_of(cell.spans, pages).split()) == "".join(cell.text.split())


@pytest.mark.parametrize("style", [GRID, BOOKTABS], ids=["ruled", "booktabs"])
def test_a_table_with_its_caption(tmp_path: Path, style: list[object]) -> None:
    document = parsed(
        tmp_path,
        both(lines(PROSE, top=80), lines(["Table 2: Errors three hours ahead."], top=180), table(SCORES, style)),
    )
    found = only(document)
    assert texts(found) == SCORES
    assert [row.is_header for row in found.rows] == [True, False, False, False]
    assert (found.page, found.caption) == (1, "Table 2: Errors three hours ahead.")
    assert row_text(found, found.rows[2]) == "Model: Egret-2 | RMSE: 4.1 | MAE: 3.0"
    assert plain_row(found.rows[2]) == "Egret-2 | 4.1 | 3.0"
    assert table_text(found).splitlines()[:2] == [found.caption, "Model: HeronNet | RMSE: 3.9 | MAE: 2.7"]
    kinds = [block.kind for block in document.blocks]
    assert kinds == ["text", "caption", "table"] or kinds == ["text", "text", "caption", "table"]
    check_whole(document)


def test_cells_lie_where_their_words_are_drawn(tmp_path: Path) -> None:
    document = parsed(tmp_path, table(SCORES, GRID))
    page, cell = document.pages[0], only(document).rows[2].cells[1]
    left, top, right, bottom = cell.box
    for at in range(cell.spans[0].start, cell.spans[0].end):
        box = page.boxes[at]
        assert left <= box[0] and box[2] <= right and top <= (box[1] + box[3]) / 2 <= bottom
    assert page.text[cell.spans[0].start : cell.spans[0].end] == "4.1"


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_ruled_table_on_a_turned_page(tmp_path: Path, rotation: int) -> None:
    """Its cells lie on its words, and hold them, whichever way the page is turned."""
    found = only(parsed(tmp_path, table(SCORES, GRID), rotation=rotation))
    held = {cell.text.replace("\n", "") for row in found.rows for cell in row.cells}
    assert len(found.rows) * found.columns == 12
    assert {"Model", "HeronNet", "4.1", "4.2"} <= held


def test_unruled_with_cells_of_several_lines(tmp_path: Path) -> None:
    cells = [
        ["Header1", "Header2", "Header3"],
        ["Col11\nCol12", "Col21\nCol22", "Col31\nCol32\nCol33"],
        ["Col13", "Col23", "Col34\nCol35"],
        ["Col14", "Col24", "Col36"],
        ["Col15", "Col25\nCol26", ""],
    ]
    document = parsed(tmp_path, table(cells, [("VALIGN", (0, 0), (-1, -1), "TOP")]))
    assert texts(only(document), "\n") == cells
    check_whole(document)


def test_unruled_and_captioned_between_paragraphs(tmp_path: Path) -> None:
    catches = [["Year", "Herons", "Fish"], ["2019", "12", "310"], ["2020", "15", "402"]]
    document = parsed(
        tmp_path,
        both(
            lines(PROSE, top=80),
            lines(["Table 1. Catches of three years."], top=170),
            rows(
                ["Year", "Herons", "Fish"], ["2019", "12", "310"], ["2020", "15", "402"], lefts=(72, 200, 300), top=190
            ),
            lines(PROSE, top=270),
        ),
    )
    assert texts(only(document)) == catches
    check_whole(document)


def test_spanning_cells_are_repeated_and_marked(tmp_path: Path) -> None:
    cells = [["Model", "Errors", ""], ["", "RMSE", "MAE"], ["HeronNet", "3.9", "2.7"], ["Egret-2", "4.1", "3.0"]]
    spans = [("SPAN", (0, 0), (0, 1)), ("SPAN", (1, 0), (2, 0))]
    found = only(parsed(tmp_path, table(cells, [*GRID, *spans])))
    assert texts(found)[:2] == [["Model", "Errors", "Errors"], ["Model", "RMSE", "MAE"]]
    assert [cell.repeated for cell in found.rows[0].cells] == [False, False, True]
    assert [cell.repeated for cell in found.rows[1].cells] == [True, False, False]
    assert head_of(found) == ("Model", "Errors RMSE", "Errors MAE")
    assert row_text(found, found.rows[3]) == "Model: Egret-2 | Errors RMSE: 4.1 | Errors MAE: 3.0"


def test_a_head_over_two_columns_between_rules(tmp_path: Path) -> None:
    cells = [["", "Errors", ""], ["Model", "RMSE", "MAE"], *SCORES[1:]]
    style = [
        ("LINEABOVE", (0, 0), (-1, 0), 1, "black"),
        ("LINEBELOW", (1, 0), (2, 0), 0.5, "black"),
        ("LINEBELOW", (0, 1), (-1, 1), 0.5, "black"),
        ("LINEBELOW", (0, -1), (-1, -1), 1, "black"),
        ("SPAN", (1, 0), (2, 0)),
        ("ALIGN", (1, 0), (2, -1), "CENTER"),
    ]
    found = only(parsed(tmp_path, table(cells, style, colWidths=[90, 60, 60])))
    assert head_of(found) == ("Model", "Errors RMSE", "Errors MAE")
    assert [row.is_header for row in found.rows] == [True, True, False, False, False]


def test_a_cell_of_several_lines_in_a_ruled_table(tmp_path: Path) -> None:
    cells = [["Term", "Meaning"], ["heron", "a bird that waits\nin shallow water"], ["egret", "a white\nheron"]]
    found = only(parsed(tmp_path, table(cells, GRID)))
    assert found.rows[1].cells[1].text == "a bird that waits\nin shallow water"
    assert row_text(found, found.rows[1]) == "Term: heron | Meaning: a bird that waits in shallow water"


def _numbered(first: int, count: int) -> list[list[str]]:
    return [[f"Nest {at}", f"{at * 3}", f"{at * 7}.5"] for at in range(first, first + count)]


@pytest.mark.parametrize("style", [GRID, BOOKTABS], ids=["ruled", "booktabs"])
@pytest.mark.parametrize("again", [False, True], ids=["header once", "header again"])
def test_a_table_that_goes_on_over_three_pages(tmp_path: Path, style: list[object], again: bool) -> None:
    head = [["Nest", "Eggs", "Weight"]]
    full = {"top": 72.0, "colWidths": [120, 80, 80], "rowHeights": 20}
    parts: list[Sequence[Sequence[str]]] = [
        [*head, *_numbered(1, 30)],
        [*(head if again else []), *_numbered(31, 31)],
        [*(head if again else []), *_numbered(62, 5)],
    ]
    document = parsed(tmp_path, *(table(part, style, **full) for part in parts))
    found = only(document)
    assert [number for number, _ in found.boxes] == [1, 2, 3]
    assert sum(not row.is_header for row in found.rows) == 66
    assert row_text(found, found.rows_on(3)[-1]) == "Nest: Nest 66 | Eggs: 198 | Weight: 462.5"
    assert sum(row.is_header for row in found.rows) == (3 if again else 1)
    assert found.rows_on(2)[1 if again else 0].cells[0].text == "Nest 31"
    check_whole(document)


def test_tables_with_captions_of_their_own_are_not_joined(tmp_path: Path) -> None:
    parts = [[["Nest", "Eggs", "Weight"], *_numbered(1, 30)], [["Nest", "Eggs", "Weight"], *_numbered(1, 4)]]
    draws = [
        both(lines([f"Table {number}: Nests of a year."], top=80), table(part, GRID, top=90, rowHeights=20))
        for number, part in enumerate(parts, 1)
    ]
    document = parsed(tmp_path, *draws)
    assert [found.caption for found in document.tables] == ["Table 1: Nests of a year.", "Table 2: Nests of a year."]


@pytest.mark.parametrize(
    "caption", ["表1：三年的捕获量", "표 1. 연도별 어획량", "TABLE IV", "Tab. 3: Fang", "Table A.1 Catches"]
)
def test_captions(caption: str) -> None:
    boxes = tuple((float(at), 0.0, at + 1.0, 10.0) for at in range(len(caption)))
    page = Page(number=1, width=600, height=800, text=caption, boxes=boxes)
    block = Block(kind="text", span=Span(page=1, start=0, end=len(caption)))
    assert [found.kind for found in captions_of(page, [block])] == ["table"]


@pytest.mark.parametrize("text", ["Table 3 shows that herons wait", "Tables are in the garden", "Figure 2 is wrong"])
def test_no_captions(text: str) -> None:
    boxes = tuple((float(at), 0.0, at + 1.0, 10.0) for at in range(len(text)))
    page = Page(number=1, width=600, height=800, text=text, boxes=boxes)
    assert captions_of(page, [Block(kind="text", span=Span(page=1, start=0, end=len(text)))]) == []


def _two_columns(canvas: Canvas) -> None:
    rows(*zip([line[:38] for line in PROSE * 4], [line[38:76] for line in PROSE * 4], strict=True))(canvas)


def _contents(canvas: Canvas) -> None:
    rows(*[[f"{at} A chapter on herons", str(at * 7)] for at in range(1, 8)], lefts=(72, 400))(canvas)


def _list(canvas: Canvas) -> None:
    rows(*[["•", f"item {at} of a list of things"] for at in range(1, 8)], lefts=(72, 90))(canvas)


def _framed(canvas: Canvas) -> None:
    canvas.line(72, 700, 540, 700)
    canvas.line(72, 400, 540, 400)
    lines(PROSE * 3, top=120)(canvas)


def _plot(canvas: Canvas) -> None:
    for at in range(8):
        canvas.line(100, 300 + at * 30, 400, 300 + at * 30)
        canvas.line(100 + at * 40, 300, 100 + at * 40, 510)
    lines(["0.5"], left=80, top=400)(canvas)
    lines(PROSE, top=80)(canvas)


@pytest.mark.parametrize("draw", [_two_columns, _contents, _list, _framed, _plot, lines(PROSE * 5)])
def test_no_table(tmp_path: Path, draw: object) -> None:
    document = parsed(tmp_path, draw)
    assert document.tables == ()
    check_whole(document)


def test_a_table_without_rules_at_its_sides_keeps_its_first_and_last_column(tmp_path: Path) -> None:
    style = [
        ("LINEABOVE", (0, 0), (-1, 0), 0.5, "black"),
        ("LINEBELOW", (0, 0), (-1, -1), 0.5, "black"),
        ("LINEAFTER", (0, 0), (1, -1), 0.5, "black"),
    ]
    document = parsed(tmp_path, table(SCORES, style))
    assert texts(only(document)) == SCORES
    check_whole(document)


def test_a_shaded_head_over_rows_with_rules_below_only(tmp_path: Path) -> None:
    style = [("GRID", (0, 0), (-1, 0), 0.5, "black"), ("LINEBELOW", (0, 1), (-1, -1), 0.5, "black")]
    assert texts(only(parsed(tmp_path, table(SCORES, style)))) == SCORES


def test_rows_at_a_pages_edge_are_no_running_heads(tmp_path: Path) -> None:
    """They differ in their numbers only, and stand at one place on each page."""
    parts = [_numbered(1 + 36 * page, 36) for page in range(4)]
    draws = [table(part, GRID, top=20, colWidths=[120, 80, 80], rowHeights=20) for part in parts]
    assert len(only(parsed(tmp_path, *draws)).rows) == 144


def test_two_tables_side_by_side(tmp_path: Path) -> None:
    right = [["Nest", "Eggs"], ["A", "3"], ["B", "5"]]
    draw = both(table(SCORES, BOOKTABS, left=60, top=200), table(right, BOOKTABS, left=350, top=200))
    document = parsed(tmp_path, draw)
    assert [texts(found) for found in document.tables] == [SCORES, right]
    check_whole(document)


def test_a_header_alone_at_the_foot_of_a_page_goes_with_the_next(tmp_path: Path) -> None:
    document = parsed(
        tmp_path,
        both(lines(PROSE * 12, top=80), table(SCORES[:1], GRID, top=720, colWidths=[120, 80, 80])),
        both(table(SCORES[1:], GRID, top=60, colWidths=[120, 80, 80]), lines(PROSE, top=300)),
    )
    found = only(document)
    assert texts(found) == SCORES and [row.page for row in found.rows] == [1, 2, 2, 2]
    assert row_text(found, found.rows[1]) == "Model: HeronNet | RMSE: 3.9 | MAE: 2.7"
    check_whole(document)


def test_a_listing_between_rules_is_no_table(tmp_path: Path) -> None:
    code = [["function add(a, b)", "{"], ["    return a + b", ";"], ["}", ""], ["console.log(add(3,", "5));"]]
    style = [("LINEABOVE", (0, 0), (-1, 0), 1, "black"), ("LINEBELOW", (0, -1), (-1, -1), 1, "black")]
    assert parsed(tmp_path, table(code, style)).tables == ()
