"""Each of the PDFs that are hard to read, by its own rules (`cases.jsonl`, beside the files)."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest

from core.errors import CorruptDocument, NoText, PasswordNeeded, QuaereError
from core.text import is_cjk
from ingest.chunk import chunk_document
from ingest.pdf import ParsedDocument, parse_pdf
from ingest.render import render_png
from tests.support.data import HARD

Case = dict[str, Any]

_QUOTES = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2032: "'"}
_INVISIBLE = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\u00ad\ufffe\x02]")
_ERRORS = {"error:password": PasswordNeeded, "error:corrupt": CorruptDocument, "no_text": NoText}
_FIELDS = {"form_filled_fields.pdf": ["Griechenland", "Potsdam"]}


def cases() -> list[Case]:
    if not HARD.is_dir():
        return []
    return [json.loads(line) for line in (HARD / "cases.jsonl").read_text(encoding="utf-8").splitlines()]


def norm(text: str) -> str:
    """As the README of the files says."""
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    text = _INVISIBLE.sub("", text)
    text = re.sub(r"(?<=\w)-[ \t]*\n[ \t]*(?=\w)", "", text)
    text = " ".join(text.split()).replace("-", "")
    if any(is_cjk(char) or "\u0e00" <= char <= "\u0e7f" for char in text):
        return text.replace(" ", "")
    return text


def text_at(parsed: ParsedDocument, page: int, phrase: str) -> str:
    """The page's text (of the whole file for page 0) in the form that `phrase` can be looked for in."""
    text = "\n".join(p.text for p in parsed.pages) if page == 0 else parsed.pages[page - 1].text
    spaced = norm("x" + text).removeprefix("x") if norm(phrase + "x").endswith("x") else norm(text)
    has_blanks = " " in norm(phrase) or " " not in phrase
    return spaced if has_blanks else spaced.replace(" ", "")


def in_order(parsed: ParsedDocument, page: int, phrases: list[str]) -> list[str]:
    """The phrases that do not stand behind the ones before them."""
    missing, at = [], 0
    for phrase in phrases:
        found = text_at(parsed, page, phrase).find(norm(phrase), at)
        if found < 0:
            missing.append(phrase)
        else:
            at = found + len(norm(phrase))
    return missing


def check_text(case: Case, parsed: ParsedDocument) -> None:
    if case["pages"] is not None:
        assert len(parsed.pages) == case["pages"]
    for rule in case["asserts"]:
        assert in_order(parsed, rule["page"], rule["ordered"]) == []
        text = "\n".join(p.text for p in parsed.pages) if rule["page"] == 0 else parsed.pages[rule["page"] - 1].text
        assert [phrase for phrase in rule["no"] if phrase in text or phrase in norm(text)] == []
    everything = "\n".join(page.text for page in parsed.pages)
    assert [phrase for phrase in _FIELDS.get(case["file"], []) if phrase not in everything] == []
    for page in parsed.pages:
        assert len(page.boxes) == len(page.text)
    assert_clean(parsed)


def assert_clean(parsed: ParsedDocument) -> None:
    """Nothing that is no text reaches an index, whatever the file."""
    _, children = chunk_document("doc", "sha", parsed, 600, 1900)
    gaps = {gap.page for gap in parsed.gaps}
    for chunk in children:
        assert "(cid:" not in chunk.text
        assert not any(unicodedata.category(char) in ("Cc", "Co", "Cs", "Cn") for char in chunk.text if char != "\n")
    assert all(page.text or page.number in gaps or not len(page.boxes) for page in parsed.pages)


def check_tables(case: Case, parsed: ParsedDocument) -> None:
    """A rule names a table by its place on the page, those that go on from the page before among them."""
    for rule in case["tables"]:
        rows = [own for table in parsed.tables if (own := table.rows_on(rule["page"]))][rule["table"]]
        assert norm(rows[rule["row"]].cells[rule["col"]].text) == norm(rule["value"]), rule


@pytest.mark.skipif(not HARD.is_dir(), reason=f"no PDFs at {HARD}")
def test_all_cases_are_there() -> None:
    assert len(cases()) == 41


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["file"])
def test_hard_pdf(case: Case) -> None:
    path, expect = HARD / case["file"], case["expect"]
    if expect in _ERRORS:
        with pytest.raises(_ERRORS[expect]) as refused:
            parse_pdf(path, 1000)
        assert case["file"] in str(refused.value) and refused.value.hint
        if case["password"]:
            assert parse_pdf(path, 1000, password=case["password"]).pages[0].text
        return
    try:
        parsed = parse_pdf(path, 1000)
    except QuaereError as error:
        assert expect in ("text_or_error", "garbage"), error
        assert error.hint
        return
    if expect == "garbage":
        assert [gap.page for gap in parsed.gaps] == [page.number for page in parsed.pages] and not parsed.blocks
        return
    check_text(case, parsed)
    check_tables(case, parsed)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["file"])
def test_hard_pdf_is_drawn_or_refused(case: Case) -> None:
    try:
        assert render_png(HARD / case["file"], 1, [(10, 10, 90, 30)])
    except QuaereError as error:
        assert error.hint
