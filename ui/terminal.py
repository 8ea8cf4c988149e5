"""What the terminal shows: answers, passages and tables on stdout; progress, stages and errors on stderr."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from datetime import date
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from core.errors import QuaereError

if TYPE_CHECKING:
    from core.llm.doctor import EndpointReport
    from core.types import Answer, CheckReport, Collection, Document, Event, Health, Job, KeptReplies, SearchResult

STEPS = {
    "queued": "waiting",
    "parse": "reading",
    "ocr": "reading scans",
    "embed": "embedding",
    "summarise": "summarising",
    "extract": "reading relations",
    "index": "indexing",
    "done": "ready",
}
OUTCOMES = {"replaced": " (replaced its older version)", "known": " (was there already)"}


class Progress:
    """A bar a document on stderr; plain lines where stderr is no terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bars = RichProgress(
            TextColumn("{task.fields[name]}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[step]}"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._said: set[tuple[str, str]] = set()

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._bars.stop()

    async def event(self, event: Event) -> None:
        if event.job is not None:
            from core.jobs import as_ingest  # pydantic, which --help does not wait for

            event = as_ingest(event.job)
        if event.kind != "ingest":
            return
        step = STEPS.get(event.step, event.step)
        if not self._console.is_terminal:
            self._line(event.document, step)
            return
        if event.document not in self._tasks:
            self._tasks[event.document] = self._bars.add_task("", name=event.document, step=step, total=None)
        task = self._tasks[event.document]
        if event.total:
            self._bars.update(task, step=step, completed=event.done, total=event.total)
        else:
            self._bars.update(task, step=step)

    def _line(self, document: str, step: str) -> None:
        if (document, step) not in self._said:
            self._said.add((document, step))
            print(f"{document}: {step}", file=sys.stderr, flush=True)


class Stream:
    """Stages and the answer's text on stderr while they come, when a person watches."""

    def __init__(self, quiet: bool) -> None:
        self._on = sys.stderr.isatty() and not quiet
        self._midline = False

    async def event(self, event: Event) -> None:
        if not self._on:
            return
        if event.kind == "stage" and event.stage is not None:
            self.end()
            degraded = f" [{event.stage.degraded}]" if event.stage.degraded else ""
            print(f"  {event.stage.stage}: {event.stage.summary}{degraded} ({event.stage.ms:.0f} ms)", file=sys.stderr)
        elif event.kind == "text":
            print(event.text, end="", file=sys.stderr, flush=True)
            self._midline = True

    def end(self) -> None:
        if self._midline:
            print(file=sys.stderr)
            self._midline = False


def answer_text(answer: Answer) -> str:
    lines = [_wrapped(answer.text), ""]
    for citation in answer.citations:
        lines.append(f"[{citation.number}] {citation.title} ({citation.document}), {citation.place}")
        lines.append(_wrapped(f"“{' '.join(citation.quote.split())}”", "    "))
        if citation.figure:
            where = f"page {citation.figure.page}: {' '.join(citation.figure.caption.split())}"
            lines.append(_wrapped(f"figure on {textwrap.shorten(where, 160, placeholder=' …')}", "    "))
    for passage in answer.nearest:
        lines.append(f"nearest: {passage.title} ({passage.document}), page {passage.page}")
        lines.append(_wrapped(textwrap.shorten(passage.best_child, 240, placeholder=" …"), "    "))
    return "\n".join([*lines, "", how_written(answer)])


def how_written(answer: Answer) -> str:
    """One line that never lets a quotation pass for a written answer, or the other way round."""
    by = {
        "quotation": "Quoted from the documents, no language model involved.",
        "llm": f"Written by {answer.model} from the quotes above.",
        "none": "No answer was written.",
    }[answer.written_by]
    support = f" Support {answer.reflection.support:.2f}." if answer.claims else ""
    partial = " Partial: the time budget ran out." if answer.partial else ""
    return f"{by}{support}{partial} Trace {answer.trace_id[:12]}."


def passages_text(result: SearchResult) -> str:
    if not result.passages:
        return f"no passage found ({result.trace[0].summary})"
    parts = []
    for n, p in enumerate(result.passages, 1):
        ranks = ", ".join(f"{hit.channel} #{hit.rank}" for hit in p.channels)
        parts.append(f"{n}. {p.title} ({p.document}), page {p.page}{f' · {p.section}' if p.section else ''} · {ranks}")
        parts.append(_wrapped(textwrap.shorten(p.best_child, 400, placeholder=" …"), "   "))
    if notes := str(result.trace[0].details.get("notes", "")):
        parts.append(notes)
    if result.candidates:
        parts.append("\nCandidates, with their rank in each channel:")
        parts += [candidate.line for candidate in result.candidates]
    return "\n".join(parts)


def document_line(document: Document, outcome: str = "") -> str:
    gaps = "".join(f"\n  page {gap.page}: {gap.reason}" for gap in document.gaps)
    about = "".join(f", {part}" for part in _about(document))
    objects = ((document.tables, "table"), (document.figures, "figure"))
    counted = f"{document.pages} pages, {document.chunks} chunks"
    counted += "".join(f", {n} {word}{'' if n == 1 else 's'}" for n, word in objects if n)
    return f"{document.id[:8]}  {document.status}  {document.name}: {counted}{about}{OUTCOMES.get(outcome, '')}{gaps}"


def _about(document: Document) -> list[str]:
    """What is said of it beyond its title, where anything is."""
    from core.metadata import show  # pydantic, which --help does not wait for

    parts = [f"in {document.collection}"] if document.collection != "default" else []
    parts += [f"#{tag}" for tag in document.tags] + ([document.language] if document.language else [])
    for name, value in document.fields.items():
        several = value if isinstance(value, tuple) else (value,)
        parts.append(f"{name}={','.join(show(one) for one in several)}")
    if document.published_at:
        parts.append(f"published {document.published_at}")
    if document.valid_until:
        expired = document.expired(date.today())
        parts.append(f"{'expired' if expired else 'valid until'} {document.valid_until}")
    return [*parts, "needs review: undated"] if document.needs_review else parts


def collection_text(collection: Collection) -> str:
    title = f" ({collection.title})" if collection.title else ""
    review = "\n  undated documents are marked needs_review" if collection.review_undated else ""
    lines = [f"{collection.name}{title}{review}"]
    for field in collection.fields:
        words = [field.type, "required" if field.required else "", "several values" if field.many else ""]
        allowed = f": {', '.join(field.allowed)}" if field.allowed else ""
        lines.append(f"  {field.name}  {', '.join(filter(None, words))}{allowed}")
    return "\n".join(lines)


def check_text(report: CheckReport) -> str:
    lines = [
        f"{'mended' if finding.mended else 'wrong '}  {finding.document + ': ' if finding.document else ''}"
        f"{finding.what}\n        {finding.done}"
        for finding in report.findings
    ]
    held = f"{report.documents} documents, {report.chunks} chunks, {report.vectors} vectors"
    end = f"{len(report.left)} left to do" if report.left else "all parts agree"
    return "\n".join([*lines, f"{held}: {end}"])


def job_text(job: Job) -> str:
    stage = STEPS.get(job.stage, job.stage) if job.state == "running" else ""
    progress = f" {job.done} of {job.total}" if stage and job.total else ""
    ended = f"  document {job.document_id[:8]}{OUTCOMES.get(job.outcome, '')}" if job.document_id else ""
    lines = [f"{job.id}  {job.state}  {job.name}{'  ' if stage else ''}{stage}{progress}{ended}"]
    if job.error is not None:
        lines.append(f"  {job.error.message}")
        lines += [f"  hint: {job.error.hint}"] if job.error.hint else []
    return "\n".join(lines)


def show_jobs(jobs: Sequence[Job]) -> None:
    if not jobs:
        print("There are no jobs; `quaere add --detach paper.pdf` makes one.", file=sys.stderr)
    for job in jobs:
        print(job_text(job))


def say_who_works(owns: bool) -> None:
    """To one who leaves a queue behind."""
    if owns:
        print(
            "No other Quaere process is open: the queue goes on while one is, e.g. `quaere serve` or "
            "`quaere jobs ID --follow`.",
            file=sys.stderr,
        )


def show_documents(documents: Sequence[Document]) -> None:
    if not documents:
        print("The library is empty; add a document with `quaere add paper.pdf`.", file=sys.stderr)
        return
    table = Table(box=None, pad_edge=False)
    for name, justify in (
        ("id", "left"),
        ("status", "left"),
        ("pages", "right"),
        ("chunks", "right"),
        ("tables", "right"),
        ("figures", "right"),
        ("name", "left"),
    ):
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    table.add_column("title", overflow="fold")
    about = [", ".join(_about(document)) for document in documents]
    if any(about):
        table.add_column("about", overflow="fold")
    for d, said in zip(documents, about, strict=True):
        counts = map(str, (d.pages, d.chunks, d.tables, d.figures))
        last = (Text(said),) if any(about) else ()
        table.add_row(d.id[:8], d.status, *counts, Text(d.name), Text(d.title), *last)
    Console().print(table)


def health_text(health: Health) -> str:
    return "\n".join(f"{name:13} {value}" for name, value in health.model_dump().items())


def show_kept_replies(kept: Sequence[KeptReplies]) -> None:
    if not kept:
        print("No reply of a language model is kept.")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("replies", "kB", "newest", "model", "prompt"):
        table.add_column(name, justify="right" if name in ("replies", "kB") else "left", overflow="fold")
    for entry in kept:
        size = f"{entry.characters / 1000:.1f}"
        cells = (str(entry.replies), size, entry.newest[:16].replace("T", " "), entry.model, entry.prompt or "-")
        table.add_row(*map(Text, cells))
    Console().print(table)


def report_text(report: EndpointReport) -> str:
    lines = [f"{report.model or '(no model)'} at {report.where}, used to {', '.join(report.roles)}"]
    for check in report.checks:
        lines.append(f"  {check.state:<5} {check.what:<11} {check.found}")
        if check.advice:
            lines.append(f"        → {check.advice}")
    return "\n".join(lines)


def show_error(error: QuaereError, subject: str, as_json: bool) -> None:
    """On stderr for a person; with --json an object on stdout, so that a program need not read two streams."""
    if as_json:
        body = {"code": error.code, "message": error.message, "hint": error.hint, "trace_id": error.trace_id}
        print(json.dumps({"error": body | ({"document": subject} if subject else {})}, ensure_ascii=False), flush=True)
        return
    print(f"error: {f'{subject}: ' if subject else ''}{error.message}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)
    if error.trace_id:
        print(f"  trace: quaere trace {error.trace_id[:12]}", file=sys.stderr)


def _wrapped(text: str, indent: str = "") -> str:
    lines = text.splitlines() or [""]
    return "\n".join(textwrap.fill(line, 100, initial_indent=indent, subsequent_indent=indent) for line in lines)
