"""Tables and figures through the whole application: found by rows, cited with their boxes, shown and removed."""

from __future__ import annotations

import base64
import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from core.errors import NotFound
from core.ledger import Ledger
from core.llm import LLMs, Message
from core.llm.window import fit, size_of
from core.settings import Settings, load_settings
from core.types import Box
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import contents, settings_for
from tests.support.pdfs import both, lines, pdf
from tests.support.scripted_endpoint import LLMServer, answer, refusal
from tests.support.tables import GRID, table
from tests.unit.test_figures import PROSE, image

BIRDS = [["Bird", "Length (cm)", "Weight (g)"]] + [[f"Heron-{n}", f"{60 + n}.5", f"{900 + n}"] for n in range(30)]


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    first = both(
        lines(PROSE, top=80),
        image(100, 130, 200, 120),
        lines(["Figure 3: A heron at dawn, drawn from life."], top=270),
        lines(["The dawn chorus of Figure 3 was counted in 1987 by nine volunteers."], top=330),
    )
    second = both(lines(["Table 1: Measures of herons on the river."], top=60), table(BIRDS, GRID, top=80))
    return pdf(tmp_path / "herons.pdf", first, second)


@pytest.fixture
async def app(tmp_path: Path, paper: Path) -> AsyncIterator[App]:
    app = build(settings_for(tmp_path / "library"), HashEmbedder())
    await app.add_document(str(paper))
    yield app
    await app.aclose()


def inside(box: Box, outer: Box) -> bool:
    return outer[0] - 1 <= box[0] and outer[1] - 1 <= box[1] and box[2] <= outer[2] + 1 and box[3] <= outer[3] + 1


async def test_the_document_says_how_many_it_has(app: App) -> None:
    (document,) = await app.list_documents()
    assert (document.tables, document.figures) == (1, 1)


async def test_chunks_of_a_table_are_whole_rows_under_its_header(app: App) -> None:
    ledger: Ledger = app._ledger
    (document,) = await app.list_documents()
    children = [c for c in ledger.chunks_of(document.id) if c.kind == "table"]
    assert len(children) > 1
    assert all(c.indexed.startswith("Table 1: Measures of herons") for c in children)
    for n in range(30):
        (own,) = [c for c in children if f"Heron-{n} {60 + n}.5 {900 + n}" in c.text]
        assert f"Bird: Heron-{n} | Length (cm): {60 + n}.5 | Weight (g): {900 + n}" in own.indexed
    parents = [c for c in ledger.chunks_of(document.id) if not c.parent_id]
    assert sum("Heron-0 " in c.text and "Heron-29 " in c.text for c in parents) == 1


async def test_a_row_is_found_by_its_columns_name_and_its_own_box_is_marked(app: App) -> None:
    answered = await app.ask("What weight does Heron-17 have?")
    citation = next(c for c in answered.citations if "Heron-17" in c.quote)
    assert citation.quote == "Heron-17 77.5 917" and citation.page == 2
    (part,) = citation.highlights
    (table_,) = app._ledger.tables_of(citation.document_id)
    row = next(row for row in table_.rows if row.cells[0].text == "Heron-17")
    assert part.boxes == (row.box,)
    view, png = await app.read_page("herons.pdf", 2, highlight="77.5")
    assert png and all(inside(box, row.box) and box != row.box for box in view.highlights)


async def test_a_citation_carries_the_figure_it_speaks_of(app: App) -> None:
    answered = await app.ask("Who counted the dawn chorus?")
    citation = next(c for c in answered.citations if "volunteers" in c.quote)
    assert citation.figure is not None and citation.figure.number == 1
    assert citation.figure.caption == "Figure 3: A heron at dawn, drawn from life."
    figure, png = await app.read_figure("herons.pdf", citation.figure.number)
    assert figure == citation.figure and Image.open(io.BytesIO(png)).format == "PNG"
    of_table = await app.ask("What weight does Heron-17 have?")
    assert next(c for c in of_table.citations if "Heron-17" in c.quote).figure is None
    with pytest.raises(NotFound, match="no figure 2"):
        await app.read_figure("herons.pdf", 2)


async def test_nothing_of_them_is_left_after_removal(app: App) -> None:
    (document,) = await app.list_documents()
    await app.remove_document(document.id)
    assert app._ledger.tables_of(document.id) == [] and app._ledger.figures_of(document.id) == []


# --- with a vision model


def seeing(folder: Path, url: str) -> Settings:
    return load_settings(library=folder, llm={"vision": {"base_url": url, "model": "eye", "max_retries": 0}})


async def test_a_figure_is_described_once_and_found_by_it(tmp_path: Path, paper: Path) -> None:
    words = "A grey heron with a crooked beak beside a turquoise lighthouse."
    with LLMServer([answer(words)]) as server:
        settings = seeing(tmp_path / "seen", server.url)
        app = build(settings, HashEmbedder())
        document = await app.add_document(str(paper))
        (asked,) = server.requests
        text, picture = asked.body["messages"][0]["content"]
        png = base64.b64decode(picture["image_url"]["url"].removeprefix("data:image/png;base64,"))
        assert "Figure 3: A heron at dawn" in text["text"] and Image.open(io.BytesIO(png)).format == "PNG"
        figure, _ = await app.read_figure(document.id, 1)
        assert figure.description == words
        (found,) = [c for c in app._ledger.chunks_of(document.id) if c.kind == "description"]
        assert found.text == figure.caption and words in found.indexed and not document.gaps
        assert document.chunks == len(app._ledger.children_and_hashes(document.id))
        reply = await app.ask("Where is the turquoise lighthouse with a crooked beak?", policy="quote")
        first = reply.citations[0]
        assert first.quote == figure.caption and first.figure is not None and first.figure.number == 1
        assert all(words not in citation.quote for citation in reply.citations)
        before = contents(app, settings)
        await app.remove_document(document.id)
        assert not any(row.prompt.startswith("describe") for row in await app.kept_replies())
        again = await app.add_document(str(paper))
        assert len(server.requests) == 2 and contents(app, settings) == before and again.chunks == document.chunks
        await app.aclose()


async def test_without_descriptions_the_document_is_there_and_says_so(tmp_path: Path, paper: Path) -> None:
    with LLMServer([refusal(400, "this model takes no images")]) as server:
        app = build(seeing(tmp_path / "blind", server.url), HashEmbedder())
        document = await app.add_document(str(paper))
        await app.aclose()
    assert document.status == "ready_with_gaps" and document.figures == 1
    assert document.gaps[0].reason.startswith("1 of 1 figures were not described")


def test_only_a_model_that_is_named_for_it_sees() -> None:
    main = load_settings(llm={"base_url": "http://127.0.0.1:9/v1", "model": "m"}).llm
    assert LLMs(main, None).of("vision") is None and LLMs(main, None).of("write") is not None
    named = load_settings(llm={"base_url": "http://127.0.0.1:9/v1", "model": "m", "vision": {"model": "eye"}}).llm
    client = LLMs(named, None).of("vision")
    assert client is not None and client.model == "eye"


def test_an_image_counts_and_is_sent_behind_its_text() -> None:
    message = Message("user", "What is this?", (b"png",))
    assert size_of([message]) == size_of([Message("user", "What is this?")]) + 1000
    (sent,) = fit([message], 2000).messages
    assert [part["type"] for part in sent["content"]] == ["text", "image_url"]
