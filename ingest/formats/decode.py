"""Bytes to text: byte order marks, UTF-8, what the file declares, and else what its bytes look like."""

from __future__ import annotations

import codecs
import re
import unicodedata
from pathlib import Path

from charset_normalizer import from_bytes

from core.errors import CorruptDocument, InvalidInput

MAX_TEXT_MB = 64
_SAMPLE = 256 * 1024  # enough to tell the encoding by; telling it by all of a long file would take seconds
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WESTERN = re.compile(
    r"[\x00-\x7fÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüŒœ€‘’“”‚„–—…•·«»‹›°²³±×§©®£¥¡¿µ½¼¾ªº™\xa0]*"
)
_OTHER_SCRIPTS = re.compile(
    r"cp125[1356]|iso8859_[5-8]$|cp8[56]|koi8|mac_[cg]|ptcp|kz|utf|.*jis|big5|gb|hz|euc|johab|cp9"
)
_CONTROLS = 0.01  # of text, at most so many characters are controls or stand for bytes without a meaning
_DAMAGED = 0.02  # of UTF-8 with a few broken bytes


def read_bytes(path: Path) -> bytes:
    """The file's bytes. Raises CorruptDocument (empty, can't be read), InvalidInput (too large)."""
    try:
        size = path.stat().st_size
        if size > MAX_TEXT_MB * 1_000_000:
            raise InvalidInput(
                f"{path.name} has {size / 1e6:.0f} MB, more than the {MAX_TEXT_MB} MB that a file of text may have",
                hint="split it",
            )
        data = path.read_bytes()
    except OSError as error:
        raise CorruptDocument(
            f"{path.name} can't be read: {error.strerror or error}", hint="check that the file is still there"
        ) from None
    if not data:
        raise CorruptDocument(f"{path.name} is empty (0 bytes)", hint="copy or download it again")
    return data


def read_text(path: Path) -> str:
    """The file's text, its lines ended by '\\n'. Raises CorruptDocument (also for what is no text), InvalidInput."""
    return decoded(read_bytes(path), path.name)


def decoded(data: bytes, name: str, declared: str = "") -> str:
    """`data` as text. `declared` is the encoding that the file itself names. Raises CorruptDocument."""
    text = _decoded(data, declared)
    if not _is_text(text):
        raise CorruptDocument(f"{name} is not text, whatever its name says", hint="give the file that it was made from")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes, declared: str) -> str:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, "replace")
    if wide := _wide(data):
        return data.decode(wide, "replace")
    for encoding in ("iso2022_jp" if b"\x1b$" in data[:_SAMPLE] else "", "utf-8", declared):
        text = _strict(data, encoding)
        if text is not None:
            return text
    damaged = data.decode("utf-8", "replace")
    broken = damaged.count("\ufffd")
    if broken <= _DAMAGED * sum(char > "\x7f" for char in damaged):
        return damaged
    return _guessed(data)


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding) if encoding else None
    except (UnicodeDecodeError, LookupError):
        return None


def _wide(data: bytes) -> str:
    """UTF-16 without its mark: every second byte of text in most scripts is one of a few, and zero at blanks."""
    sample = data[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) / 2
    if len(sample) < 8 or max(even, odd) < 0.3 * half or min(even, odd) > 0.02 * half:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _guessed(data: bytes) -> str:
    best = from_bytes(data[:_SAMPLE]).best()
    encoding = best.encoding if best else "cp1252"
    western = data.decode("cp1252", "replace")
    if not _OTHER_SCRIPTS.match(encoding) and _WESTERN.fullmatch(western):
        return western
    text = _strict(data, encoding)
    return data.decode(encoding, "replace") if text is None else text


def _is_text(text: str) -> bool:
    sample = text if len(text) < 200_000 else text[:100_000] + text[-100_000:]
    bad = sum(char == "\ufffd" or (unicodedata.category(char) == "Cc" and char not in "\t\n\r\f") for char in sample)
    return bad <= _CONTROLS * len(sample) + 2 * (len(sample) > 200)
