"""What the chat page shows, as HTML. Every text from a document, a model or a person goes through `Markup.format`,
which escapes it. Messages are single lines: a blank line would end Markdown's HTML block, and let text be markup."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from core.errors import QuaereError
from core.text import find_quote
from core.types import Answer, Citation, Document, FigureRef, Job, PageView, Passage, TraceStep, Turn

Message = dict[str, Any]
_MARKER = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
STATUS = {
    "processing": "being read",
    "ready": "ready",
    "ready_with_gaps": "ready, with gaps",
    "failed": "could not be read",
}


@dataclass(frozen=True)
class Exchange:
    """A question and how far it came. The page's messages are drawn from these, and never read back."""

    question: str
    steps: tuple[TraceStep, ...] = ()
    text: str = ""
    answer: Answer | None = None
    error: QuaereError | None = None
    stopped: bool = False

    @property
    def running(self) -> bool:
        return self.answer is None and self.error is None and not self.stopped


@dataclass(frozen=True)
class Target:
    """A place in a document that can be opened."""

    document_id: str
    document: str
    page: int
    quote: str
    figure: FigureRef | None = None


def history(conversation: Sequence[Exchange]) -> list[Turn]:
    turns: list[Turn] = []
    for exchange in conversation:
        if exchange.answer is not None:
            turns.append(Turn(role="user", content=exchange.question))
            turns.append(Turn(role="assistant", content=exchange.answer.text))
    return turns


def targets(exchange: Exchange) -> list[Target]:
    """What can be opened of an exchange: its citations, or else the passages nearest to it."""
    if exchange.answer is None:
        return []
    cited = [Target(c.document_id, c.document, c.page, c.quote, c.figure) for c in exchange.answer.citations]
    return cited or [Target(p.document_id, p.document, p.page, p.best_child) for p in exchange.answer.nearest]


def find_target(conversation: Sequence[Exchange], key: str) -> Target | None:
    """`key` is 'exchange.place', as the page's buttons carry it."""
    turn, _, place = key.partition(".")
    if not (turn.isdecimal() and place.isdecimal() and int(turn) < len(conversation)):
        return None
    found = targets(conversation[int(turn)])
    return found[int(place)] if int(place) < len(found) else None


def lines(text: str) -> Markup:
    """Text as it is, line breaks kept, on one line of HTML."""
    return Markup("<br>").join(text.strip().splitlines())


def _join(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def _div(kind: str, content: str) -> Markup:
    return Markup("<div class='q-{}'>{}</div>").format(kind, content)


def _span(kind: str, content: str) -> Markup:
    return Markup("<span class='q-{}'>{}</span>").format(kind, content)


def short(text: str, limit: int = 320) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0] + " …"


# --- the conversation


def messages(conversation: Sequence[Exchange]) -> list[Message]:
    shown: list[Message] = []
    for turn, exchange in enumerate(conversation):
        shown.append({"role": "user", "content": _div("asked", lines(exchange.question))})
        if exchange.steps or exchange.running:
            shown.append(_steps_message(exchange))
        body = _body(turn, exchange)
        if body:
            shown.append({"role": "assistant", "content": str(body)})
    return [{**message, "content": str(message["content"])} for message in shown]


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _steps_message(exchange: Exchange) -> Message:
    seconds = sum(step.ms for step in exchange.steps) / 1000
    title = "Reading the papers" if exchange.running else f"{_counted(len(exchange.steps), 'step')} in {seconds:.1f} s"
    content = _div("steps", _join(map(_step, exchange.steps)))
    return {
        "role": "assistant",
        "content": content,
        "metadata": {"title": title, "status": "pending" if exchange.running else "done"},
    }


def _step(step: TraceStep) -> Markup:
    mark, kind = ("✗", "failed") if step.error else ("!", "degraded") if step.degraded else ("✓", "done")
    note = step.error or step.degraded
    return Markup(
        "<div class='q-step {}'><span class='q-mark'>{}</span> <b>{}</b> {} <span class='q-ms'>{:.0f} ms</span>{}</div>"
    ).format(kind, mark, step.stage, step.summary, step.ms, _div("note", note) if note else "")


def _body(turn: int, exchange: Exchange) -> Markup:
    if exchange.error is not None:
        return error_box(exchange.error)
    if exchange.answer is not None:
        return _answer(turn, exchange.answer)
    if exchange.stopped:
        return _div("text", lines(exchange.text)) + _div("badge warn", "Stopped")
    if exchange.text:
        return _div("text q-writing", lines(exchange.text))
    return Markup()


