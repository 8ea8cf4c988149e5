"""The public tools on stdin and stdout, where nothing but JSON-RPC may reach stdout.

Libraries print: with `print`, and native code straight to descriptor 1. Both go to stderr from the moment
`claim_stdout` was called until the process ends; the protocol alone writes to a private copy of the descriptor.
"""

from __future__ import annotations

import fcntl
import os
import sys
from io import TextIOWrapper

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


async def run_stdio(service: Service, *, wire: int | None = None) -> None:
    """Serves until stdin closes. `wire` is what `claim_stdout` gave, for callers that claimed it earlier.

    `initialize` is answered without the library: give a `Library(..., lazy=True)` and only a call waits for it.
    """
    out = os.fdopen(claim_stdout() if wire is None else wire, "wb")
    text = anyio.wrap_file(TextIOWrapper(out, encoding="utf-8", newline="\n"))
    server = make_server(service)
    token = set_transport("stdio")
    try:
        # fastmcp's run_stdio_async, but for the writer, which that one has no parameter for.
        async with server._lifespan_manager(), stdio_server(stdout=text) as (incoming, outgoing):
            await server._mcp_server.run(incoming, outgoing, server._mcp_server.create_initialization_options())
    finally:
        reset_transport(token)
