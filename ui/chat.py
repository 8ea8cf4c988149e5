"""The chat page. The only module that imports Gradio.

The page's messages are drawn from a typed conversation kept for each session, so nothing is ever parsed back from them.
`gr.HTML` evaluates `${…}` that Handlebars' `{{…}}` leave in a template; its default template inserts a value as it is,
and the values are escaped in `ui.chat_format`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gradio as gr
from fastapi import FastAPI
from markupsafe import Markup

from core.errors import NotFound, QuaereError
from core.formats import SUFFIXES
from core.metadata import parsed
from core.ports import OnEvent, Service
from core.settings import ServeSettings
from core.types import DEFAULT_COLLECTION, Answer, Document, Event, Filter, Job
from ui import chat_format as show
from ui.chat_format import Exchange
from ui.chat_stream import SpacedStreams
from ui.running import Tools, stream
from ui.uploads import display_name

HERE = Path(__file__).parent
CONCURRENT = 32
TICK_S = 1.0  # between two looks at the queue
ALL_COLLECTIONS = "All collections"
MAX_TURNS = 12  # of history, sent along with a question
PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}

Conversation = list[Exchange]
Followed = tuple[str, ...]  # ids of jobs that had not ended when the page last looked
Update = dict[str, Any]

ON_CANCEL = """
element.addEventListener("click", (event) => {
  const button = event.target.closest("button[name=cancel]");
  if (!button) return;
  button.disabled = true;
  trigger("select", { id: button.value });
});
"""
ON_REMOVE = """
element.addEventListener("click", (event) => {
  const button = event.target.closest("button[name=remove]");
  if (button && window.confirm(`${button.title}? Everything that was made from it goes with it.`))
    trigger("select", { id: button.value });
});
"""
BRAND = (
    "<div class='q-brand'><h1>Quaere</h1>"
    "<span class='q-why'>Ask your papers. Every sentence leads back to a page.</span>"
    "<a class='q-link' href='/graph'>Graph</a></div>"
)
INVITATION = "### Ask your papers\nEach sentence of the answer leads back to a page."
BEGIN = "### Add a document to begin\nOpen **Library** and choose one or several."


class Page:
    """The page's handlers. Each returns what its outputs show; a QuaereError is shown, never raised."""

    def __init__(self, service: Service, tools: Tools) -> None:
        self._service = service
        self._tools = tools

    async def open(self) -> tuple[str, Update]:
        """The library's list, and the empty conversation's invitation."""
        try:
            documents = await self._service.list_documents()
        except QuaereError as error:
            return str(show.error_box(error)), gr.update()
        return str(show.library(documents)), invitation(documents)

    async def conditions(self) -> tuple[Update, Update]:
        """Outputs: the row of conditions, shown where there is anything to choose by, and its collections."""
        try:
            names = [found.name for found in await self._service.collections()]
            tagged = any(document.tags for document in await self._service.list_documents())
        except QuaereError:  # the list beside it says what is wrong
            return gr.skip(), gr.skip()
        choices = [(ALL_COLLECTIONS, ""), *((name, name) for name in names)]
        return gr.update(visible=tagged or names != [DEFAULT_COLLECTION]), gr.update(choices=choices)

    async def ask(
        self, question: str, conversation: Conversation, collection: str = "", tags: str = ""
    ) -> AsyncIterator[tuple[Any, ...]]:
        """Outputs: the conversation, its messages, the question's box."""
        question = question.strip()
        if not question:
            yield conversation, gr.skip(), gr.skip()
            return
        earlier, current = list(conversation), Exchange(question)
        yield [*earlier, current], show.messages([*earlier, current]), busy_box()

        async def call(on_event: OnEvent) -> Answer:
            turns = show.history(earlier)[-MAX_TURNS:]
            filters = parsed(Filter, {"collection": collection or "", "tags": tags_of(tags)})
            return await self._tools.ask(question, filters=filters, history=turns, on_event=on_event)

        try:
            async for event in stream(call):
                current = advance(current, event)
                # The box too: of updates that arrive together the page may look at the last one only.
                yield [*earlier, current], show.messages([*earlier, current]), busy_box()
        except QuaereError as error:
            current = replace(current, error=error)
        # The box was emptied when the answer began: what somebody types as it ends stays.
        after = question_box(question if current.error else None)
        yield [*earlier, current], show.messages([*earlier, current]), after

    async def open_first(self, conversation: Conversation) -> tuple[Any, Any]:
        key = f"{len(conversation) - 1}.0"
        if not conversation or show.find_target(conversation, key) is None:
            return gr.skip(), gr.skip()
        return await self._source(conversation, key)

    async def open_chosen(self, conversation: Conversation, event: gr.EventData) -> tuple[Any, Any]:
        return await self._source(conversation, str(event.key))

    async def _source(self, conversation: Conversation, key: str) -> tuple[str, Any]:
        """Outputs: the source panel, the tabs."""
        try:
            target = show.find_target(conversation, key)
            if target is None:
                raise NotFound("that source is no longer known here", hint="ask the question again")
            view, png = await self._tools.read_page(target.document_id, target.page, highlight=target.quote)
            figure = b""
            if target.figure is not None:
                _, figure = await self._service.read_figure(target.document_id, target.figure.number)
        except QuaereError as error:
            return str(show.error_box(error)), gr.Tabs(selected="source")
        return str(show.source(target, view, png, key, figure)), gr.Tabs(selected="source")

    async def add(self, paths: list[str] | None, replace: bool, followed: Followed) -> tuple[Any, ...]:
        """Queue what was uploaded. Outputs: as `progress`."""
        refused: list[str] = []
        for path in map(Path, paths or []):
            name = display_name(path.name)
            try:
                job = await self._service.submit(
                    str(path), name=name, upload=True, replace="name" if replace else "never"
                )
                followed = (*followed, job.id)
            except QuaereError as error:
                refused.append(_refusal(name, error.message, error.hint))
            finally:
                path.unlink(missing_ok=True)
        return await self.progress(followed, refused)

    async def progress(self, followed: Followed, refused: Sequence[str] = ()) -> tuple[Any, ...]:
        """Outputs: the followed jobs, the jobs, the notice, the library's list, the invitation, the timer."""
        try:
            jobs = await self._service.jobs()
        except QuaereError as error:
            return followed, str(show.error_box(error)), gr.skip(), gr.skip(), gr.skip(), gr.Timer(active=False)
        waiting = [job for job in reversed(jobs) if not job.finished]
        ended = [job for job in reversed(jobs) if job.finished and job.id in followed]
        still = tuple(job.id for job in waiting)
        library = await self.open() if ended or refused else (gr.skip(), gr.skip())
        notice = gr.skip() if not ended and not refused else str(outcome(ended, refused))
        return still, str(show.jobs(waiting)), notice, *library, gr.Timer(active=bool(waiting))

    async def cancel(self, followed: Followed, event: gr.EventData) -> tuple[Any, ...]:
        """Outputs: as `progress`."""
        try:
            await self._service.cancel(str(event.id))
        except QuaereError as error:
            return await self.progress(followed, [error.message])
        return await self.progress(followed)

    async def remove(self, event: gr.EventData) -> tuple[Any, ...]:
        """Outputs: the notice, the library's list, the empty conversation's invitation."""
        try:
            removed = await self._service.remove_document(str(event.id))
            notice = show.notice(f"{removed.name} was removed.")
        except QuaereError as error:
            notice = show.notice(error.message, "bad")
        return str(notice), *await self.open()


