"""Tables and figures of hard PDFs and of four papers; both lie beside the checkout, if at all."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core.text import text_of
from core.types import Table
from ingest.pdf import ParsedDocument, parse_pdf
from ingest.table_text import row_text
from tests.support.data import HARD, PAPERS

needs_papers = pytest.mark.skipif(not PAPERS.is_dir(), reason=f"no papers at {PAPERS}")
needs_hard = pytest.mark.skipif(not HARD.is_dir(), reason=f"no PDFs at {HARD}")
_CJK = re.compile(r"[\u0e00-\u0e7f\u3040-\u9fff]")


def norm(text: str) -> str:
    """As hard_pdfs/README.md asks: forms, quotes, hyphens and white space made one."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'")
    text = re.sub(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]", "", text)
    text = re.sub(r"(?<=\w)-[ \t]*\n[ \t]*(?=\w)", "", text)
    text = re.sub(r"[\u0002\ufffe\u00ad]", "", text)
    text = re.sub(r"\s+", " ", text).strip().replace("-", "")
    return re.sub(r"\s", "", text) if _CJK.search(text) else text


@cache
def document(path: Path) -> ParsedDocument:
    return parse_pdf(path, 1000)


def tables_on(parsed: ParsedDocument, page: int) -> list[Table]:
    """From the top of the page: those that go on from the page before too."""
    return [table for table in parsed.tables if table.rows_on(page)]


def rules() -> list[Any]:
    if not HARD.is_dir():
        return []
    cases = map(json.loads, (HARD / "cases.jsonl").read_text(encoding="utf-8").splitlines())
    return [
        pytest.param(case["file"], rule, id=f"{case['file']}-p{rule['page']}-{rule['row']}-{rule['col']}")
        for case in cases
        for rule in case["tables"]
    ]


@needs_hard
@pytest.mark.parametrize(("name", "rule"), rules())
def test_cells(name: str, rule: dict[str, Any]) -> None:
    table = tables_on(document(HARD / name), rule["page"])[rule["table"]]
    assert norm(table.rows_on(rule["page"])[rule["row"]].cells[rule["col"]].text) == norm(rule["value"])


@needs_hard
def test_a_table_of_16_pages_keeps_the_header_that_stands_once() -> None:
    parsed = document(HARD / "table_16_pages_header_once.pdf")
    notices, summary = parsed.tables
    assert [page for page, _ in notices.boxes] == list(range(1, 16)) and [page for page, _ in summary.boxes] == [15, 16]
    assert [row.page for row in notices.rows if row.is_header] == [1]
    assert row_text(notices, notices.rows_on(2)[0]) == (
        "Notice Date: 07/17/2015 | Effective: 09/18/2015 | Received: 07/21/2015 | Company: Boeing Company | "
        "City: Huntington Beach | No. Of: 65 | Layoff/Closure: Layoff Unknown at this time"
    )


@needs_hard
def test_an_unruled_table_with_cells_of_several_lines() -> None:
    (table,) = document(HARD / "table_unruled_multiline_cells.pdf").tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["Header1", "Header2", "Header3"],
        ["Col11\nCol12", "Col21\nCol22", "Col31\nCol32\nCol33"],
        ["Col13", "Col23", "Col34\nCol35"],
        ["Col14", "Col24", "Col36"],
        ["Col15", "Col25\nCol26", ""],
    ]


@needs_hard
def test_captions_in_chinese() -> None:
    captions = [norm(table.caption) for table in document(HARD / "zh_ruled_tables.pdf").tables]
    assert captions == ["表71:发行人历史评级情况", "表72:截至2023年3月末发行人授信及使用情况"]


@needs_hard
@pytest.mark.parametrize(
    "name", ["twocol_dpr_2p.pdf", "twocol_primes_mnras.pdf", "ja_vertical_gazette.pdf", "corrupt_zlib_zen.pdf"]
)
def test_prose_is_no_table(name: str) -> None:
    assert document(HARD / name).tables == ()


