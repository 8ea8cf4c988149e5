"""A library that another process of this machine owns, reached through its private door."""

from __future__ import annotations

from core.ports import OnEvent
from core.types import CheckReport, Document, Health, KeptReplies
from mcp_tools.client import ToolClient
from mcp_tools.server import Count, DocumentList, ReplyList, StoredTrace


class RemoteService(ToolClient):
    """`core.ports.Service` over the owner's door. One connection is kept between calls; when it breaks, each
    call raises LibraryBusy, and a new RemoteService is needed."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token=token)

    async def add_document(self, path: str, *, name: str = "", on_event: OnEvent | None = None) -> Document:
        return await self.get("library_add", {"path": path, "name": name}, Document, on_event)

    async def list_documents(self) -> list[Document]:
        return (await self.get("library_list", {}, DocumentList)).documents

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
