"""Text as it is stored, cut and compared: cleaning, sentences, quotes and their boxes."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence

from core.types import Box, Page, Span

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_DROPPED = {0xAD, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x200B}
_ABBREVIATIONS = re.compile(
    r"(?:\b(?:et al|e\.g|i\.e|cf|vs|etc|Fig|Figs|Eq|Eqs|Sec|Secs|Tab|Ref|Refs|No|Nos|Dr|Mr|Mrs|Ms|Prof|St|Inc|Ltd|Co|"
    r"approx|resp|al|vol|pp|ed|eds|Ch|App|Thm|Lem|Def|Dept|Univ)|\b[A-Z])\.$"
)
_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s)|[。！？]+[”’」』）]*|\n")
_FOLD = str.maketrans({**dict.fromkeys("‘’′‚`", "'"), **dict.fromkeys("“”″„«»", '"'), **dict.fromkeys("‐‑‒–—−﹣－", "-")})


def clean_char(code: int) -> str:
    """One code point as it may be stored: '' for controls and invisible marks, letters for ligatures."""
    if code in _LIGATURES:
        return _LIGATURES[code]
    if code in (9, 10, 13, 0xA0) or 0x2000 <= code <= 0x200A:
        return "\n" if code == 10 else " "
    if code < 32 or 0x7F <= code < 0xA0 or code in _DROPPED or 0xD800 <= code <= 0xDFFF or 0xE000 <= code <= 0xF8FF:
        return ""
    return chr(code)


def clean(text: str) -> str:
    """`text` without control characters (NUL among them), invisible marks and ligatures; tabs become blanks."""
    return "".join(clean_char(ord(char)) for char in text)


def sentences(text: str) -> list[tuple[int, int]]:
    """Offsets (start, end) of the sentences, in order, blanks between them left out. A line end is a border too."""
    found, start = [], 0
    for match in _END.finditer(text):
        end = match.end()
        if match.group() != "\n" and not _ends_sentence(text, match.start(), end):
            continue
        found.append((start, end))
        start = end
    found.append((start, len(text)))
    trimmed = ((s + len(text[s:e]) - len(text[s:e].lstrip()), s + len(text[s:e].rstrip())) for s, e in found)
    return [(s, e) for s, e in trimmed if s < e]


def _ends_sentence(text: str, mark: int, end: int) -> bool:
    if text[mark] != ".":
        return True
    if _ABBREVIATIONS.search(text[max(0, mark - 12) : mark + 1]):
        return False
    following = text[end:].lstrip()[:1]
    return not following or not following.islower()


def embedding_text(title: str, section: str, text: str) -> str:
    """What is embedded and indexed for a chunk: its title and section in front, which are never quoted."""
    return "\n".join(part for part in (title, section, text) if part)


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def text_of(spans: Sequence[Span], pages: Mapping[int, str]) -> str:
    """The text of spans over pages' texts: one line end between two spans."""
    return "\n".join(pages[span.page][span.start : span.end] for span in spans)


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Offsets of `quote` in `text`: exact first, then whatever case, blanks, quotation marks and hyphens are."""
    quote = quote.strip()
    if not quote:
        return None
    at = text.find(quote)
    if at >= 0:
        return at, at + len(quote)
    folded, origin = _folded(text)
    wanted, _ = _folded(quote)
    at = folded.find(wanted) if wanted else -1
    if at < 0:
        return None
    return origin[at], origin[at + len(wanted) - 1] + 1


def _folded(text: str) -> tuple[str, list[int]]:
    """`text` in one case without blanks and hyphens, and for each of its characters where it came from."""
    chars: list[str] = []
    origin: list[int] = []
    for index, char in enumerate(text):
        for folded in unicodedata.normalize("NFKC", char).translate(_FOLD).lower():
            if not folded.isspace() and folded != "-" and ord(folded) not in _DROPPED:
                chars.append(folded)
                origin.append(index)
    return "".join(chars), origin


def line_boxes(page: Page, start: int, end: int) -> tuple[Box, ...]:
    """One box a line for characters start to end of the page's text; blanks that were added have none."""
    lines: list[list[float]] = []
    for left, top, right, bottom in page.boxes[start:end]:
        if right <= left or bottom <= top:
            continue
        last = lines[-1] if lines else None
        middle = (top + bottom) / 2
        if last and last[1] <= middle <= last[3] and left >= last[2] - (last[3] - last[1]) * 2:
            last[:] = [min(last[0], left), min(last[1], top), max(last[2], right), max(last[3], bottom)]
        else:
            lines.append([left, top, right, bottom])
    return tuple((line[0], line[1], line[2], line[3]) for line in lines)