@needs_hard
def test_figures_with_their_captions() -> None:
    figures = document(HARD / "figures_with_captions.pdf").figures
    assert [(figure.page, figure.caption) for figure in figures] == [
        (1, "Figure 1: This is an example image."),
        (2, "Figure 2: This is an example image."),
    ]
    assert all(figure.png.startswith(b"\x89PNG") for figure in figures)


@needs_papers
@pytest.mark.parametrize(
    ("name", "tables", "figures"),
    [
        ("attention_is_all_you_need.pdf", 4, 5),
        ("resnet.pdf", 14, 7),
        ("bge_paper.pdf", 15, 5),
        ("MiniMax_M1_tech_report.pdf", 2, 4),
    ],
)
def test_every_table_and_figure_of_a_paper(name: str, tables: int, figures: int) -> None:
    parsed = document(PAPERS / name)
    numbered = [re.match(r"Table (\d+)", table.caption) for table in parsed.tables if table.caption]
    assert [int(match[1]) for match in numbered if match] == list(range(1, tables + 1))
    assert [len(parsed.tables) - len(numbered), len(parsed.figures)] == [int(name == "resnet.pdf"), figures]


@needs_papers
def test_cells_of_papers() -> None:
    def row(name: str, caption: str, start: str) -> str:
        table = next(t for t in document(PAPERS / name).tables if t.caption.startswith(caption))
        return next(text for r in table.rows if start in (text := row_text(table, r)))

    attention = "attention_is_all_you_need.pdf"
    assert "BLEU EN-FR: 41.16 |" in row(attention, "Table 2", "GNMT + RL Ensemble")
    assert "dff: 1024 | PPL (dev): 5.12 | BLEU (dev): 25.4 | params ×106: 53" in row(attention, "Table 3", "5.12")
    assert "plant: 41.7" in row("resnet.pdf", "Table 10", "76.4")
    assert "sw: 68.4" in row("bge_paper.pdf", "Table 1:", "E5mistral")
    assert "235B-A22B 32K: 58.6" in row("MiniMax_M1_tech_report.pdf", "Table 2", "(retail)")


@needs_papers
def test_no_word_is_lost_or_doubled_and_rows_stand_on_their_pages() -> None:
    for path in sorted(PAPERS.glob("*.pdf")):
        parsed = document(path)
        pages = {page.number: page.text for page in parsed.pages}
        held: dict[int, str] = dict.fromkeys(pages, "")
        for block in parsed.blocks:
            held[block.span.page] += pages[block.span.page][block.span.start : block.span.end]
        assert {page: "".join(text.split()) for page, text in held.items()} == {
            page: "".join(text.split()) for page, text in pages.items()
        }
        for row in (row for table in parsed.tables for row in table.rows):
            assert set("".join(text_of(row.spans, pages).split())) >= set(
                "".join("".join(cell.text.split()) for cell in row.cells if not cell.repeated)
            )


@needs_papers
def test_quotes_of_questions_about_tables_stand_in_rows() -> None:
    """The words of a quote stand in the rows that its page's tables have there, most quotes in one or two of them."""
    rows = map(json.loads, (PAPERS / "papers4_open.jsonl").read_text(encoding="utf-8").splitlines())
    quotes = [(e["doc"], e["page"], e["quote"]) for row in rows if row["type"] == "table" for e in row["evidence"]]
    for name, number, quote in quotes:
        parsed = document(PAPERS / name)
        pages = {page.number: page.text for page in parsed.pages}
        lines = [
            norm(text_of(row.spans, pages)) for table in tables_on(parsed, number) for row in table.rows_on(number)
        ]
        words = set(norm(quote).split())
        best = max(len(words & set(f"{one} {two} {three}".split())) for one, two, three in _windows(lines))
        assert best >= 0.9 * len(words), quote


def _windows(lines: list[str]) -> list[tuple[str, str, str]]:
    padded = ["", *lines, ""]
    return list(zip(padded, padded[1:], padded[2:], strict=False))
