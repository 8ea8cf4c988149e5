"""Text to tokens by which a name is found again, however it is written: folded, with the case of its first letter."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

# Chinese, Japanese and Korean letters stand alone: names are not parted from what follows them.
_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")


class Token(NamedTuple):
    folded: str
    small: bool  # begins with a small letter, which a name that is written with a capital does not


def words(text: str) -> list[str]:
    """Its tokens as they are written, in order."""
    return _TOKEN.findall(text)


@lru_cache(maxsize=200_000)
def token(word: str) -> Token:
    return Token(_folded(word), word[0].islower())


def key(name: str) -> tuple[str, ...]:
    """What names are compared by: 'Abdul-Aziz' and 'abdul aziz' are one."""
    return tuple(token(word).folded for word in words(name))


def _folded(word: str) -> str:
    """Without case, accents and width; 'Models' and 'GPUs' keep their ending."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", plain) or word
