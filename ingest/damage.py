"""Pages whose content can't be read, or not all of it: pdfium shows them blank or cut short, without a word."""

from __future__ import annotations

import mmap
import re
import struct
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

_STREAM = re.compile(rb"stream\r?\n")
_NO_TEXT = re.compile(rb"/Subtype\s*/Image|/Length1|/Type\s*/(?:XRef|Metadata|EmbeddedFile)|/FunctionType")
_TEXT = re.compile(rb"\b(?:Tj|TJ)\b|['\"]\s|\bDo\b")
_MAX_OUT = 64_000_000  # bytes that a stream is unpacked to; what is larger is not looked at
_STEP = 1 << 20
_DEEP = 3  # forms within forms
BLANK = "the page's content can't be read: it is damaged"
PARTLY = "part of the page's content is damaged: text may be missing"


def damaged_pages(path: Path, blank: Collection[int], encrypted: bool, password: str | None) -> dict[int, str]:
    """Page number (from 1) to what is wrong with it. `blank` are the pages on which pdfium found nothing at all.

    Costs one pass of zlib over the file's content; the file's structure is only read when something looks wrong.
    """
    if not blank and (encrypted or not _is_broken(path)):
        return {}
    # A second reader, slow to start: only for files that look damaged.
    from pdfminer.pdfdocument import PDFDocument
    from pdfminer.pdfexceptions import PDFException
    from pdfminer.pdfpage import PDFPage
    from pdfminer.pdfparser import PDFParser
    from pdfminer.psexceptions import PSException

    failures = (
        PSException,
        PDFException,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
        struct.error,
    )
    found: dict[int, str] = {}
    with path.open("rb") as file:
        try:
            for number, page in enumerate(PDFPage.create_pages(PDFDocument(PDFParser(file), password or "")), 1):
                what = _what_is_wrong(page, number in blank)
                if what:
                    found[number] = what
        except failures:
            return found
    return found


def _is_broken(path: Path) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _has_broken_stream(data)


def _has_broken_stream(data: mmap.mmap) -> bool:
    for match in _STREAM.finditer(data):
        if data[max(match.start() - 3, 0) : match.start()] == b"end":
            continue
        head = data[max(data.rfind(b"obj", 0, match.start()), match.start() - 2_000) : match.start()]
        if b"FlateDecode" not in head or b"DecodeParms" in head or _NO_TEXT.search(head):
            continue
        end = data.find(b"endstream", match.end())
        if _unpacked(data[match.end() : end if end >= 0 else len(data)]) is None:
            return True
    return False


def _unpacked(data: bytes) -> bytes | None:
    """The first bytes that come out; None where the stream is damaged before its end."""
    reader, out, rest, size = zlib.decompressobj(), b"", data, 0
    try:
        while not reader.eof and size < _MAX_OUT:
            piece = reader.decompress(rest, _STEP)
            out = out or piece
            size += len(piece)
            if not piece and not reader.unconsumed_tail:
                break
            rest = reader.unconsumed_tail
    except zlib.error:
        return None
    return out if reader.eof or size >= _MAX_OUT else None


def _what_is_wrong(page: Any, blank: bool) -> str:
    contents, broken = b"", 0
    streams = list(_streams(page.contents)) + list(_forms(page.resources, _DEEP))
    for stream in streams:
        content = _content(stream)
        if content is None:
            broken += 1
        else:
            contents += content[:_STEP]
    if blank and (broken or _TEXT.search(contents)):
        return BLANK
    return PARTLY if broken else ""


def _streams(references: Any) -> Iterator[Any]:
    from pdfminer.pdftypes import PDFStream, resolve1

    for reference in references:
        stream = resolve1(reference)
        if isinstance(stream, list):
            yield from _streams(stream)
        else:
            yield stream if isinstance(stream, PDFStream) else None


def _forms(resources: Any, deep: int) -> Iterator[Any]:
    from pdfminer.pdftypes import PDFStream, resolve1

    resources = resolve1(resources)
    objects = resolve1(resources.get("XObject")) if isinstance(resources, dict) else None
    for reference in objects.values() if isinstance(objects, dict) else ():
        stream = resolve1(reference)
        if isinstance(stream, PDFStream) and getattr(stream.get("Subtype"), "name", "") == "Form":
            yield stream
            if deep > 1 and stream.get("Resources"):
                yield from _forms(stream["Resources"], deep - 1)


def _content(stream: Any) -> bytes | None:
    """What the stream holds; None where it is not there or damaged. Of filters but Flate nothing is said."""
    if stream is None:
        return None
    data = stream.rawdata or b""
    if stream.decipher and stream.objid is not None and stream.genno is not None:
        data = stream.decipher(stream.objid, stream.genno, data)
    filters = [getattr(name, "name", "") for name, _ in stream.get_filters()]
    if not filters:
        return bytes(data)
    return _unpacked(data) if filters in (["FlateDecode"], ["Fl"]) else b""
