"""A page's characters put together to fragments: runs of one line, each character with its box."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as raw
from numpy.typing import NDArray

from core.text import clean_char
from ingest.chars import SLANTED, Chars, Floats, Ints, Mask, frame_size, is_unmapped, read_chars
from ingest.columns import Fragment
from ingest.fonts import Meanings, font_meanings

_HYPHENS = (0x02, 0xFFFE)  # pdfium's for a hyphen at a line's end
_LINE_ENDS = (10, 13)
_BOLD_NAME = re.compile(r"bold|black|heavy|medi\b|cmb|-bd\b", re.IGNORECASE)
_BOLD_WEIGHT = 550  # pdfium estimates it from the stems: 425 for Nimbus Roman, 570 to 700 for bold faces
_CID = re.compile(r"\(cid:\d+\)")
_SAMPLE = 8  # asking each character whether it is mapped would cost a tenth of the time: only fonts that fail are asked
_FEW = 8  # letters that say nothing about vowels: the numbers at an axis are a font of their own
_SKIP = -1  # a code without a meaning of its own
_SAME_PLACE = 0.25  # of its width and height: how far a glyph drawn twice, to look bold, is from the first


@dataclass(frozen=True)
class Read:
    """A page's fragments in content order, and how many of its characters have no meaning.

    `frame` is the way in which most of the text runs, `width` and `height` those of the page turned so.
    """

    fragments: tuple[Fragment, ...]
    garbage: int
    total: int
    frame: int
    width: float
    height: float


def read_fragments(page: pdfium.PdfPage, textpage: pdfium.PdfTextPage, is_scan: Callable[[], bool]) -> Read:
    """`is_scan`: a picture covers the page, so that its text may be an invisible layer that was recognised."""
    chars = read_chars(page, textpage)
    width, height = page.get_size()
    codes, unmapped = _mapped(textpage, chars)
    garbage = unmapped + int(np.count_nonzero(_garbage_of(codes)))
    total = int(np.count_nonzero(chars.codes > 32)) + int(np.count_nonzero(_garbage_of(codes) & (chars.codes <= 32)))
    seen = _is_seen(chars, codes, width, height, is_scan)
    codes = np.where(seen, codes, _SKIP)
    if len(codes):
        codes = np.where(_is_doubled(codes, chars), _SKIP, codes)
    frame = int(np.bincount(chars.frames[codes > 32], minlength=1).argmax()) if np.any(codes > 32) else 0
    fragments = _fragments(textpage, chars, codes, frame)
    garbage += sum(len(match) for fragment in fragments for match in _CID.findall(fragment.text))
    return Read(fragments, garbage, total, frame, *frame_size(frame, width, height))


@cache
def _meaning(code: int) -> tuple[str, bool]:
    """(the character as it is stored, whether it says nothing: private use, unassigned, control, U+FFFD)."""
    if code == _SKIP:
        return "", False
    if code in _HYPHENS or code in _LINE_ENDS or code == 9:
        return clean_char(code), False
    return clean_char(code), code == 0xFFFD or unicodedata.category(chr(code)) in ("Cc", "Co", "Cs", "Cn")


def _specials(codes: Ints) -> list[int]:
    found: list[int] = np.unique(codes[(codes < 32) | (codes > 126)]).tolist()
    return found


def _garbage_of(codes: Ints) -> Mask:
    bad = [code for code in _specials(codes) if _meaning(code)[1]]
    return np.isin(codes, bad) if bad else np.zeros(len(codes), dtype=np.bool_)


def _mapped(textpage: pdfium.PdfTextPage, chars: Chars) -> tuple[Ints, int]:
    """(codes, those of fonts without a way to Unicode mended or dropped, and how many were dropped)."""
    codes = chars.codes
    real = np.flatnonzero((chars.objects >= 0) & (codes != _SKIP))
    sample = real[::_SAMPLE] if len(real) > 200 else real
    fonts = chars.fonts[chars.objects[sample]]
    failing = np.unique(fonts[is_unmapped(textpage, sample)]) if len(sample) else fonts
    if not len(failing):
        return codes, 0
    codes, dropped = codes.copy(), 0
    of_char = np.where(chars.objects >= 0, chars.fonts[chars.objects], 0)
    for font in failing.tolist():
        own = real[of_char[real] == font]
        own = own[is_unmapped(textpage, own)]
        meanings = font_meanings(font)
        mended = _mended(codes[own], meanings)
        if mended is not None:
            codes[own] = mended
        elif not _reads_as_words([chr(code) for code in codes[own].tolist() if 32 < code < 0x7F], len(own)):
            dropped += int(np.count_nonzero((codes[own] > 32) & ~_garbage_of(codes[own])))
            codes[own] = np.where(_garbage_of(codes[own]), codes[own], _SKIP)
    return codes, dropped


def _mended(codes: Ints, meanings: Meanings) -> Ints | None:
    """The codes as the font's own tables explain them, where that gives words."""
    if not meanings.of_glyph:
        return None
    found = [meanings.of_glyph.get(code, _SKIP) for code in codes.tolist()]
    known = [chr(code) for code in found if code > 32]
    letters = sum(char.isalpha() for char in known)
    if len(known) < 0.8 * sum(code > 3 for code in codes.tolist()) or letters < len(known) / 2:
        return None
    latin = [unicodedata.normalize("NFD", char)[0] for char in known]
    return np.array(found, dtype=np.int64) if _has_vowels(latin) else None


