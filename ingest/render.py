"""Pictures of pages, with highlights."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from core.errors import CorruptDocument, InvalidInput
from core.types import Box
from ingest.pdf import PDFIUM_LOCK, open_pdf

MAX_PIXELS = 6_000_000
MAX_SIDE = 8_000  # pixels; a strip of a page stays small in both directions
_YELLOW = (255, 214, 0, 96)


def render_png(
    path: Path,
    number: int,
    highlights: Sequence[Box] = (),
    scale: float = 1.6,
    password: str | None = None,
    max_pixels: int = MAX_PIXELS,
) -> bytes:
    """Page `number` (from 1) as PNG, `scale` pixels a point, less where that passes `max_pixels`.

    Raises InvalidInput (no such page), CorruptDocument, PasswordNeeded.
    """
    image, scale = _page_image(path, number, scale, password, max_pixels)
    return _png(_marked(image, highlights, scale))


def _page_image(
    path: Path, number: int, scale: float, password: str | None, max_pixels: int
) -> tuple[Image.Image, float]:
    with PDFIUM_LOCK:
        document = open_pdf(path, password)
        try:
            count = len(document)
            if not 1 <= number <= count:
                raise InvalidInput(f"{path.name} has no page {number}", hint=f"it has pages 1 to {count}")
            return _drawn(document, number, scale, max_pixels)
        except (pdfium.PdfiumError, MemoryError):
            raise CorruptDocument(f"page {number} can't be drawn", hint="its text can still be read") from None
        finally:
            document.close()


def draw_page(path: Path, number: int, scale: float, max_pixels: int = MAX_PIXELS) -> tuple[NDArray[np.uint8], float]:
    """(the page's picture, (height, width, 3) RGB, and the pixels a point that it has). Raises as `render_png` does."""
    image, scale = _page_image(path, number, scale, None, max_pixels)
    return np.asarray(image), scale


def _drawn(document: pdfium.PdfDocument, number: int, scale: float, max_pixels: int) -> tuple[Image.Image, float]:
    """The page's picture and the pixels a point that it has. Called under PDFIUM_LOCK."""
    page = document[number - 1]
    try:
        width, height = page.get_size()
        area, side = max(width * height, 1.0), max(width, height, 1.0)
        scale = min(scale, (max_pixels / area) ** 0.5, MAX_SIDE / side)
        bitmap = page.render(scale=scale, may_draw_forms=True)
        try:
            return bitmap.to_pil().convert("RGB"), scale  # convert copies: the bitmap's memory ends with it
        finally:
            bitmap.close()
    finally:
        page.close()


def _marked(image: Image.Image, highlights: Sequence[Box], scale: float) -> Image.Image:
    if not highlights:
        return image
    layer = Image.new("RGBA", image.size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(layer)
    for left, top, right, bottom in highlights:
        if left <= right and top <= bottom:
            draw.rectangle((left * scale - 1, top * scale, right * scale + 1, bottom * scale), fill=_YELLOW)
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=False)
    return buffer.getvalue()
