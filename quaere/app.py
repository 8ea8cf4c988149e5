"""The application: what a library can do, as core.ports.Service describes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from anyio import to_thread

from agents.orchestrator import Orchestrator, Policy, counts, left_out
from agents.pictured import boxes_of
from agents.rewriter import Rewriter
from core.errors import EmbeddingChanged, InvalidInput, LibraryError, NothingIngested, QuaereError
from core.jobs import add_and_wait
from core.ledger import Ledger
from core.llm import LLMs
from core.llm.made_for import made_for
from core.metadata import check_declaration
from core.ports import Embedder, OnEvent
from core.settings import Settings
from core.spending import account
from core.text import find_quote
from core.trace import Tracer
from core.types import (
    Answer,
    CheckReport,
    Collection,
    Document,
    Event,
    FigureRef,
    Filter,
    Health,
    Job,
    KeptReplies,
    Metadata,
    Page,
    PageView,
    Replace,
    SearchResult,
    Selection,
    Span,
    TraceStep,
    Turn,
    Usage,
)
from graph.extraction.build import GraphBuilder
from ingest.describe import Describer
from ingest.pipeline import Ingestor, Summarise
from ingest.render import render_png
from ingest.run import Run
from ingest.summarise import Summariser
from quaere import __version__
from quaere.check import Checker
from quaere.graph import KnowledgeGraph
from quaere.graph_build import GraphBuilding
from quaere.graph_door import GraphDoor
from quaere.jobs import JobQueue
from quaere.merges_door import MergesDoor
from retrieval.search import Found, HybridSearch, Rewritten

T = TypeVar("T")
MAX_QUESTION_CHARS = 4000
POLICIES = ("auto", "quote", "llm")


class App(GraphDoor, GraphBuilding, MergesDoor):
    """Built by `quaere.build.build`. Heavy work runs in threads, so that one question never blocks another."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        embedder: Embedder,
        ingestor: Ingestor,
        summariser: Summariser,
        search: HybridSearch,
        orchestrator: Orchestrator,
        llms: LLMs,
        rewriter: Rewriter | None,
        describer: Describer | None,
        builder: GraphBuilder,
        graph: KnowledgeGraph,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._embedder = embedder
        self._ingestor = ingestor
        self._summariser = summariser
        self._search = search
        self._orchestrator = orchestrator
        self._llms = llms
        self._rewriter = rewriter
        self._describer = describer
        self._graph, self._resolver = graph, graph.resolver
        self._builder = builder
        self._catching_up: asyncio.Task[None] | None = None
        self._queue = JobQueue(ledger, ingestor, self._summarise, self._is_embedder)

    def start(self) -> None:
        """Bring the projections up to date with the ledger, unless another embedder made its vectors."""
        self._ingestor.sweep()
        if self._ledger.meta("embedder") is None:
            self._ledger.set_meta("embedder", self._embedder.fingerprint)
        for index in self._ingestor.indexes:
            if self._is_embedder() or not index.of_embedder:
                index.sync()
        self._queue.adopt()

    def begin(self) -> None:
        """Work on the queue, in the event loop that runs; a first `submit` begins it too."""
        self._queue.begin()
        if self._catching_up is None:
            self._catching_up = asyncio.create_task(self._catch_up())

    async def aclose(self) -> None:
        if self._catching_up is not None:
            self._catching_up.cancel()
            await asyncio.wait([self._catching_up])
        await self._queue.aclose()
        await self._llms.aclose()
        await self._graph.aclose()
        self._ledger.close()

    async def ask(
        self,
        question: str,
        *,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
        history: Sequence[Turn] = (),
        policy: str = "auto",
        on_event: OnEvent | None = None,
    ) -> Answer:
        question = _checked(question)
        if policy not in POLICIES:
            raise InvalidInput(f"unknown policy {policy!r}", hint=f"one of {', '.join(POLICIES)}")
        self._check_embedder()
        selection = self._select(documents, filters)
        tracer = Tracer(on_event)
        with account(self._settings.budget.question) as spent:
            try:
                answer = await self._orchestrator.ask(
                    question, history, self._selected(selection), selection, cast("Policy", policy), tracer
                )
            except QuaereError as error:
                self._save_trace(tracer, question, spent.usage, error)
                raise
        unkept = self._save_trace(tracer, question, spent.usage, None)
        return answer.model_copy(update={"usage": spent.usage, "trace": (*answer.trace, *unkept)})

    def _save_trace(
        self, tracer: Tracer, question: str, usage: Usage, error: QuaereError | None
    ) -> tuple[TraceStep, ...]:
        """A step that says why the trace is not kept, where it can't be: no answer is lost for that."""
        event = {
            "id": tracer.id,
            "question": question,
            "error": error and {"code": error.code, "message": error.message, "hint": error.hint},
            "steps": [step.model_dump() for step in tracer.steps],
            "usage": usage.model_dump(),
        }
        try:
            self._ledger.save_trace(tracer.id, question, json.dumps(event, ensure_ascii=False))
        except LibraryError as failure:
            return (TraceStep(stage="trace", ms=0, summary="", degraded=f"this trace is not kept: {failure.message}"),)
        return ()

    async def search_passages(
        self,
        query: str,
        *,
        top_k: int = 6,
        channels: Sequence[str] = (),
        documents: Sequence[str] = (),
        filters: Filter | None = None,
        explain: bool = False,
    ) -> SearchResult:
        query = _checked(query)
        self._check_embedder()
        selection = self._select(documents, filters)
        chosen = selection.documents
        tracer = Tracer()
        with account(self._settings.budget.question), _unkept():
            async with tracer.stage("retriever") as step:
                found = Found(())
                if chosen != ():  # to the search no ids mean every document
                    rewritten = await self._rewritten(query, selection)
                    search = partial(
                        self._search.search,
                        query,
                        top_k=top_k,
                        channels=channels,
                        documents=chosen or (),
                        rewritten=rewritten,
                        explain=explain,
                    )
                    found = await to_thread.run_sync(search, abandon_on_cancel=True)
                step.summary = _said(found, chosen, len(self._search.bm25)) + left_out(selection)
                step.details = counts(selection) | {"channels": ", ".join(found.channels)}
                if found.notes:
                    step.details["notes"] = "; ".join(found.notes)
        return SearchResult(query=query, passages=found.passages, candidates=found.candidates, trace=tracer.steps)

    async def _rewritten(self, query: str, selection: Selection) -> Rewritten:
        if self._rewriter is None:
            return Rewritten()
        return await self._rewriter.rewrite(query, self._selected(selection))

    async def read_page(
        self, document: str, page: int, *, highlight: str = "", image: bool = True
    ) -> tuple[PageView, bytes]:
        found = self._ledger.document(document)
        content = self._ledger.page(found.id, page)
        marked = _highlighted(content, highlight)
        span = Span(page=page, start=marked[0], end=marked[1])
        boxes = boxes_of(content, span, self._ledger.tables_of(found.id, page)) if highlight else ()
        view = PageView(
            document_id=found.id,
            document=found.name,
            title=found.title,
            format=found.format,
            page=page,
            pages=found.pages,
            width=content.width,
            height=content.height,
            text=content.text,
            anchor=content.anchor_at(marked[0]),
            highlights=boxes,
            ocr=content.ocr,
            gap=next((gap.reason for gap in found.gaps if gap.page == page), ""),
        )
        if not image or found.format != "pdf":
            return view, b""
        file, most = self._ingestor.file_of(found), self._ingestor.limits.max_pixels
        return view, await asyncio.to_thread(render_png, file, page, boxes, max_pixels=most)

    async def read_figure(self, document: str, number: int) -> tuple[FigureRef, bytes]:
        figure = self._ledger.figure(self._ledger.document(document).id, number)
        shown = FigureRef(number=number, page=figure.page, caption=figure.caption, description=figure.description)
        return shown, figure.png

    async def submit(
        self,
        path: str,
        *,
        name: str = "",
        metadata: Metadata | None = None,
        upload: bool = False,
        replace: Replace = "path",
    ) -> Job:
        self._check_embedder()
        return await self._queue.submit(Path(path), name, metadata, upload, replace)

    async def jobs(self) -> list[Job]:
        return self._queue.jobs()

    async def job(self, job: str) -> Job:
        return self._queue.job(job)

    async def watch(self, job: str, *, on_event: OnEvent | None = None) -> Job:
        return await self._queue.watch(job, on_event)

    async def cancel(self, job: str) -> Job:
        return await self._queue.cancel(job)

    async def retry(self, job: str) -> Job:
        return await self._queue.retry(job)

    async def add_document(
        self,
        path: str,
        *,
        name: str = "",
        metadata: Metadata | None = None,
        upload: bool = False,
        replace: Replace = "path",
        on_event: OnEvent | None = None,
    ) -> Document:
        return await add_and_wait(
            self, path, name=name, metadata=metadata, upload=upload, replace=replace, on_event=on_event
        )

    def _summarise_here(self) -> Summarise:
        """Called in a thread it works in this event loop, to which the language model's client belongs."""
        loop = asyncio.get_running_loop()
        return lambda document: asyncio.run_coroutine_threadsafe(self._summarise(document), loop).result()

    async def _summarise(self, document: Document) -> list[str]:
        with account(self._settings.budget.job) as spent, made_for(document.id):
            if self._describer is not None:
                await self._describer.describe(document)
            unread = await self._builder.read_document(document)
            await self._summariser.summarise(document)  # last: that they are there says that all of this is done
        return [*spent.notes, *unread]

    async def edit_document(self, document: str, changes: Metadata) -> Document:
        return await asyncio.to_thread(self._ingestor.edit, self._ledger.document(document), changes)

    async def list_documents(self, filters: Filter | None = None) -> list[Document]:
        return self._selected(self._ledger.select(filters, date.today())) if filters else self._ledger.documents()

    async def collections(self) -> list[Collection]:
        return self._ledger.collections()

    async def create_collection(self, collection: Collection, *, replace: bool = False) -> Collection:
        collection = check_declaration(collection)
        if not replace and any(known.name == collection.name for known in self._ledger.collections()):
            raise InvalidInput(f"there is a collection {collection.name} already", hint="replace it, or choose a name")
        await asyncio.to_thread(self._ingestor.declare, collection)
        return collection

    async def remove_collection(self, name: str) -> Collection:
        found = self._ledger.collection(name)
        await asyncio.to_thread(self._ingestor.undeclare, name)
        return found

    async def remove_document(self, document: str) -> Document:
        found = self._ledger.document(document)
        await self._queue.cancel_all_of(found.sha256)
        await asyncio.to_thread(self._ingestor.remove, found)
        with suppress(LibraryError):  # as after a full disk: then its names go when the graph is next asked for
            await asyncio.to_thread(self._resolver.sync)
        return found

    async def reindex(self, *, on_event: OnEvent | None = None) -> Health:
        """Rebuild every projection from the ledger with the configured embedder; kept embeddings are not recomputed."""

        def work(tell: Callable[[Event], None]) -> None:
            self._ingestor.embed_all(Run(lambda step, done, total: tell(_progress(step, done, total))))
            for index in self._ingestor.indexes:
                if index.of_embedder:
                    index.rebuild()
                else:
                    index.sync()
            self._ledger.set_meta("embedder", self._embedder.fingerprint)

        await _in_thread(work, on_event)
        self._queue.begin()
        return await self.health()

    async def check(self, *, repair: bool = False) -> CheckReport:
        search = self._search
        checker = Checker(self._ledger, self._embedder, self._ingestor, search.dense, search.bm25, search.sparse)
        return await asyncio.to_thread(checker.check, repair, self._summarise_here())

    async def health(self) -> Health:
        documents = self._ledger.documents()
        answers, entities, relations = await self._graph.health()
        return Health(
            version=__version__,
            library=str(self._settings.library),
            ledger=self._ledger.dialect,
            documents=len(documents),
            chunks=sum(document.chunks for document in documents),
            vectors=len(self._search.dense),
            bm25_entries=len(self._search.bm25),
            embedder=self._embedder.fingerprint,
            reranker=reranking.fingerprint if (reranking := self._search.reranking) else "none",
            llm=writer.model if (writer := self._llms.of("write")) else "none",
            graph=answers,
            entities=entities,
            relations=relations,
        )

    async def kept_replies(self) -> list[KeptReplies]:
        return self._ledger.kept_replies()

    async def clear_replies(self, *, model: str = "") -> int:
        return self._ledger.clear_replies(model)

    async def trace(self, trace_id: str) -> str:
        """The stored trace as JSON; `trace_id` may be its beginning."""
        return self._ledger.trace(trace_id)

    def _select(self, documents: Sequence[str], filters: Filter | None) -> Selection:
        """Raises InvalidInput, NotFound, and NothingIngested where each document that was named is expired."""
        filters = filters or Filter()
        if documents:
            both = set(self._resolved(documents)) & set(self._resolved(filters.documents or documents))
            filters = filters.model_copy(update={"documents": tuple(sorted(both))})
            if not both:
                return Selection(documents=(), chosen=True)
        found = self._ledger.select(filters, date.today())
        if found.chosen and not found.documents and found.expired:
            verb = "is" if len(found.expired) == 1 else "are"
            raise NothingIngested(
                f"{', '.join(found.expired)} {verb} expired",
                hint="ask for expired documents too (--include-expired), or as of an earlier day (--as-of)",
            )
        return found

    def _resolved(self, documents: Sequence[str]) -> tuple[str, ...]:
        found = self._ledger.select(Filter(documents=tuple(documents), include_expired=True), date.today())
        return found.documents or ()

    def _selected(self, selection: Selection) -> list[Document]:
        if selection.documents is None:
            return self._ledger.documents()
        found = self._ledger.documents_by_id(selection.documents)
        return [found[item] for item in selection.documents if item in found]

    def _is_embedder(self) -> bool:
        return self._ledger.meta("embedder") == self._embedder.fingerprint

    def _check_embedder(self) -> None:
        stored = self._ledger.meta("embedder")
        if stored != self._embedder.fingerprint:
            raise EmbeddingChanged(
                f"the library was embedded by {stored}, but {self._embedder.fingerprint} is configured",
                hint="run `quaere reindex`, or set the former embedder again",
            )


