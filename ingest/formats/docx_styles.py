"""What a DOCX file's styles and lists say of a paragraph: heading, caption, item, and the number it carries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_HEADING = re.compile(r"^heading ([1-9])$")
_PLACE = re.compile(r"%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"))
_ROMAN_LOW = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_LONGEST_CHAIN = 20  # of styles based on each other


def local(element: Any) -> str:
    """The element's name without its namespace, of which there are two: transitional and strict."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(element: Any, name: str) -> Iterator[Any]:
    return (child for child in (() if element is None else element) if local(child) == name)


def child(element: Any, *names: str) -> Any:
    """The first child of that name, its first child of the next name, and so on; None where one is missing."""
    for name in names:
        element = next(children(element, name), None)
    return element


def value(element: Any, name: str = "val") -> str:
    if element is None:
        return ""
    return next((str(text) for key, text in element.attrib.items() if key.rpartition("}")[2] == name), "")


def is_on(element: Any) -> bool:
    """Whether a switch such as w:vanish is there and not turned off."""
    return element is not None and value(element) not in ("0", "false", "off")


@dataclass(frozen=True)
class Style:
    name: str
    based_on: str
    outline: str
    number: tuple[str, str]  # id and level of a list; '' where the style says nothing


@dataclass(frozen=True)
class Look:
    """What a paragraph is. `level` is a heading's; `number` is a list's id and level."""

    name: str
    level: int
    number: tuple[str, str]


class Styles:
    def __init__(self, root: Any) -> None:
        self._styles = {value(style, "styleId"): _style(style) for style in children(root, "style")}

    def look(self, properties: Any) -> Look:
        """By a paragraph's own properties first, then its style's, then those that the style is based on."""
        chain = list(self._chain(value(child(properties, "pStyle"))))
        outline = value(child(properties, "outlineLvl")) or next((s.outline for s in chain if s.outline), "")
        name = chain[0].name if chain else ""
        level = next((int(match[1]) for s in chain if (match := _HEADING.match(s.name))), 0)
        if not level and outline.isdecimal() and int(outline) < 9:
            level = int(outline) + 1
        own = _number(properties)
        number_id = own[0] or next((s.number[0] for s in chain if s.number[0]), "")
        depth = own[1] or next((s.number[1] for s in chain if s.number[1]), "0")
        return Look(name, 1 if name == "title" else min(level, 6), (number_id, depth))

    def _chain(self, style_id: str) -> Iterator[Style]:
        for _ in range(_LONGEST_CHAIN):
            style = self._styles.get(style_id)
            if style is None:
                return
            yield style
            style_id = style.based_on


def _style(element: Any) -> Style:
    properties = child(element, "pPr")
    return Style(
        name=value(child(element, "name")).lower(),
        based_on=value(child(element, "basedOn")),
        outline=value(child(properties, "outlineLvl")),
        number=_number(properties),
    )


def _number(properties: Any) -> tuple[str, str]:
    found = child(properties, "numPr")
    return value(child(found, "numId")), value(child(found, "ilvl"))


@dataclass(frozen=True)
class _Level:
    form: str  # decimal, bullet, lowerLetter, …
    text: str  # '%1.%2'
    start: int


@dataclass
class Numbering:
    """The lists of a document, and how far each has come."""

    levels: dict[str, dict[int, _Level]]
    _lists: dict[str, str] = field(default_factory=dict)  # the abstract list of each list: they count together
    _counts: dict[str, dict[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Any) -> Numbering:
        abstract = {value(a, "abstractNumId"): _levels(a) for a in children(root, "abstractNum")}
        lists = {value(num, "numId"): value(child(num, "abstractNumId")) for num in children(root, "num")}
        return cls({number: abstract.get(name, {}) for number, name in lists.items()}, lists)

    def marker(self, number: tuple[str, str]) -> str:
        """'- ', '3. ' or '2.1 ' before the next paragraph of that list; '' for what is in no list."""
        list_id, depth = number[0], int(number[1]) if number[1].isdecimal() else 0
        if list_id in ("", "0"):
            return ""
        level = self.levels.get(list_id, {}).get(depth)
        if level is None or level.form == "bullet":
            return "- "
        counts = self._counts.setdefault(self._lists.get(list_id, list_id), {})
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [d for d in counts if d > depth]:
            del counts[deeper]
        if level.form == "none":
            return ""

        def filled(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            other = self.levels[list_id].get(at, level)
            return _written(counts.get(at, other.start), other.form)

        text = _PLACE.sub(filled, level.text).strip()
        return f"{text} " if text else ""


def _levels(abstract: Any) -> dict[int, _Level]:
    found: dict[int, _Level] = {}
    for level in children(abstract, "lvl"):
        depth, start = value(level, "ilvl"), value(child(level, "start"))
        form = value(child(level, "numFmt")) or "decimal"
        if depth.isdecimal():
            begins = int(start) if start.isdecimal() and len(start) < 9 else 1
            found[int(depth)] = _Level(form, value(child(level, "lvlText"))[:40], begins)
    return found


def _written(number: int, form: str) -> str:
    if form in ("lowerLetter", "upperLetter") and 0 < number <= 26:
        letter = chr(ord("a") + number - 1)
        return letter if form == "lowerLetter" else letter.upper()
    if form in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        text = ""
        for worth, sign in (*_ROMAN, *_ROMAN_LOW):
            text += sign * (number // worth)
            number %= worth
        return text if form == "lowerRoman" else text.upper()
    return str(number)
