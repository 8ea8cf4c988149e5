"""What a measured run of retrieval is, as it is printed, saved and read again."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from core.errors import InvalidInput, NotFound
from core.types import Frozen
from eval.rates import Interval


class Seen(Frozen):
    """A passage that the search gave."""

    rank: int = Field(ge=1)
    document: str
    page: int = Field(ge=1, description="of the child that was found")
    pages: tuple[int, ...] = Field(description="all that the passage covers")
    chunk: str
    characters: int
    channels: dict[str, int] = Field(description="its child's rank in each channel that found it")


class Place(Frozen):
    """A question's evidence, and the first passages that have its page and its quote."""

    document: str
    page: int | None
    page_rank: int | None
    quote_rank: int | None


class Outcome(Frozen):
    """One question. Ranks count passages from 1; None is never."""

    id: str
    question: str
    type: str
    lang: str
    page_hit: bool
    quote_hit: bool | None = Field(description="None where the evidence has no quotes")
    page_rank: int | None = Field(description="the passage with which the question's rule is met")
    quote_rank: int | None
    evidence: tuple[Place, ...]
    passages: tuple[Seen, ...]
    left_off: int = Field(ge=0, description="of the first five, those beyond the characters that a reader is handed")
    degraded: tuple[str, ...] = Field(description="what the search did without, and why")
    ms: float


class Rates(Frozen):
    """Shares of the n questions, 0 to 1; None where none of them could be judged."""

    n: int
    page_hit_at_5: float | None
    quote_hit_at_5: float | None


class Intervals(Frozen):
    """95 %, by bootstrap."""

    page_hit_at_5: Interval | None
    quote_hit_at_5: Interval | None


class AllIntervals(Intervals):
    by_language: dict[str, Intervals]
    by_type: dict[str, Intervals]


class Ranking(Frozen):
    """Of the order of pages (documents, where the evidence names no page), each at its first passage; 0 to 1.

    Not cut by characters, unlike the hits. None where fewer passages were asked for than the measure looks at.
    """

    depth: int = Field(description="passages that were asked for")
    mrr: float
    ndcg_at_5: float
    ndcg_at_10: float | None = None
    recall_at_1: float
    recall_at_3: float
    recall_at_5: float
    recall_at_10: float | None = None


class Setup(Frozen):
    """What the figures hold for."""

    questions: str = Field(description="name of the file")
    questions_sha256: str
    channels: tuple[str, ...]
    top_k: int
    version: str
    embedder: str
    reranker: str
    llm: str
    documents: int
    chunks: int


class Run(Frozen):
    n: int = Field(description="answerable questions, of which the rates are")
    unanswerable: int = Field(description="those left out")
    page_hit_at_5: float | None
    quote_hit_at_5: float | None
    by_language: dict[str, Rates]
    by_type: dict[str, Rates]
    intervals: AllIntervals
    ranking: Ranking | None = Field(description="None where the extra `report` is not installed")
    indexing_s: float | None = Field(description="that adding the documents took; None where it is not known any more")
    ms_median: float
    ms_p95: float
    passages_left_off: int
    degraded: dict[str, int] = Field(description="what a search did without, by the number of questions")
    setup: Setup
    per_question: tuple[Outcome, ...]


def read_run(file: Path) -> Run:
    """Raises NotFound, InvalidInput."""
    try:
        return Run.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}") from None
    except (OSError, ValidationError) as error:
        reason = f"{error.error_count()} fields do not fit" if isinstance(error, ValidationError) else str(error)
        hint = "write one with `quaere eval retrieval --save RUN.json`"
        raise InvalidInput(f"{file.name} is no saved run: {reason}", hint=hint) from None
