"""What kind of thing a name stands for, where its document says so in plain words.

In the name itself ('Harbour Institute', 'error of 3.6 cm'), in the noun beside it ('the Atlas corpus', 'the
optimizer Adam'), or in what it is said to be ('TideNet, a recurrent model', 'TideNet is a recurrent model').

People get no type: two people of one name are one only where two documents relate them to a common other name, and
rules find too few relations to show it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from core.text import sentences
from graph.extraction.naming import name_key
from graph.extraction.phrases import LONGEST, Token, Vocabulary, blanked, tokens_of

_NOUNS = {
    "model": "model network architecture encoder decoder classifier detector transformer",
    "method": "method algorithm technique optimizer optimiser approach framework mechanism",
    "dataset": "dataset corpus corpora",
    "benchmark": "benchmark leaderboard",
    "task": "task",
    "software": "library toolkit tool software package",
    "organisation": "institute institution university laboratory company corporation foundation academy agency college "
    "hospital ministry museum",
    "place": "city town village country river lake mountain island region province district municipality county",
    "film": "film",
    "book": "book novel",
}
_TYPES = {noun: type_ for type_, nouns in _NOUNS.items() for noun in nouns.split()}
# As a name's own head only: 'the SFT data' and 'the ImageNet error' do not say what SFT and ImageNet are.
_OWN = {"data": "dataset"} | dict.fromkeys(("metric", "accuracy", "error", "score", "precision", "recall"), "metric")
_ALIKE = ({"model", "method"}, {"dataset", "benchmark"})  # said of one thing in turn
_BRIEF = 3  # letters of a name that may stand for its long form, as in 'the SFT dataset'
_OF = re.compile(r" (?:of|for|on|with) ")
_DATA_SET = re.compile(r"\bdata[\s-]set(s?)\b")
_GOES_ON = re.compile(r"(?:,\s+[\w-]+){0,3},?\s+(?:and|or)\b")
_BENCH = re.compile(r"[A-Za-z]-?Bench$")
_DEFINITE = frozenset("the this our their its".split())
_LINKING = frozenset("on with by from to".split())  # 'on GaugeBench, a benchmark', but not 'the use of X is a task'
_WORDS = 8  # of what something is said to be


def types_of(texts: Iterable[str], vocabulary: Vocabulary) -> dict[str, str]:
    """What the sentences of a document say of its names, by their keys, where most agree. About 1 ms a passage."""
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for start, end in sentences(text):
            if end - start <= LONGEST:
                sentence = _one_word(text[start:end])
                tokens = tokens_of(blanked(sentence), vocabulary)
                for first, last, type_ in (*_beside(tokens), *_said_to_be(sentence, tokens)):
                    said[name_key(sentence[tokens[first].start : tokens[last - 1].end])][type_] += 1
    return {name: type_ for name, counted in said.items() if (type_ := _agreed(name, counted))}


def _agreed(name: str, said: Counter[str]) -> str:
    type_, _ = min(said.items(), key=lambda item: (-item[1], item[0]))
    alike = next((group for group in _ALIKE if type_ in group), {type_})
    count = sum(said[each] for each in alike)
    return type_ if 2 * count > said.total() and (count > 1 or len(name) > _BRIEF) else ""


def type_of(name: str, said: Mapping[str, str]) -> str:
    """'' where nothing says it."""
    if known := said.get(name_key(name)):
        return known
    words = _OF.split(_one_word(name))[0].split()  # the last is the head: 'error' of 'absolute error of 3.6 cm'
    own = (_type(words[-1]) or _OWN.get(words[-1].casefold().removesuffix("s"), "")) if words else ""
    if own and words != [name]:
        return own
    return "benchmark" if _BENCH.search(name) else ""


def ends_at(sentence: str, at: int) -> bool:
    """Whether what something is said to be ends there: not behind 'film' in 'is a film, television and stage actor'."""
    return _GOES_ON.match(sentence, at) is None


def _one_word(text: str) -> str:
    return _DATA_SET.sub(r"dataset\1", text)


def _type(word: str) -> str:
    low = word.casefold()
    return _TYPES.get(low) or _TYPES.get(low.removesuffix("s")) or _TYPES.get(re.sub("ies$", "y", low), "")


def _beside(tokens: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    """(first, last excluded, type): 'the Atlas corpus' and 'the corpus Atlas'; not 'an Atlas corpus', which is made
    from it, nor 'English models'."""
    for at, token in enumerate(tokens):
        if token.kind != "word" or not (type_ := _type(token.text)):
            continue
        first = _run_before(tokens, at)
        if 0 < first < at and not _is_nominal(tokens, at + 1) and tokens[first - 1].low in _DEFINITE:
            yield first, at, type_
        last = _run_after(tokens, at + 1)
        if last > at + 1 and not _is_nominal(tokens, last) and at and tokens[at - 1].low == "the":
            yield at + 1, last, type_


def _said_to_be(sentence: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    """'TideNet, a recurrent model', 'TideNet is the first recurrent model of …'."""
    for at in range(1, len(tokens) - 2):
        link, determiner = tokens[at], tokens[at + 1]
        if not (link.text == "," or link.low in ("is", "was")) or determiner.low not in ("a", "an", "the"):
            continue
        last = at + 2
        while _is_nominal(tokens, last) or (last < len(tokens) and tokens[last].kind in ("number", "adverb")):
            last += 1
        first = _run_before(tokens, at)
        alone = first == 0 or tokens[first - 1].kind not in ("preposition", "word") or tokens[first - 1].low in _LINKING
        type_ = _type(tokens[last - 1].text) if tokens[last - 1].kind == "word" else ""
        short = last <= at + 2 + _WORDS
        if type_ and alone and short and first < at and ends_at(sentence, tokens[last - 1].end):
            yield first, at, type_


def _run_before(tokens: Sequence[Token], at: int) -> int:
    first = at
    while first > 0 and tokens[first - 1].kind == "name":
        first -= 1
    return first


def _run_after(tokens: Sequence[Token], at: int) -> int:
    while at < len(tokens) and tokens[at].kind == "name":
        at += 1
    return at


def _is_nominal(tokens: Sequence[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].kind in ("word", "name")
