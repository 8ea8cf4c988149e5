"""What is drawn on a page beside its text: rules (thin straight lines), shapes and images, by pdfium.

Nothing is rendered and no image is decoded: only the page's list of objects is read.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from core.types import Box

_MAX_OBJECTS = 12_000  # a page: beyond that (a plot of points, a map) the rest is not looked at
_MAX_SEGMENTS = 400  # a path: beyond that it is a curve or an outline, not the grid of a table
_MAX_DEPTH = 8  # forms within forms; broken files nest without end
_THIN = 3.0  # points: a box that is not thicker is a rule
_STRAIGHT = 0.7  # points that a line may lean

Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
Placing = Callable[[Box], Box]


@dataclass(frozen=True)
class _Form:
    """What objects stand in: the matrix from there to the page's user space, and what of that space is seen."""

    matrix: Matrix
    clip: Box


@dataclass(frozen=True)
class Drawing:
    """Boxes in points on the page as it is shown. A rule's box has its thickness; a shape is any other path."""

    across: list[Box] = field(default_factory=list)  # horizontal rules, and horizontal edges of shapes
    down: list[Box] = field(default_factory=list)  # vertical ones
    shapes: list[Box] = field(default_factory=list)
    images: list[Box] = field(default_factory=list)


def read_drawing(page: pdfium.PdfPage) -> Drawing:
    """About 10 microseconds an object. Called under PDFIUM_LOCK."""
    found, place = Drawing(), _placing(page)
    width, height = page.get_size()
    whole = _Form(_IDENTITY, (-math.inf, -math.inf, math.inf, math.inf))
    for handle, form in _objects(raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, page.raw, whole, _Limit(), 0):
        box = place(_within(_bounds(handle, form.matrix), form.clip))
        if box[2] < max(box[0], 0) or box[3] < max(box[1], 0) or box[0] > width or box[1] > height:
            continue
        kind = raw.FPDFPageObj_GetType(handle)
        if kind == raw.FPDF_PAGEOBJ_IMAGE:
            found.images.append(box)
        elif kind == raw.FPDF_PAGEOBJ_SHADING:
            found.shapes.append(box)
        elif kind == raw.FPDF_PAGEOBJ_PATH:
            _add_path(found, handle, form, box, place)
    return found


def _add_path(found: Drawing, handle: raw.FPDF_PAGEOBJECT, form: _Form, box: Box, place: Placing) -> None:
    wide, high = box[2] - box[0], box[3] - box[1]
    if high <= _THIN and wide > high:
        found.across.append(box)
    elif wide <= _THIN:
        found.down.append(box)
    else:
        found.shapes.append(box)
        _add_edges(found, handle, form, place)


def _add_edges(found: Drawing, handle: raw.FPDF_PAGEOBJECT, form: _Form, place: Placing) -> None:
    """The upright edges of a path of straight lines: a cell's border, a filled cell, a grid drawn in one go."""
    for (x0, y0), (x1, y1) in _edges(handle, form.matrix):
        edge = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
        left, top, right, bottom = place(_within(edge, form.clip))
        if 0 <= bottom - top <= _STRAIGHT < right - left:
            found.across.append((left, top, right, bottom))
        elif 0 <= right - left <= _STRAIGHT < bottom - top:
            found.down.append((left, top, right, bottom))


Point = tuple[float, float]


