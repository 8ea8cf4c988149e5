"""Tokens of a sentence by what they can be, and the noun phrases made of them. No parser, no tagger, no model.

A token is a name when it has a capital or a digit inside (`GPT-4o`, `SWE-bench`), or begins with a capital where no
sentence begins. Function words and the verbs of the relations' wordings part phrases from each other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from core.text import sentences
from graph.extraction.naming import DETERMINERS, PRONOUNS

Kind = Literal["name", "word", "number", "determiner", "pronoun", "preposition", "conjunction", "aux", "adverb",
               "relative", "verb", "not", "mark"]  # fmt: skip
PREPOSITIONS = frozenset(
    "of in on at by for with without from to into onto over under between among through during before after via as "
    "than per within across against about around towards toward upon off up down out along beyond despite like unlike "
    "including regarding concerning since until using given".split()
)
CONJUNCTIONS = frozenset(
    "and or but nor so yet while whereas although though because if unless when whenever where wherever whether then "
    "thus hence therefore however moreover furthermore additionally besides meanwhile otherwise instead i.e e.g".split()
)
AUXILIARIES = frozenset(
    "is are was were be been being am has have had having do does did can could may might will would shall should "
    "must".split()
)
ADVERBS = frozenset(
    "also very more most less least even only just still already often always usually sometimes again further later "
    "first once twice now here there well much quite rather too almost nearly both together instead soon today "
    "respectively recently currently finally indeed notably specifically overall".split()
)
RELATIVES = frozenset("which that who whom whose where".split())
NEGATIONS = frozenset("not no never neither nor n't cannot without hardly".split())
# Adjectives that tell nothing apart, taken off the front of a phrase.
PLAIN = frozenset(
    "novel new previous prior recent original powerful large simple strong proposed popular existing current "
    "traditional standard other several many different various certain own large-scale state-of-the-art well-known "
    "so-called underlying corresponding respective following above first second third last next former latter full "
    "entire whole main key final general specific particular additional total good better best high higher larger "
    "smaller greater much".split()
)
LONGEST = 700  # characters of a sentence that is read
_NUMERALS = frozenset("one two three four five six seven eight nine ten eleven twelve hundred thousand".split())
HEADS = frozenset(  # dropped behind a name: 'the GPT-4 model' is GPT-4
    "model models algorithm algorithms dataset datasets benchmark benchmarks architecture architectures framework "
    "system optimizer corpus library toolkit paper data".split()
)
_TOKEN = re.compile(
    r"[A-Z]\.(?=\s[A-Z])|\d+(?:[.,]\d+)*%?(?!-?[^\W_])|"
    r"[^\W_]+(?:(?:[-–.+&/_]|- (?=[^\W\d_]))[^\W_]+|['’](?!s\b)[^\W\d_]+)*\+*|['’]s\b|\S"
)
_CITATION = re.compile(
    r"\((?:[^()]*\b(?:1[89]|20)\d\d[a-z]?[^()]*|see [^()]*|e\.g\.[^()]*|i\.e\.[^()]*)\)|\[[\d,;–\- ]+\]"
)
_NO_ADVERBS = frozenset(
    "monthly weekly daily yearly quarterly family early friendly elderly supply assembly anomaly likely reply".split()
)
_ADVERB = re.compile(r"[a-z]{3,}ly$")


@dataclass(frozen=True)
class Token:
    text: str
    start: int
    end: int
    kind: Kind

    @property
    def low(self) -> str:
        return self.text.casefold()


@dataclass(frozen=True)
class Phrase:
    """Tokens `first` to `last` (excluded) of a sentence; start and end are its characters."""

    first: int
    last: int
    start: int
    end: int
    named: bool


@dataclass(frozen=True)
class Vocabulary:
    """What one document's sentences show of its words."""

    capitals: frozenset[str] = frozenset()  # words that begin with a capital within a sentence
    plain: frozenset[str] = frozenset()  # words that are written small somewhere
    terms: frozenset[str] = frozenset()  # phrases of two to four small words that come back
    types: Mapping[str, str] = field(default_factory=dict)  # what its names stand for (graph/extraction/kinds.py)


def blanked(sentence: str) -> str:
    """The sentence with citations and other asides in brackets replaced by blanks: all places stay."""
    return _CITATION.sub(lambda found: " " * len(found[0]), sentence)


def tokens_of(sentence: str, vocabulary: Vocabulary) -> list[Token]:
    found: list[Token] = []
    for match in _TOKEN.finditer(sentence):
        found.append(Token(match[0], match.start(), match.end(), _kind(match[0], not found, vocabulary)))
    return _as_adjectives(_with_full_names(found, vocabulary.plain))