def error_box(error: QuaereError) -> Markup:
    hint = _div("hint", error.hint) if error.hint else ""
    trace = _div("ms", f"trace {error.trace_id}") if error.trace_id else ""
    return Markup("<div class='q-error' role='alert'><b>{}</b>{}{}</div>").format(error.message, hint, trace)


def _answer(turn: int, answer: Answer) -> Markup:
    places = {citation.number: place for place, citation in enumerate(answer.citations)}
    cards = [_citation(f"{turn}.{place}", citation) for place, citation in enumerate(answer.citations)]
    if answer.nearest and not answer.citations:
        cards = [_nearest(f"{turn}.{place}", passage) for place, passage in enumerate(answer.nearest)]
    unsupported = answer.written_by == "none" and answer.nearest
    head = _div("none", "Nothing in the library supports an answer.") if unsupported else Markup()
    title = _div("title", "Sources" if answer.citations else "Nearest passages")
    sources = title + _div("cards", _join(cards)) if cards else Markup()
    return _div("answer", head + _div("text", _marked(answer.text, places, turn)) + _badges(answer) + sources)


def _marked(text: str, places: dict[int, int], turn: int) -> Markup:
    """The text with its [n] as buttons; an [n] that is no citation stays text."""
    parts: list[Markup] = []
    for index, piece in enumerate(_MARKER.split(text.strip())):
        numbers = [int(number) for number in piece.split(",")] if index % 2 else []
        if numbers and all(number in places for number in numbers):
            parts += [_marker(f"{turn}.{places[number]}", number) for number in numbers]
        else:
            parts.append(Markup("<br>").join((f"[{piece}]" if index % 2 else piece).split("\n")))
    return _join(parts)


def _marker(key: str, number: int) -> Markup:
    return Markup(
        "<button type='button' class='q-marker' name='cite' value='{}' title='Show source {}'>{}</button>"
    ).format(key, number, number)


def _badges(answer: Answer) -> Markup:
    badges: list[Markup] = []
    if answer.written_by == "quotation":
        degraded = next((step.degraded for step in answer.trace if step.stage == "reasoner" and step.degraded), "")
        badges += [
            _span("badge quoted", "Quoted from the papers"),
            _span("why", degraded or "no language model configured"),
        ]
    elif answer.written_by == "llm":
        badges.append(_span("badge written", f"Written by {answer.model or 'a language model'}"))
    if answer.claims and answer.written_by != "none":
        badges.append(_span("why", f"· quotes support it: {answer.reflection.support:.0%}"))
    if answer.partial:
        badges.append(_span("badge warn", "Incomplete: time or budget ran out"))
    return _div("badges", Markup(" ").join(badges)) if badges else Markup()


def _card(key: str, mark: str, place: Markup, quote: str) -> Markup:
    return Markup(
        "<button type='button' class='q-card' name='cite' value='{}'><span class='q-number'>{}</span>"
        "<span class='q-where'>{}</span><span class='q-quote'>{}</span></button>"
    ).format(key, mark, place, short(quote))


def _where(document: str, place: str, section: str) -> Markup:
    where = Markup("<b>{}</b>, {}").format(document, place)
    return where + _span("section", f" · {section}") if section else where


def _citation(key: str, citation: Citation) -> Markup:
    return _card(key, str(citation.number), _where(citation.document, citation.place, citation.section), citation.quote)


def _nearest(key: str, passage: Passage) -> Markup:
    return _card(key, "≈", _where(passage.document, f"page {passage.page}", passage.section), passage.best_child)


# --- the panel

NO_SOURCE = Markup(
    "<div class='q-empty'><b>The page behind the answer</b><br>Ask a question: the first source opens here, "
    "with its quote marked. Choose another source to see its page.</div>"
)


