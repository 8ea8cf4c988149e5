"""How often the passages that a search hands to a reader hold what answers the question.

Asked through the tools, as every door asks.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from statistics import median

import numpy as np

from core.errors import NotFound
from core.ports import Service
from core.types import Document, Filter, Health, Job, Passage, SearchResult
from eval.gold import Found, judged, within
from eval.questions import Question, QuestionSet
from eval.ranking import Ranked, measured, ranked
from eval.rates import interval, rate
from eval.run import AllIntervals, Intervals, Outcome, Place, Rates, Run, Seen, Setup
from mcp_tools.client import ToolClient
from mcp_tools.server import make_server
from retrieval.search import CHANNELS

HITS_AT = 5
OnQuestion = Callable[[], None]


async def measure(
    service: Service,
    asked: QuestionSet,
    *,
    channels: Sequence[str] = (),
    top_k: int = HITS_AT,
    on_question: OnQuestion = lambda: None,
) -> Run:
    """Every answerable question once, in order, after one search that is not measured; `top_k` is 5 at least.

    Raises NotFound where the questions speak of what the library does not have, before any is asked.
    """
    check_places(asked.answerable, await service.list_documents(Filter(include_expired=True)))
    outcomes, rankings = [], []
    async with ToolClient(make_server(service)) as tools:
        first = await tools.search_passages("warm-up", top_k=1, channels=channels)
        for question in asked.answerable:
            start = time.perf_counter()
            result = await tools.search_passages(question.question, top_k=top_k, channels=channels)
            outcomes.append(_outcome(question, result, (time.perf_counter() - start) * 1000))
            rankings.append(ranked(question, result.passages))
            on_question()
    setup = _setup(asked, channels or _searched(first), top_k, await service.health())
    unanswerable = len(asked.questions) - len(asked.answerable)
    return summed_up(outcomes, rankings, unanswerable, setup, indexing_seconds(await service.jobs(), setup.documents))


def indexing_seconds(jobs: Sequence[Job], documents: int) -> float | None:
    """What adding took in all, from reading to index: jobs run one by one, so each began when it was queued or when
    the one before it ended. None where the jobs of some documents are not kept any more.

    It is time on the clock, and a pause between two processes in the middle of a job is in it.
    """
    added = sorted((job for job in jobs if job.outcome in ("added", "replaced")), key=lambda job: job.updated_at)
    if not added or len(added) < documents:
        return None
    seconds, free = 0.0, added[0].created_at
    for job in added:
        seconds += (job.updated_at - max(job.created_at, free)).total_seconds()
        free = job.updated_at
    return round(seconds, 1)


def check_places(questions: Sequence[Question], documents: Sequence[Document]) -> None:
    """Raises NotFound that names each document, or page of one, that evidence lies in and the library has not."""
    pages = {document.name: document.pages for document in documents if document.status.startswith("ready")}
    wanted = {(evidence.doc, evidence.page) for question in questions for evidence in question.evidence}
    absent = sorted({doc for doc, _ in wanted if doc not in pages})
    if absent:
        more = f" and {len(absent) - 10} more" if len(absent) > 10 else ""
        raise NotFound(
            f"the library has no document {', '.join(absent[:10])}{more}",
            hint="the questions name documents by their file names; see `quaere list`",
        )
    beyond = sorted(f"{doc}, page {page}" for doc, page in wanted if page is not None and page > pages[doc])
    if beyond:
        raise NotFound(f"the library has no {'; '.join(beyond[:10])}", hint="pages count from 1; see `quaere list`")


def _outcome(question: Question, result: SearchResult, ms: float) -> Outcome:
    first = result.passages[:HITS_AT]
    handed = len(within(first))
    verdict = judged(question, result.passages)
    return Outcome(
        id=question.id,
        question=question.question,
        type=question.type,
        lang=question.lang,
        page_hit=_is_hit(verdict.page_rank, handed),
        quote_hit=_is_hit(verdict.quote_rank, handed) if verdict.has_quotes else None,
        page_rank=verdict.page_rank,
        quote_rank=verdict.quote_rank,
        evidence=tuple(map(_place, verdict.found)),
        passages=tuple(_seen(rank, passage) for rank, passage in enumerate(result.passages, 1)),
        left_off=len(first) - handed,
        degraded=tuple(f"{step.stage}: {step.degraded}" for step in result.trace if step.degraded),
        ms=round(ms, 1),
    )


def _is_hit(rank: int | None, handed: int) -> bool:
    return rank is not None and rank <= handed


def _place(found: Found) -> Place:
    evidence = found.evidence
    return Place(document=evidence.doc, page=evidence.page, page_rank=found.page_rank, quote_rank=found.quote_rank)


def _seen(rank: int, passage: Passage) -> Seen:
    return Seen(
        rank=rank,
        document=passage.document,
        page=passage.page,
        pages=tuple(dict.fromkeys(span.page for span in passage.spans)),
        chunk=passage.chunk_id,
        characters=len(passage.text),
        channels={hit.channel: hit.rank for hit in passage.channels},
    )


def _searched(result: SearchResult) -> tuple[str, ...]:
    """The channels that there were: an embedder without sparse weights has one less, and a rewritten question more."""
    said = str(result.trace[0].details.get("channels", "")) if result.trace else ""
    return tuple(said.split(", ")) if said else CHANNELS


def _setup(asked: QuestionSet, channels: Sequence[str], top_k: int, health: Health) -> Setup:
    return Setup(
        questions=asked.name,
        questions_sha256=asked.sha256,
        channels=tuple(channels),
        top_k=top_k,
        version=health.version,
        embedder=health.embedder,
        reranker=health.reranker,
        llm=health.llm,
        documents=health.documents,
        chunks=health.chunks,
    )


def summed_up(
    outcomes: Sequence[Outcome], rankings: Sequence[Ranked], unanswerable: int, setup: Setup, indexing_s: float | None
) -> Run:
    languages, types = _grouped(outcomes, lambda one: one.lang), _grouped(outcomes, lambda one: one.type)
    whole, spread = _rates(outcomes), _intervals(outcomes)
    return Run(
        **whole.model_dump(),
        unanswerable=unanswerable,
        by_language={name: _rates(group) for name, group in languages.items()},
        by_type={name: _rates(group) for name, group in types.items()},
        intervals=AllIntervals(
            **spread.model_dump(),
            by_language={name: _intervals(group) for name, group in languages.items()},
            by_type={name: _intervals(group) for name, group in types.items()},
        ),
        ranking=measured(rankings, setup.top_k),
        indexing_s=indexing_s,
        ms_median=round(median(one.ms for one in outcomes), 1),
        ms_p95=round(float(np.percentile([one.ms for one in outcomes], 95)), 1),
        passages_left_off=sum(one.left_off for one in outcomes),
        degraded=dict(Counter(reason for one in outcomes for reason in one.degraded)),
        setup=setup,
        per_question=tuple(outcomes),
    )


def _grouped(outcomes: Sequence[Outcome], name: Callable[[Outcome], str]) -> dict[str, list[Outcome]]:
    return {key: list(group) for key, group in groupby(sorted(outcomes, key=name), key=name)}


def _rates(outcomes: Sequence[Outcome]) -> Rates:
    page, quote = _flags(outcomes)
    return Rates(n=len(outcomes), page_hit_at_5=rate(page), quote_hit_at_5=rate(quote))


def _intervals(outcomes: Sequence[Outcome]) -> Intervals:
    page, quote = _flags(outcomes)
    return Intervals(page_hit_at_5=interval(page), quote_hit_at_5=interval(quote))


def _flags(outcomes: Sequence[Outcome]) -> tuple[list[bool], list[bool | None]]:
    return [one.page_hit for one in outcomes], [one.quote_hit for one in outcomes]
