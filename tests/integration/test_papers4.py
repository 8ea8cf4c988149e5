"""The parser on four real papers, and on PDFs that are hard to read; both lie beside the checkout, if at all."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest

from core.errors import QuaereError
from core.text import text_of
from core.types import Chunk
from ingest.chunk import chunk_document
from ingest.pdf import ParsedDocument, parse_pdf
from ingest.render import render_png
from tests.support.data import HARD, PAPERS

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-")
_QUOTES = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2032: "'"}

needs_papers = pytest.mark.skipif(not PAPERS.is_dir(), reason=f"no papers at {PAPERS}")
needs_hard = pytest.mark.skipif(not HARD.is_dir(), reason=f"no PDFs at {HARD}")


def norm(text: str) -> str:
    """As papers4/check_gold.py does it."""
    text = unicodedata.normalize("NFKC", text).translate(_DASHES).translate(_QUOTES)
    text = re.sub(r"(?<=\w)-[ \t]*\n[ \t]*", "", text)
    text = re.sub(r"(?<=\w)-(?=\w)", "", text)
    return re.sub(r"\s+", " ", text).strip().lower()


@cache
def paper(name: str) -> tuple[ParsedDocument, list[Chunk], list[Chunk]]:
    parsed = parse_pdf(PAPERS / name, 100)
    return parsed, *chunk_document("doc", "sha", parsed, 600, 1900)


def quotes() -> list[tuple[str, int, str]]:
    rows = map(json.loads, (PAPERS / "papers4_open.jsonl").read_text(encoding="utf-8").splitlines())
    return [(e["doc"], e["page"], e["quote"]) for row in rows for e in row["evidence"]]


@needs_papers
def test_quotes_are_on_their_pages_and_in_one_chunk() -> None:
    every = quotes()
    on_page = [norm(q) in norm(paper(doc)[0].pages[page - 1].text) for doc, page, q in every]
    in_parent = [any(norm(q) in norm(chunk.text) for chunk in paper(doc)[1]) for doc, _, q in every]
    assert all(on_page) and all(_in_children(*one) for one in every)
    assert sum(in_parent) / len(every) >= 0.95


def _in_children(doc: str, page: int, quote: str) -> bool:
    """Whether the chunks of that page hold it, read on from one to the next."""
    own = [chunk.text for chunk in paper(doc)[2] if any(span.page == page for span in chunk.spans)]
    return norm(quote) in norm("\n".join(own))


@needs_papers
def test_chunks_of_real_papers_hold_every_word_once() -> None:
    for path in PAPERS.glob("*.pdf"):
        parsed, *levels = paper(path.name)
        texts = {page.number: page.text for page in parsed.pages}
        for chunks in levels:
            assert all(chunk.text == text_of(chunk.spans, texts) for chunk in chunks)
            held = sum(len(re.findall(r"\w", chunk.text)) for chunk in chunks)
            assert held == sum(len(re.findall(r"\w", text)) for text in texts.values())
        assert all(len(page.boxes) == len(page.text) for page in parsed.pages)


@needs_papers
def test_sections_of_a_paper() -> None:
    parsed, parents, _ = paper("attention_is_all_you_need.pdf")
    sections = {chunk.section for chunk in parents}
    assert parsed.title == "Attention Is All You Need"
    assert "3 Model Architecture › 3.2 Attention › 3.2.1 Scaled Dot-Product Attention" in sections
    assert {chunk.is_reference for chunk in parents if chunk.section == "References"} == {True}


@needs_hard
@pytest.mark.parametrize("path", sorted(HARD.glob("*.pdf")), ids=lambda path: path.name)
def test_hard_pdfs_are_read_or_refused(path: Path) -> None:
    case = next(c for c in map(json.loads, (HARD / "cases.jsonl").read_text().splitlines()) if c["file"] == path.name)
    try:
        parsed = parse_pdf(path, 1000)
        render_png(path, 1, [(10, 10, 90, 30)])
    except QuaereError as error:
        assert case["expect"] not in ("text", "garbage_some")
        assert error.hint
        return
    assert not case["expect"].startswith(("error", "no_text")) and parsed.blocks
