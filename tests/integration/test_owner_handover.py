"""Real processes: one owns, one is its guest, and the owner is killed; and the server on stdio, read byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from mcp_tools.library import Library
from tests.support.fake_service import QUOTE, FakeService

ROOT = Path(__file__).parents[2]
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}  # so that text waits in the buffer of stdout
pytestmark = pytest.mark.integration

HOLD = """
import asyncio, sys
from pathlib import Path
from mcp_tools.library import Library
from tests.support.fake_service import FakeService

async def open_app():
    return FakeService()

async def main():
    async with Library(Path(sys.argv[1]), open_app) as library:
        print("owns" if library.owns else "guest", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        print((await library.ask("pid")).text, library.owns, flush=True)

asyncio.run(main())
"""

NOISY = """
import asyncio, ctypes, os, sys
from pathlib import Path
from mcp_tools.library import Library
from mcp_tools.stdio import run_stdio
from tests.support.fake_service import FakeService

def noise(where):
    print("printed in", where)
    os.write(1, f"written in {where}\\n".encode())
    ctypes.CDLL(None).puts(f"native in {where}".encode())
    ctypes.CDLL(None).fflush(None)

class Noisy(FakeService):
    async def ask(self, question, **options):
        noise("ask")
        return await super().ask(question, **options)

async def open_app():
    noise("open")
    while not Path(sys.argv[2]).exists():
        await asyncio.sleep(0.02)
    return Noisy()

async def main():
    print("before", end="")
    async with Library(Path(sys.argv[1]), open_app, lazy=True) as library:
        await run_stdio(library)
    noise("end")

asyncio.run(main())
"""


@contextlib.contextmanager
def process(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENV,
        cwd=ROOT,
    )
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()


def line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


async def open_app() -> FakeService:
    return FakeService()


async def test_a_guest_takes_over_when_the_owner_is_killed(tmp_path: Path) -> None:
    with process(HOLD, str(tmp_path)) as owner:
        assert await asyncio.to_thread(line, owner) == "owns"
        async with Library(tmp_path, open_app) as guest:
            assert not guest.owns
            assert (await guest.ask("pid")).text == str(owner.pid)
            running = asyncio.create_task(guest.ask("sleep 1"))
            await asyncio.sleep(0.3)
            os.kill(owner.pid, signal.SIGKILL)
            started = time.monotonic()
            assert (await guest.ask("pid")).text == str(os.getpid())
            assert time.monotonic() - started < 5
            assert guest.owns
            assert QUOTE in (await running).text


async def test_of_two_guest_processes_one_becomes_owner_and_serves_the_other(tmp_path: Path) -> None:
    with process(HOLD, str(tmp_path)) as owner:
        assert await asyncio.to_thread(line, owner) == "owns"
        with process(HOLD, str(tmp_path)) as second, process(HOLD, str(tmp_path)) as third:
            assert [await asyncio.to_thread(line, child) for child in (second, third)] == ["guest", "guest"]
            os.kill(owner.pid, signal.SIGKILL)
            assert second.stdin is not None and third.stdin is not None
            second.stdin.close()  # both ask now
            third.stdin.close()
            said = [(await asyncio.to_thread(line, child)).split() for child in (second, third)]
    assert "True" in [owns for _, owns in said]
    for child, (pid, owns) in zip((second, third), said, strict=True):
        assert owns == "False" or pid == str(child.pid)
        assert pid != str(owner.pid)


def message(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


INITIALIZE = message(
    1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
)
INITIALIZED = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n"


def talk(child: subprocess.Popen[str], gate: Path) -> tuple[list[str], str]:
    """initialize while the library is still closed, then open it and ask, then close stdin."""
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(INITIALIZE)
    child.stdin.flush()
    lines = [child.stdout.readline()]
    gate.touch()
    child.stdin.write(INITIALIZED + message(2, "tools/call", name="ask", arguments={"question": "When?"}))
    child.stdin.flush()
    lines.append(child.stdout.readline())
    out, err = child.communicate(timeout=20)
    return [*lines, *out.splitlines()], err


async def test_stdout_holds_nothing_but_json_rpc(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with process(NOISY, str(tmp_path / "lib"), str(gate)) as child:
        lines, err = await asyncio.to_thread(talk, child, gate)
    replies = [json.loads(text) for text in lines]
    assert [reply["jsonrpc"] for reply in replies] == ["2.0"] * len(replies)
    assert [reply["id"] for reply in replies] == [1, 2]
    assert replies[1]["result"]["structuredContent"]["citations"][0]["quote"] == QUOTE
    assert "before" in err
    for kind in ("printed", "written", "native"):
        for where in ("open", "ask", "end"):
            assert f"{kind} in {where}" in err
    assert child.returncode == 0, err


async def test_stdin_may_close_while_the_library_opens(tmp_path: Path) -> None:
    with process(NOISY, str(tmp_path / "lib"), str(tmp_path / "never")) as child:
        out, err = await asyncio.to_thread(child.communicate, INITIALIZE, 20)
    assert child.returncode == 0, err
    assert [json.loads(text)["id"] for text in out.splitlines()] == [1]


async def test_ctrl_c_ends_it_while_stdin_is_open(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    with process(NOISY, str(tmp_path / "lib"), str(gate)) as child:
        assert child.stdin is not None
        child.stdin.write(INITIALIZE)
        child.stdin.flush()
        assert json.loads(await asyncio.to_thread(line, child))["id"] == 1
        child.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(child.wait, 10) == -signal.SIGINT
    assert not (tmp_path / "lib" / "owner.json").exists()


@contextlib.asynccontextmanager
async def official_client(*arguments: str) -> AsyncIterator[ClientSession]:
    server = StdioServerParameters(command=sys.executable, args=["-c", NOISY, *arguments], env=ENV, cwd=str(ROOT))
    async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        yield session


async def test_the_official_client_gets_an_answer(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    async with asyncio.timeout(60), official_client(str(tmp_path / "lib"), str(gate)) as session:
        assert (await session.initialize()).server_info.name == "quaere"
        assert len((await session.list_tools()).tools) == 4
        result = await session.call_tool("ask", {"question": "When?"})
    assert not result.is_error and result.structured_content is not None
    assert result.structured_content["text"] == f"{QUOTE} [1]"
