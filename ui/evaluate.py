"""`quaere eval`: measures a library, and compares what was measured."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.progress import Progress

from core.errors import InvalidInput, LLMNotConfigured, NotFound
from ui.command import Json, exit_on_error, run, settings_of

if TYPE_CHECKING:  # not loaded for --help, which has to come at once
    from eval.judged import Metric
    from eval.multihop import MultihopRun
    from eval.questions import QuestionSet
    from eval.run import Run
    from mcp_tools.library import Library

evaluate = typer.Typer(no_args_is_help=True, help="Measure a library by questions whose places are known.")
Questions = Annotated[Path, typer.Option(help="JSONL: question, type, lang, evidence (doc, page, quote).")]
OwnLibrary = Annotated[Path | None, typer.Option(help="The library's folder [default: as of every command].")]
TopK = Annotated[int, typer.Option(min=5, max=50, help="Passages to ask for; the hits are of the first 5.")]
AtLeast = Annotated[float | None, typer.Option(min=0, max=1, help="Exit with 1 where the rate is lower: a gate.")]


@evaluate.command()
def retrieval(
    context: typer.Context,
    questions: Questions,
    library: OwnLibrary = None,
    channels: Annotated[str, typer.Option(help="Only these, e.g. dense,bm25 [default: all].")] = "",
    top_k: TopK = 5,
    save: Annotated[Path | None, typer.Option(help="Write the run to this JSON file too.")] = None,
    min_page: AtLeast = None,
    min_quote: AtLeast = None,
    as_json: Json = False,
) -> None:
    """How often the first five passages hold the page, and the quote, that answers a question."""
    asked = _read(context, questions, library, as_json)

    async def work(service: Library) -> None:
        from eval.retrieval import measure
        from ui.evaluate_text import show_run

        chosen = [name.strip() for name in channels.split(",") if name.strip()]
        with _progress(len(asked.answerable)) as step:
            found = await measure(service, asked, channels=chosen, top_k=top_k, on_question=step)
        _write(save, found.model_dump_json(indent=1) + "\n")
        if found.ranking is None:
            print("MRR, nDCG and recall need ir-measures: pip install 'quaere[report]'", file=sys.stderr)
        if as_json:
            print(found.model_dump_json())
        else:
            show_run(found)
        _gate(found, min_page, min_quote)

    run(context, work, as_json)


@evaluate.command()
def ablation(
    context: typer.Context,
    questions: Questions,
    library: OwnLibrary = None,
    top_k: TopK = 5,
    out: Annotated[Path | None, typer.Option(help="Write ablation.json, .html and .png into this folder.")] = None,
    png: Annotated[bool, typer.Option(help="Draw the picture too.")] = True,
    as_json: Json = False,
) -> None:
    """What each search channel gives: each alone, all, and all but each."""
    asked = _read(context, questions, library, as_json)

    async def work(service: Library) -> None:
        from eval.ablation import ablate, arrangements
        from ui.evaluate_text import show_runs

        with _progress(len(asked.answerable) * len(arrangements())) as step:
            found = await ablate(service, asked, top_k=top_k, on_question=step)
        if out is not None:
            _folder(out)
            _write(out / "ablation.json", found.model_dump_json(indent=1) + "\n")
            _report(out, "ablation", f"Channels: {asked.name}", found.runs, found.failed, png)
        if as_json:
            print(found.model_dump_json())
        else:
            show_runs(found.runs, found.failed)

    run(context, work, as_json)


@evaluate.command()
def multihop(
    context: typer.Context,
    data: Annotated[Path, typer.Option(help="Folder: corpus.json, questions*.jsonl, haystack_titles.json.")],
    haystack: Annotated[bool, typer.Option("--haystack", help="Only the passages of haystack_titles.json.")] = False,
    keep: Annotated[
        Path | None, typer.Option(help="Folder for the library, to go on with later [default: a passing one].")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write the run to this JSON file too.")] = None,
    at_least: AtLeast = None,
    as_json: Json = False,
) -> None:
    """Questions that need several passages: how often the first eight hold all of them, in a library of its own."""
    settings = settings_of(context)

    async def measured(folder: Path) -> MultihopRun:
        from eval.multihop import measure, read_data

        asked = read_data(data, haystack=haystack)
        own = settings.model_copy(update={"library": folder / "library", "ledger_url": SecretStr("")})
        with _progress(len(asked.passages) + len(asked.questions)) as step:
            return await measure(asked, own, on_step=step)

    def work() -> MultihopRun:
        if keep is not None:
            return asyncio.run(measured(keep.absolute()))
        with TemporaryDirectory() as folder:
            return asyncio.run(measured(Path(folder)))

    found = exit_on_error(work, as_json)
    _write(save, found.model_dump_json(indent=1) + "\n")
    if as_json:
        print(found.model_dump_json())
    else:
        from ui.evaluate_text import show_multihop

        show_multihop(found)
    if at_least is not None and found.perfect_at_8 < at_least:
        raise typer.Exit(1)


@evaluate.command()
def compare(
    before: Annotated[Path, typer.Argument(help="A saved run.")],
    after: Annotated[Path, typer.Argument(help="Another, of the same questions.")],
    allow: Annotated[int, typer.Option(min=0, help="How many questions may get worse.")] = 0,
    as_json: Json = False,
) -> None:
    """What got better or worse, question by question; exits with 1 where more got worse than --allow."""

    def work() -> int:
        from eval.compare import compare as compared
        from eval.run import read_run
        from ui.evaluate_text import show_comparison

        found = compared(read_run(before), read_run(after))
        if as_json:
            print(found.model_dump_json())
        else:
            show_comparison(found)
        return found.questions_worse

    if exit_on_error(work, as_json) > allow:
        raise typer.Exit(1)


@evaluate.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Saved runs; each is called by its file's name.")],
    out: Annotated[Path, typer.Option(help="Write report.html and report.png into this folder.")],
    png: Annotated[bool, typer.Option(help="Draw the picture too.")] = True,
) -> None:
    """Saved runs side by side, as a page and a picture."""

    def work() -> None:
        from eval.run import read_run
        from ui.evaluate_text import show_runs

        named = {file.stem: read_run(file) for file in runs}
        if len(named) < len(runs):
            raise InvalidInput("two of the files have the same name", hint="name each run's file for what it shows")
        _folder(out)
        _report(out, "report", "Retrieval, run by run", named, {}, png)
        show_runs(named, {})

    exit_on_error(work, False)


@evaluate.command()
def ragas(
    context: typer.Context,
    questions: Questions,
    library: OwnLibrary = None,
    limit: Annotated[int, typer.Option(min=0, help="Only the first so many questions [default: all].")] = 0,
    save: Annotated[Path | None, typer.Option(help="Write the result to this JSON file too.")] = None,
    as_json: Json = False,
) -> None:
    """Answers and their passages scored by ragas, with the language model of the role judge.

    The questions need a reference: a right answer to compare with.
    """
    asked = _read(context, questions, library, as_json)
    settings = settings_of(context)

    async def work(service: Library) -> None:
        from core.llm import LLMs
        from eval.judged import judge_answers
        from quaere.providers import embedder_of
        from ui.evaluate_text import show_judged

        metrics = _ragas_metrics()
        llms = LLMs(settings.llm, None)
        judge = llms.of("judge")
        if judge is None:
            raise LLMNotConfigured("there is no judge", hint="set QUAERE_LLM__JUDGE__BASE_URL and …__MODEL")
        samples = 3 if settings.llm.of("judge").temperature > 0 else 1
        embedder = await asyncio.to_thread(embedder_of, settings.embedder)
        with _progress(min(limit or sys.maxsize, len(asked.answerable))) as step:
            found = await judge_answers(
                service,
                asked,
                metrics(judge, embedder, samples=samples),
                judge=judge.model,
                top_k=settings.retrieval.top_k,
                limit=limit,
                on_question=step,
            )
        await llms.aclose()
        _write(save, found.model_dump_json(indent=1) + "\n")
        if as_json:
            print(found.model_dump_json())
        else:
            show_judged(found)

    run(context, work, as_json, settings)


def _ragas_metrics() -> Callable[..., Mapping[str, Metric]]:
    from importlib.util import find_spec

    if find_spec("ragas") is None:
        raise InvalidInput("ragas is not installed here", hint="pip install 'quaere[eval]'")
    from eval.by_ragas import metrics

    return metrics


@evaluate.command()
def convert(
    folder: Annotated[Path, typer.Argument(help="In BEIR's form: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.")],
    out: Annotated[Path, typer.Argument(help="A new folder: gets documents/ and questions.jsonl.")],
    split: Annotated[str, typer.Option(help="Which file of qrels.")] = "test",
    kind: Annotated[
        str, typer.Option("--type", help="Of the questions; multihop: all relevant documents have to be found.")
    ] = "document",
    lang: Annotated[str, typer.Option(help="Of the questions.")] = "en",
    as_json: Json = False,
) -> None:
    """Make documents and a question file of a BEIR data set, for `quaere add` and `quaere eval retrieval`."""

    def work() -> None:
        from eval.beir import convert as converted

        found = converted(folder, out, split=split, kind=kind, lang=lang)
        if as_json:
            print(found.model_dump_json())
            return
        print(f"{found.documents} documents in {out / 'documents'}, {found.questions} questions in questions.jsonl")
        if found.without_text or found.without_evidence:
            print(f"left out: {found.without_text} documents without text, {found.without_evidence} questions")

    exit_on_error(work, as_json)


def _report(folder: Path, name: str, title: str, runs: Mapping[str, Run], failed: Mapping[str, str], png: bool) -> None:
    from eval.plot import write_png
    from eval.report import page

    _write(folder / f"{name}.html", page(title, runs, failed))
    if png:
        write_png(folder / f"{name}.png", title, runs)


def _folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{folder} can't be made: {error.strerror}") from None


def _read(context: typer.Context, questions: Path, library: Path | None, as_json: bool) -> QuestionSet:
    """The questions; the context then names the library that is there."""

    def read() -> QuestionSet:
        from eval.questions import read_questions

        if context.obj is not None and not context.obj.expanduser().is_dir():  # a new one would hold nothing to find
            raise NotFound(f"there is no library at {context.obj}", hint="make one with `quaere add`")
        return read_questions(questions)

    context.obj = library or context.obj
    return exit_on_error(read, as_json)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("asking", total=total)
        yield lambda: bars.advance(task)


def _write(file: Path | None, text: str) -> None:
    if file is None:
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror}") from None


def _gate(found: Run, min_page: float | None, min_quote: float | None) -> None:
    """Exits with 1 where a rate is lower than asked for; a rate that there is none of is."""
    low = [
        f"{name}@5 is {'not known' if rate is None else rate}, {least} was asked for"
        for name, rate, least in (
            ("page", found.page_hit_at_5, min_page),
            ("quote", found.quote_hit_at_5, min_quote),
        )
        if least is not None and (rate is None or rate < least)
    ]
    if low:
        print("\n".join(low), file=sys.stderr)
        raise typer.Exit(1)
