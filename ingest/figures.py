"""Figures of a document: pictures and drawings that have a caption, cut out of the page as PNG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from core.text import line_boxes, text_of
from core.types import Block, Box, Figure, Page, Span
from ingest.captions import Caption
from ingest.drawing import Drawing
from ingest.words import Word, around

MAX_SIDE = 1_600  # pixels
_SCALE = 2.0  # pixels a point, less where a side would pass MAX_SIDE
_MAX_IMAGE_PIXELS = 40_000_000  # of a page's images: beyond that its figures are not drawn
_SMALL = 24.0  # points: a drawing with a shorter side is a logo, an icon, a line's end
_WHOLE_PAGE = 0.92  # of both sides: a background
_JOINED = 14.0  # points between the parts of one drawing
_FAR = 70.0  # points between a caption and its figure
_LABEL = 12.0  # points between a drawing and its labels
_MARGIN = 3.0
_PARAGRAPH = 60  # characters: a shorter block may be a label
_LONG_LINE = 11  # times its height: a shorter line may be a label
_EDGE = 0.09  # share of the page's height where the rules of running heads stand


@dataclass(frozen=True)
class Place:
    """Where a figure stands, and its caption."""

    box: Box
    caption: Caption


def places_of(
    page: Page, blocks: Sequence[Block], words: Sequence[Word], captions: Sequence[Caption], drawing: Drawing
) -> list[Place]:
    """The figures of a page from their captions: the drawing above a caption, else the one below it."""
    named = [caption for caption in captions if caption.kind == "figure"]
    if not named:
        return []
    clusters = _clusters(page, drawing, captions)
    texts = _text_lines(page, blocks, clusters)
    found: list[Place] = []
    for caption in named:
        zone = _zone(caption, texts, page.width if len(named) == 1 else 0.0)
        others = [c.box for c in captions if c is not caption] + [place.box for place in found]
        for above in (True, False):
            box = _drawing_beside(caption, zone, clusters, [*texts, *others], above)
            if box is not None:
                barred = [*texts, *(c.box for c in captions)]
                found.append(Place(_clipped(_with_labels(box, words, barred), barred, page), caption))
                break
    return found


def _clusters(page: Page, drawing: Drawing, captions: Sequence[Caption]) -> list[Box]:
    """Boxes of drawings: what is drawn close together is one. Backgrounds, frames, heads' and lone rules are none."""
    solid = [box for box in [*drawing.images, *drawing.shapes] if not _is_background(box, page)]
    low, high = page.height * _EDGE, page.height * (1 - _EDGE)
    rules = [box for box in [*drawing.across, *drawing.down] if box[3] > low and box[1] < high]
    bars = [caption.box for caption in captions]
    parts = {_beside_bars(_within_page(box, page), bars): True for box in solid}
    for box in rules:
        parts.setdefault(_beside_bars(_within_page(box, page), bars), False)
    parts.pop(None, None)
    groups = _joined([(box, is_solid) for box, is_solid in parts.items() if box is not None], bars)
    return [box for box, is_solid in groups if is_solid and box[2] - box[0] >= _SMALL and box[3] - box[1] >= _SMALL]


def _is_background(box: Box, page: Page) -> bool:
    return box[2] - box[0] > _WHOLE_PAGE * page.width and box[3] - box[1] > 0.5 * page.height


def _within_page(box: Box, page: Page) -> Box:
    return max(box[0], 0.0), max(box[1], 0.0), min(box[2], page.width), min(box[3], page.height)


def _beside_bars(box: Box, bars: Sequence[Box]) -> Box | None:
    """What of a drawing's box is above the captions that it goes over, or else below; None where nothing is left."""
    left, top, right, bottom = box
    for bar in bars:
        if overlaps((left, top, right, bottom), bar):
            top, bottom = (top, bar[1]) if top < bar[1] - 2 else (bar[3], bottom)
    return (left, top, right, bottom) if bottom >= top else None


def _holds(box: Box, inner: Box) -> bool:
    return box[0] <= inner[0] and box[1] <= inner[1] and box[2] >= inner[2] and box[3] >= inner[3]


def _joined(parts: Sequence[tuple[Box, bool]], bars: Sequence[Box]) -> list[tuple[Box, bool]]:
    """Parts that lie near one another put together until none are near, but not over a caption."""
    groups = sorted(parts, key=lambda part: part[0][1])
    while True:
        merged: list[tuple[Box, bool]] = []
        for box, solid in groups:
            for at in range(len(merged) - 1, -1, -1):
                both = around([merged[at][0], box])
                if _near(merged[at][0], box, _JOINED) and not any(overlaps(both, bar) for bar in bars):
                    merged[at] = (both, merged[at][1] or solid)
                    break
            else:
                merged.append((box, solid))
        if len(merged) == len(groups):
            return merged
        groups = merged


def _near(one: Box, other: Box, gap: float) -> bool:
    return one[0] - gap < other[2] and other[0] - gap < one[2] and one[1] - gap < other[3] and other[1] - gap < one[3]


