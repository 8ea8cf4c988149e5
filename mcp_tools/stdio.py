"""The public tools on stdin and stdout, where nothing but JSON-RPC may reach stdout.

Libraries print: with `print`, and native code straight to descriptor 1. Both go to stderr from the moment
`claim_stdout` was called until the process ends; the protocol alone writes to a private copy of the descriptor.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
import threading
from collections.abc import AsyncIterator
from io import TextIOWrapper
from typing import cast

import anyio
from fastmcp.server.context import reset_transport, set_transport
from mcp.server.stdio import stdio_server

from core.ports import Service
from mcp_tools.server import make_server


def claim_stdout() -> int:
    """A private descriptor of the real stdout; descriptor 1 and `sys.stdout` become stderr, for good."""
    wire = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    os.dup2(2, 1)
    sys.stdout.flush()  # what was printed before and not yet written goes to stderr too
    sys.stdout = sys.stderr
    return wire


async def _stdin_lines() -> AsyncIterator[str]:
    """Lines of stdin until it closes. A daemon thread reads, so that Ctrl-C need not wait for it; children get
    an empty stdin."""
    source = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[bytes]()

    def read() -> None:
        rest = b""
        while data := os.read(source, 65536):
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                loop.call_soon_threadsafe(lines.put_nowait, line + b"\n")
        loop.call_soon_threadsafe(lines.put_nowait, b"")

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while line := await lines.get():
        yield line.decode("utf-8", "replace")


async def run_stdio(service: Service, *, wire: int | None = None) -> None:
    """Serves until stdin closes. `wire` is what `claim_stdout` gave, for callers that claimed it earlier.

    `initialize` is answered without the library: give a `Library(..., lazy=True)` and only a call waits for it.
    """
    out = os.fdopen(claim_stdout() if wire is None else wire, "wb")
    text = anyio.wrap_file(TextIOWrapper(out, encoding="utf-8", newline="\n"))
    stdin = cast(anyio.AsyncFile[str], _stdin_lines())  # only iterated
    server = make_server(service)
    token = set_transport("stdio")
    try:
        # fastmcp's run_stdio_async, but for the streams, which that one has no parameters for.
        async with server._lifespan_manager(), stdio_server(stdin, text) as (incoming, outgoing):
            await server._mcp_server.run(incoming, outgoing, server._mcp_server.create_initialization_options())
    finally:
        reset_transport(token)
