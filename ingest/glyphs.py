"""A page's characters from pdfium: runs of one line, each character with its box on the page as it is shown."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Callable
from functools import cache

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

Place = Callable[[float, float, float, float], Box]


def read_fragments(page: pdfium.PdfPage, textpage: pdfium.PdfTextPage) -> tuple[tuple[Fragment, ...], int, int]:
    """(fragments in content order, number of characters without a meaning, number of characters)."""
    handle = textpage.raw
    place, rect = _to_top_left(page), raw.FS_RECTF()
    reference = ctypes.byref(rect)
    get_code, get_box, is_unmapped = (
        raw.FPDFText_GetUnicode,
        raw.FPDFText_GetLooseCharBox,
        raw.FPDFText_HasUnicodeMapError,
    )
    run = _Run(handle)
    garbage = total = high = 0
    unmapped = False
    guessed: list[str] = []
    for index in range(textpage.count_chars()):
        code = get_code(handle, index)
        if code in _LINE_ENDS:
            run.flush()
            continue
        if 0xD800 <= code < 0xDC00:  # the first half of a surrogate pair
            high = code
            continue
        if high:
            code, high = _paired(high, code), 0
        char, is_garbage = _meaning(code)
        if code > 32 or is_garbage:
            total += 1
            # Asking for each character would cost a tenth of the time; the share is what counts.
            unmapped = unmapped if index % 4 else is_unmapped(handle, index) == 1
            garbage += is_garbage or (unmapped and code > 0x7E)
            if unmapped and code <= 0x7E:
                guessed.append(char)
        if not char and code not in _HYPHENS:
            continue
        get_box(handle, index, reference)
        box = place(rect.left, rect.bottom, rect.right, rect.top)
        if code in _HYPHENS:
            run.end_with_hyphen(box)
        else:
            run.add(char, box, index)
    run.flush()
    if not _reads_as_words(guessed):
        garbage += len(guessed)
    return tuple(run.found), garbage + _cids(run.found), total


def _reads_as_words(guessed: list[str]) -> bool:
    """Whether characters without a Unicode map, taken as ASCII, have the vowels of a language.

    Old LaTeX fonts have no map and mean what their codes say; codes that are shifted (as subset fonts do) have few.
    """
    letters = [char for char in guessed if char.isalpha()]
    vowels = sum(char in "aeiouAEIOU" for char in letters)
    return 0.2 * len(letters) <= vowels <= 0.65 * len(letters) and 2 * len(letters) >= len(guessed)


def _cids(fragments: list[Fragment]) -> int:
    return sum(len(match) for fragment in fragments for match in _CID.findall(fragment.text))


def _paired(high: int, low: int) -> int:
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00) if 0xDC00 <= low < 0xE000 else 0xFFFD


@cache
def _meaning(code: int) -> tuple[str, bool]:
    """(the character as it is stored, whether it says nothing: private use, unassigned, control, U+FFFD)."""
    if code in _HYPHENS or code == 9:
        return clean_char(code), False
    return clean_char(code), code == 0xFFFD or unicodedata.category(chr(code)) in ("Cc", "Co", "Cs", "Cn")


def _to_top_left(page: pdfium.PdfPage) -> Place:
    """From pdfium's user space (left, bottom, right, top; unrotated) to the page as it is shown."""
    left, bottom, right, top = page.get_bbox()
    shared = _Shared()

    def box(a: float, b: float, c: float, d: float) -> Box:
        return shared[int(a * 64)], shared[int(b * 64)], shared[int(c * 64)], shared[int(d * 64)]

    turns: dict[int, Place] = {
        0: lambda a, b, c, d: box(a - left, top - d, c - left, top - b),
        90: lambda a, b, c, d: box(b - bottom, a - left, d - bottom, c - left),
        180: lambda a, b, c, d: box(right - c, b - bottom, right - a, d - bottom),
        270: lambda a, b, c, d: box(top - d, right - c, top - b, right - a),
    }
    return turns[page.get_rotation()]


class _Shared(dict[int, float]):
    """Coordinates in 64ths of a point; equal ones are one object, which halves the memory of a page's boxes."""

    def __missing__(self, key: int) -> float:
        value = self[key] = key / 64
        return value


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
        if self._last is not None and self._upright and _is_far(self._last, box):
            self.flush()
        if self._last is None:
            self._first_index = index
            angle = raw.FPDFText_GetCharAngle(self._handle, index) % math.tau
            self._upright = min(angle, math.tau - angle) < 0.1
        self._last, self._last_index = box, index
        for part in char:  # a ligature's letters share its box
            self._chars.append(part)
            self._boxes.append(box)

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
