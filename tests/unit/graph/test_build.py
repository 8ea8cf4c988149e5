"""A library's triples are read once, by the extractor that is asked for, within the budget; they go with a document."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import LLMNotConfigured
from core.graph import Triple
from core.ledger.triples import Extraction
from core.llm.tokens import estimate
from core.ports import HOW_ASKED
from core.settings import load_settings
from core.types import Event
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.scripted_endpoint import LLMServer, Request, Scripted, answer, refusal

PAPER = """# Tides

## {name} at sea

{name} uses WaveEncoder in all of its layers, as every model of this family does.
{filler}

## {name} on land

{name} outperforms SeaCast on the gauges of the harbour, and it was read at noon.
{filler}

## References

[1] Halvorsen, M. {name} uses Nothing. Journal of Tides, 2001.
"""
FILLER = "The gauge stands in the harbour and is read each day by the same two people. " * 18

Open = Callable[..., Awaitable[App]]


def passage_of(request: Request) -> str:
    return str(request.body["messages"][0]["content"].rpartition("<passage>\n")[2])


def by_model(request: Request) -> Scripted:
    """As a model would: the relation of the passage's first sentence that has one, and one of its own making."""
    passage = passage_of(request)
    name = next((word for word in passage.split() if word.startswith("TideNet")), "TideNet")
    quote = next((line for line in passage.split("\n") if "uses" in line or "outperforms" in line), "")
    other = "WaveEncoder" if "uses" in quote else "SeaCast"
    stated = {"subject": name, "relation": "USES", "object": other, "quote": quote}
    return answer(json.dumps({"triples": [stated, stated | {"object": "Atlantis"}]}))


@pytest.fixture
def model() -> Iterator[dict[str, Any]]:
    held: dict[str, Any] = {"reply": by_model}
    with LLMServer(lambda request: held["reply"](request)) as server:
        held["server"] = server
        held["llm"] = {"base_url": server.url, "model": "m", "max_retries": 0, "backoff_s": 0}
        yield held


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Open]:
    apps: list[App] = []

    async def opened(*names: str, **changed: Any) -> App:
        app = build(load_settings(library=tmp_path / "library", **changed), HashEmbedder())
        apps.append(app)
        for name in names:
            file = tmp_path / f"{name}.md"
            file.write_text(PAPER.format(name=name, filler=FILLER))
            await app.add_document(str(file))
        return app

    yield opened
    for app in apps:
        await app.aclose()


def triples(app: App) -> list[Triple]:
    return app._ledger.triples.all()


def facts(app: App) -> set[tuple[str, str, str]]:
    return {(t.subject, t.relation, t.object) for t in triples(app)}


BOTH = {("TideNet-1", "USES", "WaveEncoder"), ("TideNet-1", "OUTPERFORMS", "SeaCast")}


async def test_a_document_that_is_added_is_read_by_rules_and_its_references_are_not(library: Open) -> None:
    app = await library("TideNet-1")
    assert facts(app) == BOTH
    assert {t.extracted_by for t in triples(app)} == {"rules"}
    report = await app.build_graph()
    assert (report.chunks, report.kept, report.stopped) == (0, 0, "")


async def test_off_reads_nothing_until_it_is_asked_for(library: Open) -> None:
    app = await library("TideNet-1", graph={"extract": "off"})
    assert triples(app) == []
    told: list[Event] = []

    async def on_event(event: Event) -> None:
        told.append(event)

    before = await app.estimate_graph()
    report = await app.build_graph(on_event=on_event)
    assert facts(app) == BOTH
    assert (report.chunks + report.skipped, report.kept, report.failed) == (before.chunks, 2, 0)
    assert (before.calls, before.cost) == (0, 0)
    assert told[-1].step == "extract" and told[-1].done == told[-1].total == before.chunks


async def test_what_was_there_before_is_read_when_the_library_is_opened(library: Open) -> None:
    app = await library("TideNet-1", graph={"extract": "off"})
    await app.aclose()
    again = await library()
    again.begin()
    assert again._catching_up is not None
    await again._catching_up
    assert facts(again) == BOTH


