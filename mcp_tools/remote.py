"""A library that another process of this machine owns, reached through its private door."""

from __future__ import annotations

from core.jobs import add_and_wait
from core.ports import OnEvent
from core.types import (
    CheckReport,
    Collection,
    Document,
    FigureRef,
    Filter,
    Health,
    Job,
    KeptReplies,
    Metadata,
    Replace,
)
from mcp_tools.client import picture
from mcp_tools.remote_graph import RemoteGraph
from mcp_tools.remote_merges import RemoteMerges
from mcp_tools.server import CollectionList, Count, DocumentList, JobList, ReplyList, StoredTrace


class RemoteService(RemoteGraph, RemoteMerges):
    """`core.ports.Service` over the owner's door. One connection is kept between calls; when it breaks, each
    call raises LibraryBusy, and a new RemoteService is needed."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token=token)

    async def submit(
        self,
        path: str,
        *,
        name: str = "",
        metadata: Metadata | None = None,
        upload: bool = False,
        replace: Replace = "path",
    ) -> Job:
        said = {"metadata": metadata.model_dump(mode="json", exclude_unset=True)} if metadata else {}
        arguments = {"path": path, "name": name, "upload": upload, "replace": replace, **said}
        return await self.get("library_submit", arguments, Job)

    async def jobs(self) -> list[Job]:
        return (await self.get("library_jobs", {}, JobList)).jobs

    async def job(self, job: str) -> Job:
        return await self.get("library_job", {"job": job}, Job)

    async def watch(self, job: str, *, on_event: OnEvent | None = None) -> Job:
        return await self.get("library_watch", {"job": job}, Job, on_event)

    async def cancel(self, job: str) -> Job:
        return await self.get("library_cancel", {"job": job}, Job)

    async def retry(self, job: str) -> Job:
        return await self.get("library_retry", {"job": job}, Job)

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

    async def read_figure(self, document: str, number: int) -> tuple[FigureRef, bytes]:
        result = await self.call("library_figure", {"document": document, "number": number})
        return self.parse(result, FigureRef), picture(result)

    async def edit_document(self, document: str, changes: Metadata) -> Document:
        said = changes.model_dump(mode="json", exclude_unset=True)
        return await self.get("library_edit", {"document": document, "changes": said}, Document)

    async def list_documents(self, filters: Filter | None = None) -> list[Document]:
        wanted = {"filters": filters.model_dump(mode="json")} if filters else {}
        return (await self.get("library_list", wanted, DocumentList)).documents

    async def collections(self) -> list[Collection]:
        return (await self.get("library_collections", {}, CollectionList)).collections

    async def create_collection(self, collection: Collection, *, replace: bool = False) -> Collection:
        arguments = {"collection": collection.model_dump(mode="json"), "replace": replace}
        return await self.get("library_create_collection", arguments, Collection)

    async def remove_collection(self, name: str) -> Collection:
        return await self.get("library_remove_collection", {"name": name}, Collection)

    async def remove_document(self, document: str) -> Document:
        return await self.get("library_remove", {"document": document}, Document)

    async def reindex(self, *, on_event: OnEvent | None = None) -> Health:
        return await self.get("library_reindex", {}, Health, on_event)

    async def check(self, *, repair: bool = False) -> CheckReport:
        return await self.get("library_check", {"repair": repair}, CheckReport)

    async def health(self) -> Health:
        return await self.get("library_health", {}, Health)

    async def kept_replies(self) -> list[KeptReplies]:
        return (await self.get("library_replies", {}, ReplyList)).kept

    async def clear_replies(self, *, model: str = "") -> int:
        return (await self.get("library_forget_replies", {"model": model}, Count)).count

    async def trace(self, trace_id: str) -> str:
        return (await self.get("library_trace", {"trace_id": trace_id}, StoredTrace)).trace
