"""A typed client of the tools: in memory over a server object, or over HTTP given its URL."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp_types
from fastmcp import Client, FastMCP
from fastmcp.client.progress import ProgressHandler
from fastmcp.client.transports import ClientTransport, FastMCPTransport, StreamableHttpTransport
from mcp import MCPError
from pydantic import BaseModel, ValidationError

from core.errors import LibraryBusy, LibraryError
from core.graph import GraphResult
from core.ports import OnEvent
from core.types import Answer, Event, Filter, PageView, SearchResult, Turn
from mcp_tools.border import rebuilt

MAX_EVENT_BYTES = 64 * 1024 * 1024  # a page's picture travels in one event
SILENCE_S = 300.0  # the server pings well within this while a call runs
CONNECT_S = 10.0

M = TypeVar("M", bound=BaseModel)
_log = logging.getLogger(__name__)
_BROKEN = (MCPError, RuntimeError, OSError, TimeoutError, httpx2.HTTPError)
_BROKEN_STREAM = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _http_transport(url: str, token: str) -> StreamableHttpTransport:
    def http_client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        **options: Any,
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers=headers,
            timeout=timeout or httpx2.Timeout(CONNECT_S, read=SILENCE_S),
            auth=auth,
            trust_env=not _is_loopback(url),  # HTTP_PROXY must not swallow a call to this machine
            **options,
        )

    return StreamableHttpTransport(
        url, auth=token or None, httpx_client_factory=http_client, max_sse_event_size=MAX_EVENT_BYTES
    )


class _Pump:
    """Hands events to `on_event` one by one in their order: the MCP session starts each handler as a task."""

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def handler(self, progress: float, total: float | None, message: str | None) -> None:
        try:
            self._queue.put_nowait(Event.model_validate_json(message or ""))
        except ValidationError:
            _log.debug("progress that is no event: %s", message)

    async def run(self) -> None:
        while (event := await self._queue.get()) is not None:
            await self._on_event(event)

    def end(self) -> None:
        self._queue.put_nowait(None)


@contextlib.asynccontextmanager
async def _events(on_event: OnEvent | None) -> AsyncIterator[ProgressHandler | None]:
    """A progress handler for one call. Leaving it waits until every event was handed over."""
    if on_event is None:
        yield None
        return
    pump = _Pump(on_event)
    task = asyncio.create_task(pump.run())
    try:
        yield pump.handler
        pump.end()
        await task
    finally:
        task.cancel()


def sent(filters: Filter | None) -> dict[str, Any]:
    """The argument `filters` of a call, where there are any."""
    return {"filters": filters.model_dump(mode="json", exclude_defaults=True)} if filters else {}


def picture(result: mcp_types.CallToolResult) -> bytes:
    """The result's first image; b'' where it has none."""
    pictures = [block for block in result.content if isinstance(block, mcp_types.ImageContent)]
    return base64.b64decode(pictures[0].data) if pictures else b""


class ToolClient:
    """`async with ToolClient(server_or_url) as tools: await tools.ask(...)`.

    Raises the QuaereError the tool raised. What breaks on the way there is LibraryBusy (retryable).
    """

    def __init__(self, target: FastMCP[Any] | str, *, token: str = "") -> None:
        self._where = target if isinstance(target, str) else "the server in this process"
        transport: ClientTransport
        transport = _http_transport(target, token) if isinstance(target, str) else FastMCPTransport(target)
        self._client = Client(transport, init_timeout=CONNECT_S)

    async def __aenter__(self) -> Self:
        with self._transport_errors():
            await self._client.__aenter__()  # type: ignore[no-untyped-call]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Never raises for a connection that is broken already."""
        try:
            await self._client.close()  # type: ignore[no-untyped-call]
        except (*_BROKEN, *_BROKEN_STREAM) as error:
            _log.debug("closing a broken connection to %s: %s", self._where, error)

    @contextlib.contextmanager
    def _transport_errors(self) -> Iterator[None]:
        try:
            yield
        except MCPError as error:
            if error.error.code == mcp_types.INVALID_PARAMS:
                raise LibraryError(f"{self._where} refused the call: {error.error.message}") from error
            raise self._broken(error) from error
        except (*_BROKEN, *_BROKEN_STREAM) as error:
            raise self._broken(error) from error

    def _broken(self, error: BaseException) -> LibraryBusy:
        return LibraryBusy(f"{self._where} does not answer: {error}", hint="see whether it still runs, and try again")

    async def call(
        self, name: str, arguments: dict[str, Any], on_event: OnEvent | None = None
    ) -> mcp_types.CallToolResult:
        """The raw result of a tool, with its errors raised."""
        async with _events(on_event) as handler:
            with self._transport_errors():
                result = await self._client.call_tool_mcp(name, arguments, progress_handler=handler)
        if result.is_error:
            raise rebuilt(result)
        return result

    async def get(self, name: str, arguments: dict[str, Any], model: type[M], on_event: OnEvent | None = None) -> M:
        """A tool's structured result as a model."""
        return self.parse(await self.call(name, arguments, on_event), model)

    def parse(self, result: mcp_types.CallToolResult, model: type[M]) -> M:
        try:
            return model.model_validate(result.structured_content)
        except ValidationError as error:
            raise LibraryError(
                f"{self._where} answered in a form that this version does not know",
                hint="let both run the same version of quaere",
            ) from error

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
        turns = [turn.model_dump() for turn in history]
        arguments = {"question": question, "documents": list(documents), "history": turns, "policy": policy}
        arguments |= sent(filters)
        return await self.get("ask", arguments, Answer, on_event)

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
        arguments = {"query": query, "top_k": top_k, "channels": list(channels), "documents": list(documents)}
        arguments |= sent(filters) | ({"explain": True} if explain else {})
        return await self.get("search_passages", arguments, SearchResult)

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
    ) -> GraphResult:
        arguments = {"question": question, "entity": entity, "cypher": cypher, "hops": hops, "limit": limit}
        arguments |= {"documents": list(documents)} | sent(filters)
        return await self.get("query_graph", arguments, GraphResult)

    async def read_page(
        self, document: str, page: int, *, highlight: str = "", image: bool = True
    ) -> tuple[PageView, bytes]:
        arguments = {"document": document, "page": page, "highlight": highlight, "image": image}
        result = await self.call("read_page", arguments)
        return self.parse(result, PageView), picture(result)
