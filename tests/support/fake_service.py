"""A scripted library in memory: a real Service with the same answers each time."""

from __future__ import annotations

import asyncio
import hashlib
import os
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from core.errors import InvalidInput, NotFound, NothingIngested, QuaereError
from core.ports import OnEvent
from core.types import (
    Answer,
    ChannelHit,
    CheckReport,
    Citation,
    Claim,
    Collection,
    Document,
    Event,
    FigureRef,
    Filter,
    Health,
    Job,
    JobError,
    KeptReplies,
    Metadata,
    PageView,
    Passage,
    Reflection,
    Replace,
    SearchResult,
    Span,
    TraceStep,
    Turn,
)
from tests.support.fake_graph import FakeGraph
from tests.support.fake_merges import FakeMerges

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
QUOTE = "The bridge opened in 1932."


def make_document(name: str, content: bytes | None = None) -> Document:
    digest = hashlib.sha256(content if content is not None else name.encode()).hexdigest()
    return Document(
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, digest)),
        name=name,
        title=name.removesuffix(".pdf").title(),
        sha256=digest,
        format="markdown" if name.endswith(".md") else "pdf",
        pages=3,
        chunks=5,
        status="ready",
        added_at=datetime(2026, 1, 2, tzinfo=UTC),
    )


def _set(metadata: Metadata) -> dict[str, object]:
    return {name: getattr(metadata, name) for name in metadata.model_fields_set}


