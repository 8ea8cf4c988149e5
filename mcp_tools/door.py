"""The private door: how other processes of this user reach the library that this process owns."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from pydantic import ValidationError

from core.ports import Service
from core.types import Frozen
from quaere import __version__

if TYPE_CHECKING:
    from starlette.applications import Starlette

STOP_S = 2  # what running calls of guests get to finish


class Owner(Frozen):
    """What `owner.json` says. Whoever can read it (mode 0600) can use the library."""

    pid: int
    url: str
    token: str
    version: str


def owner_path(folder: Path) -> Path:
    return folder / "owner.json"


def read_owner(folder: Path) -> Owner | None:
    """None where there is no such file, or one that a process left half-way or of another form."""
    try:
        return Owner.model_validate_json(owner_path(folder).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def write_owner(folder: Path, owner: Owner) -> None:
    part = folder / f"owner.json.{owner.pid}"
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(owner.model_dump_json())
    part.replace(owner_path(folder))


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # Ctrl-C belongs to the process, not to its door


_Said = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Said]]
_Send = Callable[[_Said], Awaitable[None]]


class _OnFirstKnock:
    """An ASGI application that is made when its first request comes: it takes more than a second, and most commands
    end before another process has asked them anything."""

    def __init__(self, make: Callable[[], Starlette]) -> None:
        self._make = make
        self._knocked = asyncio.Event()
        self._made: asyncio.Future[Starlette] = asyncio.get_running_loop().create_future()

    async def __call__(self, scope: _Said, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        self._knocked.set()
        await (await asyncio.shield(self._made))(scope, receive, send)

    async def _live(self, receive: _Receive, send: _Send) -> None:
        """Start and end of the application lie in one task, as its task groups require."""
        await receive()
        await send({"type": "lifespan.startup.complete"})
        leaving = asyncio.ensure_future(receive())
        knocked = asyncio.ensure_future(self._knocked.wait())
        await asyncio.wait((leaving, knocked), return_when=asyncio.FIRST_COMPLETED)
        knocked.cancel()
        try:
            if not leaving.done():
                app = await asyncio.to_thread(self._make)
                async with app.router.lifespan_context(app):
                    self._made.set_result(app)
                    await leaving
        finally:
            self._made.cancel()  # where it was not made, whoever waits for it must not wait for ever
        await send({"type": "lifespan.shutdown.complete"})


class Door:
    """`async with Door(service, folder)`: serves on an ephemeral port of 127.0.0.1 until it is left."""

    def __init__(self, service: Service, folder: Path) -> None:
        self._service = service
        self._folder = folder
        self._owner: Owner | None = None
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def owner(self) -> Owner:
        assert self._owner is not None, "the door is not open"
        return self._owner

    async def __aenter__(self) -> Door:
        token = secrets.token_urlsafe(32)
        app = _OnFirstKnock(functools.partial(self._application, token))
        # asyncio turns Nagle off (40 ms a call) only where the protocol is named.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="on", ws="none", timeout_graceful_shutdown=STOP_S
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))
        while not self._server.started:
            if self._task.done():
                await self._task
                raise RuntimeError("the private door closed while it opened")
            await asyncio.sleep(0.01)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        self._owner = Owner(pid=os.getpid(), url=url, token=token, version=__version__)
        write_owner(self._folder, self._owner)
        return self

    def _application(self, token: str) -> Starlette:
        from mcp_tools.private_app import private_app

        return private_app(self._service, token)

    async def __aexit__(self, *_: object) -> None:
        if read_owner(self._folder) == self._owner:
            owner_path(self._folder).unlink(missing_ok=True)
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task
