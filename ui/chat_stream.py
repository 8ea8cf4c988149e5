"""Keeps apart the end of one of Gradio's streams and the events that come after it.

Gradio's page opens a stream of results where it has none open, and the server ends it after the last result. The
answer to an event that is sent just then can be read before that end is: the page takes the stream for open, and the
results of the event never come. So an event waits until the end that was sent last must have been read.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send

READ_S = 0.15  # by then what was sent is read


class SpacedStreams:
    """ASGI middleware. Costs an event at most READ_S, and only one that comes right after another has ended."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._ended = -READ_S  # time.monotonic() of the last end, whichever page's

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path.endswith("/queue/data"):
            send = partial(self._watched, send)
        elif path.endswith("/queue/join"):
            await self._apart()
            send = partial(self._delayed, send)
        await self._app(scope, receive, send)

    async def _watched(self, send: Send, message: Message) -> None:
        if b'"close_stream"' in message.get("body", b""):
            self._ended = time.monotonic()
        await send(message)

    async def _delayed(self, send: Send, message: Message) -> None:
        """A stream may have ended while the event was being taken."""
        await self._apart()
        await send(message)

    async def _apart(self) -> None:
        await asyncio.sleep(max(0.0, self._ended + READ_S - time.monotonic()))
