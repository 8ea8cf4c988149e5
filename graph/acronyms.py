"""Abbreviations with what they stand for, as texts define them: 'Mixture-of-Experts (MoE)'.

Schwartz and Hearst, A Simple Algorithm for Identifying Abbreviation Definitions in Biomedical Text (2003).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SHORT = re.compile(r"\(([A-Za-z][\w.&/-]{1,9}?)s?\)")
_WORD = re.compile(r"[^\s()\[\],;:]+")


class Definition(NamedTuple):
    """Characters of the sentence: of the long form and of the short one."""

    long: tuple[int, int]
    short: tuple[int, int]


def definitions(sentence: str) -> list[Definition]:
    """Those in which the short form's letters stand in the words before it, the first at the beginning of a word."""
    found = []
    for match in _SHORT.finditer(sentence):
        short = match[1]
        if sum(char.isupper() for char in short) < 2 and not (short[0].isupper() and len(short) <= 3):
            continue
        start = _long_form(short, sentence, match.start())
        if start is not None:
            end = len(sentence[: match.start()].rstrip())
            found.append(Definition((start, end), (match.start(1), match.end(1))))
    return found


def _long_form(short: str, sentence: str, end: int) -> int | None:
    """Where the long form before `end` begins; at most the letters of the short form and five words, or twice them."""
    words = list(_WORD.finditer(sentence, 0, end))
    letters = [char.lower() for char in short if char.isalnum()]
    window = words[-min(len(letters) + 5, 2 * len(letters)) :]
    if not window:
        return None
    text, at = sentence[window[0].start() : end].rstrip(), 0
    at = len(text) - 1
    for index in range(len(letters) - 1, -1, -1):
        while at >= 0 and (text[at].lower() != letters[index] or (index == 0 and at > 0 and text[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return None
        at -= 1
    start = window[0].start() + at + 1
    long = sentence[start:end].strip()
    wide = len(long) > len(short) + 1 and " " in long.replace("-", " ") and short.lower() not in long.lower().split()
    return start if wide and not re.search(r"[.;:!?()]\s", long) else None
