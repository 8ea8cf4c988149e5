"""Acronyms where a text defines them: 'Lightning Attention (LA)', 'LA (lightning attention)'.

Schwartz & Hearst 2003, "A simple algorithm for identifying abbreviation definitions in biomedical text": the letters
of the short form are found from right to left in the words beside it, its first at the beginning of a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from graph.resolve.fold import is_cjk

_BRACKET = re.compile(r"[(（]([^()（）]{2,120})[)）]")
_SHORT = re.compile(r"(?=.*[^\W\d_])[^\W_][\w.&/+-]{1,11}")
_WORD_BEFORE = re.compile(r"([^\s(（,;:，；：。]+)\s*$")
_WORD = re.compile(r"[^\W_]+")
_BEFORE = 120  # characters in front of a bracket that are looked at
_BOUNDARY = re.compile(r"[.;:?!,]\s|[()（）\n]{2}|[。；：，！？]")
_LATIN = re.compile(r"[A-Za-z][\w.&/+-]*(?: [A-Za-z][\w.&/+-]*)*")


class Definition(NamedTuple):
    """As they stand in the text."""

    short: str
    long: str


def definitions(text: str) -> Iterator[Definition]:
    """What brackets in the text define, in order; the same may come twice. Linear in the text's length."""
    for bracket in _BRACKET.finditer(text):
        inside = " ".join(re.split(r"[,;，；]", bracket[1])[0].split())
        before = " ".join(text[max(bracket.start() - _BEFORE, 0) : bracket.start()].split())
        found = _short_inside(inside, before) or _short_before(inside, before) or _translated(inside, before)
        if found is not None:
            yield found


def _short_inside(inside: str, before: str) -> Definition | None:
    short = inside.strip("\"'“”‘’ ")
    if not _is_short(short):
        return None
    stretch = _BOUNDARY.split(before)[-1]
    most = min(len(short) + 5, len(short) * 2)
    long = long_form(short, " ".join(stretch.split(" ")[-most:]))
    return Definition(short, long) if long else None


def _short_before(inside: str, before: str) -> Definition | None:
    word = _WORD_BEFORE.search(before)
    if word is None or not _is_short(word[1]) or len(inside.split()) > 12:
        return None
    long = long_form(word[1], inside)
    return Definition(word[1], long) if long == inside else None


def _translated(inside: str, before: str) -> Definition | None:
    """'大语言模型（LLM）', '清华大学 (Tsinghua University)', 'LLM（大语言模型）': the name in two scripts."""
    inner, outer = any(map(is_cjk, inside)), is_cjk(before[-1:])
    if inner == outer:
        return None
    if inner:
        latin = list(_LATIN.finditer(before))
        return Definition(latin[-1][0], inside) if latin and latin[-1].end() == len(before) else None
    if not _LATIN.fullmatch(inside):
        return None
    start = len(before)
    while start and is_cjk(before[start - 1]):
        start -= 1
    return Definition(inside, before[start:])


def _is_short(text: str) -> bool:
    """A word of 2 to 12 characters with a capital, and not a mere number or year."""
    return bool(_SHORT.fullmatch(text)) and any(char.isupper() for char in text)


def long_form(short: str, words: str) -> str:
    """The end of `words` that `short` stands for; '' where its letters are not found in order.

    Words that begin with the letters go first: PPO is 'Proximal Policy Optimization', though the last two words hold
    p, p and o as well.
    """
    letters = [char for char in short.casefold() if char.isalnum()]
    if len(letters) > 2 and letters[-1] == "s" and short[-1] == "s" and short[:-1].isupper():
        letters.pop()  # LLMs
    beginnings = list(_WORD.finditer(words))[-len(letters) :]
    if [match[0][0].casefold() for match in beginnings] == letters and len(letters) > 1:
        return words[beginnings[0].start() :]
    folded = words.casefold()
    at = len(folded)
    for number, letter in reversed(list(enumerate(letters))):
        at -= 1
        while at >= 0 and not (folded[at] == letter and (number > 0 or _begins(folded, at))):
            at -= 1
        if at < 0:
            return ""
    found = words[at:]
    enough = len(found) > len(short) + 1 and short not in found.split()
    return found if enough else ""


def _begins(text: str, at: int) -> bool:
    return at == 0 or not text[at - 1].isalnum()
