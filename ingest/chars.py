"""A page's characters from pdfium as arrays.

A call through ctypes costs a quarter of a microsecond, and a page has thousands of characters: what pdfium gives for a
whole page is asked once, and what it gives for each character is asked by functions without argument types, into a
buffer whose addresses were made before. That takes a third of the time of the plain loop.
"""

from __future__ import annotations

import ctypes
from collections import deque
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as raw
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

SLANTED = 8  # neither along nor across the page
_BLOCK = 4096
_STRIDE = 4
_STRAIGHT = 0.12  # of the length of a direction: what may be off the page's axes
_INVISIBLE = (3, 7)  # text render modes that paint nothing


@dataclass(frozen=True)
class Chars:
    """n characters in pdfium's order. Boxes: left, top, right, bottom.

    A frame is the way in which text runs: 0 as on a plain page; `placed` are the boxes in a page turned (and where text
    is mirrored, mirrored back) so that the text of the character's frame runs from left to right.
    """

    codes: Ints  # code points; -1 for half of a surrogate pair
    boxes: Floats  # (n, 4), in points of the page as it is shown
    placed: Floats  # (n, 4)
    frames: Ints  # 0 to 8
    objects: Ints  # for each character its object's index, -1 for blanks and line ends that pdfium added
    sizes: Floats  # (objects,) font size in points on the page
    fonts: Ints  # (objects,) the font's address, good as long as the page is open
    invisible: Mask  # (n,)


def frame_size(frame: int, width: float, height: float) -> tuple[float, float]:
    """The page's size in a frame."""
    return (height, width) if frame % 2 else (width, height)


def read_chars(page: pdfium.PdfPage, textpage: pdfium.PdfTextPage) -> Chars:
    handle, count = textpage.raw, textpage.count_chars()
    addresses = _objects(handle, count)
    unique, first, objects = _runs(addresses)
    added = unique == 0  # at most the first
    objects = np.where(addresses == 0, -1, objects)
    matrices = _each(raw.FPDFText_GetMatrix, handle, first.tolist(), ctypes.c_float, 6)
    nominal = np.array(_each_value(raw.FPDFText_GetFontSize, handle, first.tolist(), ctypes.c_double), dtype=np.float32)
    modes, fonts = _of_objects(unique)
    boxes = _each(raw.FPDFText_GetLooseCharBox, handle, range(count), ctypes.c_float, 4)
    turned = ~added & ~_is_plain(matrices)
    if turned.any():
        mended = np.flatnonzero(turned[objects] & (objects >= 0))
        _mend_turned(handle, boxes, mended, matrices[objects[mended]], nominal[objects[mended]])
    on_page = shown(page, boxes)
    frames = _frames(matrices, page.get_rotation())
    frames[added] = 0
    per_char = _of_chars(frames, objects)
    return Chars(
        codes=_codes(handle, count),
        boxes=on_page,
        placed=placed(on_page, per_char, *page.get_size()),
        frames=per_char,
        objects=objects,
        sizes=(nominal * np.hypot(matrices[:, 2], matrices[:, 3])).astype(np.float32),
        fonts=fonts,
        invisible=np.isin(modes, _INVISIBLE)[objects] & (objects >= 0) if count else np.zeros(0, dtype=np.bool_),
    )


def is_unmapped(textpage: pdfium.PdfTextPage, indices: Ints) -> Mask:
    """Which of the characters have no way to Unicode in their font."""
    values = _each_value(raw.FPDFText_HasUnicodeMapError, textpage.raw, indices.tolist(), ctypes.c_int)
    unmapped: Mask = np.array(values, dtype=np.int64) == 1
    return unmapped


_Function: Any = ctypes._CFuncPtr  # type: ignore[attr-defined]


class _Bare(_Function):  # type: ignore[misc]
    """A function without argument types: pointers are handed over as ctypes objects, integers as they are."""

    _flags_ = ctypes._FUNCFLAG_CDECL | ctypes._FUNCFLAG_PYTHONAPI  # type: ignore[attr-defined]
    _restype_ = None


@cache
def _bare(name: str, result: Any) -> Any:
    function = _Bare(ctypes.cast(getattr(raw, name), ctypes.c_void_p).value)
    function.restype = result
    return function


@cache
def _buffer(kind: Any, width: int, apart: bool) -> tuple[Any, list[list[Any]]]:
    """(a buffer for a block of characters, for each argument its places in it). Used under the lock of pdfium alone."""
    buffer = (kind * (width * _BLOCK))()
    size = ctypes.sizeof(kind)
    arguments = range(width if apart else 1)
    return buffer, [[ctypes.byref(buffer, size * (width * row + at)) for row in range(_BLOCK)] for at in arguments]


