"""The private door: how other processes of this user reach the library that this process owns."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import uvicorn
from fastmcp.server.auth import AccessToken, TokenVerifier
from pydantic import ValidationError

from core.ports import Service
from core.types import Frozen
from mcp_tools.server import installed_version, make_server

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


class _OneToken(TokenVerifier):
    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        if not secrets.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id="guest", scopes=[])


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # Ctrl-C belongs to the process, not to its door


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
        app = make_server(self._service, private=True, auth=_OneToken(token)).http_app(
            path="/mcp", host_origin_protection=True
        )
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
        self._owner = Owner(pid=os.getpid(), url=url, token=token, version=installed_version())
        write_owner(self._folder, self._owner)
        return self

    async def __aexit__(self, *_: object) -> None:
        if read_owner(self._folder) == self._owner:
            owner_path(self._folder).unlink(missing_ok=True)
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task
