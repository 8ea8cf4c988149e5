"""What a sentence states, by the order of its phrases: subject, words that the vocabulary knows, object.

Hearst, Automatic Acquisition of Hyponyms from Large Text Corpora (1992), for 'such as' and its kind; the restriction
to known verb groups next to their phrases is that of Fader et al., Identifying Relations for Open Information
Extraction (ReVerb, 2011).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from graph.acronyms import definitions
from graph.extraction.phrases import Phrase, Token, Vocabulary, after, before, blanked, tokens_of
from graph.relations import RELATED_TO, SAME_AS, row

_VAGUE_DETERMINERS = frozenset("a an some any each every no another".split())
_BE = frozenset("is are was were".split())
_ARTICLES = frozenset("a an".split())
# Wordings that mean too many things to be taken without a model that reads them.
_VAGUE = frozenset(
    "give gives gave given get gets make makes made help helps provide provides allow allows offer offers build builds "
    "built produce produces lead leads drive drives show shows showed shown run runs follow follows followed attend "
    "attends attended present presents presented require requires enable enables yield yields find found held "
    "called named known include includes included including assess assesses measure measures test tests evaluate "
    "evaluates train trains trained".split()
)
_DATED = frozenset("BORN_IN DIED_IN PUBLISHED_IN LOCATED_IN".split())
_SMALL = frozenset("USES IMPROVES REDUCES CAUSES BASED_ON PART_OF APPLIED_TO TRAINED_ON".split())
_CHANGES = frozenset("increase decrease improvement reduction gain drop loss speedup change difference".split())
_SECOND = frozenset("based built trained evaluated tested".split())
_MEASURED = frozenset("HAS_PROPERTY ACHIEVES".split())
_LONGEST_GROUP = 7  # tokens of a verb group


class Statement(NamedTuple):
    """Characters of the sentence, the words between, and what they mean; subject and object as the words go."""

    subject: tuple[int, int]
    wording: str
    relation: str
    inverted: bool
    object: tuple[int, int]
    confidence: float  # by its form: definitions and dates are surest, what no name stands in least


class _Group(NamedTuple):
    """Tokens `first` to `last` (excluded) that say a relation."""

    first: int
    last: int
    relation: str
    inverted: bool


def statements(sentence: str, vocabulary: Vocabulary) -> list[Statement]:
    """In the order of the text. A sentence of 200 characters takes about 0.2 ms."""
    text = blanked(sentence)
    tokens = tokens_of(text, vocabulary)
    found = [Statement(short, "is short for", SAME_AS, False, long, 0.95) for long, short in definitions(sentence)]
    found += [*_verbal(text, tokens, vocabulary), *_is_a(text, tokens), *_appositions(text, tokens)]
    return [*found, *_examples(text, tokens), *_lives(sentence, tokens)]


def _verbal(text: str, tokens: Sequence[Token], vocabulary: Vocabulary) -> Iterator[Statement]:
    at, subjects = 0, list[Phrase]()
    while at < len(tokens):
        group = _group(tokens, at)
        if group is None:
            at += 1
            continue
        at = group.last
        subjects = _subjects(tokens, group.first) or (subjects if _goes_on(tokens, group.first) else [])
        wording = text[tokens[group.first].start : tokens[group.last - 1].end]
        for target in _objects(tokens, group):
            if not _fits(tokens, group, target, vocabulary):
                continue
            for subject in subjects:
                place = (subject.start, subject.end), wording, group.relation, group.inverted
                yield Statement(*place, (target.start, target.end), 0.8 if target.named else 0.65)


def _goes_on(tokens: Sequence[Token], at: int) -> bool:
    """Whether a verb there has the subject of the verb before it: 'X uses A and outperforms B'."""
    return at > 1 and tokens[at - 1].low in ("and", "but") and tokens[at].kind in ("verb", "adverb")


def _group(tokens: Sequence[Token], at: int) -> _Group | None:
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
        return _Group(at, begun, "HAS_PROPERTY", False)
    if not (tokens[begun].kind == "verb" or (set(auxiliaries) & _BE)):
        return None
    for begin in (begun, begun + 1):  # 'is developed based on'
        for end in range(min(begin + _LONGEST_GROUP, len(tokens)), begin, -1):
            known = row([token.text for token in tokens[begin:end]]) if _is_row(tokens[begin:end]) else None
            if known is not None and known.relation != RELATED_TO and not _vague(tokens, begin, end, auxiliaries):
                return _Group(at, end, known.relation, known.inverted)
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
    passive = set(auxiliaries) & (_BE | {"be", "been", "being"})
    if len(words) == 1:
        return words[0] in _VAGUE or (bool(passive) and words[0] != "married")
    return False


def _subjects(tokens: Sequence[Token], at: int) -> list[Phrase]:
    """Named phrases that are the subject of a verb at that token; none where it is not plain which they are."""
    relative = at > 0 and tokens[at - 1].kind == "relative"
    if relative:
        at -= 1
        at -= at > 0 and tokens[at - 1].text == ","
    phrase = before(tokens, at)
    if phrase is None:
        return []
    begun = _begin(tokens, phrase.first)
    left = tokens[begun - 1] if begun > 0 else None
    if any(token.low in _VAGUE_DETERMINERS for token in tokens[begun : phrase.first]):
        if relative and left is not None and left.text in _BE:
            return _subjects(tokens, begun - 1)  # 'Ada is a scientist who works at …'
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


def _begin(tokens: Sequence[Token], at: int) -> int:
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
    begun = _begin(tokens, head.first)
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


def _objects(tokens: Sequence[Token], group: _Group) -> list[Phrase]:
    """The phrase that begins behind the group, and where it names something those that are listed with it."""
    phrase = after(tokens, group.last)
    if phrase is None or phrase.first - group.last > 3:
        return []
    if group.relation in _MEASURED:
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
        listed = group.relation == "IS_A" and tokens[at - 1].low in ("and", "or")
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


def _fits(tokens: Sequence[Token], group: _Group, target: Phrase, vocabulary: Vocabulary) -> bool:
    relation, words = group.relation, tokens[target.first : target.last]
    counted = any(token.kind == "number" for token in words)
    if relation in _MEASURED:
        return counted and len(words) > 1 and words[-1].low not in _CHANGES
    if target.named or (counted and relation in _DATED):
        return True
    small = " ".join(token.low for token in words)
    return relation in _SMALL and not group.inverted and small in vocabulary.terms


def _is_a(text: str, tokens: Sequence[Token]) -> Iterator[Statement]:
    """'X is a kind of Y', and what is said of X behind it: 'X is a 1950 film directed by Z'."""
    for at, token in enumerate(tokens[:-2]):
        if token.text not in _BE or tokens[at + 1].low not in (_ARTICLES | {"the", "one"}):
            continue
        start = at + 2
        if tokens[at + 1].low == "one":
            if [t.low for t in tokens[at + 2 : at + 4]] != ["of", "the"]:
                continue
            start = at + 4
        start += tokens[start].text.isdigit() and len(tokens[start].text) == 4  # 'a 1950 film'
        target = after(tokens, start) if start < len(tokens) else None
        subjects = _title(tokens, at) or _subjects(tokens, at)
        if target is None or tokens[target.first].kind == "number" or not subjects:
            continue
        wording = text[token.start : tokens[at + 1].end]
        if tokens[at + 1].low != "the" and (target.named or target.last - target.first >= 2):
            for subject in subjects:
                place = (subject.start, subject.end), wording, "IS_A", False
                yield Statement(*place, (target.start, target.end), 0.85)
        yield from _behind(text, tokens, subjects, target)


def _title(tokens: Sequence[Token], at: int) -> list[Phrase]:
    """All that stands before 'is', where each of its words but the small ones begins with a capital: 'Life of Pi is a
    film', which `_subjects` would take for the subject 'Life'."""
    if tokens[at].text not in ("is", "was") or not 2 <= at <= 9 or tokens[0].kind in ("preposition", "adverb"):
        return []
    first = int(tokens[0].text == "The")
    small = ("preposition", "determiner", "conjunction")
    for token in tokens[first:at]:
        if not (token.text[0].isupper() or (token.text.islower() and token.kind in small)):
            return []
    plain = all(token.kind == "name" for token in tokens[first + 1 : at])
    return (
        []
        if plain or not tokens[at - 1].text[0].isupper()
        else [Phrase(first, at, tokens[first].start, tokens[at - 1].end, True)]
    )


