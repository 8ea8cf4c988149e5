"""Retrieval measured through the tools, over a library that gives what it is told to."""

from __future__ import annotations

import importlib.util
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidInput, NotFound
from core.types import Job, TraceStep
from eval.questions import QuestionSet, read_questions
from eval.ranking import Ranked, measured, ranked
from eval.retrieval import indexing_seconds, measure
from eval.run import read_run
from tests.support.passages import ScriptedSearch, passage, place, row, written

needs_ir_measures = pytest.mark.skipif(
    importlib.util.find_spec("ir_measures") is None, reason="ir-measures (the extra `report`) is not installed"
)
ROWS = [
    row("first", place("a.pdf", 1, "Red hens")),
    row("fifth", place("a.pdf", 2, "Blue ducks"), lang="ko", type="table"),
    row("never", place("a.pdf", 3, "Green")),
    row("nobody", type="unanswerable"),
]
OTHER = [passage("b.pdf", 1, rank=rank) for rank in range(1, 5)]
FOUND = {
    "first": [passage("a.pdf", 1, text="red hens"), *OTHER],
    "fifth": [*OTHER, passage("a.pdf", 2, 3, text="nothing", rank=5), passage("a.pdf", 2, text="blue ducks", rank=6)],
}


@pytest.fixture
def asked(tmp_path: Path) -> QuestionSet:
    return read_questions(written(tmp_path / "q.jsonl", *ROWS))


async def test_rates_ranks_and_what_they_hold_for(asked: QuestionSet) -> None:
    library = ScriptedSearch(FOUND, "a.pdf", "b.pdf")
    run = await measure(library, asked, channels=("bm25",), top_k=6)
    assert (run.n, run.unanswerable, run.page_hit_at_5, run.quote_hit_at_5) == (3, 1, 0.6667, 0.3333)
    assert run.by_language["ko"].model_dump() == {"n": 1, "page_hit_at_5": 1.0, "quote_hit_at_5": 0.0}
    assert list(run.by_type) == ["fact", "table"] and run.by_type["fact"].quote_hit_at_5 == 0.5
    assert run.intervals.by_type.keys() == run.by_type.keys() and run.intervals.page_hit_at_5 is not None
    fifth = run.per_question[1]
    assert (fifth.page_rank, fifth.quote_rank, fifth.page_hit, fifth.quote_hit) == (5, 6, True, False)
    assert fifth.passages[4].pages == (2, 3) and fifth.passages[4].channels == {"bm25": 5}
    assert (run.setup.channels, run.setup.top_k, run.setup.questions) == (("bm25",), 6, "q.jsonl")
    assert library.asked[1:] == [(name, 6, ("bm25",)) for name in ("first", "fifth", "never")]


async def test_passages_beyond_the_readers_characters_are_cut_off_and_counted(asked: QuestionSet) -> None:
    long = [passage("b.pdf", 1, text="x" * 6000), passage("a.pdf", 1, text="red hens" + "x" * 6000)]
    run = await measure(ScriptedSearch({"first": long}, "a.pdf", "b.pdf"), asked)
    first = run.per_question[0]
    assert (first.page_hit, first.quote_hit, first.page_rank, first.left_off) == (False, False, 2, 1)
    assert run.passages_left_off == 1


async def test_what_a_search_did_without_is_counted(asked: QuestionSet) -> None:
    step = TraceStep(stage="retriever", ms=1, summary="", degraded="no reranker")
    run = await measure(ScriptedSearch(FOUND, "a.pdf", "b.pdf", trace=(step,)), asked)
    assert run.degraded == {"retriever: no reranker": 3}


async def test_without_quotes_there_is_no_quote_rate(tmp_path: Path) -> None:
    asked = read_questions(written(tmp_path / "q.jsonl", row("first", place("a.pdf", None))))
    run = await measure(ScriptedSearch(FOUND, "a.pdf"), asked)
    assert (run.page_hit_at_5, run.quote_hit_at_5, run.intervals.quote_hit_at_5) == (1.0, None, None)


async def test_places_that_the_library_has_not_are_named_before_anything_runs(asked: QuestionSet) -> None:
    library = ScriptedSearch(FOUND, "b.pdf")
    with pytest.raises(NotFound, match=r"no document a\.pdf"):
        await measure(library, asked)
    assert library.asked == []


async def test_pages_that_a_document_has_not(tmp_path: Path) -> None:
    asked = read_questions(written(tmp_path / "q.jsonl", row("far", place("a.pdf", 99, "x"))))
    with pytest.raises(NotFound, match=r"a\.pdf, page 99"):
        await measure(ScriptedSearch({}, "a.pdf"), asked)


async def test_a_saved_run_is_read_again(asked: QuestionSet, tmp_path: Path) -> None:
    run = await measure(ScriptedSearch(FOUND, "a.pdf", "b.pdf"), asked)
    (tmp_path / "run.json").write_text(run.model_dump_json())
    assert read_run(tmp_path / "run.json") == run
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InvalidInput, match=r"bad\.json is no saved run"):
        read_run(tmp_path / "bad.json")
    with pytest.raises(NotFound):
        read_run(tmp_path / "none.json")


@needs_ir_measures
def test_ranking_measures() -> None:
    found = measured([Ranked(("x", "a#1"), {"a#1": 1}), Ranked(("y",), {"a#1": 1, "a#2": 1})], 5)
    assert found is not None
    assert (found.mrr, found.recall_at_1, found.recall_at_5) == (0.25, 0.0, 0.5)
    assert found.ndcg_at_5 == pytest.approx(0.6309 / 2, abs=1e-4) and found.ndcg_at_10 is None
    deep = measured([Ranked(tuple("bcdefgha"), {"a": 1})], 10)
    assert deep is not None and (deep.recall_at_5, deep.recall_at_10) == (0.0, 1.0)


def test_without_ir_measures_there_is_no_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    assert measured([Ranked(("x",), {"x": 1})], 5) is None


def test_pages_are_ranked_once_each_and_documents_where_no_page_is_known(asked: QuestionSet, tmp_path: Path) -> None:
    passages = [passage("a", 2, 3), passage("a", 3, 4), passage("b", 1)]
    assert ranked(asked.questions[0], passages).found == ("a#2", "a#3", "a#4", "b#1")
    whole = read_questions(written(tmp_path / "d.jsonl", row("?", place("b", None, grade=2)))).questions[0]
    assert ranked(whole, passages) == Ranked(("a", "b"), {"b": 2})


def test_indexing_takes_what_the_jobs_took_one_after_the_other() -> None:
    def job(name: str, queued: int, ended: int, **more: Any) -> Job:
        at = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds) for seconds in (queued, ended)]
        return Job(id=name, name=name, created_at=at[0], updated_at=at[1], **({"outcome": "added"} | more))

    jobs = [job("b", 0, 30), job("later", 100, 105, outcome="replaced"), job("a", 0, 10)]
    jobs += [job("same", 40, 60, outcome="known"), job("bad", 70, 90, outcome="", state="failed")]
    assert indexing_seconds(jobs, 3) == 10 + 20 + 5
    assert indexing_seconds(jobs, 4) is indexing_seconds([], 0) is None