def _reads_as_words(guessed: Sequence[str], count: int) -> bool:
    """Whether characters without a Unicode map, taken as ASCII, have the vowels of a language.

    Old LaTeX fonts have no map and mean what their codes say; codes that are shifted (as subset fonts do) have few.
    """
    letters = sum(char.isalpha() for char in guessed)
    said = sum(char.isalnum() for char in guessed)
    return 2 * len(guessed) >= count and said >= 0.6 * len(guessed) and (letters < _FEW or _has_vowels(guessed))


def _has_vowels(chars: Sequence[str]) -> bool:
    """Always true of a script that is not Latin."""
    letters = [char for char in chars if char.isalpha()]
    if sum(char.isascii() for char in letters) < 0.5 * len(letters):
        return True
    vowels = sum(char in "aeiouyAEIOUY" for char in letters)
    return 0.2 * len(letters) <= vowels <= 0.65 * len(letters)


def _is_seen(chars: Chars, codes: Ints, width: float, height: float, is_scan: Callable[[], bool]) -> Mask:
    """Off the page nobody reads it; painted by no ink neither, unless it is the text layer of a scan."""
    left, top, right, bottom = chars.boxes.T
    seen: Mask = (right > 0) & (left < width) & (bottom > 0) & (top < height) | (codes <= 32)
    inked = ~chars.invisible
    if np.any(chars.invisible) and np.any(inked & (codes > 32)) and not is_scan():
        seen &= inked
    return seen


def _is_doubled(codes: Ints, chars: Chars) -> Mask:
    """The same glyph again at almost the same place: drawn twice to look bold, and not two letters of one ligature."""
    doubled = np.zeros(len(codes), dtype=np.bool_)
    inked = np.flatnonzero(codes > 32)
    if not _may_be_doubled(codes[inked], chars.placed[inked], chars.objects[inked]):
        return doubled
    left, top, right, bottom = np.clip(chars.placed[inked].astype(np.float64), -4096, 16_000).T
    order = np.argsort(
        (codes[inked] << 42) + ((np.round(top) + 4096).astype(np.int64) << 21) + ((left + 4096) * 64).astype(np.int64)
    )
    one, other = order[:-1], order[1:]
    near_x = np.abs(left[one] - left[other]) <= _SAME_PLACE * np.minimum(
        right[one] - left[one], right[other] - left[other]
    )
    near_y = np.abs(top[one] - top[other]) <= _SAME_PLACE * (bottom[one] - top[one])
    solid = (right[one] > left[one]) & (bottom[one] > top[one])
    again = (chars.objects[inked][one] != chars.objects[inked][other]) | (left[one] != left[other])
    same = (codes[inked][one] == codes[inked][other]) & near_x & near_y & solid & again
    doubled[inked[np.maximum(one, other)[same]]] = True
    return doubled


def _may_be_doubled(codes: Ints, boxes: Floats, objects: Ints) -> bool:
    """A quick look: two objects that begin with one letter at one place, or a letter on the one before it."""
    near = np.abs(np.diff(boxes[:, 0])) < _SAME_PLACE * (boxes[1:, 2] - boxes[1:, 0])
    if np.any(near & (np.diff(codes) == 0) & (np.diff(boxes[:, 0]) != 0)):
        return True
    first = np.flatnonzero(np.diff(objects, prepend=-2))
    left, top = boxes[first, 0], boxes[first, 1]
    order = np.lexsort((left, np.round(top), codes[first]))
    alike = np.diff(codes[first][order]) == 0
    return bool(np.any(alike & (np.diff(left[order]) < 3) & (np.abs(np.diff(top[order])) < 3)))