def _behind(text: str, tokens: Sequence[Token], subjects: Sequence[Phrase], target: Phrase) -> Iterator[Statement]:
    """Participles behind what the subject is: 'directed by A and written by B', 'based in C'."""
    at = target.last
    while at < len(tokens) and tokens[at].kind in ("verb", "conjunction"):
        at += tokens[at].low in ("and", "or")
        group = _group(tokens, at) if at < len(tokens) else None
        if group is None or group.last - group.first < 2:
            return
        objects = _objects(tokens, group)
        for item in objects:
            if item.named:
                for subject in subjects:
                    wording = text[tokens[group.first].start : tokens[group.last - 1].end]
                    place = (subject.start, subject.end), wording, group.relation, group.inverted
                    yield Statement(*place, (item.start, item.end), 0.8)
        if not objects:
            return
        at = objects[-1].last


def _appositions(text: str, tokens: Sequence[Token]) -> Iterator[Statement]:
    """'X, a novel kind of Y,' and 'X, the son of Y,'."""
    for at in range(1, len(tokens) - 2):
        if tokens[at].text != "," or tokens[at - 1].kind != "name":
            continue
        subject = before(tokens, at)
        if subject is None or tokens[subject.first].kind == "number":
            continue
        if tokens[at + 1].low in _ARTICLES:
            target = after(tokens, at + 2)
            if target is not None and target.last - target.first >= 2 and _closes(tokens, target.last):
                article, place = tokens[at + 1].text, (target.start, target.end)
                yield Statement((subject.start, subject.end), article, "IS_A", False, place, 0.8)
        begun = _begin(tokens, subject.first)
        if begun == 0 or tokens[begun - 1].low not in ("in", "at", "from", "near", "to"):
            yield from _kinship(text, tokens, subject, at + 1)