def _kind(text: str, first: bool, vocabulary: Vocabulary) -> Kind:
    low = text.casefold()
    for words, kind in _CLOSED:
        if low in words:
            return kind
    if low.endswith(("n't", "n’t")):
        return "not"
    if (text[0].isdigit() and not any(char.isupper() for char in text)) or low in _NUMERALS:
        return "word" if "-" in text else "number"  # '18-layer', but '2x' and '50k'
    if not text[0].isalnum():
        return "mark"
    inside = any(char.isupper() or char.isdigit() for char in text[1:])
    if inside or (text[0].isupper() and not first):
        return "name"
    if first and text[0].isupper() and text in vocabulary.capitals and low not in vocabulary.plain:
        return "name"
    if _ADVERB.match(low) and low not in _NO_ADVERBS:
        return "adverb"
    return "verb" if is_verb(low) else "word"


_CLOSED: tuple[tuple[frozenset[str], Kind], ...] = (
    (NEGATIONS, "not"),
    (AUXILIARIES, "aux"),
    (RELATIVES, "relative"),
    (DETERMINERS - _NUMERALS, "determiner"),
    (PRONOUNS - _NUMERALS, "pronoun"),
    (PREPOSITIONS, "preposition"),
    (CONJUNCTIONS, "conjunction"),
    (ADVERBS, "adverb"),
)


# Base forms; nouns of the same form are left out: results, models, features, scores, tests, benchmarks, targets.
_VERBS = (
    "achieve acquire add address adopt allow alleviate announce appear apply arise assess attain attribute avoid beat "
    "become begin believe belong benefit boost bring build call cause choose cite combine compare compete complete "
    "compose comprise compute conduct confirm consider consist constitute construct contain continue contribute "
    "convert create decrease define deliver demonstrate denote depend deploy derive describe determine develop differ "
    "direct discover discuss distill divide eliminate emerge employ enable enhance ensure establish evaluate examine "
    "exceed exhibit exist expand explain explore expose extend facilitate fail find fine-tune finetune focus follow "
    "form found generalize generate give graduate grow handle help hold identify illustrate implement improve include "
    "incorporate indicate induce inherit initialize inspire integrate introduce invent investigate involve join keep "
    "know lack lead learn leverage lie live locate maintain make manage marry match mean mention minimize mitigate "
    "observe obtain occur offer operate optimize outperform overcome own perform play possess pre-train precede "
    "predict prefer present pretrain prevent process prove provide publish purchase quantize reach receive recognize "
    "reduce refer rely remain remove replace represent require resemble reside retain reveal run say see seem select "
    "serve show situate solve start study submit succeed suffer suggest supersede support surpass tackle take tend "
    "propose release design aim note assume fuse encode decode embed retrieve extract clip update converge draw "
    "need want ask go come look read write try tell pay put set choose spend win lose speak "
    "train transform treat trigger turn underperform use utilize validate verify visit work write yield"
).split()
_IRREGULAR = frozenset(
    "built led wrote written born died won held made given gave got became become began chosen found known left lost "
    "met sold sent shown taken took thought taught brought came went ran rose fell grew grown drawn driven".split()
)


def _forms() -> frozenset[str]:
    forms = set(_IRREGULAR)
    for verb in _VERBS:
        y = verb.endswith("y") and verb[-2] not in "aeiou"
        forms.add(verb[:-1] + "ies" if y else verb + "es" if verb.endswith(("s", "x", "ch", "sh")) else verb + "s")
        forms.add(verb[:-1] + "ied" if y else verb + "d" if verb.endswith("e") else verb + "ed")
    return frozenset(forms | set(_VERBS)) - _NOUNS


_NOUNS = frozenset(
    "work works study studies process processes form forms run runs mean means benefit benefits start starts".split()
)
_FORMS = _forms()
_PARTICIPLES = frozenset(
    "living working using starring featuring following being having making playing serving containing consisting "
    "providing eschewing ranging combining focusing leading covering aiming depicting starting beginning".split()
)
_BASE = frozenset(_VERBS)


def is_verb(word: str) -> bool:
    """Whether a small word is a form of a common verb that is no common noun too."""
    return word in _FORMS or word in _PARTICIPLES


def _with_full_names(tokens: list[Token], plain: frozenset[str]) -> list[Token]:
    """A capitalised first word is part of a name where another capitalised one follows: 'Ada Lovelace was born',
    'Leo D. Maloney', 'Margaret of Scotland'."""
    if len(tokens) < 3 or tokens[0].kind not in ("word", "verb") or not tokens[0].text[:1].isupper():
        return tokens
    first, second, third = tokens[:3]
    named = second.kind == "name" and (second.text[1:].islower() or len(second.text.rstrip(".")) == 1)
    linked = second.low in ("of", "de", "von", "van") and third.kind == "name" and third.text[1:].islower()
    if named or (linked and first.low not in plain):
        return [Token(first.text, first.start, first.end, "name"), *tokens[1:]]
    return tokens