def tags_of(text: str) -> tuple[str, ...]:
    """'new, fees' as two tags."""
    return tuple(tag.strip() for tag in (text or "").split(",") if tag.strip())


def advance(exchange: Exchange, event: Event | Answer) -> Exchange:
    if isinstance(event, Answer):
        return replace(exchange, answer=event, steps=event.trace or exchange.steps)
    if event.stage is not None:
        return replace(exchange, steps=(*exchange.steps, event.stage))
    return replace(exchange, text=exchange.text + event.text)


def _refusal(name: str, message: str, hint: str) -> str:
    return f"{name}: {message}" + (f" ({hint})" if hint else "")


def outcome(ended: Sequence[Job], refused: Sequence[str]) -> Markup:
    """What became of jobs, in one notice."""
    failed = [_refusal(job.name, job.error.message, job.error.hint) for job in ended if job.error is not None]
    bad = [*refused, *failed]
    words = {"added": "added", "known": "there already", "replaced": "replaced"}
    done = [f"{n} {word}." for key, word in words.items() if (n := sum(job.outcome == key for job in ended))]
    if cancelled := sum(job.state == "cancelled" for job in ended):
        done.append(f"{cancelled} cancelled.")
    return show.notice(" ".join([*done, *bad]), "bad" if bad else "info")