def _kinship(text: str, tokens: Sequence[Token], subject: Phrase, at: int) -> Iterator[Statement]:
    """A noun that relates what stands before the comma at `at` - 1 to what stands behind it: 'capital of', 'son of'."""
    begun = at + (tokens[at].kind == "determiner")
    for end in range(min(begun + 4, len(tokens) - 1), begun + 1, -1):
        noun = tokens[begun].kind == "word" or tokens[begun].low in ("known", "also", "formerly")
        known = row([token.text for token in tokens[begun:end]]) if noun else None
        if known is None or tokens[end - 1].low not in ("of", "as") or known.relation == "IS_A":
            continue
        target = after(tokens, end)
        if target is not None and target.named:
            wording = text[tokens[at].start : tokens[end - 1].end]
            place = (subject.start, subject.end), wording, known.relation, known.inverted
            yield Statement(*place, (target.start, target.end), 0.8)
        return


def _closes(tokens: Sequence[Token], at: int) -> bool:
    return at >= len(tokens) or tokens[at].kind in ("mark", "relative", "preposition", "verb", "conjunction")


_SUCH_AS = re.compile(r"\b(?:,? such as|,? including|,? especially)\b")


def _examples(text: str, tokens: Sequence[Token]) -> Iterator[Statement]:
    """'large models such as A, B and C': each is one of them."""
    for found in _SUCH_AS.finditer(text):
        at = next((n for n, token in enumerate(tokens) if token.start >= found.end()), len(tokens))
        end = next((n for n, token in enumerate(tokens) if token.start >= found.start()), len(tokens))
        kind = before(tokens, end)
        if kind is None or kind.last - kind.first < 2 or tokens[kind.last - 1].kind == "name":
            continue
        if tokens[kind.first].kind == "number":
            continue
        for item in _objects(tokens, _Group(at, at, "IS_A", True)):
            if item.named:
                words = text[found.start() : found.end()].strip(" ,")
                yield Statement((kind.start, kind.end), words, "IS_A", True, (item.start, item.end), 0.85)


_DAY = r"(?:\d{1,2} )?(?:[A-Z][a-z]+ )?(?:\d{1,2}, ?)?\d{4}"
_PLACE = r"[A-Z][\w'’.-]+(?:,? (?:of |de |la |upon )?[A-Z][\w'’.-]+)*"
_BORN = re.compile(rf"\((?:[^()]{{0,60}}[;,] ?)? ?born (?:on )?(?P<day>{_DAY})(?:,? (?:in|at) (?P<place>{_PLACE}))?")
_LIFE = (("day", "born", "BORN_IN"), ("place", "born in", "BORN_IN"),
         ("born", "born", "BORN_IN"), ("died", "died", "DIED_IN"))  # fmt: skip
_LIVED = re.compile(rf"\( ?(?P<born>{_DAY}) ?[–-] ?(?P<died>{_DAY}) ?\)")


def _lives(sentence: str, tokens: Sequence[Token]) -> Iterator[Statement]:
    """What encyclopaedias put in brackets behind a person: '(born 4 May 1950 in Oslo)', '(1901 – 1977)'."""
    for found in [*_BORN.finditer(sentence), *_LIVED.finditer(sentence)]:
        at = next((n for n, token in enumerate(tokens) if token.start >= found.start()), len(tokens))
        comma = next((n for n, token in enumerate(tokens[:at]) if token.text == ","), at)
        subject = before(tokens, comma)  # 'Wilhelm, Duke of Saxony (1668 – 1671)'
        titled = all(t.kind in ("name", "determiner", "number") or t.text in (",", "of") for t in tokens[:at])
        if subject is None or not subject.named or not titled:
            continue
        for group, wording, relation in _LIFE:
            place = found.span(group) if found.groupdict().get(group) else None
            if place is not None:
                yield Statement((subject.start, subject.end), wording, relation, False, place, 0.9)
