"""What the glyphs of an embedded TrueType font mean, by its own tables: for PDFs whose fonts lack a map to Unicode."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from functools import cached_property

import pypdfium2.raw as raw

_MAX_BYTES = 30_000_000
_UNICODE = ((3, 10), (0, 4), (0, 6), (3, 1), (0, 3), (0, 2), (0, 1), (0, 0))  # platform, encoding: best first


@dataclass(frozen=True)
class Meanings:
    """`of_glyph`: glyph number to code point, empty where the font says nothing."""

    of_glyph: dict[int, int]


def font_meanings(address: int) -> Meanings:
    """By the address of a font of a page that is open. A composite font's codes are taken to be its glyph numbers."""
    font = ctypes.cast(ctypes.c_void_p(address), raw.FPDF_FONT)
    size = ctypes.c_size_t()
    if not raw.FPDFFont_GetFontData(font, None, 0, size) or not 0 < size.value <= _MAX_BYTES:
        return Meanings({})
    data = (ctypes.c_uint8 * size.value)()
    raw.FPDFFont_GetFontData(font, data, size.value, size)
    try:
        return Meanings(_Tables(bytes(data)).glyphs())
    except (struct.error, IndexError):  # a damaged font says nothing
        return Meanings({})


class _Tables:
    """OpenType: https://learn.microsoft.com/typography/opentype/spec/cmap"""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def glyphs(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for code, glyph in self._pairs():
            if glyph and (glyph not in found or code < found[glyph]):
                found[glyph] = code
        return found

    @cached_property
    def _cmap(self) -> int:
        (count,) = struct.unpack_from(">H", self._data, 4)
        for index in range(min(count, 64)):
            tag, _, offset, _ = struct.unpack_from(">4sIII", self._data, 12 + 16 * index)
            if tag == b"cmap":
                return int(offset)
        return 0

    def _pairs(self) -> list[tuple[int, int]]:
        """(code point, glyph) of the best Unicode subtable."""
        if not self._cmap:
            return []
        (count,) = struct.unpack_from(">H", self._data, self._cmap + 2)
        tables = {}
        for index in range(min(count, 64)):
            platform, encoding, offset = struct.unpack_from(">HHI", self._data, self._cmap + 4 + 8 * index)
            tables[platform, encoding] = self._cmap + offset
        for key in _UNICODE:
            if key in tables:
                (kind,) = struct.unpack_from(">H", self._data, tables[key])
                return {4: self._segments, 12: self._groups}.get(kind, lambda _: [])(tables[key])
        return []

    def _segments(self, at: int) -> list[tuple[int, int]]:
        """Format 4."""
        count = struct.unpack_from(">H", self._data, at + 6)[0] // 2
        ends, starts, deltas, offsets = (
            struct.unpack_from(f">{count}H", self._data, at + 14 + 2 * (count * row + (row > 0))) for row in range(4)
        )
        table = at + 16 + 6 * count
        pairs = []
        for segment in range(count):
            for code in range(starts[segment], min(ends[segment], 0xFFFE) + 1):
                glyph = code
                if offsets[segment]:
                    place = table + 2 * segment + offsets[segment] + 2 * (code - starts[segment])
                    (glyph,) = struct.unpack_from(">H", self._data, place)
                    if not glyph:
                        continue
                pairs.append((code, (glyph + deltas[segment]) & 0xFFFF))
        return pairs

    def _groups(self, at: int) -> list[tuple[int, int]]:
        """Format 12."""
        (count,) = struct.unpack_from(">I", self._data, at + 12)
        pairs = []
        for index in range(min(count, 10_000)):
            first, last, glyph = struct.unpack_from(">III", self._data, at + 16 + 12 * index)
            pairs += [(code, glyph + code - first) for code in range(first, min(last, first + 0xFFFF) + 1)]
        return pairs
