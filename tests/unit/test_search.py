"""The search as a whole: what it hands over, what became of the rest, reranking, and rewritten questions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidInput
from core.settings import LLMSettings, load_settings
from quaere.app import App
from quaere.build import build
from retrieval.rerank import Reranking
from tests.support.embedder import HashEmbedder
from tests.support.reranker import ScriptedReranker
from tests.support.scripted_endpoint import LLMServer, Request, Scripted, answer, refusal

FILLER = "The keeper wrote the weather of each day into the log of the lighthouse before the lamp was lit. " * 9
SECTIONS = "\n\n".join(
    f"## Log {n}\n\nOn day {n} the keeper counted {n} gulls on the rock. {FILLER}" for n in range(15)
)


async def library(folder: Path, **settings: Any) -> App:
    app = build(load_settings(library=folder / "library", **settings), HashEmbedder())
    path = folder / "log.md"
    path.write_text(f"# The Lighthouse Log\n\n{SECTIONS}\n")
    await app.add_document(str(path))
    return app


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    opened = await library(tmp_path)
    yield opened
    await opened.aclose()


async def test_passages_stay_within_their_room_and_each_text_is_its_spans(app: App) -> None:
    found = await app.search_passages("how many gulls did the keeper count", top_k=50)
    assert 5 <= len(found.passages) < 15
    assert sum(len(passage.text) for passage in found.passages) <= 10_000
    for passage in found.passages:
        pages = {span.page: app._ledger.page(passage.document_id, span.page).text for span in passage.spans}
        assert passage.text == "\n".join(pages[span.page][span.start : span.end] for span in passage.spans)
        assert len(passage.text) <= 1900 and passage.best_child in passage.text


async def test_every_candidate_says_what_became_of_it(app: App) -> None:
    found = await app.search_passages("on day 3 the keeper counted", top_k=2, explain=True)
    inside = {c.passage for c in found.candidates if not c.why}
    assert inside == {1, 2}
    outside = [c for c in found.candidates if c.why]
    assert outside and {c.why for c in outside} == {"beyond the 2 passages asked for"}
    assert [c.rank for c in found.candidates] == sorted(c.rank for c in found.candidates)
    assert all(c.channels and c.text and c.fused > 0 for c in found.candidates)
    ranks = {c.channels[0].rank for c in found.candidates if c.channels[0].channel == "dense"}
    assert ranks == set(range(1, len(ranks) + 1))
    every = await app.search_passages("on day 3 the keeper counted", top_k=50, explain=True)
    assert "no room in the characters for all" in {c.why for c in every.candidates}
    assert (await app.search_passages("gulls")).candidates == ()
    given = await app.ask("How many gulls did the keeper count on day 3?")
    listed = next(step for step in given.trace if step.stage == "retriever").details["candidates"]
    assert "log.md, page" in str(listed) and "; passage 1" in str(listed)


async def test_channels_are_weighed_and_one_of_no_weight_is_left_out(tmp_path: Path) -> None:
    app = await library(tmp_path, retrieval={"weights": {"dense": 0, "mentions": 0}})
    found = await app.search_passages("gulls", explain=True)
    assert {hit.channel for c in found.candidates for hit in c.channels} == {"bm25"}
    await app.aclose()
    with pytest.raises(InvalidInput, match="weights of 0 or more for dense"):
        load_settings(retrieval={"weights": {"dence": 1}})


async def test_errors_name_no_trace_that_is_not_kept(tmp_path: Path) -> None:
    app = await library(tmp_path, retrieval={"weights": {"dense": 0, "bm25": 0, "mentions": 0}})
    with pytest.raises(InvalidInput, match="no channel of this library weighs") as caught:
        await app.search_passages("gulls")
    assert not caught.value.trace_id
    asked_for = (await app.search_passages("day 3", channels=["bm25"])).passages
    assert asked_for[0].score > asked_for[1].score > 0 and asked_for[0].channels[0].rank == 1
    await app.aclose()


async def test_each_part_of_a_question_finds_a_passage_of_its_own(tmp_path: Path) -> None:
    question = (
        "How many gulls did the keeper count on the day of weather, and which salmon pass under the stone bridge?"
    )
    counted = []
    for name, parts in (("a", 3), ("b", 0)):
        (tmp_path / name).mkdir()
        app = await library(tmp_path / name, retrieval={"parts": parts})
        (tmp_path / "fish.md").write_text(
            "# Fish\n\nIn May they, the salmon, may pass under a bridge that is of stone.\n"
        )
        await app.add_document(str(tmp_path / "fish.md"))
        found = await app.search_passages(question, top_k=3, explain=True)
        counted.append("fish.md" in {passage.document for passage in found.passages})
        named = {hit.channel for c in found.candidates for hit in c.channels if hit.channel.startswith("part")}
        assert named == ({"part 1", "part 2"} if parts else set())
        assert len(found.passages) == 3
        await app.aclose()
    assert counted[0]


async def test_the_reranker_decides_the_order_and_leaves_its_score(app: App) -> None:
    reranker = ScriptedReranker()
    app._search = replace(app._search, reranking=Reranking(reranker))
    found = await app.search_passages("how many gulls did the keeper count", top_k=3, explain=True)
    assert all(text.startswith("The Lighthouse Log\n") for batch in reranker.batches for text in batch)
    logits = [c.logit for c in found.candidates if c.logit is not None]
    assert logits == sorted(logits, reverse=True) and len(set(logits)) > 1
    assert "reranked in" in str(found.trace[0].details["notes"])
    assert (await app.health()).reranker == "scripted"
    assert found.trace[0].details["channels"] == "dense, bm25, mentions"


async def test_unlike_passages_come_first_where_it_is_asked_for(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    plain = await library(tmp_path / "a")
    diverse = await library(tmp_path / "b", retrieval={"mmr": 0.3})
    (tmp_path / "fish.md").write_text("# Fish\n\nSalmon pass under the bridge in May, and a boat counts gulls there.\n")
    for library_of in (plain, diverse):
        await library_of.add_document(str(tmp_path / "fish.md"))
    question = "how many gulls did the keeper count on day 3"
    one = await plain.search_passages(question, top_k=4)
    other = await diverse.search_passages(question, top_k=4)
    assert one.passages[0] == other.passages[0]
    assert other.passages[1].document == "fish.md" != one.passages[1].document
    await plain.aclose()
    await diverse.aclose()


# --- rewritten questions


def script(request: Request) -> Scripted:
    said = json.dumps(request.body["messages"], ensure_ascii=False)
    if "PASSAGE:" in said:
        return answer("On day 4 the keeper counted 4 gulls here.")
    return answer("How many gulls did the keeper count?" if "TRANSLATION:" in said else "NOT FOUND")


def settings(server: LLMServer, **retrieval: bool) -> dict[str, Any]:
    return {"llm": LLMSettings(base_url=server.url, model="m", max_retries=0), "retrieval": retrieval}


async def test_a_hypothetical_answer_and_a_translation_are_channels(tmp_path: Path) -> None:
    with LLMServer(script) as server:
        app = await library(tmp_path, **settings(server, hyde=True, translate=True))
        given = await app.ask("灯塔看守人数了多少只海鸥？", policy="quote")
        step = next(step for step in given.trace if step.stage == "retriever")
        assert step.details["channels"] == "dense, bm25, hyde, translated, mentions" and not step.degraded
        assert "translated 1" in str(step.details["candidates"])
        asked = len(server.requests)
        given = await app.ask("How many gulls did the keeper count on day 4?", policy="quote")
        step = next(step for step in given.trace if step.stage == "retriever")
        assert step.details["channels"] == "dense, bm25, hyde, mentions"  # its words are the library's own
        assert len(server.requests) == asked + 1
        await app.aclose()


async def test_a_model_that_fails_costs_no_answer(tmp_path: Path) -> None:
    with LLMServer([refusal(500)]) as server:
        app = await library(tmp_path, **settings(server, hyde=True))
        given = await app.ask("How many gulls did the keeper count on day 4?", policy="quote")
        assert given.citations
        step = next(step for step in given.trace if step.stage == "retriever")
        assert "hyde: " in step.degraded and "searched for as it is" in step.degraded
        assert step.details["channels"] == "dense, bm25, mentions"
        await app.aclose()


def test_rewriting_without_a_model_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="need a language model"):
        build(load_settings(library=tmp_path, retrieval={"hyde": True}), HashEmbedder())
