"""Pictures of pages, with highlights."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pypdfium2 as pdfium
from PIL import Image, ImageDraw

from core.errors import CorruptDocument
from core.types import Box
from ingest.pdf import PDFIUM_LOCK, open_pdf

MAX_PIXELS = 6_000_000
_YELLOW = (255, 214, 0, 96)


def render_png(path: Path, number: int, highlights: Sequence[Box] = (), scale: float = 1.6) -> bytes:
    """Page `number` (from 1) as PNG, `scale` pixels a point, less where that passes MAX_PIXELS.

    Raises CorruptDocument, PasswordNeeded.
    """
    with PDFIUM_LOCK:
        document = open_pdf(path)
        try:
            page = document[number - 1]
            width, height = page.get_size()
            scale = min(scale, (MAX_PIXELS / max(width * height, 1.0)) ** 0.5)
            image = page.render(scale=scale, may_draw_forms=True).to_pil().convert("RGB")
        except pdfium.PdfiumError:
            raise CorruptDocument(f"page {number} can't be drawn", hint="its text can still be read") from None
        finally:
            document.close()
    return _png(_marked(image, highlights, scale))


def _marked(image: Image.Image, highlights: Sequence[Box], scale: float) -> Image.Image:
    if not highlights:
        return image
    layer = Image.new("RGBA", image.size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(layer)
    for left, top, right, bottom in highlights:
        draw.rectangle((left * scale - 1, top * scale, right * scale + 1, bottom * scale), fill=_YELLOW)
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=False)
    return buffer.getvalue()
