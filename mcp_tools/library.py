"""A library folder as a Service, whichever process owns it.

Chroma's files bear one process only. The first to come takes the lock on the folder, opens the application and
a private door; every other process is its guest and speaks through that door. When the owner goes, killed or
not, the kernel frees the lock, and the next call of a guest makes that guest the owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import filelock

from core.errors import LibraryBusy, LibraryError, NotFound
from core.jobs import add_and_wait
from core.ports import OnEvent, Service
from core.types import (
    Answer,
    CheckReport,
    Collection,
    Document,
    FigureRef,
    Filter,
    Health,
    Job,
    KeptReplies,
    Metadata,
    PageView,
    Replace,
    SearchResult,
    Turn,
)
from mcp_tools.door import Door, owner_path, read_owner
from mcp_tools.library_graph import LibraryGraph
from mcp_tools.library_merges import LibraryMerges
from quaere import __version__

if TYPE_CHECKING:
    from mcp_tools.remote import RemoteService

POLL_S = 0.1

T = TypeVar("T")
_log = logging.getLogger(__name__)


class App(Service, Protocol):
    async def aclose(self) -> None: ...


OpenApp = Callable[[], Awaitable[App]]


def prepare_folder(folder: Path) -> None:
    """Makes the folder, and makes sure by writing that it can be written to."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise _unusable(folder, error) from error


def _unusable(folder: Path, error: OSError) -> LibraryError:
    reason = error.strerror or str(error)
    return LibraryError(
        f"the library folder {folder} cannot be used: {reason}",
        hint="choose a folder that you can write to with QUAERE_LIBRARY or --library",
    )


def _is_named(document: Document, name: str) -> bool:
    return name in (document.id, document.name) or (len(name) >= 8 and document.id.startswith(name))