async def test_the_model_replaces_what_rules_found_and_opening_leaves_it(library: Open, model: dict[str, Any]) -> None:
    app = await library("TideNet-1", llm=model["llm"])
    assert model["server"].requests == []  # while documents are added the setting says rules
    report = await app.build_graph()
    assert {t.extracted_by for t in triples(app)} == {"llm"}
    assert report.dropped == {"object not in the passage": len(model["server"].requests)}
    assert report.kept == len(triples(app)) == report.chunks
    app.begin()
    assert app._catching_up is not None
    await app._catching_up
    assert {t.extracted_by for t in triples(app)} == {"llm"}
    await app.build_graph(by="rules")
    assert {t.extracted_by for t in triples(app)} == {"rules"}


async def test_auto_asks_the_model_while_a_document_is_added(library: Open, model: dict[str, Any]) -> None:
    app = await library("TideNet-1", llm=model["llm"], graph={"extract": "auto"})
    assert {t.extracted_by for t in triples(app)} == {"llm"}
    (document,) = await app.list_documents()
    assert document.status == "ready"


async def test_the_estimate_is_what_is_asked_then(library: Open, model: dict[str, Any]) -> None:
    prices = {"prompt_price": 2.0, "completion_price": 8.0}
    app = await library("TideNet-1", "TideNet-2", llm=model["llm"] | prices)
    before = await app.estimate_graph(passes=2)
    assert model["server"].requests == []
    await app.build_graph(passes=2)
    requests = model["server"].requests
    assert before.calls == len(requests) == 2 * before.chunks
    sent = sum(estimate(request.body["messages"][0]["content"]) for request in requests)
    assert 0.9 * sent <= before.prompt_tokens <= 1.2 * sent
    assert before.cost == pytest.approx((before.prompt_tokens * 2 + before.completion_tokens * 8) / 1e6)
    after = await app.estimate_graph(passes=2)
    assert (after.chunks, after.calls, after.done) == (0, 0, before.chunks)
    assert (await app.estimate_graph(passes=2, again=True)).chunks == before.chunks


async def test_only_the_documents_that_are_named_are_read(library: Open, model: dict[str, Any]) -> None:
    app = await library("TideNet-1", "TideNet-2", llm=model["llm"])
    assert (await app.build_graph(documents=["TideNet-2.md"])).chunks > 0
    assert {t.extracted_by: t.subject for t in triples(app)} == {"rules": "TideNet-1", "llm": "TideNet-2"}


async def test_again_reads_what_was_read_and_pays_for_nothing(library: Open, model: dict[str, Any]) -> None:
    app = await library("TideNet-1", llm=model["llm"])
    first = await app.build_graph()
    asked = len(model["server"].requests)
    assert (await app.build_graph()).chunks == 0
    second = await app.build_graph(again=True)
    assert (second.chunks, second.kept) == (first.chunks, first.kept)
    assert len(model["server"].requests) == asked


async def test_the_budget_ends_a_build_and_the_next_goes_on(library: Open, model: dict[str, Any]) -> None:
    small = {"job": {"calls": 1}}
    app = await library("TideNet-1", llm=model["llm"] | {"max_concurrency": 1}, budget=small)
    whole = (await app.estimate_graph()).chunks
    assert whole >= 2
    report = await app.build_graph()
    assert "budget of 1 calls" in report.stopped
    assert (report.chunks, (await app.estimate_graph()).chunks) == (1, whole - 1)
    assert {t.extracted_by for t in triples(app)} == {"rules", "llm"}  # what was not read keeps what it had
    for _ in range(whole):
        report = await app.build_graph()
    assert report.stopped == "" and {t.extracted_by for t in triples(app)} == {"llm"}


async def test_a_model_that_is_down_ends_a_build_at_once(library: Open, model: dict[str, Any]) -> None:
    app = await library("TideNet-1", "TideNet-2", llm=model["llm"] | {"max_concurrency": 1})
    model["reply"] = lambda _: refusal(503)
    report = await app.build_graph()
    assert report.stopped and report.chunks == 0
    assert len(model["server"].requests) == 1
    assert {t.extracted_by for t in triples(app)} == {"rules"}


