"""Files that a browser or a script sends: bounded, and kept under names of our own."""

from __future__ import annotations

import re
import shutil
import tempfile
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

import anyio.to_thread
from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from core.errors import InvalidInput
from core.formats import SUFFIXES

MAX_NAME = 200
MAX_FILES = 100
_BIDI = dict.fromkeys(map(ord, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))


class UploadTooLarge(InvalidInput):
    code, status = "upload_too_large", 413


def display_name(sent: str | None) -> str:
    """What is shown for a file whose sender called it `sent`: no folders, no control characters, at most 200 long."""
    name = re.split(r"[\\/]", sent or "")[-1].translate(_BIDI)
    name = "".join(char for char in name if unicodedata.category(char) not in ("Cc", "Cs")).strip()
    if len(name) > MAX_NAME:
        stem, dot, suffix = name.rpartition(".")
        kept = dot + suffix if stem and len(suffix) <= 10 else ""
        name = name[: MAX_NAME - len(kept)] + kept
    return name if name.strip(". ") else "document.pdf"


def _ending(sent: str | None) -> str:
    """What the file's name ends in, where that is a kind that is read: it helps to tell what the file is."""
    suffix = Path(display_name(sent)).suffix.lower()
    return suffix if suffix in SUFFIXES else ""


def _too_large(max_mb: int) -> UploadTooLarge:
    return UploadTooLarge(f"the upload is larger than {max_mb} MB", hint="see QUAERE_SERVE__MAX_UPLOAD_MB")


async def _bounded(request: Request, max_mb: int) -> AsyncGenerator[bytes]:
    limit = max_mb * 1024 * 1024 + 64 * 1024  # the form's own lines
    if int(request.headers.get("content-length") or 0) > limit:
        raise _too_large(max_mb)
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received > limit:
            raise _too_large(max_mb)
        yield chunk


async def _files(request: Request, max_mb: int) -> list[UploadFile]:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InvalidInput("send the files as multipart/form-data", hint="curl -F files=@paper.pdf …")
    parser = MultiPartParser(request.headers, _bounded(request, max_mb), max_files=MAX_FILES, max_fields=MAX_FILES)
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError) as error:  # KeyError: no boundary
        raise InvalidInput(f"the form can't be read: {error}") from error
    return [value for _, value in form.multi_items() if isinstance(value, UploadFile)]


def _copy(source: BinaryIO, target: Path) -> None:
    with target.open("xb") as file:
        shutil.copyfileobj(source, file, 1024 * 1024)


@asynccontextmanager
async def received(request: Request, max_mb: int) -> AsyncIterator[list[tuple[Path, str]]]:
    """(path, display name) of each file of a form; the files are gone when this is left."""
    files = await _files(request, max_mb)
    if not files:
        raise InvalidInput("no file in the form", hint="curl -F files=@paper.pdf …")
    with tempfile.TemporaryDirectory(prefix="quaere-upload-") as folder:
        kept = [(Path(folder) / f"{number}{_ending(file.filename)}", file) for number, file in enumerate(files, 1)]
        for path, file in kept:
            await anyio.to_thread.run_sync(_copy, file.file, path)
            await file.close()
        yield [(path, display_name(file.filename)) for path, file in kept]