def invitation(documents: Sequence[Document]) -> Update:
    """What an empty conversation shows: examples over this library, or how to begin."""
    if not documents:
        return gr.update(placeholder=BEGIN, examples=[])
    examples = [{"text": f"What does “{show.short(d.title or d.name, 60)}” find?"} for d in documents[:3]]
    return gr.update(placeholder=INVITATION, examples=examples)


def question_box(text: str | None) -> Update:
    """Ready for a question; None leaves in it what is there."""
    update = gr.update(submit_btn="Ask", stop_btn=False, interactive=True)
    return update if text is None else update | {"value": text}


def busy_box() -> Update:
    return gr.update(value="", submit_btn=False, stop_btn="Stop", interactive=False)


def stopped(conversation: Conversation) -> tuple[Any, ...]:
    """After Stop, or a fault of ours: the question is put back. A question that is stopped fails too, so this may come
    twice, the second time after the next one was begun."""
    if not conversation or not conversation[-1].running:
        return gr.skip(), gr.skip(), question_box(None)
    after = [*conversation[:-1], replace(conversation[-1], stopped=True)]
    return after, show.messages(after), question_box(after[-1].question)


def make_chat(service: Service, tools: Tools) -> gr.Blocks:
    page = Page(service, tools)
    blocks = gr.Blocks(title="Quaere", analytics_enabled=False, fill_width=True, delete_cache=(3600, 3600))
    with blocks:
        conversation = gr.State([])
        gr.HTML(BRAND, elem_id="brand")
        with gr.Row(elem_id="main"):
            with gr.Column(scale=7, min_width=360):
                chat, box = _conversation()
                conditions, collection, tags = _conditions()
            with gr.Column(scale=5, min_width=360, elem_id="panel"):
                tabs, source, library = _panel()
        _wire_questions(page, conversation, chat, box, source, tabs, [collection, tags])
        _wire_library(page, library, chat)
        blocks.load(page.open, None, [library.documents, chat], **PRIVATE)
        blocks.load(page.conditions, None, [conditions, collection], **PRIVATE)
    blocks.queue(default_concurrency_limit=CONCURRENT)
    return blocks


def _conversation() -> tuple[gr.Chatbot, gr.Textbox]:
    chat = gr.Chatbot(
        elem_id="conversation",
        show_label=False,
        label="Conversation",
        layout="panel",
        buttons=[],
        feedback_options=None,
        latex_delimiters=[],
        placeholder=INVITATION,
    )
    box = gr.Textbox(
        elem_id="question",
        show_label=False,
        label="Question",
        placeholder="Ask about your papers …",
        submit_btn="Ask",
        lines=1,
        max_lines=6,
        autofocus=True,
        container=False,
    )
    return chat, box


def _conditions() -> tuple[gr.Row, gr.Dropdown, gr.Textbox]:
    with gr.Row(elem_id="conditions", visible=False) as row:
        collection = gr.Dropdown([(ALL_COLLECTIONS, "")], value="", label="Collection", elem_id="collection")
        tags = gr.Textbox(label="Tags", placeholder="any of these, with commas between", elem_id="tags", max_lines=1)
    return row, collection, tags


