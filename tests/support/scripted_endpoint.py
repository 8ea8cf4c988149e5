"""A language-model endpoint on the loopback that plays a script and keeps what it was asked.

Each chat request takes the next entry of the script, or what a script that is a function gives for it; the last entry
is repeated, so that a client which asks too often is seen by the number of requests, not by a hanging test. GET is
answered from `pages`, by path.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

KEY = "sk-very-secret"
JSON, HTML, SSE = "application/json", "text/html", "text/event-stream"


@dataclass(frozen=True)
class Scripted:
    """One response. `cut`: the connection is closed before the announced end. `delay_s` goes before it, and
    `drip_s` before each event of a stream."""

    body: str
    status: int = 200
    type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    delay_s: float = 0
    drip_s: float = 0


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: dict[str, Any]


def raw(value: object, status: int = 200, **headers: str) -> Scripted:
    return Scripted(json.dumps(value), status, headers=headers)


def refusal(status: int, message: str = "no", **headers: str) -> Scripted:
    """An error as OpenAI words it; header names take `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Scripted(json.dumps({"error": {"message": message, "type": "error"}}), status, headers=named)


def answer(content: str | None, finish: str | None = "stop", **message: object) -> Scripted:
    """A whole reply of 7 prompt and 3 completion tokens."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return raw(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )


def delta(finish: str | None = None, **fields: object) -> dict[str, object]:
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def events(*chunks: object, done: bool = True, cut: bool = False) -> Scripted:
    lines = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks]
    text = "".join(f"data: {line}\n\n" for line in lines) + ("data: [DONE]\n\n" if done else "")
    return Scripted(text, type=SSE, cut=cut)


def streamed(*pieces: str, finish: str | None = "stop", done: bool = True, cut: bool = False) -> Scripted:
    """The pieces as a stream, then the finish reason, then usage in a chunk without choices, as vLLM does."""
    usage = {"choices": [], "model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}
    last: list[object] = [delta(finish), usage] if finish else []
    return events(*[delta(content=piece) for piece in pieces], *last, done=done, cut=cut)


Script = Sequence[Scripted] | Callable[[Request], Scripted]


class LLMServer:
    """`with LLMServer([answer("hi")]) as server:` then `server.url`, `server.requests`, `server.peak`."""

    def __init__(self, script: Script, pages: Mapping[str, object] | None = None) -> None:
        self._script = script
        self.pages = dict(pages or {})
        self.fetched: list[str] = []  # paths of GET
        self.left = threading.Event()  # a client went away before its response was whole
        self._lock = threading.Lock()
        self._running = 0
        self.peak = 0  # most requests at once
        self.requests: list[Request] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> LLMServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def take(self, request: Request) -> Scripted:
        with self._lock:
            self._running += 1
            self.peak = max(self.peak, self._running)
            self.requests.append(request)
            if callable(self._script):
                return self._script(request)
            return self._script[min(len(self.requests), len(self._script)) - 1]

    def ended(self) -> None:
        with self._lock:
            self._running -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", "0"))
                body = json.loads(self.rfile.read(length))
                scripted = server.take(
                    Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                )
                try:
                    time.sleep(scripted.delay_s)
                    self._play(scripted)
                except (BrokenPipeError, ConnectionResetError):
                    server.left.set()
                    self.close_connection = True  # the client went away, as some tests want
                finally:
                    server.ended()

            def do_GET(self) -> None:
                server.fetched.append(self.path)
                known = self.path in server.pages
                payload = json.dumps(server.pages.get(self.path)).encode()
                self.send_response(200 if known else 404)
                self.send_header("content-type", JSON)
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def _play(self, scripted: Scripted) -> None:
                payload = scripted.body.encode()
                self.send_response(scripted.status)
                self.send_header("content-type", scripted.type)
                for name, value in scripted.headers.items():
                    self.send_header(name, value)
                if scripted.type == SSE and not scripted.cut:
                    self.send_header("connection", "close")  # a stream ends where the connection does
                else:
                    self.send_header("content-length", str(len(payload) + (99 if scripted.cut else 0)))
                self.end_headers()
                pieces = payload.split(b"\n\n") if scripted.drip_s else [payload]
                for piece in pieces:
                    time.sleep(scripted.drip_s)
                    self.wfile.write(piece + (b"\n\n" if scripted.drip_s else b""))
                self.close_connection = scripted.cut or scripted.type == SSE

            def log_message(self, format: str, *args: object) -> None:
                """Quiet: a test's output is its own."""

        return Handler


class Kept(dict[str, str]):
    """A ReplyCache in memory."""

    def put(self, key: str, model: str, reply: str, prompt: str = "") -> None:
        self[key] = reply

    def own(self, key: str, document_id: str) -> None:
        pass
