"""Answers scored by a language model as judge: what is asked, and how its verdicts are counted."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from core.errors import InvalidInput, LLMBadReply, LLMError, LLMTruncated
from core.ports import Service
from core.settings import Limits
from core.spending import account
from core.types import Answer, Filter, Frozen, Usage
from eval.questions import Question, QuestionSet
from eval.retrieval import check_places
from mcp_tools.client import ToolClient
from mcp_tools.server import make_server

Problem = Literal["nan", "unparsable", "failed"]


@dataclass(frozen=True)
class Sample:
    question: str
    answer: str
    passages: tuple[str, ...]
    reference: str


Metric = Callable[[Sample], Awaitable[float]]  # 0 to 1, higher is better; NaN where it is not defined


class Verdict(Frozen):
    """`score` is None where there is a problem: the judge's words were no verdict (unparsable), the metric is not
    defined for them (nan), or the judge did not answer (failed)."""

    score: float | None
    problem: Problem | None = None
    detail: str = ""


class Scores(Frozen):
    """One metric. The mean is of the scored alone; the others are counted beside it."""

    mean: float | None
    n: int
    scored: int
    nan: int
    unparsable: int
    failed: int


class JudgedAnswer(Frozen):
    id: str
    question: str
    type: str
    lang: str
    answer: str
    written_by: str
    passages: int
    verdicts: dict[str, Verdict]
    seconds: float = Field(description="of judging alone")


class JudgedRun(Frozen):
    n: int
    judge: str
    metrics: dict[str, Scores]
    unparsable_share: float = Field(description="of all verdicts, 0 to 1")
    seconds: float
    usage: Usage = Field(description="of judging alone")
    per_question: tuple[JudgedAnswer, ...]


async def judge_answers(
    service: Service,
    asked: QuestionSet,
    metrics: Mapping[str, Metric],
    *,
    judge: str,
    top_k: int,
    limit: int = 0,
    on_question: Callable[[], None] = lambda: None,
) -> JudgedRun:
    """Asks each answerable question (the first `limit`; 0: all), fetches the `top_k` passages that a reader is handed,
    and has both judged, all metrics of a question at once.

    Raises InvalidInput where a question has no reference, NotFound, and what the judge's first failure said where it
    failed every time.
    """
    questions = asked.answerable[: limit or None]
    lacking = [question.id for question in questions if not question.reference.strip()]
    if lacking:
        hint = "the judge compares with a right answer: the field `reference`"
        raise InvalidInput(f"no reference for {', '.join(lacking[:10])}", hint=hint)
    check_places(questions, await service.list_documents(Filter(include_expired=True)))
    failures: list[LLMError] = []
    found = []
    start = time.perf_counter()
    with account(Limits()) as spent:
        async with ToolClient(make_server(service)) as tools:
            for question in questions:
                found.append(await _judged(tools, question, metrics, top_k, failures))
                on_question()
    if failures and len(failures) == sum(len(one.verdicts) for one in found):
        raise failures[0]
    return summed_up(found, judge, time.perf_counter() - start, spent.usage)


async def _judged(
    tools: ToolClient, question: Question, metrics: Mapping[str, Metric], top_k: int, failures: list[LLMError]
) -> JudgedAnswer:
    answer = await tools.ask(question.question)
    result = await tools.search_passages(question.question, top_k=top_k)
    passages = tuple(passage.text for passage in result.passages)
    sample = Sample(question.question, _told(answer), passages, question.reference)
    start = time.perf_counter()
    verdicts = await asyncio.gather(*(verdict(metric, sample, failures) for metric in metrics.values()))
    return JudgedAnswer(
        id=question.id,
        question=question.question,
        type=question.type,
        lang=question.lang,
        answer=sample.answer,
        written_by=answer.written_by,
        passages=len(passages),
        verdicts=dict(zip(metrics, verdicts, strict=True)),
        seconds=round(time.perf_counter() - start, 1),
    )


def _told(answer: Answer) -> str:
    """The claims; the answer's text has the numbers of the citations between them."""
    return "\n".join(claim.text for claim in answer.claims) or answer.text


async def verdict(metric: Metric, sample: Sample, failures: list[LLMError]) -> Verdict:
    """Never raises for what the judge did; a judge that did not answer is added to `failures`."""
    if not sample.passages:
        return Verdict(score=None, problem="nan", detail="no passage was found")
    try:
        score = await metric(sample)
    except (LLMBadReply, LLMTruncated) as error:
        return Verdict(score=None, problem="unparsable", detail=error.message)
    except LLMError as error:
        failures.append(error)
        return Verdict(score=None, problem="failed", detail=f"{error.code}: {error.message}")
    if math.isnan(score):
        return Verdict(score=None, problem="nan", detail="the judge named nothing to score")
    return Verdict(score=round(score, 4))


def summed_up(found: Sequence[JudgedAnswer], judge: str, seconds: float, usage: Usage) -> JudgedRun:
    names = list(found[0].verdicts) if found else []
    metrics = {name: scores([one.verdicts[name] for one in found]) for name in names}
    every = sum(one.n for one in metrics.values())
    return JudgedRun(
        n=len(found),
        judge=judge,
        metrics=metrics,
        unparsable_share=round(sum(one.unparsable for one in metrics.values()) / every, 4) if every else 0.0,
        seconds=round(seconds, 1),
        usage=usage,
        per_question=tuple(found),
    )


def scores(verdicts: Sequence[Verdict]) -> Scores:
    known = [one.score for one in verdicts if one.score is not None]
    problems = [one.problem for one in verdicts]
    return Scores(
        mean=round(sum(known) / len(known), 4) if known else None,
        n=len(verdicts),
        scored=len(known),
        nan=problems.count("nan"),
        unparsable=problems.count("unparsable"),
        failed=problems.count("failed"),
    )
