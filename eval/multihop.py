"""Questions that need several passages, over a corpus of short ones, as of 2WikiMultiHopQA (Ho et al., COLING 2020).

A folder holds corpus.json ([{title, text}]), one questions*.jsonl (question, gold_titles) and,
where a smaller corpus is wanted, haystack_titles.json. Each passage becomes a document with its title, as anyone would
add it; a question is answered when all its passages are among the first eight that a search hands out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TypeVar

import numpy as np
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from core.errors import InvalidInput, NotFound
from core.settings import Settings
from core.types import Frozen, Passage
from eval.many import parsing_here
from eval.rates import interval, rate
from mcp_tools.client import ToolClient
from mcp_tools.server import make_server
from quaere.app import App
from quaere.build import build

TOP_K = 8
_PAGE = Markup('<!doctype html>\n<meta charset="utf-8">\n<title>{}</title>\n<p>{}</p>\n')
_HINT = "a folder holds corpus.json, questions*.jsonl and perhaps haystack_titles.json"
OnStep = Callable[[], None]
T = TypeVar("T")


class _Passage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    title: str = Field(min_length=1)
    text: str = Field(min_length=1)


class _Question(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    question: str = Field(min_length=1)
    gold_titles: tuple[str, ...] = Field(min_length=1)


class MultihopData(Frozen):
    passages: tuple[_Passage, ...]
    questions: tuple[_Question, ...]


class MultihopOutcome(Frozen):
    question: str
    missing: tuple[str, ...] = Field(description="gold passages that are not among the first eight")
    found: tuple[str, ...] = Field(description="titles of the first eight, in order")
    ms: float


class MultihopRun(Frozen):
    n: int
    perfect_at_8: float = Field(description="share of questions of which every gold passage is among the first eight")
    interval: tuple[float, float] = Field(description="of perfect_at_8, 95 %, by bootstrap over the questions")
    passages: int
    index_s: float | None = Field(description="to add all passages; None where the library was not empty")
    ms_per_question: float = Field(description="median")
    ms_p95: float
    channels: tuple[str, ...]
    embedder: str
    llm: str
    per_question: tuple[MultihopOutcome, ...]


def read_data(folder: Path, *, haystack: bool = False) -> MultihopData:
    """Raises NotFound, InvalidInput."""
    passages = _read(TypeAdapter(tuple[_Passage, ...]), folder / "corpus.json")
    files = sorted(folder.glob("questions*.jsonl"))
    if len(files) != 1:
        raise NotFound(f"{folder} has {len(files)} files questions*.jsonl", hint="one is needed")
    lines = [line for line in _text(files[0]).splitlines() if line.strip()]
    questions = tuple(_validated(TypeAdapter(_Question), line, files[0]) for line in lines)
    if haystack:
        titles = set(_read(TypeAdapter(tuple[str, ...]), folder / "haystack_titles.json"))
        passages = tuple(passage for passage in passages if passage.title in titles)
    known = {passage.title for passage in passages}
    absent = sorted({title for question in questions for title in question.gold_titles} - known)
    if absent or not questions:
        what = f"the corpus has no passage {absent[0]!r}" if absent else f"{files[0].name} holds no question"
        raise InvalidInput(what, hint="corpus, haystack and questions have to be of one set")
    return MultihopData(passages=passages, questions=questions)


async def measure(
    data: MultihopData,
    settings: Settings,
    *,
    on_step: OnStep = lambda: None,
) -> MultihopRun:
    """Adds what the library of `settings` does not have yet, then asks every question through the tools.

    Passages are parsed in this process: a child for each would cost half a second, which is not what is measured.
    """
    app = build(settings)
    try:
        with parsing_here():
            index_s = await _added(app, data.passages, settings.library.parent / "passages", on_step)
        outcomes, channels = await _asked(app, data.questions, on_step)
        health = await app.health()
    finally:
        await app.aclose()
    perfect: list[bool | None] = [not outcome.missing for outcome in outcomes]
    times = [outcome.ms for outcome in outcomes]
    low_high = interval(perfect) or (0.0, 0.0)
    return MultihopRun(
        n=len(outcomes),
        perfect_at_8=rate(perfect) or 0.0,
        interval=low_high,
        passages=len(data.passages),
        index_s=index_s,
        ms_per_question=round(median(times), 1),
        ms_p95=round(float(np.percentile(times, 95)), 1),
        channels=channels,
        embedder=health.embedder,
        llm=health.llm,
        per_question=tuple(outcomes),
    )


async def _added(app: App, passages: Sequence[_Passage], folder: Path, on_step: OnStep) -> float | None:
    """Seconds for all of them, the first walk's preparation included; None where the library was not empty."""
    there = {document.name for document in await app.list_documents()}
    new = [(at, passage) for at, passage in enumerate(passages) if _name(at, passage) not in there]
    start = time.perf_counter()
    for at, passage in new:
        file = _written(folder / _name(at, passage), passage)
        await app.add_document(str(file))
        file.unlink()
        on_step()
    await app.search_passages("what is all of this about?", top_k=TOP_K)
    return round(time.perf_counter() - start, 1) if not there else None


def _written(file: Path, passage: _Passage) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_PAGE.format(passage.title, passage.text), encoding="utf-8")
    return file


def _name(at: int, passage: _Passage) -> str:
    digest = hashlib.sha256(f"{passage.title}\n{passage.text}".encode()).hexdigest()
    return f"passage-{at:05}-{digest[:12]}.html"


async def _asked(
    app: App, questions: Sequence[_Question], on_step: OnStep
) -> tuple[list[MultihopOutcome], tuple[str, ...]]:
    outcomes: list[MultihopOutcome] = []
    channels: set[str] = set()
    async with ToolClient(make_server(app)) as tools:
        for question in questions:
            start = time.perf_counter()
            result = await tools.search_passages(question.question, top_k=TOP_K)
            ms = (time.perf_counter() - start) * 1000
            outcomes.append(_outcome(question, result.passages[:TOP_K], ms))
            channels |= {hit.channel for passage in result.passages for hit in passage.channels}
            on_step()
    return outcomes, tuple(sorted(channels))


def _outcome(question: _Question, passages: Sequence[Passage], ms: float) -> MultihopOutcome:
    found = tuple(passage.title for passage in passages)
    missing = tuple(title for title in question.gold_titles if title not in found)
    return MultihopOutcome(question=question.question, missing=missing, found=found, ms=round(ms, 1))


def _read(kind: TypeAdapter[T], file: Path) -> T:
    return _validated(kind, _text(file), file)


def _validated(kind: TypeAdapter[T], text: str, file: Path) -> T:
    try:
        return kind.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{file.name}: {place}: {first['msg']}", hint=_HINT) from None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}", hint=_HINT) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file.name} can't be read: {error}", hint=_HINT) from None