def _each(function: Any, handle: Any, indices: Any, kind: Any, width: int, apart: bool = False) -> NDArray[Any]:
    """What `function(handle, index, out)` writes for each index: (n, width); `apart`: it takes `width` outs of one."""
    call, pointer = _bare(function.__name__, None), ctypes.cast(handle, ctypes.c_void_p)
    buffer, places = _buffer(kind, width, apart)
    view = np.frombuffer(buffer, dtype=np.dtype(kind)).reshape(_BLOCK, width)
    found = np.zeros((len(indices), width), dtype=view.dtype)
    for start in range(0, len(indices), _BLOCK):
        part = indices[start : start + _BLOCK]
        view[: len(part)] = 0
        deque(map(call, repeat(pointer), part, *places), maxlen=0)
        found[start : start + len(part)] = view[: len(part)]
    return found


def _each_value(function: Any, handle: Any, indices: Any, result: Any) -> list[Any]:
    return list(map(_bare(function.__name__, result), repeat(ctypes.cast(handle, ctypes.c_void_p)), indices))


def _runs(values: Ints) -> tuple[Ints, Ints, Ints]:
    """As np.unique with first indices and inverse, and faster where equal values stand together."""
    starts = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    unique, first, inverse = np.unique(values[starts], return_index=True, return_inverse=True)
    return unique, starts[first], np.repeat(inverse, np.diff(starts, append=len(values)))


def _objects(handle: Any, count: int) -> Ints:
    """For each character the address of its text object, 0 where pdfium added it. One in four is asked, and what is
    between two of the same object belongs to it."""

    def ask(indices: Any) -> list[int]:
        return _each_value(raw.FPDFText_GetTextObject, handle, indices, ctypes.c_size_t)

    found = np.zeros(count, dtype=np.int64)
    marks = np.arange(0, count, _STRIDE)
    found[marks] = np.array(ask(marks.tolist()), dtype=np.uint64).astype(np.int64)
    one, other = found[marks[:-1]], found[marks[1:]]
    same = np.append((one == other) & (one != 0), False)
    rest = np.flatnonzero(~np.repeat(same, _STRIDE)[:count] & (np.arange(count) % _STRIDE != 0))
    found[rest] = np.array(ask(rest.tolist()), dtype=np.uint64).astype(np.int64)
    inside = np.repeat(same, _STRIDE)[:count]
    found[inside] = np.repeat(found[marks], _STRIDE)[:count][inside]
    return found


def _of_objects(addresses: Ints) -> tuple[Ints, Ints]:
    """(render mode, font's address) of each text object."""
    pointers = [ctypes.c_void_p(int(address)) for address in addresses]
    modes = list(map(_bare("FPDFTextObj_GetTextRenderMode", ctypes.c_int), pointers))
    fonts = [font or 0 for font in map(_bare("FPDFTextObj_GetFont", ctypes.c_void_p), pointers)]
    return np.array(modes, dtype=np.int64), np.array(fonts, dtype=np.uint64).astype(np.int64)


def _codes(handle: Any, count: int) -> Ints:
    """Code points; a surrogate pair's is in the place of its second half, and -1 in that of its first."""
    buffer = (ctypes.c_ushort * (2 * count + 2))()  # room for pairs
    written = raw.FPDFText_GetText(handle, 0, count, buffer) - 1
    if written == count:
        codes = np.frombuffer(bytes(buffer), dtype=np.uint16)[:count].astype(np.int64)
    else:  # the text leaves out characters without a meaning
        codes = np.array(_each_value(raw.FPDFText_GetUnicode, handle, range(count), ctypes.c_uint), dtype=np.int64)
    high = np.flatnonzero((codes[:-1] >= 0xD800) & (codes[:-1] < 0xDC00)) if count > 1 else np.zeros(0, dtype=np.int64)
    high = high[(codes[high + 1] >= 0xDC00) & (codes[high + 1] < 0xE000)]
    codes[high + 1] += 0x10000 - 0xDC00 + ((codes[high] - 0xD800) << 10)
    codes[high] = -1
    return codes