async def test_a_passage_whose_reply_is_no_use_is_marked_and_read_by_the_next_build(
    library: Open, model: dict[str, Any]
) -> None:
    def sometimes(request: Request) -> Scripted:
        return answer("no JSON at all") if "uses" in passage_of(request) else by_model(request)

    app = await library("TideNet-1", llm=model["llm"])
    model["reply"] = sometimes
    report = await app.build_graph()
    assert (report.failed, report.stopped) == (1, "")
    assert report.dropped["failed: llm_bad_reply"] == 1
    assert (await app.estimate_graph()).chunks == 1
    model["reply"] = by_model
    assert (await app.build_graph()).failed == 0
    assert (await app.estimate_graph()).chunks == 0


async def test_a_failing_model_fails_no_document(library: Open, model: dict[str, Any]) -> None:
    model["reply"] = lambda _: answer("no JSON at all")
    app = await library("TideNet-1", llm=model["llm"], graph={"extract": "auto"})
    (document,) = await app.list_documents()
    assert document.status == "ready_with_gaps"
    assert "passages were not read for relations" in document.gaps[0].reason


async def test_as_many_requests_run_at_once_as_the_endpoint_takes(library: Open, model: dict[str, Any]) -> None:
    app = await library("TideNet-1", "TideNet-2", "TideNet-3", llm=model["llm"] | {"max_concurrency": 2})
    await app.build_graph()
    assert model["server"].peak <= 2


async def test_a_document_that_goes_while_it_is_read_leaves_nothing(library: Open, model: dict[str, Any]) -> None:
    app = await library("TideNet-1", "TideNet-2", llm=model["llm"] | {"max_concurrency": 1})
    arrived, gone = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def waits(request: Request) -> Scripted:
        loop.call_soon_threadsafe(arrived.set)
        asyncio.run_coroutine_threadsafe(gone.wait(), loop).result(20)
        return by_model(request)

    model["reply"] = waits
    building = asyncio.create_task(app.build_graph())
    await arrived.wait()
    for document in await app.list_documents():
        await app.remove_document(document.id)
    gone.set()
    report = await building
    assert (report.kept, triples(app)) == (0, [])
    assert await app.kept_replies() == [kept for kept in await app.kept_replies() if kept.prompt == HOW_ASKED]
    assert (await app.check()).findings == ()


async def test_a_build_that_is_cancelled_stores_what_it_has_read(library: Open, model: dict[str, Any]) -> None:
    app = await library("TideNet-1", "TideNet-2", llm=model["llm"] | {"max_concurrency": 1})
    whole = (await app.estimate_graph()).chunks
    third = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(request: Request) -> Scripted:
        if len(model["server"].requests) == 3:
            loop.call_soon_threadsafe(third.set)
            return Scripted(by_model(request).body, delay_s=5)
        return by_model(request)

    model["reply"] = slow
    building = asyncio.create_task(app.build_graph())
    await third.wait()
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building
    assert (await app.estimate_graph()).chunks == whole - 2


async def test_without_a_model_none_can_be_asked_for(library: Open) -> None:
    app = await library("TideNet-1")
    with pytest.raises(LLMNotConfigured):
        await app.build_graph(by="llm")
    assert (await app.estimate_graph()).extractor.startswith("rules@")


async def test_what_is_of_no_passage_is_found_and_taken_away(library: Open) -> None:
    app = await library("TideNet-1")
    chunk = app._ledger.triples.readable()[0]
    assert not app._ledger.triples.store(chunk.model_copy(update={"id": "gone"}), Extraction("x"))
    with app._ledger._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE triples SET chunk_id = 'gone' WHERE relation = 'USES'")
    (finding,) = (await app.check()).findings
    assert finding.what == "rows that belong to nothing: 1 in triples"
    assert not (await app.check(repair=True)).left
    assert facts(app) == {("TideNet-1", "OUTPERFORMS", "SeaCast")}
