"""Small PDFs for tests, drawn with reportlab."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

Draw = Callable[[Canvas], None]
HEIGHT = 792.0


def pdf(path: Path, *pages: Draw, title: str = "", password: str = "", rotation: int = 0) -> Path:
    """A PDF of letter pages, one for each of `pages`."""
    encrypt = StandardEncryption(password, ownerPassword="owner") if password else None
    canvas = Canvas(str(path), pagesize=(612, HEIGHT), encrypt=encrypt)
    if title:
        canvas.setTitle(title)
    for draw in pages:
        canvas.setPageRotation(rotation)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return path


def lines(
    texts: Sequence[str], left: float = 72, top: float = 100, font: str = "Times-Roman", size: float = 11
) -> Draw:
    """Lines of text, the first baseline `top` points below the page's top."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont(font, size)
        for row, text in enumerate(texts):
            canvas.drawString(left, HEIGHT - top - row * size * 1.2, text)

    return draw


def both(*draws: Draw) -> Draw:
    def draw(canvas: Canvas) -> None:
        for one in draws:
            one(canvas)

    return draw


def rows(*cells: Sequence[str], lefts: Sequence[float] = (72, 320), top: float = 100) -> Draw:
    """Rows of cells, drawn row by row."""
    return both(
        *(
            lines([cell], left=left, top=top + row * 14)
            for row, texts in enumerate(cells)
            for left, cell in zip(lefts, texts, strict=False)
        )
    )


def picture(canvas: Canvas) -> None:
    buffer = io.BytesIO()
    Image.new("L", (40, 40), 128).save(buffer, "PNG")
    buffer.seek(0)
    canvas.drawImage(ImageReader(buffer), 72, 200, 400, 400)


def raw_pdf(
    path: Path, content: bytes, filters: str = "", objects: str = "", page: str = "", rotation: int = 0
) -> Path:
    """A PDF of one letter page with `content` as it is; font /F1 is Helvetica."""
    kind = f"/Filter {filters}" if filters else ""
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate {rotation} /Contents 4 0 R {page}"
        f"/Resources << /Font << /F1 5 0 R >> {objects} >> >>".encode(),
        f"<< /Length {len(content)} {kind} >>\nstream\n".encode() + content + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + part + b"\nendobj\n"
    table = len(out)
    out += f"xref\n0 {len(parts) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    out += f"trailer << /Size {len(parts) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n".encode()
    path.write_bytes(out)
    return path
