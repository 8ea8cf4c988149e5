"""One process: the chat page at '/', the graph's pages at '/graph', REST under /v1, /docs, /health, and MCP at /mcp."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from fastapi import FastAPI
from fastmcp.utilities.lifespan import combine_lifespans
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from core.errors import InvalidInput
from core.ports import Service
from core.settings import ServeSettings
from mcp_tools.client import ToolClient
from mcp_tools.server import make_server
from ui.chat import make_chat, mount_chat
from ui.guard import is_loopback, is_wildcard
from ui.pages import mount_pages
from ui.rest import make_rest

STOP_S = 5  # what running requests get to finish


class _At:
    """Hands a request to `app` under the path that it knows: /mcp/ is /mcp, with no redirect (a POST would lose it)."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "path": self._path, "raw_path": self._path.encode()}, receive, send)


def make_app(service: Service, settings: ServeSettings) -> FastAPI:
    server = make_server(service)
    tools = ToolClient(server)
    hosts = ["*"] if is_wildcard(settings.host) else [settings.host]  # ui.guard has looked at it before
    mcp = server.http_app("/mcp", stateless_http=True, host_origin_protection=True, allowed_hosts=hosts)

    @asynccontextmanager
    async def tools_open(_: FastAPI) -> AsyncIterator[None]:
        async with tools:
            yield

    app = make_rest(service, tools, settings, lifespan=combine_lifespans(mcp.lifespan, tools_open))
    app.router.routes += [Route(path, endpoint=_At(mcp, "/mcp")) for path in ("/mcp", "/mcp/")]
    mount_pages(app)
    mount_chat(app, make_chat(service, tools), settings)
    return app


def _listen(settings: ServeSettings) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(settings.host or None, settings.port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InvalidInput(
                f"port {settings.port} of {settings.host} is in use",
                hint="choose another with --port, or stop what listens there",
            ) from error
        raise InvalidInput(f"can't listen on {settings.host}:{settings.port}: {error}", hint="see --host") from error


def _announce(settings: ServeSettings, port: int) -> None:
    shown = "127.0.0.1" if is_wildcard(settings.host) else settings.host
    url = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"
    if not is_loopback(shown) or is_wildcard(settings.host):
        print(
            f"warning: listening on {settings.host} without authentication: whoever reaches this machine can read, "
            "add and remove documents",
            file=sys.stderr,
        )
    print(f"Quaere at {url}  (REST: {url}/docs  MCP: {url}/mcp)", file=sys.stderr, flush=True)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn raises a signal again once it has stopped; that would cut short the closing of the library."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


async def serve(service: Service, settings: ServeSettings) -> None:
    """Runs until it is interrupted. Raises InvalidInput where the port can't be had."""
    listener = _listen(settings)
    with listener:
        app = make_app(service, settings)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=STOP_S, ws="none")
        _announce(settings, listener.getsockname()[1])
        await _Server(config).serve(sockets=[listener])
