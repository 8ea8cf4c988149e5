"""The assembled application over the sample papers, with a scripted embedder."""

import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from core.errors import EmbeddingChanged, InvalidInput, LLMNotConfigured, NotFound, NothingIngested, QuaereError
from core.types import Event, Turn
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES, contents, removal_is_exact, settings_for


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[App]:
    app = build(settings_for(tmp_path / "library"), HashEmbedder())
    yield app
    await app.aclose()


@pytest.fixture
async def app(empty: App) -> App:
    for sample in SAMPLES:
        await empty.add_document(str(sample))
    return empty


async def test_an_answer_cites_a_sentence_that_stands_on_its_page(app: App) -> None:
    answer = await app.ask("How does HeronNet compare with Egret-2 three hours ahead?")
    assert answer.written_by == "quotation" and answer.claims and answer.reflection.support == 1.0
    for citation in answer.citations:
        view, _ = await app.read_page(citation.document_id, citation.page, image=False)
        assert citation.quote in view.text
        assert citation.highlights[0].boxes
    assert any("27 percent lower" in citation.quote for citation in answer.citations)
    assert {citation.document for citation in answer.citations} >= {"heronnet.pdf"}


async def test_every_citation_is_used_and_every_claim_cites(app: App) -> None:
    answer = await app.ask("Why did HeronNet raise false alarms in Port Maravel?")
    assert all(claim.citations for claim in answer.claims)
    assert {n for claim in answer.claims for n in claim.citations} == {c.number for c in answer.citations}
    assert [step.stage for step in answer.trace] == ["router", "retriever", "reasoner", "reflector"]


async def test_the_trace_is_kept(app: App) -> None:
    answer = await app.ask("What is TIDEMARK?")
    kept = json.loads(await app.trace(answer.trace_id[:12]))
    assert kept["error"] is None and len(kept["steps"]) == 4


async def test_stages_and_text_are_told_while_they_come(app: App) -> None:
    events: list[Event] = []

    async def note(event: Event) -> None:
        events.append(event)

    answer = await app.ask("What is TIDEMARK?", on_event=note)
    assert [e.stage.stage for e in events if e.stage] == ["router", "retriever", "reasoner", "reflector"]
    assert "".join(e.text for e in events if e.kind == "text") == answer.text


async def test_an_overview_comes_from_the_paper_that_is_named(app: App) -> None:
    answer = await app.ask("Summarise the HeronNet forecasting paper")
    assert answer.citations and {c.document for c in answer.citations} == {"heronnet.pdf"}


async def test_nothing_supports_it(app: App) -> None:
    answer = await app.ask("Zyx qwv bnm?")
    assert answer.written_by in ("none", "quotation")
    assert answer.claims or answer.nearest


async def test_a_greeting_is_no_question(app: App) -> None:
    answer = await app.ask("Hello!")
    assert answer.written_by == "none" and not answer.citations


async def test_a_follow_up(app: App) -> None:
    history = [Turn(role="user", content="What is HeronNet?"), Turn(role="assistant", content="A network.")]
    answer = await app.ask("How does it compare with Egret-2?", history=history)
    assert answer.trace[0].details["question"] == "What is HeronNet? How does it compare with Egret-2?"
    assert any("Egret-2" in c.quote for c in answer.citations)


async def test_limited_to_one_document(app: App) -> None:
    found = await app.search_passages("water level", documents=["tidemark.pdf"])
    assert found.passages and {p.document for p in found.passages} == {"tidemark.pdf"}


async def test_each_passage_says_which_channel_found_it(app: App) -> None:
    found = await app.search_passages("water level")
    assert all(p.channels for p in found.passages)
    only = await app.search_passages("water level", channels=["bm25"])
    assert {hit.channel for p in only.passages for hit in p.channels} == {"bm25"}


