"""The queue of files to be added. It stands in the ledger, each file's copy in the library: both survive a restart.

One worker does one job at a time, in order. All methods belong to the event loop that the queue was begun in.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import threading
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.errors import DocumentRefused, InvalidInput, LibraryError, QuaereError
from core.formats import SUFFIXES
from core.ledger import Ledger
from core.ports import OnEvent
from core.text import clean
from core.types import Document, Event, Job, JobError, JobRequest, Metadata, Replace
from ingest.pipeline import Added, Ingestor
from ingest.run import Run, Stopped

Summarise = Callable[[Document], Awaitable[Sequence[str]]]
SEE_LOG = "the log of the Quaere process says more; `quaere retry` tries again"
POLL_S = 0.2  # how long a wish to stop may go unnoticed while a language model writes
RETRY_S = 2.0  # before the ledger is asked again after it failed
_log = logging.getLogger(__name__)


@dataclass
class _Running:
    job: Job
    stop: threading.Event = field(default_factory=threading.Event)


class JobQueue:
    def __init__(self, ledger: Ledger, ingestor: Ingestor, summarise: Summarise, may_run: Callable[[], bool]) -> None:
        self._ledger = ledger
        self._ingestor = ingestor
        self._summarise = summarise
        self._may_run = may_run
        self._running: _Running | None = None
        self._worker: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._closing = False
        self._watchers: dict[str, set[asyncio.Queue[Job]]] = {}
        self._submitting = asyncio.Lock()

    def adopt(self) -> None:
        """Give each document that an earlier version left unfinished a job; before the queue is begun."""
        waiting = {request.sha256 for _, request in self._ledger.unfinished_jobs()}
        for document in self._ledger.documents():
            if document.status == "processing" and document.sha256 not in waiting:
                self._ledger.add_job(_new_job(document.name), JobRequest(sha256=document.sha256))

    def begin(self) -> None:
        """Do what waits, and from now on what comes; what was interrupted goes on first."""
        self._wake.set()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    async def aclose(self) -> None:
        """The job that runs stops where it is, and goes on when the library is opened again."""
        self._closing = True
        self._wake.set()
        if self._running is not None:
            self._running.stop.set()
        if self._worker is not None:
            await self._worker

    # What a user asks for

    async def submit(self, path: Path, name: str, metadata: Metadata | None, upload: bool, replace: Replace) -> Job:
        name = clean(name or path.name).replace("\n", " ").strip()[:200] or "document"
        collection = (metadata or Metadata()).collection
        if replace == "name" and self._ledger.count_named(name, collection) > 1:
            raise InvalidInput(f"several documents are called {name}", hint="remove those that are out of date")
        job = _new_job(name)
        file = job.id + (path.suffix.lower() if path.suffix.lower() in SUFFIXES else "")
        sha256 = await asyncio.to_thread(self._ingestor.take, path, file)
        source = "" if upload else _source(path)
        request = JobRequest(source=source, sha256=sha256, file=file, replace=replace, metadata=metadata)
        try:
            self._ingestor.check(request)
        except InvalidInput:
            self._drop(request)
            raise
        async with self._submitting:
            same = self._unfinished_like(job, request)
            if same is not None:
                self._drop(request)
                job = same  # left by a process that ended, perhaps, and then nobody works on it yet
            else:
                self._ledger.add_job(job, request)
        self.begin()
        return job

    def _unfinished_like(self, job: Job, request: JobRequest) -> Job | None:
        for other, asked in self._ledger.unfinished_jobs():
            if other.name == job.name and asked.model_copy(update={"file": request.file}) == request:
                return self._now(other)
        return None

    def jobs(self) -> list[Job]:
        return [self._now(job) for job in self._ledger.jobs()]

    def job(self, reference: str) -> Job:
        return self._now(self._ledger.job(reference))

    async def watch(self, reference: str, on_event: OnEvent | None) -> Job:
        changes: asyncio.Queue[Job] = asyncio.Queue()
        job = self.job(reference)
        watchers = self._watchers.setdefault(job.id, set())
        watchers.add(changes)
        try:
            while True:
                if on_event is not None:
                    await on_event(Event(kind="job", job=job))
                if job.finished:
                    return job
                job = await changes.get()
        finally:
            watchers.discard(changes)
            if not watchers:
                self._watchers.pop(job.id, None)

    async def cancel(self, reference: str) -> Job:
        job = self.job(reference)
        if self._running is not None and self._running.job.id == job.id:
            self._running.stop.set()
            return await self.watch(job.id, None)
        if job.finished:
            return job
        request = self._ledger.job_request(job.id)
        job = self._end(job, request, state="cancelled")
        await asyncio.to_thread(self._forget, request)
        return job

    async def cancel_all_of(self, sha256: str) -> None:
        """Before that document is removed."""
        for job, request in self._ledger.unfinished_jobs():
            if request.sha256 == sha256:
                await self.cancel(job.id)

    async def retry(self, reference: str) -> Job:
        job = self.job(reference)
        if job.state not in ("failed", "cancelled"):
            return job
        request = self._ledger.job_request(job.id)
        if not request.file or not (self._ingestor.incoming / request.file).exists():
            request = await self._taken_again(job, request)
        job = _changed(job, state="queued", stage="", done=0, total=0, error=None, outcome="")
        self._ledger.put_job(job, request)
        self._notify(job)
        self.begin()
        return job

    async def _taken_again(self, job: Job, request: JobRequest) -> JobRequest:
        if not request.source:
            if any(self._ingestor.files.glob(f"{request.sha256}.*")):
                return request
            raise InvalidInput(f"the upload of {job.name} is gone", hint="send the file again")
        path = Path(request.source)
        file = job.id + (path.suffix.lower() if path.suffix.lower() in SUFFIXES else "")
        sha256 = await asyncio.to_thread(self._ingestor.take, path, file)
        if sha256 != request.sha256:
            await asyncio.to_thread(self._forget, request.model_copy(update={"file": ""}))
        return request.model_copy(update={"sha256": sha256, "file": file})

    # The worker

    async def _work(self) -> None:
        while not self._closing:
            self._wake.clear()
            waiting: list[tuple[Job, JobRequest]] = []
            try:
                waiting = self._ledger.unfinished_jobs() if self._may_run() else []
                if waiting:
                    await self._run(*waiting[0])
                    continue
            except LibraryError as error:  # a full disk or a lost server must not end the queue
                _log.warning("the queue waits: %s", error.message)
                for job, _ in waiting[:1]:  # whoever waits for it is told; the ledger can't be, and it goes on later
                    said = JobError(code=error.code, message=error.message, hint=error.hint)
                    self._notify(_changed(job, state="failed", error=said))
                await asyncio.sleep(RETRY_S)
                continue
            await self._wake.wait()

    async def _run(self, job: Job, request: JobRequest) -> None:
        running = self._running = _Running(_changed(job, state="running"))
        self._ledger.put_job(running.job)
        self._notify(running.job)
        try:
            added = await asyncio.to_thread(self._ingested, running, request, asyncio.get_running_loop())
            end: dict[str, Any] = {"state": "done", "document_id": added.document.id, "outcome": added.outcome}
        except Stopped:
            if self._closing:
                return
            await asyncio.to_thread(self._forget, request, running.job.id)
            end = {"state": "cancelled"}
        except QuaereError as error:
            end = self._failure(running.job, request, error)
        except Exception:  # noqa: BLE001 - one document never ends the queue, whatever is wrong with it
            _log.exception("adding %s failed", job.name)
            end = self._failure(running.job, request, QuaereError("something went wrong inside Quaere", hint=SEE_LOG))
        finally:
            self._running = None
        self._end(running.job, request, **end)

    def _ingested(self, running: _Running, request: JobRequest, loop: asyncio.AbstractEventLoop) -> Added:
        def tell(stage: str, done: int, total: int) -> None:
            before = running.job.stage
            running.job = _changed(running.job, stage=stage, done=done, total=total)
            if stage != before:
                self._ledger.put_job(running.job)
            loop.call_soon_threadsafe(self._notify, running.job)

        def summarise(document: Document) -> Sequence[str]:
            writing = asyncio.run_coroutine_threadsafe(_awaited(self._summarise(document)), loop)
            while True:
                try:
                    return writing.result(POLL_S)
                except concurrent.futures.TimeoutError:
                    if running.stop.is_set():
                        writing.cancel()
                        raise Stopped from None

        file = self._ingestor.incoming / request.file
        return self._ingestor.add(file, running.job.name, request, Run(tell, running.stop.is_set), summarise)

    def _failure(self, job: Job, request: JobRequest, error: QuaereError) -> dict[str, Any]:
        message = error.message.replace(request.file, job.name) if request.file else error.message
        self._ingestor.fail(request.sha256, message)
        if isinstance(error, DocumentRefused):
            self._drop(request)  # it will be refused again
        return {"state": "failed", "error": JobError(code=error.code, message=message, hint=error.hint)}

    def _end(self, job: Job, request: JobRequest, **fields: Any) -> Job:
        if fields["state"] != "failed":
            self._drop(request)
        job = _changed(job, **fields)
        kept = request if (self._ingestor.incoming / request.file).is_file() else None
        self._ledger.put_job(job, kept or request.model_copy(update={"file": ""}))
        self._notify(job)
        return job

    def _forget(self, request: JobRequest, ending: str = "") -> None:
        """What was stored of a document that is not ready, unless another job goes on with it."""
        others = {asked.sha256 for job, asked in self._ledger.unfinished_jobs() if job.id != ending}
        if request.sha256 not in others:
            self._ingestor.discard(request.sha256)

    def _drop(self, request: JobRequest) -> None:
        if request.file:
            (self._ingestor.incoming / request.file).unlink(missing_ok=True)

    def _now(self, job: Job) -> Job:
        """With the progress that is not worth a write to the ledger."""
        running = self._running
        return running.job if running is not None and running.job.id == job.id else job

    def _notify(self, job: Job) -> None:
        for changes in self._watchers.get(job.id, ()):
            changes.put_nowait(job)


def _new_job(name: str) -> Job:
    now = datetime.now(UTC)
    return Job(id=str(uuid.uuid4()), name=name, created_at=now, updated_at=now)


def _changed(job: Job, **fields: Any) -> Job:
    return job.model_copy(update={**fields, "updated_at": datetime.now(UTC)})


def _source(path: Path) -> str:
    """The path as text that can be stored, whatever bytes are in it."""
    return os.fsencode(path.absolute()).decode("utf-8", "backslashreplace")


async def _awaited(summaries: Awaitable[Sequence[str]]) -> Sequence[str]:
    return await summaries
