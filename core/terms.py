"""Text to terms for BM25 and for comparing words: stemmed English, identifiers whole and in parts, CJK bigrams."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

# Iteration mark, kana, Han, Hangul; a katakana middle dot is dropped beforehand.
_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
# An identifier is a run of letters and digits that may hold inner dots, hyphens, slashes, underscores or at signs.
_TOKEN = re.compile(rf"(?P<cjk>[{_CJK}]+)|[^\W_{_CJK}]+(?:[._/@\-][^\W_{_CJK}]+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PART = re.compile(r"[^\W_]+")
_STOP = frozenset(
    "a an and are as at be been being by can could did do does doing for from had has have how i if in into is it its "
    "me my of on one or our shall should so such than that the their them then there these they this those to was we "
    "were what when where which while who whom whose why will with would you your about between does used use "
    "using eg ie".split()
)
_stemmer = Stemmer.Stemmer("english")
_stemming = threading.Lock()  # a stemmer has state

_PLURAL = re.compile(r"(?<![^\W_])(?=\d*[A-Z])[A-Z\d]{2,}s(?![^\W_])")  # GPUs, T5s
_BEFORE_FOLDING = (
    (re.compile(r"(?<=\d)(?=[²³¹⁰⁴-⁹])"), " "),  # 10² is not 102
    (re.compile("[\u2010\u2011\u2013]"), "-"),
    (re.compile("[\u30fb\uff65]"), ""),  # ニューラル・ネット is also written without the dot
)
_AFTER_FOLDING = (
    (re.compile(r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))\b"), ""),
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), ""),  # 10,000
    (re.compile(r"(?<![\w.])\.(?=\d)"), "0."),  # p < .05
)
_DECIMAL = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_INITIALS = re.compile(r"[a-z](?:\.[a-z])+")
_JOINT = re.compile(r"(?<!\d)[-_]|[-_](?!\d)")  # not in 10-12
_NAME_AND_NUMBER = re.compile(r"([^\W\d_]{3,})(\d+)")
_VOWEL = re.compile("[aeiouy]")
# A Greek letter that stands alone or with a number is spoken; in μm or in a Greek word it isn't.
_GREEK = re.compile(r"(?<![^\W\d_])[α-ω](?![^\W\d_])")
_GREEK_NAMES = dict(
    zip(
        "αβγδεζηθικλμνξοπρσςτυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau "
        "upsilon phi chi psi omega".split(),
        strict=True,
    )
)
_HAN_ALONE = re.compile("(?<![\u3005\u3400-\u9fff])[\u3400-\u9fff](?![\u3005\u3400-\u9fff])")
_PARTICLE = re.compile("은|는|이|가|을|를|의|에|로|와|과|도|만|에서|에는|으로|까지|부터|보다|이다")


class _Plain(dict[int, str]):
    """Latin letters without their accents, for str.translate; each is looked at once."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        base = unicodedata.normalize("NFD", char)[0]
        self[code] = base if base.isascii() else {"ø": "o", "ł": "l", "đ": "d", "ß": "ss"}.get(char, char)
        return self[code]


_plain = _Plain()


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    with _stemming:
        stem = str(_stemmer.stemWord(word))
    # The stemmer takes words without a vowel for none: lstms.
    return stem[:-1] if len(stem) > 3 and stem.endswith("s") and not _VOWEL.search(stem) else stem


def tokenise(text: str) -> list[str]:
    """Index terms in order, repeats kept; the same function serves passages and questions.

    `ResNet-152` gives `resnet152`, `resnet`, `152`, and so does `ResNet152`; `4.1.2` itself, `4`, `1`, `2`; a number
    such as `0.05` only itself. A CJK run gives its character bigrams (a lone character itself).
    """
    terms: list[str] = []
    end = -1
    for match in _TOKEN.finditer(_folded(text)):
        token = match.group()
        if token.isascii() and token.isalpha():
            if token not in _STOP:
                terms.append(_stem(token))
        elif match.lastgroup == "cjk":
            # 은 of "BM25은" is a particle.
            if not (match.start() == end and _PARTICLE.fullmatch(token)):
                terms += _bigrams(token)
        else:
            terms += _latin(token)
        end = match.end()
    return terms


def _folded(text: str) -> str:
    """Of one form whatever the width, case, accents and kind of hyphen."""
    if text.isascii():
        text = _PLURAL.sub(_with_singular, text).lower()
    else:
        for pattern, instead in _BEFORE_FOLDING:
            text = pattern.sub(instead, text)
        text = _PLURAL.sub(_with_singular, unicodedata.normalize("NFKC", text)).lower()
        text = _GREEK.sub(lambda match: _GREEK_NAMES[match.group()], text.translate(_plain))
    for pattern, instead in _AFTER_FOLDING:
        text = pattern.sub(instead, text)
    return text


def _with_singular(match: re.Match[str]) -> str:
    """Both, as who asks in small letters gives no hint that gpus is one; the stemmer knows it of most others."""
    word = match.group()
    return f"{word} {word[:-1]}" if _stem(word.lower()).endswith("s") else word


def _latin(token: str) -> Iterator[str]:
    if _DECIMAL.fullmatch(token):
        yield token
        return
    if _INITIALS.fullmatch(token):
        token = token.replace(".", "")
    parts = _PART.findall(token)
    if len(parts) > 1:
        yield _stem(_JOINT.sub("", token))
    for part in parts:
        if part not in _STOP:
            yield _stem(part)
            if named := _NAME_AND_NUMBER.fullmatch(part):
                yield _stem(named[1])
                yield named[2]


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
        return
    for start in range(len(run) - 1):
        yield run[start : start + 2]
    # A word of one character is found whatever is attached to it: 値は, 값을.
    yield from _HAN_ALONE.findall(run)
    if _PARTICLE.fullmatch(run, 1) and run[0] >= "\uac00":
        yield run[0]


def numbers(text: str) -> list[str]:
    """The numbers that stand in a text, as they are written, repeats kept."""
    return _NUMBER.findall(text)
