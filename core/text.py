"""Plain text: sentences, quotes found again, hashes, and the text and boxes of a stretch of a page."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from core.types import Box, Page, Span

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_DROPPED = frozenset({0xAD, 0x200B, 0x2060, 0xFEFF, 0xFFFC, 0xFFFD, 0xFFFE, 0xFFFF})

_ABBREVIATION = re.compile(
    r"(?:al|approx|appx|ca|cf|ch|chap|co|corp|def|dept|dr|ed|eds|e\.g|eg|eq|eqn|eqs|esp|"
    r"est|etc|fig|figs|i\.e|ie|inc|lemma|ltd|mr|mrs|ms|nos|op|p|pp|para|prof|prop|"
    r"ref|refs|resp|sec|sect|sects|st|tab|tabs|thm|viz|vol|vols|vs|w\.r\.t|wrt|jan|feb|"
    r"mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)$",
    re.IGNORECASE,
)
_ENDINGS = re.compile(r"[.!?]+[\"'”’)\]»]*(?=\s)|[。！？｡]+[」』”’）】]*|\n+")
_LAST_TOKEN = re.compile(r"[^\s(\[{“\"'‘]+$")

_SAME = {
    **dict.fromkeys("‘’‚‛′`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
}


def clean_char(code: int) -> str:
    """One code point as it may be stored: '' for controls, private use and invisible marks, letters for ligatures."""
    if 0x20 <= code < 0x7F:
        return chr(code)
    if code in _LIGATURES:
        return _LIGATURES[code]
    if code in (9, 10, 13, 0xA0, 0x3000) or 0x2000 <= code <= 0x200A or code in (0x2028, 0x2029, 0x202F, 0x205F):
        return "\n" if code == 10 else " "
    if code in _DROPPED or unicodedata.category(chr(code)) in ("Cc", "Co", "Cs", "Cn"):
        return ""
    return chr(code)


def clean(text: str) -> str:
    """`text` without control characters (NUL among them), invisible marks and ligatures; tabs become blanks."""
    return "".join(clean_char(ord(char)) for char in text.replace("\r\n", "\n"))


def text_hash(s: str) -> str:
    """SHA-256 of the UTF-8 bytes, in hex."""
    return hashlib.sha256(s.encode("utf-8", "surrogatepass")).hexdigest()


def embedding_text(title: str, section: str, text: str) -> str:
    """What is embedded and indexed for a chunk: title and section path on lines above the text. Never quoted."""
    return "\n".join(part for part in (title, section, text) if part)


def text_of(spans: Iterable[Span], pages: Mapping[int, str]) -> str:
    """The text at spans of the pages' texts (by page number): one line break between two spans."""
    return "\n".join(pages[span.page][span.start : span.end] for span in spans)


def spans_within(spans: Sequence[Span], start: int, end: int) -> tuple[Span, ...]:
    """The parts of the page spans under characters start to end of their joined text (one '\\n' between spans)."""
    found, offset = [], 0
    for span in spans:
        length = span.end - span.start
        first, last = max(start - offset, 0), min(end - offset, length)
        if first < last:
            found.append(Span(page=span.page, start=span.start + first, end=span.start + last))
        offset += length + 1
    return tuple(found)


def is_cjk(char: str) -> bool:
    """Of a script that is written without blanks between words (Chinese, Japanese; not Korean)."""
    return (
        "\u3000" <= char <= "\u30ff"
        or "\u3400" <= char <= "\u9fff"
        or "\uf900" <= char <= "\ufaff"
        or ("\uff00" <= char <= "\uffef" or "\U00020000" <= char <= "\U0003ffff")
    )


