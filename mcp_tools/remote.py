"""A library that another process of this machine owns, reached through its private door."""

from __future__ import annotations

from core.ports import OnEvent
from core.types import CheckReport, Collection, Document, FigureRef, Filter, Health, KeptReplies, Metadata
from mcp_tools.client import ToolClient, picture
from mcp_tools.server import CollectionList, Count, DocumentList, ReplyList, StoredTrace


class RemoteService(ToolClient):
    """`core.ports.Service` over the owner's door. One connection is kept between calls; when it breaks, each
    call raises LibraryBusy, and a new RemoteService is needed."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token=token)

    async def add_document(
        self, path: str, *, name: str = "", metadata: Metadata | None = None, on_event: OnEvent | None = None
    ) -> Document:
        said = {"metadata": metadata.model_dump(mode="json", exclude_unset=True)} if metadata else {}
        return await self.get("library_add", {"path": path, "name": name, **said}, Document, on_event)

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