class FakeService(FakeGraph, FakeMerges):
    """`calls` records what was asked. Put an exception in `fail[method]` and that method raises it. A question
    'pid' is answered with this process's id; 'sleep N' takes N seconds."""

    def __init__(self, *names: str) -> None:
        FakeGraph.__init__(self)
        FakeMerges.__init__(self)
        self.documents = {document.id: document for document in map(make_document, names or ("bridges.pdf",))}
        self.calls: list[tuple[str, object]] = []
        self.fail: dict[str, Exception] = {}
        self.before: Callable[[str], Awaitable[None]] | None = None
        self.closed = False
        self.declared = {"default": Collection(name="default")}
        self.hold = False
        self.queue: dict[str, list[Job]] = {}
        self.replies = [KeptReplies(model="m", prompt="write@1", replies=2, characters=9, newest="")]

    async def _enter(self, method: str, argument: object) -> None:
        self.calls.append((method, argument))
        if self.before is not None:
            await self.before(method)
        if method in self.fail:
            raise self.fail[method]

    def _find(self, name: str) -> Document:
        for document in self.documents.values():
            if name in (document.id, document.name) or (len(name) >= 8 and document.id.startswith(name)):
                return document
        raise NotFound(f"no document {name!r}", hint="see the list of documents")

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
        asked = {"question": question, "documents": tuple(documents), "history": tuple(history), "filters": filters}
        await self._enter("ask", asked)
        if not self.documents:
            raise NothingIngested("the library is empty", hint="add a document")
        if question.startswith("sleep "):
            await asyncio.sleep(float(question.split()[1]))
        text = str(os.getpid()) if question == "pid" else f"{QUOTE} [1]"
        step = TraceStep(stage="router", ms=1.5, summary=f"policy {policy}")
        if on_event is not None:
            await on_event(Event(kind="stage", stage=step))
            for word in text.split(" "):
                await on_event(Event(kind="text", text=word))
        return self._answer(question, text, step)

    def _answer(self, question: str, text: str, step: TraceStep) -> Answer:
        document = next(iter(self.documents.values()))
        citation = Citation(
            number=1,
            document_id=document.id,
            document=document.name,
            title=document.title,
            page=2,
            quote=QUOTE,
            spans=(Span(page=2, start=0, end=len(QUOTE)),),
        )
        return Answer(
            question=question,
            text=text,
            claims=(Claim(text=text, citations=(1,), support=1.0),),
            citations=(citation,),
            written_by="quotation",
            reflection=Reflection(support=1.0),
            trace_id="t-1",
            trace=(step,),
        )

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
        arguments = {"query": query, "top_k": top_k, "channels": tuple(channels), "documents": tuple(documents)}
        arguments |= {"explain": True} if explain else {}
        await self._enter("search_passages", arguments | {"filters": filters})
        passages = tuple(self._passage(document, rank) for rank, document in enumerate(self.documents.values(), 1))
        return SearchResult(query=query, passages=passages[:top_k], trace=())

    def _passage(self, document: Document, rank: int) -> Passage:
        return Passage(
            chunk_id=f"c-{rank}",
            document_id=document.id,
            document=document.name,
            title=document.title,
            page=2,
            text=QUOTE,
            spans=(Span(page=2, start=0, end=len(QUOTE)),),
            best_child=QUOTE,
            score=1 / rank,
            channels=(ChannelHit(channel="bm25", rank=rank, score=3.0),),
        )

    async def read_page(
        self, document: str, page: int, *, highlight: str = "", image: bool = True
    ) -> tuple[PageView, bytes]:
        await self._enter("read_page", (document, page, highlight, image))
        found = self._find(document)
        if page > found.pages:
            raise NotFound(f"{found.name} has {found.pages} pages, not {page}")
        view = PageView(
            document_id=found.id,
            document=found.name,
            title=found.title,
            format=found.format,
            page=page,
            pages=found.pages,
            width=612,
            height=792,
            text=QUOTE,
            highlights=((72, 72, 200, 84),) if highlight else (),
        )
        return view, PNG if image and view.format == "pdf" else b""

    async def read_figure(self, document: str, number: int) -> tuple[FigureRef, bytes]:
        await self._enter("read_figure", (document, number))
        self._find(document)
        if not 1 <= number <= 2:
            raise NotFound(f"there is no figure {number}")
        return FigureRef(number=number, page=2, caption="Figure 1: A bridge."), PNG if number == 1 else b""

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
        await self._enter("add_document", path)
        for done, step in enumerate(("parse", "chunk", "done"), 1):
            if on_event is not None:
                await on_event(Event(kind="ingest", document=name or path, step=step, done=done, total=3))
        document = make_document(name or Path(path).name)
        if metadata is not None:
            self.calls.append(("metadata", metadata))
            document = document.model_copy(update=_set(metadata))
        self.documents[document.id] = document
        return document

    async def submit(
        self,
        path: str,
        *,
        name: str = "",
        metadata: Metadata | None = None,
        upload: bool = False,
        replace: Replace = "path",
    ) -> Job:
        """The whole work is done here, unless `hold` is set: then the job runs at page 3 of 12 until it is released."""
        await self._enter("submit", (path, name, upload, replace))
        now = datetime(2026, 1, 2, tzinfo=UTC)
        job = Job(id=str(uuid.uuid4()), name=name or Path(path).name, created_at=now, updated_at=now)
        self.queue[job.id] = [job]
        if self.hold:
            self._change(job.id, state="running", stage="parse", done=3, total=12)
            return job

        async def note(event: Event) -> None:
            self._change(job.id, state="running", stage=event.step, done=event.done, total=event.total)

        try:
            document = await self.add_document(
                path, name=name, metadata=metadata, upload=upload, replace=replace, on_event=note
            )
        except QuaereError as error:
            problem = JobError(code=error.code, message=error.message, hint=error.hint)
            self._change(job.id, state="failed", error=problem)
        else:
            self._change(job.id, state="done", document_id=document.id, outcome="added")
        return job

    def _change(self, job: str, **fields: object) -> Job:
        self.queue[job].append(self.queue[job][-1].model_copy(update=fields))
        return self.queue[job][-1]

    def release(self, job: str) -> None:
        document = make_document(self.queue[job][-1].name)
        self.documents[document.id] = document
        self._change(job, stage="index", done=0, total=0)
        self._change(job, state="done", document_id=document.id, outcome="added")

    def _job(self, job: str) -> list[Job]:
        found = [states for key, states in self.queue.items() if key == job or (len(job) >= 8 and key.startswith(job))]
        if not found:
            raise NotFound(f"no job {job!r}", hint="see the list of jobs")
        return found[0]

    async def jobs(self) -> list[Job]:
        await self._enter("jobs", None)
        return [states[-1] for states in reversed(self.queue.values())]

    async def job(self, job: str) -> Job:
        await self._enter("job", job)
        return self._job(job)[-1]

    async def watch(self, job: str, *, on_event: OnEvent | None = None) -> Job:
        await self._enter("watch", job)
        told = 0
        while True:
            states = self._job(job)
            for state in states[told:]:
                if on_event is not None:
                    await on_event(Event(kind="job", job=state))
            told = len(states)
            if states[-1].finished:
                return states[-1]
            await asyncio.sleep(0.02)

    async def cancel(self, job: str) -> Job:
        await self._enter("cancel", job)
        found = self._job(job)[-1]
        return found if found.finished else self._change(found.id, state="cancelled")

    async def retry(self, job: str) -> Job:
        await self._enter("retry", job)
        found = self._job(job)[-1]
        again = found.state in ("failed", "cancelled")
        return self._change(found.id, state="queued", error=None) if again else found

    async def edit_document(self, document: str, changes: Metadata) -> Document:
        await self._enter("edit_document", (document, changes))
        found = self._find(document).model_copy(update=_set(changes))
        self.documents[found.id] = found
        return found

    async def collections(self) -> list[Collection]:
        await self._enter("collections", None)
        return list(self.declared.values())

    async def create_collection(self, collection: Collection, *, replace: bool = False) -> Collection:
        await self._enter("create_collection", (collection, replace))
        self.declared[collection.name] = collection
        return collection

    async def remove_collection(self, name: str) -> Collection:
        await self._enter("remove_collection", name)
        if name not in self.declared:
            raise InvalidInput(f"there is no collection {name!r}")
        return self.declared.pop(name)

    async def list_documents(self, filters: Filter | None = None) -> list[Document]:
        await self._enter("list_documents", filters)
        return list(self.documents.values())

    async def remove_document(self, document: str) -> Document:
        await self._enter("remove_document", document)
        return self.documents.pop(self._find(document).id)

    async def reindex(self, *, on_event: OnEvent | None = None) -> Health:
        await self._enter("reindex", None)
        return await self.health()

    async def check(self, *, repair: bool = False) -> CheckReport:
        await self._enter("check", repair)
        return CheckReport(
            documents=len(self.documents), chunks=5, vectors=5, bm25_entries=5, repair=repair, findings=()
        )

    async def health(self) -> Health:
        await self._enter("health", None)
        return Health(
            version="0.1.0",
            library="memory",
            ledger="sqlite",
            documents=len(self.documents),
            chunks=5,
            vectors=5,
            bm25_entries=5,
            embedder="fake",
            llm="none",
        )

    async def kept_replies(self) -> list[KeptReplies]:
        await self._enter("kept_replies", None)
        return list(self.replies)

    async def clear_replies(self, *, model: str = "") -> int:
        await self._enter("clear_replies", model)
        gone = [kept for kept in self.replies if model in ("", kept.model)]
        self.replies = [kept for kept in self.replies if kept not in gone]
        return sum(kept.replies for kept in gone)

    async def trace(self, trace_id: str) -> str:
        await self._enter("trace", trace_id)
        if not "t-1".startswith(trace_id):
            raise NotFound(f"no trace {trace_id!r}")
        return '{"trace_id": "t-1"}'

    async def aclose(self) -> None:
        self.closed = True
