"""Parsing in a child process: a file that crashes the reader, eats memory or never ends takes nothing else with it.

The child writes lines of JSON to its standard output: progress, then an error, or the document with its boxes
(float32) and its figures' pictures behind it. No pickle: what a broken child says is data. It ends with its parent,
however that ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from core.errors import CorruptDocument, InvalidInput, QuaereError, rebuild
from core.types import Block, Figure, Gap, Page, Table
from ingest.pdf import OnPage, ParsedDocument, parse_pdf
from ingest.run import Stopped

if TYPE_CHECKING:  # the child starts without them
    from core.settings import IngestSettings
    from core.types import DocumentFormat

COMMAND = ("-m", "ingest.sandbox")
_PR_SET_PDEATHSIG = 1
_PIECE = 1 << 16
_POLL_S = 0.1  # how long a wish to stop may go unnoticed
_MAX_LINE = 1 << 30  # bytes of a document's text as JSON


def parse_in_child(
    path: Path,
    kind: DocumentFormat,
    limits: IngestSettings,
    password: str | None = None,
    on_page: OnPage | None = None,
    need_text: bool = True,
    stopped: Callable[[], bool] = lambda: False,
) -> ParsedDocument:
    """The file read as that format within `limits.max_seconds` and `limits.max_memory_mb`. The start costs 0.4 s.

    Raises what the format's reader raises; InvalidInput past a limit, CorruptDocument where the file kills it, and
    Stopped, the child being killed, soon after `stopped()` is true.
    """
    child = _start()
    try:
        request = {"path": str(path.absolute()), "kind": kind, "password": password, "need_text": need_text}
        _send(child, request | limits.model_dump())
        return _received(_Pipe(child, time.monotonic() + limits.max_seconds, stopped), on_page)
    except _TooLong:
        raise InvalidInput(
            f"{path.name} could not be read within {limits.max_seconds:g} s",
            hint="raise QUAERE_INGEST__MAX_SECONDS, or print it to a new PDF and add that",
        ) from None
    except _Ended:
        raise _death(path.name, child.wait(), limits) from None
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                _close(pipe)


class _TooLong(Exception):
    pass


class _Ended(Exception):
    """The child ended before it said what became of the document."""


def _start() -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        "OPENBLAS_NUM_THREADS": "1",  # each of its threads would take address space
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, *COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C is the parent's, which then kills the child
    )


def _send(child: subprocess.Popen[bytes], request: dict[str, Any]) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()  # and it stays open: its end tells the child that the parent is gone
    except BrokenPipeError:
        raise _Ended from None


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return


class _Pipe:
    """What the child says, read until a time."""

    def __init__(self, child: subprocess.Popen[bytes], deadline: float, stopped: Callable[[], bool]) -> None:
        assert child.stdout is not None
        self._descriptor = child.stdout.fileno()
        self._deadline = deadline
        self._stopped = stopped
        self._kept = bytearray()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._descriptor, selectors.EVENT_READ)

    def close(self) -> None:
        self._selector.close()

    def lines(self) -> Iterator[dict[str, Any]]:
        searched = 0
        while True:
            end = self._kept.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._kept[:end])
                del self._kept[: end + 1]
                searched = 0
                yield _object(line)
            elif len(self._kept) > _MAX_LINE:
                raise _Ended
            else:
                searched = len(self._kept)
                self._more()

    def taken(self, count: int) -> bytes:
        """The next so many bytes."""
        while len(self._kept) < count:
            self._more()
        taken = bytes(self._kept[:count])
        del self._kept[:count]
        return taken

    def _more(self) -> None:
        ready: object = None
        while not ready:
            left = self._deadline - time.monotonic()
            if self._stopped():
                raise Stopped
            if left <= 0:
                raise _TooLong
            ready = self._selector.select(min(_POLL_S, left))
        piece = os.read(self._descriptor, _PIECE)
        if not piece:
            raise _Ended
        self._kept += piece


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        raise _Ended from None
    if not isinstance(value, dict):
        raise _Ended
    return value


def _received(pipe: _Pipe, on_page: OnPage | None) -> ParsedDocument:
    try:
        for message in pipe.lines():
            if "page" in message:
                if on_page is not None:
                    on_page(*message["page"])
            elif "error" in message:
                raise rebuild(**message["error"])
            else:
                return _document(message, pipe)
    finally:
        pipe.close()
    raise _Ended


def _document(message: dict[str, Any], pipe: _Pipe) -> ParsedDocument:
    counts = [page.pop("boxes") for page in message["pages"]]
    boxes = np.frombuffer(pipe.taken(16 * sum(counts)), dtype=np.float32).reshape(-1, 4)
    parts = np.split(boxes, np.cumsum(counts)[:-1]) if counts else []
    figures = [Figure(**{**figure, "png": pipe.taken(figure["png"])}) for figure in message["figures"]]
    return ParsedDocument(
        title=message["title"],
        pages=tuple(Page(**page, boxes=own) for page, own in zip(message["pages"], parts, strict=True)),
        blocks=tuple(Block(**block) for block in message["blocks"]),
        gaps=tuple(Gap(**gap) for gap in message["gaps"]),
        tables=tuple(Table(**table) for table in message["tables"]),
        figures=tuple(figures),
    )


def _death(name: str, code: int, limits: IngestSettings) -> QuaereError:
    if -code == signal.SIGXCPU:
        return InvalidInput(
            f"{name} could not be read within {limits.max_seconds:g} s of computing",
            hint="raise QUAERE_INGEST__MAX_SECONDS, or print it to a new PDF and add that",
        )
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return CorruptDocument(
        f"{name} made its reader stop ({how}): it is damaged, or needs more than {limits.max_memory_mb} MB",
        hint="print it to a new PDF and add that; or raise QUAERE_INGEST__MAX_MEMORY_MB",
    )


def _child() -> None:
    """The child's whole life: one request on standard input, one document on standard output."""
    _end_with_parent()
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_watch_parent, daemon=True).start()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no message
    _set_limits(request["max_seconds"], request["max_memory_mb"])
    path = Path(request["path"])
    try:
        parsed = _parsed(path, request, lambda *page: _tell(out, {"page": page}))
        _tell(out, _message(parsed))
        for page in parsed.pages:
            out.write(np.ascontiguousarray(page.boxes, dtype=np.float32).tobytes())
        for figure in parsed.figures:
            out.write(figure.png)
    except QuaereError as error:
        _tell(out, {"error": {"code": error.code, "message": error.message, "hint": error.hint}})
    except MemoryError:
        message = f"{path.name} needs more than {request['max_memory_mb']} MB to be read"
        hint = "raise QUAERE_INGEST__MAX_MEMORY_MB, or split it and add the parts"
        _tell(out, {"error": {"code": InvalidInput.code, "message": message, "hint": hint}})
    out.flush()
    os._exit(0)  # nothing is worth tidying up, and a damaged heap might not let us