def _as_adjectives(tokens: list[Token]) -> list[Token]:
    """A verb's form behind a determiner or a preposition is none: 'the proposed method', 'in widely used models'."""
    found = list(tokens)
    for at, token in enumerate(tokens):
        back = at - 1
        while back >= 0 and tokens[back].kind == "adverb":
            back -= 1
        left = tokens[back] if back >= 0 else None
        if token.kind == "verb" and left is not None and left.low != "to":
            noun = left.kind == "word" and back == at - 1 and token.low in _BASE  # 'a tool use benchmark'
            if noun or left.kind in ("determiner", "preposition") or left.text in ("'s", "’s"):
                found[at] = replace(token, kind="word")
    return found


def after(tokens: Sequence[Token], at: int) -> Phrase | None:
    """The noun phrase that begins at or just behind that token; a determiner is left out of it."""
    while at < len(tokens) and tokens[at].kind in ("determiner", "adverb"):
        at += 1
    last = at
    while last < len(tokens) and last - at < 8 and (_is_noun(tokens[last]) or _joins(tokens, last)):
        last += 1
    return _phrase(tokens, at, last)


def before(tokens: Sequence[Token], at: int) -> Phrase | None:
    """The noun phrase that ends just before that token."""
    first = at
    while first > 0 and at - first < 8 and (_is_noun(tokens[first - 1]) or _joins(tokens, first - 1)):
        first -= 1
    return _phrase(tokens, first, at)


def _is_noun(token: Token) -> bool:
    return token.kind in ("name", "word", "number") or token.text == "&"


def _joins(tokens: Sequence[Token], at: int) -> bool:
    """'of' and 'the' inside a name, as in 'University of the Arts'; a possessive."""
    if not 0 < at < len(tokens) - 1:
        return False
    token, left, right = tokens[at], tokens[at - 1], tokens[at + 1]
    if token.text in ("'s", "’s"):
        return left.kind == "name"
    capital = left.text[:1].isupper() and left.kind == "name"
    if token.low in ("of", "de", "van", "von", "for") and capital and right.text[:1].isupper() and right.kind == "name":
        return left.text[1:].islower()
    return False


def _phrase(tokens: Sequence[Token], first: int, last: int) -> Phrase | None:
    vague = first > 0 and tokens[first - 1].low in ("a", "an")
    while first < last and (tokens[first].text in PLAIN or tokens[first].text in ("'s", "’s", "&")):
        first += 1
    while last > first and (tokens[last - 1].text in ("'s", "’s", "&") or _is_participle(tokens, first, last)):
        last -= 1
    names = [token for token in tokens[first:last] if token.kind == "name"]
    while last - first > 1 and names and not vague and tokens[last - 1].low in HEADS:
        last -= 1
    if last > first and tokens[last - 1].kind == "name":  # 'the composer Clara Schumann'
        while tokens[first].kind == "word" and "-" not in tokens[first].text:
            first += 1
    if first >= last or all(token.kind == "number" for token in tokens[first:last]):
        return None
    return Phrase(first, last, tokens[first].start, tokens[last - 1].end, bool(names))


def _is_participle(tokens: Sequence[Token], first: int, last: int) -> bool:
    token = tokens[last - 1]
    return last - first > 1 and token.kind == "word" and token.text.islower() and token.low.endswith("ed")


def vocabulary_of(texts: Iterable[str]) -> Vocabulary:
    """From all passages of one document, about 1 ms a page."""
    capitals: set[str] = set()
    plain: Counter[str] = Counter()
    terms: Counter[str] = Counter()
    for text in texts:
        for start, end in sentences(text):
            sentence = text[start:end]
            words = re.findall(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*", sentence)
            if len(words) < 5 or sum(word[0].isupper() for word in words) > 0.5 * len(words):
                continue  # a heading or a table
            capitals.update(word for word in words[1:] if word[0].isupper())
            plain.update(word for word in words if word.islower())
            terms.update(_small_phrases(sentence))
    return Vocabulary(frozenset(capitals), frozenset(plain), frozenset(t for t, n in terms.items() if n >= 2))


def _small_phrases(sentence: str) -> set[str]:
    tokens = tokens_of(blanked(sentence), Vocabulary())
    found, at = set(), 0
    while at < len(tokens):
        phrase = after(tokens, at) if _is_noun(tokens[at]) else None
        if phrase is not None and not phrase.named and 2 <= phrase.last - phrase.first <= 4:
            words = [token.low for token in tokens[phrase.first : phrase.last]]
            if all(word.replace("-", "").isalpha() for word in words):
                found.add(" ".join(words))
        at = max(at + 1, phrase.last if phrase is not None else at + 1)
    return found