def _fragments(textpage: pdfium.PdfTextPage, chars: Chars, codes: Ints, frame: int) -> tuple[Fragment, ...]:
    stored, lengths = _stored(codes)
    line_end, hyphen = np.isin(codes, _LINE_ENDS), np.isin(codes, _HYPHENS)
    blank = np.isin(codes, [32, *(code for code, text in stored.items() if text == " ")])
    solid = np.flatnonzero((lengths > 0) & ~blank & ~line_end & ~hyphen)
    if not len(solid):
        return ()
    ends = np.cumsum(line_end | hyphen)[solid]
    placed, frames = chars.placed[solid], chars.frames[solid]
    breaks = (np.diff(ends) > 0) | (np.diff(frames) != 0) | _is_far(placed, frames)
    chosen, starts = _with_blanks(solid, np.flatnonzero(blank), breaks)
    # From here on, positions are those of the text as it is stored: a ligature's letters share its box.
    lengths = np.where(blank, 1, lengths)[chosen]
    origin = np.repeat(chosen, lengths)
    kept = codes[chosen].astype(np.uint32).tobytes().decode("utf-32-le", "surrogatepass")
    text = _replaced(kept, stored)
    offsets = np.concatenate([[0], np.cumsum(lengths)])[starts]
    first = solid[np.concatenate([[0], np.flatnonzero(breaks) + 1])]
    last = solid[np.concatenate([np.flatnonzero(breaks), [len(solid) - 1]])]
    fonts = _Fonts(textpage)
    stops = np.append(offsets[1:], len(text))
    edges = _edges(chars.placed, origin, offsets, first, last)
    middle = np.where(chars.objects[(first + last) // 2] >= 0, (first + last) // 2, last)
    sizes = np.where(chars.sizes[chars.objects[middle]] >= 1, chars.sizes[chars.objects[middle]], edges[3] - edges[1])
    hyphens = dict(
        zip((np.searchsorted(first, np.flatnonzero(hyphen)) - 1).tolist(), np.flatnonzero(hyphen).tolist(), strict=True)
    )
    shown = chars.boxes[origin]
    return tuple(
        Fragment(
            text=text[start:stop],
            boxes=shown[start:stop],
            size=size,
            bold=fonts.is_bold(one, font) and fonts.is_bold(other, last_font),
            frame=way,
            upright=way == frame,
            left=left,
            top=top,
            right=right,
            bottom=bottom,
            hyphen=chars.boxes[hyphens[number]] if number in hyphens else None,
        )
        for number, (start, stop, size, one, other, font, last_font, way, left, top, right, bottom) in enumerate(
            zip(
                offsets.tolist(),
                stops.tolist(),
                sizes.tolist(),
                first.tolist(),
                last.tolist(),
                chars.fonts[chars.objects[first]].tolist(),
                chars.fonts[chars.objects[last]].tolist(),
                chars.frames[first].tolist(),
                *(edge.tolist() for edge in edges),
                strict=True,
            )
        )
    )


def _stored(codes: Ints) -> tuple[dict[int, str], Ints]:
    """(what is stored for the codes that are not stored as they are; how many characters are, for each)."""
    lengths = np.ones(len(codes), dtype=np.int64)
    stored: dict[int, str] = {}
    for code in _specials(codes):
        text = _meaning(code)[0]
        if code < 0 or text != chr(code):
            lengths[codes == code] = len(text)
            stored[code] = text
    return stored, lengths


def _replaced(text: str, stored: dict[int, str]) -> str:
    if len(stored) > _FEW:
        return text.translate(stored)
    for code, new in stored.items():  # much faster than translate, for a few
        if code >= 0:
            text = text.replace(chr(code), new)
    return text


def _is_far(placed: Floats, frames: Ints) -> Mask:
    """Whether the next character stands across a wide gap, or well before the one before it, on the same line."""
    left, top, right, bottom = placed.T
    height = np.maximum(np.maximum((bottom - top)[1:], (bottom - top)[:-1]), 4.0)
    gap, back = left[1:] - right[:-1], left[:-1] - left[1:]
    # In turned text pdfium puts the pieces of a line in the wrong order.
    far: Mask = (gap > 1.3 * height) | (back > np.where(frames[1:] == 0, 3.0, 1.0) * height)
    far &= frames[1:] != SLANTED
    return far


def _with_blanks(solid: Ints, blanks: Ints, breaks: Mask) -> tuple[Ints, Ints]:
    """(indices of what is kept: characters, and one blank where some stand between two of one fragment; the starts)."""
    after = np.searchsorted(blanks, solid)
    padded = np.append(blanks, np.iinfo(np.int64).max)
    spaced = (padded[after[:-1]] < solid[1:]) & ~breaks
    chosen = np.sort(np.concatenate([solid, padded[after[:-1]][spaced]]))
    first = solid[np.concatenate([[0], np.flatnonzero(breaks) + 1])]
    return chosen, np.searchsorted(chosen, first)


def _edges(placed: Floats, origin: Ints, offsets: Ints, first: Ints, last: Ints) -> tuple[NDArray[np.float32], ...]:
    """Left, top, right, bottom of each fragment: as high as its first and last character, so that what is raised or
    lowered inside does not make the line higher."""
    return (
        np.minimum.reduceat(placed[origin, 0], offsets),
        np.minimum(placed[first, 1], placed[last, 1]),
        np.maximum.reduceat(placed[origin, 2], offsets),
        np.maximum(placed[first, 3], placed[last, 3]),
    )


class _Fonts:
    """Which fonts of a page are bold; each is asked once."""

    def __init__(self, textpage: pdfium.PdfTextPage) -> None:
        self._handle = textpage.raw
        self._bold: dict[int, bool] = {}

    def is_bold(self, index: int, font: int) -> bool:
        if font not in self._bold:
            self._bold[font] = self._ask(index)
        return self._bold[font]

    def _ask(self, index: int) -> bool:
        if raw.FPDFText_GetFontWeight(self._handle, index) >= _BOLD_WEIGHT:
            return True
        name = ctypes.create_string_buffer(128)
        raw.FPDFText_GetFontInfo(self._handle, index, name, 128, None)
        return bool(_BOLD_NAME.search(name.value.decode("latin-1")))
