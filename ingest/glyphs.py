"""A page's characters from pdfium: runs of one line, each character with its box on the page as it is shown."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from functools import cache

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as raw

from core.text import clean_char
from core.types import Box
from ingest.columns import Fragment

_HYPHENS = (0x02, 0xFFFE)  # pdfium's for a hyphen at a line's end
_LINE_ENDS = (10, 13)
_BOLD_NAME = re.compile(r"bold|black|heavy|medi\b|cmb|-bd\b", re.IGNORECASE)
_BOLD_WEIGHT = 550  # pdfium estimates it from the stems: 425 for Nimbus Roman, 570 to 700 for bold faces
_CID = re.compile(r"\(cid:\d+\)")

_SKIP = -1  # in place of the first half of a surrogate pair
_SAMPLE = 4  # asking for each character whether it is mapped would cost a tenth of the time; only the share counts


def read_fragments(page: pdfium.PdfPage, textpage: pdfium.PdfTextPage) -> tuple[tuple[Fragment, ...], int, int]:
    """(fragments in content order, number of characters without a meaning, number of characters)."""
    handle, count = textpage.raw, textpage.count_chars()
    codes = _codes(handle, count)
    run = _Run(handle)
    for index, (code, box) in enumerate(zip(codes, _boxes(page, handle, count), strict=True)):
        if code in _LINE_ENDS:
            run.flush()
        elif code in _HYPHENS:
            run.end_with_hyphen(box)
        elif code != _SKIP and (char := _meaning(code)[0]):
            run.add(char, box, index)
    run.flush()
    total = sum(code > 32 or _is_garbage(code) for code in codes)
    garbage = sum(map(_is_garbage, codes)) + _unmapped(handle, codes)
    return tuple(run.found), garbage + _cids(run.found), total


def _codes(handle: raw.FPDF_TEXTPAGE, count: int) -> list[int]:
    """Code points; a surrogate pair's is in the place of its second half."""
    get_code = raw.FPDFText_GetUnicode
    codes: list[int] = [get_code(handle, index) for index in range(count)]
    for index, code in enumerate(codes[:-1]):
        if 0xD800 <= code < 0xDC00 and 0xDC00 <= codes[index + 1] < 0xE000:
            codes[index : index + 2] = [_SKIP, 0x10000 + ((code - 0xD800) << 10) + codes[index + 1] - 0xDC00]
    return codes


def _boxes(page: pdfium.PdfPage, handle: raw.FPDF_TEXTPAGE, count: int) -> list[Box]:
    """From pdfium's user space (unrotated, origin at the bottom) to the page as it is shown, in 64ths of a point."""
    rects = (raw.FS_RECTF * count)()
    get_box = raw.FPDFText_GetLooseCharBox
    for index in range(count):
        get_box(handle, index, rects[index])
    a, d, c, b = np.frombuffer(rects, dtype=np.float32).astype(np.float64).reshape(count, 4).T  # left top right bottom
    left, bottom, right, top = page.get_bbox()
    turned = {
        0: (a - left, top - d, c - left, top - b),
        90: (b - bottom, a - left, d - bottom, c - left),
        180: (right - c, b - bottom, right - a, d - bottom),
        270: (top - d, right - c, top - b, right - a),
    }[page.get_rotation()]
    # A broken file may have boxes far away, or at no number at all.
    grid = np.clip(np.nan_to_num(np.stack(turned, axis=1)), -1e6, 1e6) * 64
    flat = map(_Shared().__getitem__, grid.astype(np.int64).ravel().tolist())
    return list(zip(flat, flat, flat, flat, strict=True))


class _Shared(dict[int, float]):
    """64ths of a point to points; equal coordinates are one object, which halves the memory of a page's boxes."""

    def __missing__(self, key: int) -> float:
        value = self[key] = key / 64
        return value


@cache
def _meaning(code: int) -> tuple[str, bool]:
    """(the character as it is stored, whether it says nothing: private use, unassigned, control, U+FFFD)."""
    if code == _SKIP:
        return "", False
    if code in _HYPHENS or code in _LINE_ENDS or code == 9:
        return clean_char(code), False
    return clean_char(code), code == 0xFFFD or unicodedata.category(chr(code)) in ("Cc", "Co", "Cs", "Cn")


def _is_garbage(code: int) -> bool:
    return _meaning(code)[1]