async def test_the_page_and_its_picture(app: App) -> None:
    answer = await app.ask("What is TIDEMARK?")
    citation = answer.citations[0]
    view, png = await app.read_page(citation.document_id, citation.page, highlight=citation.quote)
    assert view.highlights and Image.open(io.BytesIO(png)).size[0] > view.width


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda app: app.ask("  "), InvalidInput),
        (lambda app: app.ask("x" * 5000), InvalidInput),
        (lambda app: app.ask("What?", policy="guess"), InvalidInput),
        (lambda app: app.ask("What is TIDEMARK?", policy="llm"), LLMNotConfigured),
        (lambda app: app.ask("What is TIDEMARK?", documents=["none.pdf"]), NotFound),
        (lambda app: app.search_passages("x", channels=["magic"]), InvalidInput),
        (lambda app: app.read_page("tidemark.pdf", 99), NotFound),
        (lambda app: app.read_page("tidemark.pdf", 1, highlight="not there at all"), InvalidInput),
        (lambda app: app.remove_document("none.pdf"), NotFound),
        (lambda app: app.add_document("/nowhere/x.pdf"), NotFound),
        (lambda app: app.trace("zz"), NotFound),
    ],
)
async def test_bad_input_is_a_typed_error(app: App, call, kind: type[QuaereError]) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(kind):
        await call(app)


async def test_nothing_ingested(empty: App) -> None:
    with pytest.raises(NothingIngested):
        await empty.ask("What is TIDEMARK?")
    assert (await empty.search_passages("TIDEMARK")).passages == ()


async def test_the_same_bytes_are_one_document(empty: App, tmp_path: Path) -> None:
    copy = tmp_path / "copy.pdf"
    copy.write_bytes(SAMPLES[0].read_bytes())
    first = await empty.add_document(str(SAMPLES[0]))
    assert await empty.add_document(str(copy)) == first
    assert len(await empty.list_documents()) == 1


async def test_a_refused_file_leaves_nothing(empty: App, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 not really")
    before = contents(empty, settings_for(tmp_path / "library"))
    with pytest.raises(QuaereError):
        await empty.add_document(str(bad))
    assert contents(empty, settings_for(tmp_path / "library")) == before


async def test_removal_is_exact(tmp_path: Path) -> None:
    await removal_is_exact(tmp_path, ("", ""))


async def test_nothing_is_embedded_twice(tmp_path: Path) -> None:
    log = tmp_path / "embedded"
    settings = settings_for(tmp_path / "library")
    for _ in range(2):
        app = build(settings, HashEmbedder(log=log))
        await app.add_document(str(SAMPLES[0]))
        await app.aclose()
    lines = log.read_text().splitlines()
    assert len(lines) == len(set(lines)) > 5


async def test_another_embedder_is_noticed_and_reindex_gives_a_fresh_librarys_answers(tmp_path: Path) -> None:
    settings, question = settings_for(tmp_path / "library"), "How does HeronNet compare with Egret-2?"
    first = build(settings, HashEmbedder())
    for sample in SAMPLES:
        await first.add_document(str(sample))
    await first.aclose()
    second = build(settings, HashEmbedder("other", size=96))
    for call in (second.ask(question), second.search_passages(question), second.add_document(str(SAMPLES[0]))):
        with pytest.raises(EmbeddingChanged, match=r"hash/64.*other/96") as changed:
            await call
        assert "quaere reindex" in changed.value.hint
    assert len(await second.list_documents()) == len(SAMPLES)
    assert [finding.kind for finding in (await second.check()).left] == ["embedder"]
    health = await second.reindex()
    assert health.vectors > 0 and health.embedder == "other/96"
    assert (await second.check()).findings == ()

    fresh = build(settings_for(tmp_path / "fresh"), HashEmbedder("other", size=96))
    for sample in SAMPLES:
        await fresh.add_document(str(sample))
    given, wanted = await second.ask(question), await fresh.ask(question)
    assert given.citations == wanted.citations and given.text == wanted.text
    found, expected = await second.search_passages(question), await fresh.search_passages(question)
    assert found.passages == expected.passages
    await fresh.aclose()
    await second.aclose()