def _is_plain(matrices: Floats) -> Mask:
    """Where pdfium's loose boxes are right: they only look at the first number of the matrix."""
    a, b, c, d = np.abs(matrices[:, :4]).T
    plain: Mask = (matrices[:, 0] > 0) & (matrices[:, 3] > 0) & (b < _STRAIGHT * a) & (c < 3 * _STRAIGHT * d)
    return plain


def _mend_turned(handle: Any, boxes: Floats, turned: Ints, matrices: Floats, nominal: Floats) -> None:
    """Boxes of turned, mirrored or slanted text: as long as the glyph, and as high as its line."""
    indices = turned.tolist()
    left, right, bottom, top = _each(raw.FPDFText_GetCharBox, handle, indices, ctypes.c_double, 4, apart=True).T
    origin = _each(raw.FPDFText_GetCharOrigin, handle, indices, ctypes.c_double, 2, apart=True)
    a, b, c, d = matrices[:, :4].T
    up = np.stack([c, d], axis=1) * nominal[:, None]
    feet, heads = origin - 0.22 * up, origin + 0.78 * up
    across = np.abs(d) > np.abs(c)  # the line runs along x
    slanted = np.minimum(np.abs(a), np.abs(b)) > _STRAIGHT * np.hypot(a, b)
    low, high = np.minimum(feet, heads), np.maximum(feet, heads)
    box = np.stack(
        [
            np.where(across | slanted, left, low[:, 0]),
            np.where(across & ~slanted, high[:, 1], top),
            np.where(across | slanted, right, high[:, 0]),
            np.where(across & ~slanted, low[:, 1], bottom),
        ],
        axis=1,
    )
    boxes[turned] = box


def shown(page: pdfium.PdfPage, boxes: Floats) -> Floats:
    """From pdfium's user space (unrotated, origin at the bottom) to the page as it is shown, in 64ths of a point."""
    a, d, c, b = boxes.T  # left, top, right, bottom
    left, bottom, right, top = page.get_bbox()
    turned = {
        0: lambda: (a - left, top - d, c - left, top - b),
        90: lambda: (b - bottom, a - left, d - bottom, c - left),
        180: lambda: (right - c, b - bottom, right - a, d - bottom),
        270: lambda: (top - d, right - c, top - b, right - a),
    }[page.get_rotation()]()
    grid: Floats = np.stack(turned, axis=1).astype(np.float32)
    # A broken file may have boxes far away, or at no number at all.
    return (np.trunc(np.clip(np.nan_to_num(grid), -1e5, 1e5) * 64) / 64).astype(np.float32)


def _frames(matrices: Floats, rotation: int) -> Ints:
    """For each object, how its text runs on the page as shown: 0 to 3 quarter turns to the left, +4 mirrored."""
    a, b, c, d = matrices[:, :4].astype(np.float64).T
    angle = np.degrees(np.arctan2(b, a)) - rotation
    quarter = np.round(angle / 90)
    frames = (quarter.astype(np.int64) % 4) + 4 * (a * d - b * c < 0)
    found: Ints = np.where(np.abs(angle - 90 * quarter) > 6, SLANTED, frames)
    return found


def _of_chars(frames: Ints, objects: Ints) -> Ints:
    """The frame of each character; one that pdfium added has that of the character before."""
    if not frames.any():
        return np.zeros(len(objects), dtype=np.int64)
    known = np.maximum.accumulate(np.where(objects >= 0, np.arange(len(objects)), 0))
    return np.where(objects[known] >= 0, frames[objects[known]], 0)


def placed(boxes: Floats, frames: Ints, width: float, height: float) -> Floats:
    """The boxes in their frames' pages."""
    if not frames.any():
        return boxes
    turned = boxes.copy()
    for frame in np.unique(frames).tolist():
        if frame in (0, SLANTED):
            continue
        mask = frames == frame
        left, top, right, bottom = boxes[mask].T
        flip_left, flip_top = width - right, height - bottom
        flip_right, flip_bottom = width - left, height - top
        turned[mask] = np.stack(
            {
                1: (flip_top, left, flip_bottom, right),  # runs upwards
                2: (flip_left, flip_top, flip_right, flip_bottom),  # upside down
                3: (top, flip_left, bottom, flip_right),  # runs downwards
                4: (left, flip_top, right, flip_bottom),  # mirrored: runs right, its head below
                5: (flip_top, flip_left, flip_bottom, flip_right),  # runs upwards, its head to the right
                6: (flip_left, top, flip_right, bottom),  # runs left, its head above
                7: (top, left, bottom, right),  # runs downwards, its head to the left
            }[frame],
            axis=1,
        )
    return turned