@contextmanager
def _unkept() -> Iterator[None]:
    """Of a search no trace is kept that an error could name."""
    try:
        yield
    except QuaereError as error:
        error.trace_id = ""
        raise


def _said(found: Found, chosen: Sequence[str] | None, indexed: int) -> str:
    if not indexed:
        return "nothing ingested yet"
    return "no document fits what the search was limited to" if chosen == () else f"{len(found.passages)} passages"


def _progress(step: str, done: int, total: int) -> Event:
    return Event(kind="ingest", document="embeddings", step=step, done=done, total=total)


def _checked(question: str) -> str:
    question = question.replace("\x00", "").strip()
    if not question:
        raise InvalidInput("the question is empty")
    if len(question) > MAX_QUESTION_CHARS:
        raise InvalidInput(
            f"the question has {len(question):,} characters, more than {MAX_QUESTION_CHARS:,}",
            hint="ask for less at once; add long texts as documents",
        )
    return question


def _highlighted(page: Page, text: str) -> tuple[int, int]:
    """(start, end) of that text in the page's; (0, 0) where nothing is to be highlighted."""
    if not text.strip():
        return 0, 0
    found = find_quote(text, page.text)
    if found is None:
        raise InvalidInput("the text to highlight does not stand on that page", hint="copy it from the page's text")
    return found


async def _in_thread(work: Callable[[Callable[[Event], None]], T], on_event: OnEvent | None) -> T:
    """Run `work(tell)` in a thread; what it tells reaches `on_event` in this event loop, in order."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

    async def forward() -> None:
        while (event := await queue.get()) is not None:
            if on_event is not None:
                await on_event(event)

    def tell(event: Event) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    forwarding = asyncio.create_task(forward())
    try:
        return await asyncio.to_thread(work, tell)
    finally:
        queue.put_nowait(None)
        await forwarding