class Library(LibraryGraph, LibraryMerges):
    """`async with Library(folder, open_app) as library:`.

    With `lazy`, entering returns at once: the library opens in the background and the first call waits for it.
    A call that finds its owner gone is repeated once on the new one, so its events may come twice.
    """

    def __init__(self, folder: Path, open_app: OpenApp, *, wait_s: float = 60, lazy: bool = False) -> None:
        self._folder = folder
        self._open_app = open_app
        self._wait_s = wait_s
        self._lazy = lazy
        self._service: Service | None = None
        self._owned: contextlib.AsyncExitStack | None = None
        self._guest: RemoteService | None = None
        self._settling: asyncio.Task[Service] | None = None
        self._closed = False

    @property
    def owns(self) -> bool:
        """Whether this process holds the library itself."""
        return self._owned is not None

    async def __aenter__(self) -> Self:
        prepare_folder(self._folder)
        if self._lazy:
            self._start_settling()
        else:
            await self._ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.wait([self._settling])
        self._service = None
        if self._guest is not None:
            await self._guest.aclose()
        owned, self._owned = self._owned, None
        if owned is not None:
            await owned.aclose()

    # Who owns it

    async def _ready(self) -> Service:
        if self._closed:
            raise LibraryError(f"the library {self._folder} was closed")
        if self._service is not None:
            return self._service
        # The shield: a caller that gives up must not stop the opening that others wait for.
        return await asyncio.shield(self._start_settling())

    def _start_settling(self) -> asyncio.Task[Service]:
        """The one opening or hand-over that is going on; all callers share it."""
        if self._settling is None or self._settling.done():
            # An empty context: what is started here outlives the tool call that caused it.
            self._settling = asyncio.create_task(self._settle(), context=contextvars.Context())
            self._settling.add_done_callback(self._report)
        return self._settling

    def _report(self, task: asyncio.Task[Service]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("the library %s did not open: %s", self._folder, error)

    async def _settle(self) -> Service:
        if self._guest is not None:
            stale, self._guest = self._guest, None
            await stale.aclose()
        give_up = time.monotonic() + self._wait_s
        while time.monotonic() < give_up:
            service = await self._own() or await self._visit()
            if service is not None:
                self._service = service
                return service
            await asyncio.sleep(POLL_S)
        raise self._busy()

    def _busy(self) -> LibraryBusy:
        owner = read_owner(self._folder)
        who = f"process {owner.pid}" if owner is not None else "another process"
        return LibraryBusy(
            f"the library {self._folder} is held by {who}, which does not answer",
            hint="wait until it has started, or stop it and try again",
        )

    async def _own(self) -> Service | None:
        """Takes the lock and opens the application; None where another process holds the lock."""
        lock = filelock.FileLock(
            self._folder / "owner.lock", mode=0o600, thread_local=False, fallback_to_soft=False, preserve_lock_file=True
        )
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            return None
        except OSError as error:
            raise _unusable(self._folder, error) from error
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(lock.release)
            owner_path(self._folder).unlink(missing_ok=True)  # of an owner that was killed
            app = await self._open_app()
            stack.push_async_callback(app.aclose)
            try:
                await stack.enter_async_context(Door(app, self._folder))
            except OSError as error:  # its file can't be written: a full disk
                raise _unusable(self._folder, error) from error
            self._owned = stack.pop_all()
        return app

    async def _visit(self) -> Service | None:
        """Connects to the owner's door; None where there is no owner.json or nobody answers there."""
        owner = read_owner(self._folder)
        if owner is None:
            return None
        if owner.version != __version__:
            raise LibraryError(
                f"process {owner.pid} holds the library with version {owner.version} of quaere, "
                f"and this is version {__version__}",
                hint=f"stop process {owner.pid}, then try again",
            )
        from mcp_tools.remote import RemoteService  # half a second, for guests only

        guest = RemoteService(owner.url, owner.token)
        try:
            await guest.__aenter__()
        except LibraryBusy as error:
            _log.debug("no owner at %s: %s", owner.url, error)
            return None
        self._guest = guest
        return guest

    async def _call(self, use: Callable[[Service], Awaitable[T]]) -> T:
        service = await self._ready()
        try:
            return await use(service)
        except LibraryBusy:
            if self.owns and self._service is service:
                raise  # no guest lost its host
            if self._service is service:
                self._service = None
            return await use(await self._ready())

    # The service

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
        return await self._call(
            lambda service: service.ask(
                question, documents=documents, filters=filters, history=history, policy=policy, on_event=on_event
            )
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
        return await self._call(
            lambda service: service.search_passages(
                query, top_k=top_k, channels=channels, documents=documents, filters=filters, explain=explain
            )
        )

    async def read_page(
        self, document: str, page: int, *, highlight: str = "", image: bool = True
    ) -> tuple[PageView, bytes]:
        return await self._call(lambda service: service.read_page(document, page, highlight=highlight, image=image))

    async def read_figure(self, document: str, number: int) -> tuple[FigureRef, bytes]:
        return await self._call(lambda service: service.read_figure(document, number))

    async def submit(
        self,
        path: str,
        *,
        name: str = "",
        metadata: Metadata | None = None,
        upload: bool = False,
        replace: Replace = "path",
    ) -> Job:
        return await self._call(
            lambda service: service.submit(path, name=name, metadata=metadata, upload=upload, replace=replace)
        )

    async def jobs(self) -> list[Job]:
        return await self._call(lambda service: service.jobs())

    async def job(self, job: str) -> Job:
        return await self._call(lambda service: service.job(job))

    async def watch(self, job: str, *, on_event: OnEvent | None = None) -> Job:
        return await self._call(lambda service: service.watch(job, on_event=on_event))

    async def cancel(self, job: str) -> Job:
        return await self._call(lambda service: service.cancel(job))

    async def retry(self, job: str) -> Job:
        return await self._call(lambda service: service.retry(job))

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

    async def edit_document(self, document: str, changes: Metadata) -> Document:
        return await self._call(lambda service: service.edit_document(document, changes))

    async def list_documents(self, filters: Filter | None = None) -> list[Document]:
        return await self._call(lambda service: service.list_documents(filters))

    async def collections(self) -> list[Collection]:
        return await self._call(lambda service: service.collections())

    async def create_collection(self, collection: Collection, *, replace: bool = False) -> Collection:
        return await self._call(lambda service: service.create_collection(collection, replace=replace))

    async def remove_collection(self, name: str) -> Collection:
        return await self._call(lambda service: service.remove_collection(name))

    async def remove_document(self, document: str) -> Document:
        """As the contract says; a removal that broke off and is then not found is one that was done."""
        await self._ready()
        known = [] if self.owns else [d for d in await self.list_documents() if _is_named(d, document)]
        attempts = 0

        async def remove(service: Service) -> Document:
            nonlocal attempts
            attempts += 1
            try:
                return await service.remove_document(document)
            except NotFound:
                if attempts == 1 or len(known) != 1:
                    raise
                return known[0]

        return await self._call(remove)

    async def reindex(self, *, on_event: OnEvent | None = None) -> Health:
        return await self._call(lambda service: service.reindex(on_event=on_event))

    async def check(self, *, repair: bool = False) -> CheckReport:
        return await self._call(lambda service: service.check(repair=repair))

    async def health(self) -> Health:
        return await self._call(lambda service: service.health())

    async def kept_replies(self) -> list[KeptReplies]:
        return await self._call(lambda service: service.kept_replies())

    async def clear_replies(self, *, model: str = "") -> int:
        return await self._call(lambda service: service.clear_replies(model=model))

    async def trace(self, trace_id: str) -> str:
        return await self._call(lambda service: service.trace(trace_id))