def sentences(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, in order, without the white space around it. A line break always ends one."""
    found: list[tuple[int, int]] = []
    start = 0
    for match in _ENDINGS.finditer(text):
        if match[0][0] in ".!?" and not _ends_sentence(text, start, match):
            continue
        _add_trimmed(found, text, start, match.end())
        start = match.end()
    _add_trimmed(found, text, start, len(text))
    return found


def _add_trimmed(found: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        found.append((start, end))


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 40].lstrip(" \t")[:1]
    if following.islower():
        return False
    if match[0] != ".":
        return True
    token = _LAST_TOKEN.search(text, max(start, match.start() - 30), match.start())
    if token is None:
        return True
    word = token[0]
    if word.lower() == "no":  # 'No. 4', but 'The answer is no. We'
        return not following.isdigit()
    if _ABBREVIATION.match(word) or (len(word) == 1 and word.isupper()):
        return False
    return not (word.replace(".", "").isdigit() and not text[start : token.start()].strip())  # '3.1. Title', '2. Item'


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """(start, end) in `text` of the first place where `quote` stands.

    Exact first, best where it cuts no word; then alike but for white space, case, curly quotes and kinds of dash;
    then also for hyphens inside words (as line ends leave them) and blanks beside punctuation. Digits always count.
    """
    quote = quote.strip()
    if not quote:
        return None
    exact = _exact(quote, text)
    if exact is not None:
        return exact
    for loose in (False, True):
        wanted, _ = _folded(quote, loose)
        haystack, origin = _folded(text, loose)
        at = haystack.find(wanted) if wanted.strip() else -1
        while at >= 0:
            start, end = origin[at], origin[at + len(wanted) - 1] + 1
            if _whole_words(text, start, end):
                return start, end
            at = haystack.find(wanted, at + 1)
    return None


def _exact(quote: str, text: str) -> tuple[int, int] | None:
    """The first place of whole words, else the first that cuts no number: '5 points' is not in '15 points'."""
    second: tuple[int, int] | None = None
    at = text.find(quote)
    while at >= 0:
        end = at + len(quote)
        if _whole_words(text, at, end):
            return at, end
        if second is None and not (_in_number(text, at) or _in_number(text, end)):
            second = at, end
        at = text.find(quote, at + 1)
    return second


def _in_number(text: str, at: int) -> bool:
    return text[max(at - 1, 0) : at].isdigit() and text[at : at + 1].isdigit()


def _whole_words(text: str, start: int, end: int) -> bool:
    """Neither end cuts a word of letters or a number in two; scripts without blanks have no such ends."""

    def inside(left: str, right: str) -> bool:
        return left.isalnum() and right.isalnum() and not is_cjk(left) and not is_cjk(right)

    cut_left = start > 0 and inside(text[start - 1], text[start])
    return not (cut_left or (end < len(text) and inside(text[end - 1], text[end])))


def _folded(text: str, loose: bool) -> tuple[str, list[int]]:
    """`text` with its differences of form taken out, and for each character of that the place it came from."""
    chars: list[str] = []
    origin: list[int] = []
    for at, char in enumerate(text):
        if char.isspace():
            if chars and chars[-1] != " ":
                chars.append(" ")
                origin.append(at)
            continue
        for folded in _fold(char):
            chars.append(folded)
            origin.append(at)
    if chars and chars[-1] == " ":
        del chars[-1], origin[-1]
    keep = [at for at in range(len(chars)) if not _dropped(chars, at, loose)]
    return "".join(chars[at] for at in keep), [origin[at] for at in keep]


def _fold(char: str) -> str:
    if char in _SAME:
        return _SAME[char]
    if char in "\u00ad\ufffe\x02\x00":
        return ""
    return char.lower() if char.isascii() else unicodedata.normalize("NFKC", char).casefold()


def _dropped(chars: list[str], at: int, loose: bool) -> bool:
    before = chars[at - 1] if at else ""
    after = chars[at + 1] if at + 1 < len(chars) else ""
    if chars[at] == " ":
        if before and after and is_cjk(before) and is_cjk(after):
            return True
        return loose and not (before.isalnum() and after.isalnum())
    if not loose or chars[at] != "-":
        return False
    if after == " " and at + 2 < len(chars):
        after = chars[at + 2]
    return before.isalpha() and after.isalpha()


def line_boxes(page: Page, start: int, end: int) -> tuple[Box, ...]:
    """The boxes of characters `start` to `end` of the page's text, merged into one box a line."""
    merged: list[Box] = []
    for box in map(tuple, page.boxes[start:end].tolist()):
        if box[2] <= box[0] or box[3] <= box[1]:
            continue
        if merged and _on_line(merged[-1], box):
            last = merged[-1]
            merged[-1] = (min(last[0], box[0]), min(last[1], box[1]), max(last[2], box[2]), max(last[3], box[3]))
        else:
            merged.append(box)
    return tuple(merged)


def _on_line(line: Box, box: Box) -> bool:
    overlap = min(line[3], box[3]) - max(line[1], box[1])
    height = min(line[3] - line[1], box[3] - box[1])
    across = max(box[0] - line[2], line[0] - box[2])
    return overlap > 0.4 * height and across < 4 * max(line[3] - line[1], box[3] - box[1])
