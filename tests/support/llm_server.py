"""A scripted server that speaks the OpenAI wire format on loopback: each request takes the next reply."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Scripted:
    """One reply. `chunks` are sent as server-sent events, and the connection is cut after them where `cut`."""

    body: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    chunks: Sequence[str] | None = None
    cut: bool = False


@dataclass
class Script:
    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    replies: list[Scripted] = field(default_factory=list)

    def enqueue(self, *replies: Scripted) -> None:
        self.replies += replies


def completion(content: str | None, finish: str = "stop", **message: Any) -> Scripted:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return Scripted(json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m",
                                "choices": [choice], "usage": usage}))  # fmt: skip


def stream(*pieces: str, finish: str | None = "stop", cut: bool = False, usage: bool = True) -> Scripted:
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [head | {"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    if finish:
        events.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        tokens = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        events.append(head | {"choices": [], "usage": tokens})
    return Scripted(chunks=[*(json.dumps(event) for event in events), *([] if cut else ["[DONE]"])], cut=cut)


@contextmanager
def llm_server() -> Iterator[Script]:
    script = Script("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            script.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            reply = script.replies.pop(0)
            if reply.chunks is None:
                self._whole(reply)
            else:
                self._events(reply)

        def _whole(self, reply: Scripted) -> None:
            body = reply.body.encode()
            self.send_response(reply.status)
            for name, value in {"content-type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _events(self, reply: Scripted) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for event in reply.chunks or ():
                data = f"data: {event}\n\n".encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            if not reply.cut:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