def _parsed(path: Path, request: dict[str, Any], on_page: OnPage) -> ParsedDocument:
    if request["kind"] == "pdf":
        return parse_pdf(path, request["max_pages"], request["password"], on_page, request["need_text"])
    from ingest.formats.reader import READERS  # not loaded for a PDF: the child has to start at once

    return READERS[request["kind"]](path, request["max_pages"])


def _message(parsed: ParsedDocument) -> dict[str, Any]:
    return {
        "title": parsed.title,
        "pages": [page.model_dump(exclude={"boxes"}) | {"boxes": len(page.boxes)} for page in parsed.pages],
        "blocks": [block.model_dump() for block in parsed.blocks],
        "gaps": [gap.model_dump() for gap in parsed.gaps],
        "tables": [table.model_dump() for table in parsed.tables],
        "figures": [figure.model_dump(exclude={"png"}) | {"png": len(figure.png)} for figure in parsed.figures],
    }


def _tell(out: IO[bytes], message: dict[str, Any]) -> None:
    out.write(json.dumps(message).encode() + b"\n")
    out.flush()


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch_parent() -> None:
    """Where the kernel tells nothing, the end of standard input does."""
    while os.read(0, 1):
        pass
    os._exit(1)


def _set_limits(max_seconds: float, max_memory_mb: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seconds = int(max_seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    if sys.platform == "linux":  # elsewhere the limit is not kept, or not known
        memory = max_memory_mb * 1_000_000
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


if __name__ == "__main__":
    _child()