def _text_lines(page: Page, blocks: Sequence[Block], clusters: Sequence[Box]) -> list[Box]:
    """Lines of running text and headings that no drawing holds."""
    found = []
    for block in blocks:
        if block.span.end - block.span.start < _PARAGRAPH and block.kind != "heading":
            continue
        for line in line_boxes(page, block.span.start, block.span.end):
            long = line[2] - line[0] > _LONG_LINE * (line[3] - line[1]) or block.kind == "heading"
            if long and not any(_holds(_wider(cluster, 4), line) for cluster in clusters):
                found.append(line)
    return found


def _wider(box: Box, by: float) -> Box:
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


def _zone(caption: Caption, texts: Sequence[Box], width: float) -> tuple[float, float]:
    """From left to right, where the caption's figure may stand: the column of text that the caption stands in.

    Without one it is the page's `width`, 0 where other figures may stand beside it.
    """
    left, _, right, _ = caption.box
    columns = [box for box in texts if box[0] - 5 <= left and right <= box[2] + 5]
    column = min(columns, key=lambda box: box[2] - box[0], default=(left, 0, max(right, width), 0))
    return min(left, column[0]), max(right, column[2])


def _drawing_beside(
    caption: Caption, zone: tuple[float, float], clusters: Sequence[Box], barriers: Sequence[Box], above: bool
) -> Box | None:
    """The clusters above (or below) the caption up to the next text, put together."""
    top, bottom = caption.box[1], caption.box[3]
    left, right = zone[0] - 12, zone[1] + 12
    beside = [box for box in clusters if (box[3] <= top + 6 if above else box[1] >= bottom - 6)]
    own = [box for box in beside if left < (box[0] + box[2]) / 2 < right or _is_over(box, caption.box)]
    found: Box | None = None
    for box in sorted(own, key=lambda b: -b[3] if above else b[1]):
        edge = (top if above else bottom) if found is None else (found[1] if above else found[3])
        gap = edge - box[3] if above else box[1] - edge
        side = box[3] if above else box[1]
        left, right = min(box[0], caption.box[0]), max(box[2], caption.box[2])
        blocked = any(overlaps((left, min(side, edge), right, max(side, edge)), text) for text in barriers)
        if (gap > _FAR or blocked) and (found is None or gap > 0):
            break
        found = box if found is None else around([found, box])
    return found


def _is_over(one: Box, other: Box) -> bool:
    """Whether the narrower of the two stands mostly above or below the other."""
    return min(one[2], other[2]) - max(one[0], other[0]) > 0.5 * min(one[2] - one[0], other[2] - other[0])


def overlaps(one: Box, other: Box) -> bool:
    return one[0] + 2 < other[2] and other[0] + 2 < one[2] and one[1] + 2 < other[3] and other[1] + 2 < one[3]


def _with_labels(box: Box, words: Sequence[Word], barred: Sequence[Box]) -> Box:
    """With the words that stand close to the drawing and are no running text: names of axes, of parts."""
    bars = [_wider(bar, 1) for bar in barred]
    for _ in range(2):
        near = [word.box for word in words if _near(box, word.box, _LABEL)]
        near = [label for label in near if not any(_holds(bar, label) for bar in bars)]
        box = around([box, *near])
    return box


def _clipped(box: Box, barred: Sequence[Box], page: Page) -> Box:
    """With a margin, less where lines of text stand at its upper or lower end."""
    left, top, right, bottom = _within_page(_wider(box, _MARGIN), page)
    for bar in barred:
        if bar[0] < right and bar[2] > left and bar[1] < bottom and bar[3] > top:
            if bar[3] < top + _LABEL + _MARGIN:
                top = bar[3]
            elif bar[1] > bottom - _LABEL - _MARGIN:
                bottom = bar[1]
    return left, top, right, bottom


def figure_of(document: pdfium.PdfDocument, page: Page, place: Place) -> Figure:
    """With its picture. Called under PDFIUM_LOCK; about 30 ms."""
    span = Span(page=page.number, start=place.caption.start, end=place.caption.end)
    return Figure(
        page=page.number,
        box=place.box,
        caption=text_of((span,), {page.number: page.text}),
        caption_spans=(span,),
        png=_drawn(document, page.number, place.box),
    )


def _drawn(document: pdfium.PdfDocument, number: int, box: Box) -> bytes:
    """The box of the page as PNG; empty where it holds images that would take too much memory, or is damaged."""
    width, height = box[2] - box[0], box[3] - box[1]
    if width < 1 or height < 1:
        return b""
    try:
        page = document[number - 1]
    except pdfium.PdfiumError:
        return b""
    try:
        if _image_pixels(page) > _MAX_IMAGE_PIXELS:
            return b""
        full_width, full_height = page.get_size()
        scale = min(_SCALE, MAX_SIDE / width, MAX_SIDE / height)
        crop = (box[0], full_height - box[3], full_width - box[2], box[1])
        bitmap = page.render(scale=scale, crop=tuple(max(side, 0.0) for side in crop), may_draw_forms=False)
        try:
            buffer = io.BytesIO()
            bitmap.to_pil().convert("RGB").save(buffer, "PNG", compress_level=3)
            return buffer.getvalue()
        finally:
            bitmap.close()
    except (pdfium.PdfiumError, MemoryError, ValueError):
        return b""
    finally:
        page.close()


def _image_pixels(page: pdfium.PdfPage) -> int:
    """Pixels of the images of the page, as its dictionaries say: nothing is decoded."""
    total = 0
    for image in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=5):
        width, height = image.get_px_size()
        total += width * height
    return total
