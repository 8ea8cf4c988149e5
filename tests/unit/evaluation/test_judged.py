"""Verdicts of a judge: counted, never averaged in where they are none."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from core.errors import InvalidInput, LLMBadReply, LLMError, LLMTruncated, LLMUnavailable
from eval.judged import Metric, Sample, Scores, judge_answers
from eval.questions import QuestionSet, read_questions
from tests.support.passages import ScriptedSearch, passage, place, row, written

FOUND = {name: [passage("a.pdf", 1, text=f"about {name}")] for name in ("one", "two", "three")}


def asked_of(tmp_path: Path, *names: str, **more: str) -> QuestionSet:
    rows = [row(name, place("a.pdf", 1, "x"), **({"reference": f"right {name}"} | more)) for name in names]
    return read_questions(written(tmp_path / "q.jsonl", *rows))


def metric(**played: float | LLMError) -> Metric:
    """Gives each question its score, or raises its error."""

    async def score(sample: Sample) -> float:
        assert sample.reference == f"right {sample.question}" and sample.passages == (f"about {sample.question}",)
        said = played[sample.question]
        if isinstance(said, LLMError):
            raise said
        return said

    return score


async def test_problems_are_counted_beside_the_mean(tmp_path: Path) -> None:
    metrics = {
        "good": metric(one=1.0, two=0.5, three=0.0),
        "mixed": metric(one=0.4, two=math.nan, three=LLMBadReply("no JSON")),
        "bad": metric(one=LLMTruncated("cut"), two=LLMUnavailable("gone"), three=math.nan),
    }
    library = ScriptedSearch(FOUND, "a.pdf")
    run = await judge_answers(library, asked_of(tmp_path, "one", "two", "three"), metrics, judge="m", top_k=4)
    assert run.metrics["good"] == Scores(mean=0.5, n=3, scored=3, nan=0, unparsable=0, failed=0)
    assert run.metrics["mixed"] == Scores(mean=0.4, n=3, scored=1, nan=1, unparsable=1, failed=0)
    assert run.metrics["bad"] == Scores(mean=None, n=3, scored=0, nan=1, unparsable=1, failed=1)
    assert run.unparsable_share == round(2 / 9, 4) and run.judge == "m"
    verdict = run.per_question[2].verdicts["mixed"]
    assert (verdict.score, verdict.problem, verdict.detail) == (None, "unparsable", "no JSON")
    assert {top_k for _, top_k, _ in library.asked} == {4}
    assert "NaN" not in run.model_dump_json()


async def test_only_the_first_questions_where_asked_for(tmp_path: Path) -> None:
    metrics = {"good": metric(one=1.0, two=1.0, three=1.0)}
    asked = asked_of(tmp_path, "one", "two", "three")
    assert (await judge_answers(ScriptedSearch(FOUND, "a.pdf"), asked, metrics, judge="m", top_k=5, limit=2)).n == 2


async def test_a_question_without_passages_is_not_scored(tmp_path: Path) -> None:
    run = await judge_answers(
        ScriptedSearch({}, "a.pdf"), asked_of(tmp_path, "one"), {"good": metric(one=1.0)}, judge="m", top_k=5
    )
    assert (run.metrics["good"].mean, run.metrics["good"].nan) == (None, 1)


async def test_a_judge_that_never_answers_is_an_error(tmp_path: Path) -> None:
    metrics = {"bad": metric(one=LLMUnavailable("gone"), two=LLMUnavailable("gone"))}
    with pytest.raises(LLMUnavailable):
        await judge_answers(
            ScriptedSearch(FOUND, "a.pdf"), asked_of(tmp_path, "one", "two"), metrics, judge="m", top_k=5
        )


async def test_a_question_without_reference_is_refused_before_anything_runs(tmp_path: Path) -> None:
    library = ScriptedSearch(FOUND, "a.pdf")
    with pytest.raises(InvalidInput, match="no reference for 1"):
        await judge_answers(library, asked_of(tmp_path, "one", reference=" "), {}, judge="m", top_k=5)
    assert library.asked == []
