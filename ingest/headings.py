"""Which lines are headings, and of which level; the title; captions; where the references begin and end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ingest.columns import Fragment

_NUMBERED = re.compile(
    r"^(?P<number>\d{1,2}(?:\.\d{1,2}){0,3}|[A-Z](?:\.\d{1,2}){0,3}|[IVX]{1,5}(?=\.))\.?\s+(?P<title>[^\W\d_].{1,110})$"
)
_KNOWN = re.compile(
    r"^(?:\d{1,2}\.?\s+|[IVX]{1,5}\.\s+)?(abstract|introduction|background|related works?|methods?|methodology|"
    r"experiments?|results|evaluation|discussion|limitations?|conclusions?|acknowledge?ments?|references|bibliography|"
    r"works cited|literature cited|appendix(?: [A-Z])?|appendices|supplementary materials?|"
    r"摘\s*要|引言|绪论|结论|参考文献|参考资料|附录|致谢)[.:：]?$",
    re.IGNORECASE,
)
_REFERENCES = re.compile(
    r"^(?:\d{1,2}\.?\s+|[IVX]{1,5}\.\s+)?(references|bibliography|works cited|literature cited|参考文献|参考资料)\W*$",
    re.IGNORECASE,
)
_CAPTION = re.compile(
    r"^(?:(?i:figure|fig\.?|table|tab\.|algorithm|listing|scheme|chart)\s*(?:[A-Z]?\.?\d+|[IVX]+\b)|(?:[图圖表図]|그림|표)\s*\d+)"
    r"(?!\s+[a-z])"  # 'Figure 3 shows' opens a sentence
)
_BAD_TITLE = re.compile(
    r"^(untitled|microsoft|slide|\(?anonymous|\W*$)|\.(docx?|tex|pdf|dvi|indd|qxd|rtf|odt)$|^[\w.-]*\d{4,}[\w.-]*$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(19|20)\d\d\b")
_WORDS = re.compile(r"[^\W\d_]{3}|[\u3400-\u9fff]{2}")
_LARGE = 1.12  # times the body's size
LONGEST = 160
LONGEST_PLAIN = 40  # of a heading that has no look of its own, but is known by its words

Look = tuple[float, bool]  # size to half a point, bold


@dataclass(frozen=True)
class Style:
    """What a document's type says: the body's size, and how its headings look."""

    body: float
    numbered: frozenset[Look]  # looks of the headings that carry numbers; empty where there are too few to trust
    large: tuple[float, ...]  # sizes above the body's, largest first, for headings without numbers

    def is_large(self, fragment: Fragment) -> bool:
        return fragment.size > self.body * _LARGE

    def level(self, text: str, first: Fragment) -> int:
        """1 to 4 for a heading, 0 for anything else."""
        if not first.upright or len(text) > LONGEST or is_caption(text) or not _WORDS.search(text):
            return 0
        stands_out = self.is_large(first) or first.bold
        if _KNOWN.match(text) and (stands_out or text.isupper() or text[:1].isupper() or not text[:1].isascii()):
            return 1
        match = _numbered(text)
        if match and stands_out and (not self.numbered or look(first) in self.numbered):
            return min(match["number"].count(".") + 1, 4)
        return self._unnumbered_level(text, first)

    def _unnumbered_level(self, text: str, first: Fragment) -> int:
        large = self.is_large(first)
        if not (large and look(first) in self.numbered if self.numbered else large or first.bold):
            return 0
        letters = sum(map(str.isalpha, text))
        if text.endswith((".", ",", ";")) or letters < 0.6 * len(text.replace(" ", "")) or text[:1].islower():
            return 0
        if self.numbered:  # in a document with numbered headings, what looks like one of them
            return 2
        if large:
            return min(1 + sum(size > look(first)[0] for size in self.large), 3)
        return 3 if len(text) < 80 and first.size > self.body * 0.97 and text[:1].isalpha() else 0


def style_of(fragments: Iterable[Fragment]) -> Style:
    """The style of a document, from all its fragments."""
    sizes: Counter[float] = Counter()
    looks: Counter[Look] = Counter()
    every = [fragment for fragment in fragments if fragment.upright]
    for fragment in every:
        sizes[look(fragment)[0]] += len(fragment.text)
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    for fragment in every:
        if (fragment.bold or fragment.size > body * _LARGE) and _numbered(fragment.text):
            looks[look(fragment)] += 1
    trusted = frozenset(key for key, count in looks.items() if count >= 2)
    large = tuple(sorted({size for size in sizes if size > body * _LARGE}, reverse=True))
    return Style(body=body, numbered=trusted if sum(looks[key] for key in trusted) >= 4 else frozenset(), large=large)


def look(fragment: Fragment) -> Look:
    return round(fragment.size * 2) / 2, fragment.bold


def _numbered(text: str) -> re.Match[str] | None:
    match = _NUMBERED.match(text)
    if match is None or match["title"][0].islower() or match["title"].endswith((".", ",", ";")):
        return None
    return match


def is_numbered(text: str) -> bool:
    return _numbered(text) is not None


def is_caption(text: str) -> bool:
    return bool(_CAPTION.match(text))


def opens_references(heading: str) -> bool:
    return bool(_REFERENCES.match(heading))


def closes_references(heading: str, level: int) -> bool:
    """A heading after the references ends them, unless it looks like an entry of theirs (it holds a year)."""
    return 0 < level <= 2 and not _YEAR.search(heading)


def pick_title(metadata: str, fragments: Sequence[Fragment], height: float) -> str:
    """The metadata's title where it looks like one, else the largest text in the first page's upper half, else ''."""
    if len(metadata) > 4 and not _BAD_TITLE.search(metadata):
        return metadata[:300]
    upper = [f for f in fragments if f.upright and f.top < height / 2 and _WORDS.search(f.text)]
    if not upper:
        return ""
    largest = max(f.size for f in upper)
    return " ".join(f.text for f in upper if f.size > largest * 0.93)[:300].strip()
