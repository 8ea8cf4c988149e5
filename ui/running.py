"""A running call as a stream: what it tells while it runs, then its result."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from core.graph import GraphResult
from core.ports import OnEvent
from core.types import Answer, Event, Filter, PageView, SearchResult, Turn

T = TypeVar("T")


class Tools(Protocol):
    """The four tools that every door asks with: `mcp_tools.client.ToolClient`."""

    async def ask(
        self,
        question: str,
        *,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
        history: Sequence[Turn] = (),
        policy: str = "auto",
        on_event: OnEvent | None = None,
    ) -> Answer: ...

    async def search_passages(
        self,
        query: str,
        *,
        top_k: int = 6,
        channels: Sequence[str] = (),
        documents: Sequence[str] = (),
        filters: Filter | None = None,
        explain: bool = False,
    ) -> SearchResult: ...

    async def query_graph(
        self,
        question: str = "",
        *,
        entity: str = "",
        cypher: str = "",
        hops: int = 2,
        limit: int = 50,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
    ) -> GraphResult: ...

    async def read_page(
        self, document: str, page: int, *, highlight: str = "", image: bool = True
    ) -> tuple[PageView, bytes]: ...


async def stream(call: Callable[[OnEvent], Awaitable[T]]) -> AsyncIterator[Event | T]:
    """The call's events, then what it returns; raises what it raises. Leaving the stream early cancels the call."""
    events: asyncio.Queue[Event | None] = asyncio.Queue()

    async def run() -> T:
        try:
            return await call(events.put)
        finally:
            events.put_nowait(None)

    task = asyncio.create_task(run())
    try:
        while (event := await events.get()) is not None:
            yield event
        yield await task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([task])
