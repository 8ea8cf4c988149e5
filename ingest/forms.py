"""What is filled into a form's fields: it is no part of the page's content, and so would be lost."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as raw

from core.text import clean
from ingest.chars import Floats, placed, shown
from ingest.columns import Fragment

_WITH_TEXT = (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
_TO_CHECK = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
_PASSWORD = 1 << 13  # of a text field's flags: what is typed in stays secret
_MOST = 5_000  # annotations of a page


def open_forms(document: pdfium.PdfDocument) -> None:
    """So that fields can be read. A dynamic XFA form has none that pdfium knows."""
    if document.get_formtype() not in (raw.FORMTYPE_NONE, raw.FORMTYPE_XFA_FULL):
        config = raw.FPDF_FORMFILLINFO(version=2)
        handle = raw.FPDFDOC_InitFormFillEnvironment(document, config)
        if handle:
            document.formenv = pdfium.PdfFormEnv(handle, config)


def is_dynamic_form(document: pdfium.PdfDocument) -> bool:
    return bool(document.get_formtype() == raw.FORMTYPE_XFA_FULL)


def with_fields(page: pdfium.PdfPage, fragments: Sequence[Fragment], frame: int) -> tuple[Fragment, ...]:
    """The fragments, and behind the label of each field that is filled in, its value."""
    ordered = list(fragments)
    for text, rect in _fields(page) if page.formenv is not None else ():
        field = _fragment(page, text, rect, frame)
        label = _label(ordered, field)
        if label is None:
            ordered.append(field)
        else:
            ordered.insert(ordered.index(label) + 1, replace(field, size=label.size))
    return tuple(ordered)


def _fields(page: pdfium.PdfPage) -> list[tuple[str, Floats]]:
    """(value, rectangle: left, top, right, bottom in pdfium's user space) of each field that has a value."""
    found = []
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            text = _value(page.formenv, annotation)
            rect = raw.FS_RECTF()
            if text and raw.FPDFAnnot_GetRect(annotation, rect):
                found.append((text, np.array([[rect.left, rect.top, rect.right, rect.bottom]], dtype=np.float32)))
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return found


def _value(form: Any, annotation: Any) -> str:
    if raw.FPDFAnnot_GetSubtype(annotation) != raw.FPDF_ANNOT_WIDGET:
        return ""
    if raw.FPDFAnnot_GetFlags(annotation) & raw.FPDF_ANNOT_FLAG_HIDDEN:
        return ""
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _TO_CHECK:
        return "[x]" if raw.FPDFAnnot_IsChecked(form, annotation) else ""
    if kind not in _WITH_TEXT:
        return ""
    if kind == raw.FPDF_FORMFIELD_TEXTFIELD and raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        return ""
    value = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))
    return value or " ".join(_chosen(form, annotation))


def _chosen(form: Any, annotation: Any) -> list[str]:
    """The options of a list that are selected."""

    def label(index: int) -> str:
        return _string(lambda buffer, size: raw.FPDFAnnot_GetOptionLabel(form, annotation, index, buffer, size))

    count = min(raw.FPDFAnnot_GetOptionCount(form, annotation), 1_000)
    return [label(index) for index in range(count) if raw.FPDFAnnot_IsOptionSelected(form, annotation, index)]


def _string(ask: Callable[[Any, int], int]) -> str:
    size = ask(None, 0)
    if not 2 < size < 1_000_000:
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    ask(buffer, size)
    return " ".join(clean(bytes(buffer)[: size - 2].decode("utf-16-le", "replace")).split())


def _fragment(page: pdfium.PdfPage, text: str, rect: Floats, frame: int) -> Fragment:
    """The value, its characters spread evenly over the field."""
    box = shown(page, rect)
    ends = np.linspace(box[0, 0], box[0, 2], len(text) + 1, dtype=np.float32)
    boxes = np.repeat(box, len(text), axis=0)
    boxes[:, 0], boxes[:, 2] = ends[:-1], ends[1:]
    left, top, right, bottom = placed(box, np.array([frame]), *page.get_size())[0].tolist()
    size = min(max(bottom - top, 1.0) * 0.7, 10.0)
    return Fragment(text, boxes, size, False, frame, True, left, top, right, bottom)


def _label(fragments: Sequence[Fragment], field: Fragment) -> Fragment | None:
    """What stands to the left of the field, or else right above it."""
    middle = (field.top + field.bottom) / 2
    before = [f for f in fragments if f.upright and f.top <= middle <= f.bottom and f.left < field.left]
    if before:
        return max(before, key=lambda f: f.right)
    above = [f for f in fragments if f.upright and 0 <= field.top - f.bottom + 2 < 2 * f.height + 2]
    above = [f for f in above if f.left < field.right and f.right > field.left]
    return max(above, key=lambda f: f.bottom, default=None)