def _edges(handle: raw.FPDF_PAGEOBJECT, matrix: Matrix) -> Iterator[tuple[Point, Point]]:
    count = raw.FPDFPath_CountSegments(handle)
    if not 0 < count <= _MAX_SEGMENTS:
        return
    own = raw.FS_MATRIX()
    if raw.FPDFPageObj_GetMatrix(handle, ctypes.byref(own)):
        matrix = _product((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
    x, y = ctypes.c_float(), ctypes.c_float()
    begin = last = (0.0, 0.0)
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(handle, index)
        raw.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        point = _moved(matrix, x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            begin = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield last, point
        last = point
        if raw.FPDFPathSegment_GetClose(segment):
            yield point, begin
            last = begin


@dataclass
class _Limit:
    left: int = _MAX_OBJECTS


def _objects(
    count: Callable[..., int],
    get: Callable[..., raw.FPDF_PAGEOBJECT],
    container: object,
    form: _Form,
    limit: _Limit,
    depth: int,
) -> Iterator[tuple[raw.FPDF_PAGEOBJECT, _Form]]:
    """Every object that is no text, those within forms too, with the form that it stands in."""
    for index in range(count(container)):
        handle = get(container, index)
        kind = raw.FPDFPageObj_GetType(handle)
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            continue
        limit.left -= 1
        if limit.left < 0:
            return
        if kind != raw.FPDF_PAGEOBJ_FORM:
            yield handle, form
        elif depth < _MAX_DEPTH:
            inner = _form(handle, form)
            counts, gets = raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject
            yield from _objects(counts, gets, handle, inner, limit, depth + 1)


def _form(handle: raw.FPDF_PAGEOBJECT, outer: _Form) -> _Form:
    own = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(handle, ctypes.byref(own))
    matrix = _product((own.a, own.b, own.c, own.d, own.e, own.f), outer.matrix)
    return _Form(matrix, _within(_clip(handle, matrix), outer.clip))


def _clip(handle: raw.FPDF_PAGEOBJECT, matrix: Matrix) -> Box:
    """The form's own box: pdfium puts it first in the clip of all that stands in the form."""
    whole = (-math.inf, -math.inf, math.inf, math.inf)
    if raw.FPDFFormObj_CountObjects(handle) < 1:
        return whole
    path = raw.FPDFPageObj_GetClipPath(raw.FPDFFormObj_GetObject(handle, 0))
    if not path or raw.FPDFClipPath_CountPaths(path) < 1:
        return whole
    x, y = ctypes.c_float(), ctypes.c_float()
    points = []
    for index in range(min(max(raw.FPDFClipPath_CountPathSegments(path, 0), 0), 5)):
        raw.FPDFPathSegment_GetPoint(raw.FPDFClipPath_GetPathSegment(path, 0, index), ctypes.byref(x), ctypes.byref(y))
        points.append(_moved(matrix, x.value, y.value))
    if len(points) < 4:
        return whole
    xs, ys = [px for px, _ in points], [py for _, py in points]
    return min(xs), min(ys), max(xs), max(ys)


def _within(box: Box, clip: Box) -> Box:
    return max(box[0], clip[0]), max(box[1], clip[1]), min(box[2], clip[2]), min(box[3], clip[3])


def _bounds(handle: raw.FPDF_PAGEOBJECT, matrix: Matrix) -> Box:
    """left, bottom, right, top in the page's user space."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    raw.FPDFPageObj_GetBounds(handle, left, bottom, right, top)
    if matrix is _IDENTITY:
        return left.value, bottom.value, right.value, top.value
    corners = [_moved(matrix, x, y) for x in (left.value, right.value) for y in (bottom.value, top.value)]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def _moved(matrix: Matrix, x: float, y: float) -> Point:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _product(one: Matrix, two: Matrix) -> Matrix:
    a, b, c, d, e, f = one
    g, h, i, j, k, m = two
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _placing(page: pdfium.PdfPage) -> Placing:
    """From a box in pdfium's user space (left, bottom, right, top) to the page as it is shown, origin at the top."""
    left, bottom, right, top = page.get_bbox()

    def upright(box: Box) -> Box:
        return box[0] - left, top - box[3], box[2] - left, top - box[1]

    def by_90(box: Box) -> Box:
        return box[1] - bottom, box[0] - left, box[3] - bottom, box[2] - left

    def by_180(box: Box) -> Box:
        return right - box[2], box[1] - bottom, right - box[0], box[3] - bottom

    def by_270(box: Box) -> Box:
        return top - box[3], right - box[2], top - box[1], right - box[0]

    return {0: upright, 90: by_90, 180: by_180, 270: by_270}[page.get_rotation()]
