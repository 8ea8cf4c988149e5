"""The end of a stream of results and the events after it."""

from __future__ import annotations

import time

from starlette.types import Message, Receive, Scope, Send

from ui.chat_stream import READ_S, SpacedStreams


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _ignored(_: Message) -> None:
    return None


class Streams:
    """Ends a stream, and takes events."""

    def __init__(self) -> None:
        self.spaced = SpacedStreams(self)
        self.ends_while_it_takes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.ends_while_it_takes:
            self.ends_while_it_takes = False
            await self.seconds("data")
        last = scope["path"].endswith("/data")
        await send({"type": "http.response.body", "body": b'data: {"msg":"close_stream"}' if last else b"{}"})

    async def seconds(self, path: str) -> float:
        start = time.monotonic()
        await self.spaced({"type": "http", "path": f"/gradio_api/queue/{path}"}, _nothing, _ignored)
        return time.monotonic() - start


async def test_an_event_right_after_an_end_waits_until_that_is_read() -> None:
    streams = Streams()
    assert await streams.seconds("join") < READ_S / 2
    assert await streams.seconds("data") < READ_S / 2
    assert await streams.seconds("join") > READ_S * 0.8
    assert await streams.seconds("join") < READ_S / 2  # that end is long past


async def test_an_end_while_an_event_is_taken_is_read_before_its_answer() -> None:
    streams = Streams()
    streams.ends_while_it_takes = True
    assert await streams.seconds("join") > READ_S * 0.8
