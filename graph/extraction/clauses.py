"""What a sentence states, by the order of its phrases: subject, words that the vocabulary knows, object.

Hearst, Automatic Acquisition of Hyponyms from Large Text Corpora (1992), for 'such as' and its kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from graph.acronyms import definitions
from graph.extraction.groups import (
    BE,
    MEASURED,
    Group,
    Statement,
    begin_of,
    group_at,
    objects_of,
    subjects_of,
)
from graph.extraction.phrases import Phrase, Token, Vocabulary, after, before, blanked, tokens_of
from graph.relations import IS_A, SAME_AS, row

_ARTICLES = frozenset("a an".split())
_DATED = frozenset("BORN_IN DIED_IN PUBLISHED_IN LOCATED_IN".split())
_SMALL = frozenset("USES IMPROVES REDUCES CAUSES BASED_ON PART_OF APPLIED_TO TRAINED_ON".split())
_CHANGES = frozenset("increase decrease improvement reduction gain drop loss speedup change difference".split())


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
        group = group_at(tokens, at)
        if group is None:
            at += 1
            continue
        at = group.last
        subjects = subjects_of(tokens, group.first) or (subjects if _goes_on(tokens, group.first) else [])
        wording = text[tokens[group.first].start : tokens[group.last - 1].end]
        for target in objects_of(tokens, group):
            if not _fits(tokens, group, target, vocabulary):
                continue
            for subject in subjects:
                place = (subject.start, subject.end), wording, group.relation, group.inverted
                yield Statement(*place, (target.start, target.end), 0.8 if target.named else 0.65)


def _goes_on(tokens: Sequence[Token], at: int) -> bool:
    """Whether a verb there has the subject of the verb before it: 'X uses A and outperforms B'."""
    return at > 1 and tokens[at - 1].low in ("and", "but") and tokens[at].kind in ("verb", "adverb")


def _fits(tokens: Sequence[Token], group: Group, target: Phrase, vocabulary: Vocabulary) -> bool:
    relation, words = group.relation, tokens[target.first : target.last]
    counted = any(token.kind == "number" for token in words)
    if relation in MEASURED:
        return counted and len(words) > 1 and words[-1].low not in _CHANGES
    if target.named or (counted and relation in _DATED):
        return True
    small = " ".join(token.low for token in words)
    return relation in _SMALL and not group.inverted and small in vocabulary.terms


def _is_a(text: str, tokens: Sequence[Token]) -> Iterator[Statement]:
    """'X is a kind of Y', and what is said of X behind it: 'X is a 1950 film directed by Z'."""
    for at, token in enumerate(tokens[:-2]):
        if token.text not in BE or tokens[at + 1].low not in (_ARTICLES | {"the", "one"}):
            continue
        start = at + 2
        if tokens[at + 1].low == "one":
            if [t.low for t in tokens[at + 2 : at + 4]] != ["of", "the"]:
                continue
            start = at + 4
        start += tokens[start].text.isdigit() and len(tokens[start].text) == 4  # 'a 1950 film'
        target = after(tokens, start) if start < len(tokens) else None
        subjects = _title(tokens, at) or subjects_of(tokens, at)
        if target is None or tokens[target.first].kind == "number" or not subjects:
            continue
        wording = text[token.start : tokens[at + 1].end]
        if tokens[at + 1].low != "the" and (target.named or target.last - target.first >= 2):
            for subject in subjects:
                place = (subject.start, subject.end), wording, IS_A, False
                yield Statement(*place, (target.start, target.end), 0.85)
        yield from _behind(text, tokens, subjects, target)


def _title(tokens: Sequence[Token], at: int) -> list[Phrase]:
    """All that stands before 'is', where each of its words but the small ones begins with a capital: 'Life of Pi is a
    film', which `subjects_of` would take for the subject 'Life'."""
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
        group = group_at(tokens, at) if at < len(tokens) else None
        if group is None or group.last - group.first < 2:
            return
        objects = objects_of(tokens, group)
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
                yield Statement((subject.start, subject.end), article, IS_A, False, place, 0.8)
        begun = begin_of(tokens, subject.first)
        if begun == 0 or tokens[begun - 1].low not in ("in", "at", "from", "near", "to"):
            yield from _kinship(text, tokens, subject, at + 1)


def _kinship(text: str, tokens: Sequence[Token], subject: Phrase, at: int) -> Iterator[Statement]:
    """A noun that relates what stands before the comma at `at` - 1 to what stands behind it: 'capital of', 'son of'."""
    begun = at + (tokens[at].kind == "determiner")
    for end in range(min(begun + 4, len(tokens) - 1), begun + 1, -1):
        noun = tokens[begun].kind == "word" or tokens[begun].low in ("known", "also", "formerly")
        known = row([token.text for token in tokens[begun:end]]) if noun else None
        if known is None or tokens[end - 1].low not in ("of", "as") or known.relation == IS_A:
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
        for item in objects_of(tokens, Group(at, at, IS_A, True)):
            if item.named:
                words = text[found.start() : found.end()].strip(" ,")
                yield Statement((kind.start, kind.end), words, IS_A, True, (item.start, item.end), 0.85)


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
