"""The parts that a statement is made of: the words that say a relation, and the phrases that are its subject and
objects.

Phrases have to stand next to a verb group that the vocabulary knows, as in Fader et al., Identifying Relations for
Open Information Extraction (ReVerb, 2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from graph.extraction.phrases import Phrase, Token, after, before
from graph.relations import IS_A, RELATED_TO, row

_VAGUE_DETERMINERS = frozenset("a an some any each every no another".split())
BE = frozenset("is are was were".split())
# Wordings that mean too many things to be taken without a model that reads them.
_VAGUE = frozenset(
    "give gives gave given get gets make makes made help helps provide provides allow allows offer offers build builds "
    "built produce produces lead leads drive drives show shows showed shown run runs follow follows followed attend "
    "attends attended present presents presented require requires enable enables yield yields find found held "
    "called named known include includes included including assess assesses measure measures test tests evaluate "
    "evaluates train trains trained".split()
)
_SECOND = frozenset("based built trained evaluated tested".split())
MEASURED = frozenset("HAS_PROPERTY ACHIEVES".split())
_LONGEST_GROUP = 7  # tokens of a verb group


class Statement(NamedTuple):
    """Characters of the sentence, the words between, and what they mean; subject and object as the words go."""

    subject: tuple[int, int]
    wording: str
    relation: str
    inverted: bool
    object: tuple[int, int]
    confidence: float  # by its form: definitions and dates are surest, what no name stands in least


class Group(NamedTuple):
    """Tokens `first` to `last` (excluded) that say a relation."""

    first: int
    last: int
    relation: str
    inverted: bool


def group_at(tokens: Sequence[Token], at: int) -> Group | None:
    """The longest row of words from there on that the vocabulary knows, with the auxiliaries before them."""
    if tokens[at].kind not in ("aux", "verb", "adverb"):
        return None
    begun = at
    while begun < len(tokens) and tokens[begun].kind in ("aux", "adverb"):
        begun += 1
    auxiliaries = [token.low for token in tokens[at:begun]]
    if begun >= len(tokens):
        return None
    if auxiliaries[-1:] in (["has"], ["have"], ["had"]) and tokens[begun].kind in ("determiner", "number"):
        return Group(at, begun, "HAS_PROPERTY", False)
    if not (tokens[begun].kind == "verb" or (set(auxiliaries) & BE)):
        return None
    for begin in (begun, begun + 1):  # 'is developed based on'
        for end in range(min(begin + _LONGEST_GROUP, len(tokens)), begin, -1):
            known = row([token.text for token in tokens[begin:end]]) if _is_row(tokens[begin:end]) else None
            if known is not None and known.relation != RELATED_TO and not _vague(tokens, begin, end, auxiliaries):
                return Group(at, end, known.relation, known.inverted)
        if not (begin < len(tokens) - 1 and tokens[begin].kind == "verb" and tokens[begin + 1].low in _SECOND):
            return None
    return None


def _is_row(part: Sequence[Token]) -> bool:
    """Words of a wording and nothing that belongs to a phrase."""
    words = [token for token in part if token.kind != "determiner"]
    if len(words) < len(part) and (words[-1:] != [part[-1]] or part[-1].low != "of"):
        return False  # 'the son of', but not 'uses the'
    return all(token.kind in ("verb", "preposition", "adverb", "word") for token in words)


def _vague(tokens: Sequence[Token], begun: int, end: int, auxiliaries: Sequence[str]) -> bool:
    words = [token.low for token in tokens[begun:end] if token.kind != "adverb"]
    passive = set(auxiliaries) & (BE | {"be", "been", "being"})
    if len(words) == 1:
        return words[0] in _VAGUE or (bool(passive) and words[0] != "married")
    return False


def subjects_of(tokens: Sequence[Token], at: int) -> list[Phrase]:
    """Named phrases that are the subject of a verb at that token; none where it is not plain which they are."""
    relative = at > 0 and tokens[at - 1].kind == "relative"
    if relative:
        at -= 1
        at -= at > 0 and tokens[at - 1].text == ","
    phrase = before(tokens, at)
    if phrase is None:
        return []
    begun = begin_of(tokens, phrase.first)
    left = tokens[begun - 1] if begun > 0 else None
    if any(token.low in _VAGUE_DETERMINERS for token in tokens[begun : phrase.first]):
        if relative and left is not None and left.text in BE:
            return subjects_of(tokens, begun - 1)  # 'Ada is a scientist who works at …'
        return []
    if not phrase.named or tokens[phrase.first].kind == "number":
        return []
    if left is None:
        return [phrase]
    if left.text in ",:" and _is_name_only(tokens[: begun - 1]):
        return []  # 'Ada, MP, was': what stands behind the comma belongs to the name
    if left.kind in ("preposition", "verb") and not (relative and tokens[phrase.last - 1].kind == "name"):
        return [] if relative or left.low not in ("of", "in", "from", "at", "by") else _head(tokens, phrase)
    if left.low in ("and", "or"):
        return [] if relative else _listed(tokens, phrase, tokens[at].low)
    return [phrase]


def _is_name_only(tokens: Sequence[Token]) -> bool:
    return bool(tokens) and all(token.kind in ("name", "determiner") or token.low == "of" for token in tokens)


def begin_of(tokens: Sequence[Token], at: int) -> int:
    """Where a phrase begins with its determiner and its adjectives."""
    while at > 0 and tokens[at - 1].kind in ("word", "determiner", "adverb", "number", "name"):
        at -= 1
    return at


def _head(tokens: Sequence[Token], phrase: Phrase) -> list[Phrase]:
    """What a prepositional phrase belongs to: 'GPT-4 of OpenAI uses'; none where that names nothing."""
    at = phrase.first
    while at > 0 and tokens[at - 1].kind != "preposition":
        at -= 1
    head = before(tokens, at - 1) if at > 1 else None
    if head is None or not head.named:
        return []
    begun = begin_of(tokens, head.first)
    return [] if begun > 0 and tokens[begun - 1].kind in ("preposition", "verb", "conjunction") else [head]


def _listed(tokens: Sequence[Token], last: Phrase, verb: str) -> list[Phrase]:
    """'A, B and C use': all of them; 'we test A and B uses C': the last, for its verb is of one."""
    if verb.endswith("s") and verb not in ("was", "is", "has"):
        return [last]
    if verb in ("was", "is", "has"):
        return [last]
    found, at = [last], last.first - 1
    while at > 0 and (tokens[at].low in ("and", "or", ",") or tokens[at].kind == "determiner"):
        phrase = before(tokens, at)
        if phrase is None:
            at -= 1
            continue
        if not phrase.named:
            return []
        found.append(phrase)
        at = phrase.first - 1
    left = tokens[at] if at >= 0 else None
    return [] if left is not None and left.kind in ("preposition", "verb", "relative") else found[::-1]


def objects_of(tokens: Sequence[Token], group: Group) -> list[Phrase]:
    """The phrase that begins behind the group, and where it names something those that are listed with it."""
    phrase = after(tokens, group.last)
    if phrase is None or phrase.first - group.last > 3:
        return []
    if group.relation in MEASURED:
        return [_measured(tokens, phrase)]
    found = [phrase]
    while found[-1].named:
        at = begun = found[-1].last
        while at < len(tokens) and at - begun < 2 and (tokens[at].text == "," or tokens[at].low in ("and", "or")):
            at += 1
        phrase = after(tokens, at) if at > begun else None
        if phrase is None or not phrase.named or phrase.first - at > (tokens[at].kind == "determiner"):
            return found
        ends = tokens[phrase.last] if phrase.last < len(tokens) else None
        listed = group.relation == IS_A and tokens[at - 1].low in ("and", "or")
        if not listed and ends is not None and ends.kind in ("aux", "verb", "relative"):
            return found  # the next clause's subject
        found.append(phrase)
    return found


def _measured(tokens: Sequence[Token], phrase: Phrase) -> Phrase:
    """With the number behind it: 'a context length of 1 million tokens'."""
    at = phrase.last
    if at + 1 < len(tokens) and tokens[at].low == "of" and tokens[at + 1].kind == "number":
        last = at + 2
        while last < len(tokens) and last - at < 5 and tokens[last].kind == "word":
            last += 1
        return Phrase(phrase.first, last, phrase.start, tokens[last - 1].end, phrase.named)
    return phrase
