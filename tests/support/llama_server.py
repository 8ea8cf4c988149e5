"""llama.cpp's own server in a child process: a real OpenAI-compatible endpoint, from the wheel `xllamacpp`."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from tests.support import tiny_gguf
from tests.support.postgres import missing

_START_S = 30
_numbers = count(1)

# It ends with the test process, however that dies: its standard input does, and Linux kills it even when it is frozen.
_PROGRAM = """
import ctypes
import signal
import sys
import xllamacpp

if sys.platform == "linux":
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
path, name, context, slots = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path, params.model_alias = path, {name}
params.n_ctx, params.n_parallel, params.kv_unified = int(context) * int(slots), int(slots), False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.n_gpu_layers = 0
params.warmup = False
params.hostnames, params.port = ["127.0.0.1"], 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class LlamaServer:
    process: subprocess.Popen[str]
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def working(self) -> int:
        """How many slots are writing a reply now."""
        return sum(slot["is_processing"] for slot in self._get("/slots"))

    async def until(self, working: int, *, within_s: float, every_s: float = 0.01) -> None:
        """Returns as soon as so many slots are writing. Raises TimeoutError.

        llama.cpp looks whether the client of a reply that is not streamed is still there only after a second in
        which it sent nothing to anyone: whoever waits for that asks less often.
        """
        async with asyncio.timeout(within_s):
            await asyncio.sleep(every_s)
            while await asyncio.to_thread(self.working) != working:
                await asyncio.sleep(every_s)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        """It keeps its connections, and does nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def ready(self) -> bool:
        try:
            return bool(self._get("/health")["status"] == "ok")
        except (OSError, HTTPException, KeyError):
            return False

    def _get(self, path: str) -> Any:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


def model_file(folder: Path) -> Path:
    """The tests' model. Skips where a package is missing; fails instead when QUAERE_REQUIRE_ALL=1."""
    for package in ("xllamacpp", "gguf"):
        if find_spec(package) is None:
            missing(f"the package {package} is not installed")
    path = folder / "model.gguf"
    tiny_gguf.write(path)
    return path


@contextmanager
def running_llama(model: Path, folder: Path, *, context: int, slots: int) -> Iterator[LlamaServer]:
    """A server that is ready, on a port of its own; each of its slots has a window of `context` tokens."""
    log = folder / f"llama-{next(_numbers)}.log"
    command = [sys.executable, "-c", _PROGRAM, str(model), tiny_gguf.NAME, str(context), str(slots)]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder
        )
    try:
        yield _ready(process, log)
    finally:
        process.kill()
        process.communicate()


def _ready(process: subprocess.Popen[str], log: Path) -> LlamaServer:
    assert process.stdout is not None
    told = next((line for line in process.stdout if line.startswith("http://")), None)
    if told is not None:
        server = LlamaServer(process, int(told.rstrip().rstrip("/").rpartition(":")[2]), log)
        end = time.monotonic() + _START_S
        while process.poll() is None and time.monotonic() < end:
            if server.ready():
                return server
            time.sleep(0.02)
    raise RuntimeError(f"llama.cpp's server did not start: {log.read_text(errors='replace')[-2000:]}")