def _unmapped(handle: raw.FPDF_TEXTPAGE, codes: list[int]) -> int:
    """About how many characters have no Unicode map, leaving out ASCII codes that read as words."""
    is_unmapped = raw.FPDFText_HasUnicodeMapError
    sampled = [
        codes[index]
        for index in range(0, len(codes), _SAMPLE)
        if codes[index] > 32 and not _is_garbage(codes[index]) and is_unmapped(handle, index) == 1
    ]
    guessed = [chr(code) for code in sampled if code <= 0x7E]
    return _SAMPLE * (len(sampled) - (len(guessed) if _reads_as_words(guessed) else 0))


def _reads_as_words(guessed: list[str]) -> bool:
    """Whether characters without a Unicode map, taken as ASCII, have the vowels of a language.

    Old LaTeX fonts have no map and mean what their codes say; codes that are shifted (as subset fonts do) have few.
    """
    letters = [char for char in guessed if char.isalpha()]
    vowels = sum(char in "aeiouAEIOU" for char in letters)
    return 0.2 * len(letters) <= vowels <= 0.65 * len(letters) and 2 * len(letters) >= len(guessed)


def _cids(fragments: list[Fragment]) -> int:
    return sum(len(match) for fragment in fragments for match in _CID.findall(fragment.text))


class _Run:
    """The fragment that is being read, and those that are done."""

    def __init__(self, handle: raw.FPDF_TEXTPAGE) -> None:
        self.found: list[Fragment] = []
        self._handle = handle
        self._start()

    def _start(self) -> None:
        self._chars: list[str] = []
        self._boxes: list[Box] = []
        self._last: Box | None = None
        self._first_index = self._last_index = 0
        self._upright = True

    def add(self, char: str, box: Box, index: int) -> None:
        if char == " ":
            if self._chars and self._chars[-1] != " ":
                self._chars.append(char)
                self._boxes.append(box)
            return
        last = self._last
        # Most characters touch the one before: only the others are looked at closer.
        if last is not None and self._upright and not -12 < box[0] - last[2] < 5 and _is_far(last, box):
            self.flush()
        if self._last is None:
            self._first_index = index
            angle = raw.FPDFText_GetCharAngle(self._handle, index) % math.tau
            self._upright = min(angle, math.tau - angle) < 0.1
        self._last, self._last_index = box, index
        self._chars += char
        self._boxes += [box] * len(char)  # a ligature's letters share its box

    def end_with_hyphen(self, box: Box) -> None:
        self.flush()
        if self.found:
            self.found[-1] = self.found[-1].with_hyphen(box)

    def flush(self) -> None:
        if self._last is not None:
            if self._chars[-1] == " ":
                del self._chars[-1], self._boxes[-1]
            self.found.append(
                Fragment(
                    text="".join(self._chars),
                    boxes=tuple(self._boxes),
                    size=self._size(),
                    bold=self._is_bold(self._first_index) and self._is_bold(self._last_index),
                    upright=self._upright,
                )
            )
        self._start()

    def _size(self) -> float:
        """Font size in points on the page: the nominal size times the scale of the text's matrix."""
        index = (self._first_index + self._last_index) // 2
        if raw.FPDFText_IsGenerated(self._handle, index) == 1:  # a blank that pdfium added: it has no font
            index = self._last_index
        nominal, matrix = raw.FPDFText_GetFontSize(self._handle, index), raw.FS_MATRIX()
        if raw.FPDFText_GetMatrix(self._handle, index, ctypes.byref(matrix)):
            nominal *= math.hypot(matrix.c, matrix.d)
        return float(nominal) if nominal >= 1 else self._boxes[0][3] - self._boxes[0][1]

    def _is_bold(self, index: int) -> bool:
        if raw.FPDFText_GetFontWeight(self._handle, index) >= _BOLD_WEIGHT:
            return True
        name = ctypes.create_string_buffer(128)
        raw.FPDFText_GetFontInfo(self._handle, index, name, 128, None)
        return bool(_BOLD_NAME.search(name.value.decode("latin-1")))


def _is_far(last: Box, box: Box) -> bool:
    """Whether the next character stands across a wide gap, or well before the one before it, on the same line."""
    height = max(last[3] - last[1], box[3] - box[1], 4.0)
    return box[0] - last[2] > 1.3 * height or last[0] - box[0] > 3 * height