def source(target: Target, view: PageView, png: bytes, key: str = "", figure: bytes = b"") -> Markup:
    """The page with the quote marked; above it the figure that the quote speaks of."""
    shown = f"{key}/{view.document_id}/{view.page}"
    picture = _div("empty", view.gap or "This page has no picture.")
    if view.format != "pdf":
        picture = _text_page(target.quote, view, shown)
    elif png:
        top = view.highlights[0][1] / view.height if view.highlights and view.height else 0
        picture = Markup(
            "<div class='q-page' tabindex='0' data-top='{:.4f}' data-key='{}' title='Click to enlarge'>"
            "<img alt='Page {} of {}' src='data:image/png;base64,{}'></div>"
        ).format(top, shown, view.page, view.document, base64.b64encode(png).decode())
    return Markup(
        "<figure class='q-source'><figcaption><b>{}</b>, {} <span class='q-why'>of {}</span></figcaption>"
        "<blockquote>{}</blockquote>{}{}</figure>"
    ).format(target.document, view.place, view.pages, short(target.quote, 400), _figure(target.figure, figure), picture)


def _figure(figure: FigureRef | None, png: bytes) -> Markup:
    if figure is None or not png:
        return Markup()
    return Markup("<div class='q-figure'><img alt='Figure on page {}' src='data:image/png;base64,{}'>{}</div>").format(
        figure.page, base64.b64encode(png).decode(), _div("why", short(figure.caption))
    )


def _text_page(quote: str, view: PageView, key: str) -> Markup:
    """The text of a page that can't be drawn, with the quote marked where it stands."""
    start, end = find_quote(quote, view.text) or (0, 0)
    marked = Markup("<mark>{}</mark>").format(view.text[start:end]) if end else Markup()
    return Markup("<div class='q-page q-plain' tabindex='0' data-key='{}'>{}{}{}</div>").format(
        key, view.text[:start], marked, view.text[end:]
    )


def library(documents: Sequence[Document]) -> Markup:
    if not documents:
        return Markup(
            "<div class='q-empty'><b>Add a document to begin</b><br>"
            "Its pages are read on this machine and stay here.</div>"
        )
    return Markup("<ul class='q-library'>{}</ul>").format(_join(map(_document, documents)))


def held(document: Document) -> str:
    """'15 pages, 4 tables, 5 figures · #vision #classic'."""
    counts = ((document.pages, "page"), (document.tables, "table"), (document.figures, "figure"))
    said = ", ".join(_counted(n, word) for n, word in counts if n or word == "page")
    return " · ".join(part for part in (said, " ".join(f"#{tag}" for tag in document.tags)) if part)


def _document(document: Document) -> Markup:
    gaps = [f"page {gap.page}: {gap.reason}" if gap.page else gap.reason for gap in document.gaps]
    notes = [document.error, *gaps] if document.error else gaps
    details = Markup("<details><summary>{}</summary>{}</details>").format(
        "1 note" if len(notes) == 1 else f"{len(notes)} notes", Markup("<br>").join(notes[:50])
    )
    return Markup(
        "<li><div class='q-doc'><div class='q-doc-title'>{}</div>"
        "<div class='q-why'>{} · {} · <span class='q-status {}'>{}</span></div>{}</div>"
        "<button type='button' class='q-remove' name='remove' value='{}' title='{}' aria-label='{}'>✕</button></li>"
    ).format(
        document.title or document.name,
        document.name,
        held(document),
        document.status,
        STATUS[document.status],
        details if notes else "",
        document.id,
        f"Remove {document.name}",
        f"Remove {document.name}",
    )


STAGES = {
    "parse": "reading page",
    "ocr": "reading scanned page",
    "describe": "describing figure",
    "embed": "embedding passage",
    "summarise": "summarising",
    "index": "indexing",
}


def jobs(waiting: Sequence[Job]) -> Markup:
    """Those that have not ended, each with how far it is and a button to cancel it."""
    return Markup("<ul class='q-jobs'>{}</ul>").format(_join(map(_job, waiting))) if waiting else Markup()


def _job(job: Job) -> Markup:
    words = "waiting" if job.state == "queued" else STAGES.get(job.stage, job.stage) or "beginning"
    words += f" {job.done} of {job.total}" if job.total and job.state == "running" else " …"
    bar = Markup("<progress max='{}' value='{}'></progress>").format(job.total, job.done) if job.total else Markup()
    return Markup(
        "<li><div class='q-doc'><div class='q-doc-title'>{}</div><div class='q-why'>{}</div>{}</div>"
        "<button type='button' class='q-cancel' name='cancel' value='{}' aria-label='{}'>Cancel</button></li>"
    ).format(job.name, words, bar, job.id, f"Cancel {job.name}")


def notice(text: str, kind: str = "info") -> Markup:
    return Markup("<div class='q-notice {}' role='status'>{}</div>").format(kind, escape(text))
