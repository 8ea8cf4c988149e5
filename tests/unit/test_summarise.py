"""Summaries say what the document says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.settings import LLMSettings, load_settings
from core.text import text_of
from core.types import Document, Summary
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES
from tests.support.scripted_endpoint import LLMServer, Request, Scripted, answer, refusal

HERON = SAMPLES[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "library"


async def added(folder: Path, **changed: Any) -> tuple[App, Document, list[Summary]]:
    app = build(load_settings(library=folder, **changed), HashEmbedder())
    document = await app.add_document(str(HERON))
    return app, document, app._ledger.summaries_of(document.id)


async def test_without_a_model_every_section_is_summarised_by_its_own_sentences(folder: Path) -> None:
    app, document, (whole, *sections) = await added(folder)
    assert whole.section == "" and {s.written_by for s in (whole, *sections)} == {"extraction"}
    assert {"Abstract", "3 Results", "6 Conclusion"} <= {s.section for s in sections}
    for summary in (whole, *sections):
        pages = {span.page: app._ledger.page(document.id, span.page).text for span in summary.spans}
        said = [" ".join(text_of([span], pages).split()) for span in summary.spans]
        assert " ".join(said).replace("- ", "-") == summary.text.replace("- ", "-")
    await app.remove_document(document.id)
    assert app._ledger.summaries_of(document.id) == []
    await app.aclose()


async def test_an_overview_cites_the_document_s_own_summary(folder: Path) -> None:
    app, _, (whole, *_) = await added(folder)
    given = await app.ask("Summarise this paper")
    assert len(given.citations) == 5
    assert all(" ".join(c.quote.split()) in whole.text for c in given.citations)
    await app.aclose()


def reply(text: str, rests_on: list[int]) -> Scripted:
    return answer(json.dumps({"sentences": [{"text": text, "rests_on": rests_on}]}))


@pytest.fixture
def model() -> Iterator[dict[str, Any]]:
    """Settings of a server whose reply repeats the section's first sentence; `replies` may hold another function."""
    held: dict[str, Any] = {}

    def first_sentence(request: Request) -> Scripted:
        section = request.body["messages"][0]["content"].rpartition("<section>")[2]
        return reply(section.partition("[1] ")[2].partition("\n")[0], [1])

    with LLMServer(lambda request: held.get("reply", first_sentence)(request)) as server:
        held["server"] = server
        held["settings"] = {
            "llm": LLMSettings(base_url=server.url, model="m", max_retries=0),
            "ingest": {"summaries": "llm"},
        }
        yield held


async def test_with_a_model_each_section_is_one_call_that_is_paid_for_once(folder: Path, model: dict[str, Any]) -> None:
    app, document, (_, *sections) = await added(folder, **model["settings"])
    assert {s.written_by for s in sections} == {"llm"}
    assert len(model["server"].requests) == len(sections)
    assert document.status == "ready"
    await app.add_document(str(HERON))
    assert len(model["server"].requests) == len(sections)
    await app.remove_document(document.id)  # its words stay in no kept reply, so they are asked for again
    await app.add_document(str(HERON))
    assert len(model["server"].requests) == 2 * len(sections)
    await app.aclose()


@pytest.mark.parametrize(
    ("text", "rests_on"),
    [
        ("HeronNet has 512 million parameters and costs a fortune.", [1]),
        ("The moon is made of cheese and orbits Jupiter.", [1, 2]),
        ("Short forecasts of water level help harbours.", [9999]),
    ],
    ids=["a number of its own", "words of its own", "rests on nothing"],
)
async def test_what_the_text_does_not_bear_out_is_not_kept(
    folder: Path, model: dict[str, Any], text: str, rests_on: list[int]
) -> None:
    model["reply"] = lambda _: reply(text, rests_on)
    app, _, summaries = await added(folder, **model["settings"])
    assert {s.written_by for s in summaries} == {"extraction"}
    assert all(text not in s.text for s in summaries)
    await app.aclose()


async def test_a_model_that_fails_is_said_and_fails_nothing(folder: Path, model: dict[str, Any]) -> None:
    model["reply"] = lambda _: refusal(503)
    app, document, summaries = await added(folder, **model["settings"])
    assert document.status == "ready_with_gaps" and len(summaries) > 5
    assert len(model["server"].requests) == 1  # it is down: the other sections need not find that out
    assert "7 of 7 sections were summarised without the language model" in document.gaps[0].reason
    await app.aclose()


async def test_a_job_s_budget_holds(folder: Path, model: dict[str, Any]) -> None:
    app, document, (_, *sections) = await added(folder, **model["settings"], budget={"job": {"calls": 3}})
    assert [s.written_by for s in sections].count("llm") == 3
    assert len(model["server"].requests) == 3
    assert "4 of 7 sections" in document.gaps[0].reason and "budget of 3 calls" in document.gaps[0].reason
    await app.aclose()
