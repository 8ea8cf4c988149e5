"""Which reader a file gets, and files other than PDF through the whole application."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import MetaData, create_engine, text

from core.errors import CorruptDocument, DocumentRefused, PasswordNeeded, QuaereError
from core.ledger import Ledger
from core.ledger.engine import MIGRATIONS
from core.types import Answer
from ingest.formats.reader import format_of, reader_of
from quaere.app import App
from quaere.build import build
from tests.support.docx import docx, p
from tests.support.embedder import HashEmbedder
from tests.support.fake_service import make_document
from tests.support.library_contract import SAMPLES, contents, settings_for
from ui import chat_format as show

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
FILLER = "The birds of the coast are counted each spring by volunteers with good eyes and warm coats. " * 6
MARKDOWN = f"""---
title: The Gulls of Port Maravel
---
# The Gulls of Port Maravel

{FILLER}

## Counting Methods

{FILLER}

{FILLER}

## Results of the Census

In the census of 1987 the harbour held 4,213 breeding pairs of herring gulls.

{FILLER}
"""


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.pdf", b"junk first\n%PDF-1.7", "pdf"),
        ("a.txt", b"%PDF-1.7\n", "pdf"),
        ("a.txt", b"A file that begins with %PDF- is a PDF.", "text"),
        ("a.md", b"# x", "markdown"),
        ("a.MARKDOWN", b"# x", "markdown"),
        ("a.txt", b"# x", "text"),
        ("a.txt", b"\n <!-- saved --> <!DOCTYPE html><p>x", "html"),
        ("a.md", b"\xef\xbb\xbf<html lang=en>", "html"),
        ("a.md", b"<div>x</div>", "markdown"),
        ("a.htm", b"<p>x", "html"),
        ("a.md", b"PK\x03\x04", "docx"),
        ("a.docx", b"hello", "docx"),
        ("a.pdf", b"<html>not found</html>", "pdf"),
        ("README", b"just words", "text"),
        ("a.rst", "Überschrift".encode(), "text"),
    ],
)
def test_the_content_decides_before_the_name(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert format_of(path) == kind
    hidden = tmp_path / "upload"
    hidden.write_bytes(content)
    assert format_of(hidden, name) == kind


@pytest.mark.parametrize(
    ("name", "content", "kind", "says"),
    [
        ("a.rtf", b"{\\rtf1 hello}", CorruptDocument, "Rich Text"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), CorruptDocument, "of no kind that can be read"),
        ("a.doc", OLE + bytes(600), CorruptDocument, "before 2007"),
        ("a.docx", OLE + "EncryptedPackage".encode("utf-16-le"), PasswordNeeded, "encrypted"),
        ("a.xlsx", b"PK\x03\x04" + bytes(50), CorruptDocument, "cut short"),
        ("a.pdf", b"<html>not found</html>", CorruptDocument, "not a PDF"),
        ("a.txt", bytes(range(256)) * 9, CorruptDocument, "not text"),
    ],
)
def test_what_is_refused_says_why(
    tmp_path: Path, name: str, content: bytes, kind: type[QuaereError], says: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(kind, match=says) as error:
        reader_of(path)[1](path, 10)
    assert error.value.hint


# --- through the application


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    app = build(settings_for(tmp_path / "library"), HashEmbedder())
    yield app
    await app.aclose()


async def cited(app: App, question: str, quote: str) -> Answer:
    """The answer, whose citation with that quote is put first."""
    answer = await app.ask(question)
    found = [citation for citation in answer.citations if quote in citation.quote]
    assert found, [citation.quote for citation in answer.citations]
    return answer.model_copy(update={"citations": tuple(found)})


async def test_an_answer_from_markdown_leads_to_its_section(app: App, tmp_path: Path) -> None:
    path = tmp_path / "gulls.md"
    path.write_text(MARKDOWN)
    document = await app.add_document(str(path))
    assert (document.format, document.title, document.pages) == ("markdown", "The Gulls of Port Maravel", 3)
    answer = await cited(app, "How many breeding pairs of herring gulls did the census of 1987 find?", "4,213")
    citation = answer.citations[0]
    assert citation.page == 3 and citation.anchor == "results-of-the-census"
    assert citation.place == "page 3 (#results-of-the-census)"
    assert citation.section.endswith("Results of the Census")
    assert citation.highlights[0].boxes == ()
    view, png = await app.read_page("gulls.md", 3, highlight=citation.quote)
    assert png == b"" and citation.quote in view.text and view.anchor == "results-of-the-census"
    assert (view.format, view.highlights, view.ocr) == ("markdown", (), False)


async def test_an_answer_from_docx_leads_to_its_page(app: App, tmp_path: Path) -> None:
    body = p("Terns", "T") + p(FILLER) + p("Diet", "berschrift1", properties="<w:pageBreakBefore/>")
    path = docx(tmp_path / "terns.docx", body + p("A tern eats 61 sand eels on a windless day.") + p(FILLER))
    document = await app.add_document(str(path))
    assert (document.format, document.pages) == ("docx", 2)
    citation = (await cited(app, "How many sand eels does a tern eat?", "61 sand eels")).citations[0]
    assert (citation.page, citation.section, citation.place) == (2, "Diet", "page 2")


async def test_html_and_text_stand_beside_pdf(app: App, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        f"<title>Auks</title><h2 id=egg>Eggs</h2><p>The auk lays one egg in 7 years.<p>{FILLER}"
    )
    (tmp_path / "a.txt").write_text(f"1. Skuas\n\nA skua weighs 1.4 kg in autumn. {FILLER}")
    for path in (SAMPLES[0], tmp_path / "a.html", tmp_path / "a.txt"):
        await app.add_document(str(path))
    assert (await cited(app, "How often does the auk lay an egg?", "one egg")).citations[0].place == "page 1 (#egg)"
    assert (await cited(app, "What does a skua weigh in autumn?", "1.4 kg")).citations[0].place == "page 1 (#L3)"


async def test_removal_is_exact_and_files_keep_their_kind(app: App, tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "library")
    before = contents(app, settings)
    path = tmp_path / "upload-1"
    path.write_text(MARKDOWN)
    document = await app.add_document(str(path), name="gulls.md")
    assert (document.format, document.name) == ("markdown", "gulls.md")
    assert [file.suffix for file in (settings.library / "files").iterdir()] == [".md"]
    await app.remove_document(document.id)
    assert contents(app, settings) == before


async def test_a_refused_file_leaves_nothing(app: App, tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "library")
    before = contents(app, settings)
    for name, content in (("a.txt", bytes(range(256)) * 9), ("a.docx", b"PK\x03\x04"), ("a.html", b"<!doctype html>")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DocumentRefused):
            await app.add_document(str(tmp_path / name))
    assert contents(app, settings) == before


def as_of_the_first_version(ledger: Path) -> None:
    """The same rows in the tables and columns of the first version alone."""
    now = create_engine(f"sqlite:///{ledger}")
    old = create_engine(f"sqlite:///{ledger.with_name('old.db')}")
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    tables = MetaData()
    with now.begin() as whole, old.begin() as first:
        config.attributes["connection"] = first
        command.upgrade(config, "0001")
        tables.reflect(first)
        for table in tables.sorted_tables:
            if table.name != "alembic_version":
                columns = ", ".join(column.name for column in table.columns)
                rows = whole.execute(text(f"SELECT {columns} FROM {table.name}")).mappings().all()
                if rows:
                    first.execute(table.insert(), [dict(row) for row in rows])
    now.dispose()
    old.dispose()
    for suffix in ("-wal", "-shm"):
        ledger.with_name(ledger.name + suffix).unlink(missing_ok=True)
    ledger.with_name("old.db").replace(ledger)


async def test_a_library_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "library")
    first = build(settings, HashEmbedder())
    await first.add_document(str(SAMPLES[0]))
    await first.aclose()
    as_of_the_first_version(settings.library / "ledger.db")
    again = Ledger.open(f"sqlite:///{settings.library / 'ledger.db'}")
    document = again.documents()[0]
    page = again.page(document.id, 1)
    assert document.format == "pdf" and page.anchors == () and not page.ocr and page.text
    again.close()


# --- what the doors show


async def test_the_chat_page_marks_the_quote_in_the_text(app: App, tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("# Tags\n\nUse <eos> & wait. The gull has 2 wings.\n")
    document = await app.add_document(str(path))
    view, png = await app.read_page(document.id, 1)
    shown = str(show.source(show.Target(document.id, "x.md", 1, "The gull has 2 wings."), view, png, "0.0"))
    assert "<mark>The gull has 2 wings.</mark>" in shown and "page 1 (#tags)" in shown
    assert "<img" not in shown and "<eos>" not in shown


def test_old_json_of_a_document_is_still_one() -> None:
    old = json.loads(make_document("a.pdf").model_dump_json(exclude={"format"}))
    assert type(make_document("a.pdf")).model_validate(old).format == "pdf"
