"""Text to terms for BM25 and for comparing words: stemmed English, identifiers whole and in parts, CJK bigrams."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import snowballstemmer

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
# An identifier is a run of letters and digits that may hold inner dots, hyphens, slashes or underscores.
_TOKEN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:[._/\-][^\W_{_CJK}]+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PART = re.compile(r"[^\W_]+")
_STOP = frozenset(
    "a an and are as at be been being by can could did do does doing for from had has have how i if in into is it its "
    "me my of on one or our shall should so such than that the their them then there these they this those to was we "
    "were what when where which while who whom whose why will with would you your about between does used use "
    "using".split()
)
_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


def tokenise(text: str) -> list[str]:
    """Index terms in order, repeats kept; the same function serves passages and questions.

    `ResNet-152` gives `resnet-152`, `resnet`, `152`; a CJK run gives its character bigrams (a lone character itself).
    """
    terms: list[str] = []
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text).lower()):
        token = match.group()
        if "\u3040" <= token[0] <= "\ud7af":
            terms += [token[i : i + 2] for i in range(len(token) - 1)] or [token]
            continue
        parts = _PART.findall(token)
        if len(parts) > 1:
            terms.append(token)
        terms += [_stem(part) for part in parts if part not in _STOP]
    return terms


def numbers(text: str) -> list[str]:
    """The numbers that stand in a text, as they are written, repeats kept."""
    return _NUMBER.findall(text)