@dataclass(frozen=True)
class _Library:
    """The parts of the library's tab."""

    notice: gr.HTML
    upload: gr.UploadButton
    replace: gr.Checkbox
    jobs: gr.HTML
    documents: gr.HTML


def _panel() -> tuple[gr.Tabs, gr.HTML, _Library]:
    with gr.Tabs(selected="library") as tabs:
        with gr.Tab("Source", id="source"):
            source = gr.HTML(str(show.NO_SOURCE), elem_id="source", js_on_load=(HERE / "chat.js").read_text("utf-8"))
        with gr.Tab("Library", id="library"):
            notice = gr.HTML("", elem_id="notice")
            upload = gr.UploadButton(
                "Add documents",
                elem_id="upload",
                file_count="multiple",
                file_types=list(SUFFIXES),
                variant="primary",
                size="md",
            )
            replacing = gr.Checkbox(
                False, label="Replace documents of the same name", elem_id="replace", container=False
            )
            jobs = gr.HTML("", elem_id="jobs", js_on_load=ON_CANCEL)
            documents = gr.HTML("", elem_id="library", js_on_load=ON_REMOVE)
    return tabs, source, _Library(notice, upload, replacing, jobs, documents)


def _wire_library(page: Page, library: _Library, chat: gr.Chatbot) -> None:
    """Uploads are queued, and a timer looks at the queue while it holds something: the page stays usable."""
    followed, timer = gr.State(()), gr.Timer(TICK_S, active=True)
    shown = [followed, library.jobs, library.notice, library.documents, chat, timer]
    uploaded = [library.upload, library.replace, followed]
    library.upload.upload(page.add, uploaded, shown, trigger_mode="multiple", **PRIVATE)
    timer.tick(page.progress, followed, shown, **PRIVATE)
    library.jobs.select(page.cancel, followed, shown, trigger_mode="multiple", **PRIVATE)
    library.documents.select(page.remove, None, [library.notice, library.documents, chat], **PRIVATE)


def _wire_questions(
    page: Page,
    conversation: gr.State,
    chat: gr.Chatbot,
    box: gr.Textbox,
    source: gr.HTML,
    tabs: gr.Tabs,
    conditions: list[gr.Dropdown | gr.Textbox],
) -> None:
    shown = [conversation, chat, box]
    asked = box.submit(page.ask, [box, conversation, *conditions], shown, **PRIVATE)
    example = chat.example_select(_example, None, box, **PRIVATE)
    example_asked = example.then(page.ask, [box, conversation, *conditions], shown, **PRIVATE)
    for run in (asked, example_asked):
        run.success(page.open_first, conversation, [source, tabs], **PRIVATE)
        run.failure(stopped, conversation, shown, **PRIVATE)
    box.stop(stopped, conversation, shown, cancels=[asked, example_asked], **PRIVATE)
    chat.clear(lambda: ([], str(show.NO_SOURCE)), None, [conversation, source], **PRIVATE)
    source.select(page.open_chosen, conversation, [source, tabs], **PRIVATE)


def _example(event: gr.SelectData) -> str:
    return str(event.value["text"])


def mount_chat(app: FastAPI, blocks: gr.Blocks, settings: ServeSettings) -> None:
    """The page at '/', last: it answers for every path that is not another's."""
    theme = gr.themes.Base(
        primary_hue="indigo",
        neutral_hue="slate",
        radius_size="lg",
        font=[gr.themes.Font("system-ui"), gr.themes.Font("sans-serif")],
        font_mono=[gr.themes.Font("ui-monospace"), gr.themes.Font("monospace")],
    )
    gr.mount_gradio_app(
        app,
        blocks,
        "/",
        server_name=settings.host,
        server_port=settings.port,
        theme=theme,
        css_paths=[HERE / "chat.css"],
        footer_links=[],
        run_history=False,
        show_error=False,
        max_file_size=f"{settings.max_upload_mb}mb",
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        enable_monitoring=False,
    )
    app.add_middleware(SpacedStreams)
