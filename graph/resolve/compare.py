"""Two names side by side: which words they share, and why they may never be one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz.distance import OSA

from graph.resolve.fold import is_cjk, latin, singulars
from graph.resolve.form import GENERIC, VARIANT, Form, form

_STOP = frozenset("who it us is as at or am we he all can may one so do no on in to be if an a i".split())
_NEGATIONS = ("un", "non", "in", "im", "ir", "il", "dis", "a", "an", "ab", "anti", "de", "mis", "counter", "pseudo")
_OPPOSITES = (
    ("pre", "post"),
    ("hyper", "hypo"),
    ("inter", "intra"),
    ("in", "out"),
    ("in", "ex"),
    ("im", "ex"),
    ("in", "de"),
    ("en", "de"),
    ("up", "down"),
    ("over", "under"),
    ("macro", "micro"),
    ("mono", "poly"),
    ("uni", "multi"),
    ("uni", "bi"),
    ("bi", "multi"),
    ("homo", "hetero"),
    ("endo", "exo"),
    ("sub", "super"),
    ("max", "min"),
    ("for", "back"),
    ("ab", "ad"),
    ("con", "di"),
    ("syn", "a"),
    ("im", "em"),
    ("pro", "anti"),
    ("meta", "para"),
)
_OPPOSITE_ENDS = (("less", "ful"), ("less", "y"), ("er", "ee"), ("or", "ee"))
_PREFIXES = ("pre", "post", "re", "sub", "super", "semi", "self", "multi", "meta", "hyper", "over", "under", "inter")
_TYPO_LENGTH = 7  # of a word in which one letter may be wrong: BERT is not BART


@dataclass(frozen=True)
class Compared:
    """Words that have a partner in the other name, and those that have none."""

    shared: int
    first: tuple[str, ...]
    second: tuple[str, ...]
    typos: int
    """Partners that differ by a letter or two."""
    initials: int
    """Partners of which one is the other's first letter."""

    def content(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Without heads like 'model'."""
        return tuple(w for w in self.first if w not in GENERIC), tuple(w for w in self.second if w not in GENERIC)


@lru_cache(maxsize=200_000)
def compared(one: str, two: str) -> Compared:
    """Each word finds at most one partner: the same, then one written in two words, then an initial, then a typo."""
    first, second = list(form(one).words), list(form(two).words)
    before = len(first)
    _pair(first, second, same_word)
    _pair_split(first, second)
    _pair_split(second, first)
    shared = before - len(first)
    initials = _pair(first, second, _initial)
    typos = _pair(first, second, typo)
    return Compared(shared, tuple(first), tuple(second), typos, initials)


def _pair(first: list[str], second: list[str], fits: Callable[[str, str], bool]) -> int:
    count = 0
    for word in list(first):
        partner = next((other for other in second if fits(word, other)), None)
        if partner is not None:
            first.remove(word)
            second.remove(partner)
            count += 1
    return count


def _pair_split(first: list[str], second: list[str]) -> None:
    """'multi', 'head' in one and 'multihead' in the other."""
    for left, right in zip(list(first), list(first)[1:], strict=False):
        if left in first and right in first:
            partner = next((word for word in second if same_word(left + right, word)), None)
            if partner is not None:
                second.remove(partner)
                first.remove(left)
                first.remove(right)


def same_word(one: str, two: str) -> bool:
    if one == two:
        return True
    if one.isascii() and two.isascii():
        return one in singulars(two) or two in singulars(one)
    return not latin(one).isdisjoint(latin(two))


def _initial(one: str, two: str) -> bool:
    short, long = sorted((one, two), key=len)
    return len(short) == 1 and len(long) > 2 and short.isalpha() and not is_cjk(long) and long.startswith(short)


def typo(one: str, two: str) -> bool:
    """One wrong, missing or swapped letter, but not the first; two in a word of 12 or more."""
    least = min(len(one), len(two))
    if least < _TYPO_LENGTH or one[0] != two[0] or is_cjk(one) or is_cjk(two) or opposed(one, two):
        return False
    return OSA.distance(one, two, score_cutoff=2) <= (1 if least < 12 else 2)


@lru_cache(maxsize=100_000)
def opposed(one: str, two: str) -> bool:
    """Words of one stem that a prefix or an ending makes mean different things: supervised, unsupervised."""
    short, long = sorted((one, two), key=len)
    if len(short) >= 3 and any(long == prefix + short for prefix in (*_NEGATIONS, *_PREFIXES)):
        return True
    for left, right in _OPPOSITES:
        for a, b in ((left, right), (right, left)):
            if one.startswith(a) and two.startswith(b) and len(one) > len(a) + 1 and one[len(a) :] == two[len(b) :]:
                return True
    for left, right in _OPPOSITE_ENDS:
        for a, b in ((left, right), (right, left)):
            if one.endswith(a) and two.endswith(b) and len(one) > len(a) + 1 and one[: -len(a)] == two[: -len(b)]:
                return True
    return False


@lru_cache(maxsize=500_000)
def forbidden(one: str, two: str) -> str:
    """Why two names may never be one, whatever else speaks for it; '' where they may."""
    first, second = form(one), form(two)
    if first.key == second.key:
        return _stopped(first, second)
    if first.key in second.singular_keys or second.key in first.singular_keys:
        return ""
    pair = compared(one, two)
    kin = pair.shared + pair.typos > 0
    if sorted(first.numbers) != sorted(second.numbers) and (kin or (first.numbers and second.numbers)):
        return f"their numbers differ: {_said(first.numbers)} and {_said(second.numbers)}"
    if any(opposed(left, right) for left in pair.first for right in pair.second):
        return "their words are opposites"
    return _variants(pair, kin) or _discordant(first, second, pair, kin)


def _stopped(first: Form, second: Form) -> str:
    if first.key not in _STOP or first.surface.isupper() == second.surface.isupper():
        return ""
    return "one is an acronym, the other a common word"


def _variants(pair: Compared, kin: bool) -> str:
    extra = [word for word in (*pair.first, *pair.second) if word in VARIANT]
    return f"'{extra[0]}' makes another thing of it" if kin and extra else ""


def _discordant(first: Form, second: Form, pair: Compared, kin: bool) -> str:
    left, right = pair.content()
    if kin and left and right:
        return f"each has a word that the other lacks: '{left[0]}' and '{right[0]}'"
    alone = len(first.words) == len(second.words) == 1 and left and right and _one_script(left[0], right[0])
    if alone and (min(len(left[0]), len(right[0])) < _TYPO_LENGTH - 1 or (first.is_acronym and second.is_acronym)):
        return "they are short words that differ"
    return ""


def _one_script(one: str, two: str) -> bool:
    return one.isascii() == two.isascii() and is_cjk(one) == is_cjk(two)


def _said(numbers: Sequence[str]) -> str:
    return " ".join(numbers) or "none"
