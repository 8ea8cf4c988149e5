"""The vectorised search for names against a plain one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.mentions.lexicon import Lexicon, Vocabulary, numbered
from graph.mentions.tokens import key, token, words

WORDS = ["Adam", "adam", "Smith", "of", "Bank", "England", "潮", "汐"]
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


def plain(texts: list[str], names: list[str]) -> list[tuple[int, str]]:
    """(text, key of the name): from left to right the longest that begins there."""
    known = {key(name): name[0].isupper() for name in reversed(names)}
    found = []
    for number, text in enumerate(texts):
        parts, at = [token(word) for word in words(text)], 0
        while at < len(parts):
            ends = range(len(parts), at, -1)
            fitting = (tuple(word.folded for word in parts[at:end]) for end in ends)
            hit = next((k for k in fitting if k in known and not (known[k] and parts[at].small)), None)
            if hit:
                found.append((number, " ".join(hit)))
            at += len(hit) if hit else 1
    return found


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), max_size=5), st.lists(phrases, max_size=6))
def test_names_are_found_as_by_looking_at_every_place(texts: list[str], names: list[str]) -> None:
    vocabulary = Vocabulary()
    text = vocabulary.read(texts)
    keys: dict[tuple[int, ...], int] = {}
    capital = []
    for name in names:
        parts = numbered(key(name), vocabulary)
        if parts and parts not in keys:
            keys[parts] = len(capital)
            capital.append(name[0].isupper())
    lexicon = Lexicon(keys, np.array(capital, dtype=np.bool_), len(vocabulary))
    spelt = {
        number: " ".join(k) for name in names if (k := key(name)) for number in [keys.get(numbered(k, vocabulary))]
    }
    of_text = np.cumsum(text.numbers == 0)
    found = [(int(of_text[place]), spelt[name]) for place, name in lexicon.find(text)]
    assert found == plain(texts, names)


def test_a_question_may_write_a_name_of_several_words_in_small_letters() -> None:
    vocabulary = Vocabulary()
    vocabulary.read(["Adam Smith", "Bank"])
    names = {numbered(key(name), vocabulary): number for number, name in enumerate(["Adam Smith", "Bank"])}
    lexicon = Lexicon(names, np.array([True, True]), len(vocabulary))
    nothing, bank = np.zeros(len(vocabulary), dtype=np.bool_), np.ones(len(vocabulary), dtype=np.bool_)
    asked = vocabulary.known("what did adam smith say of the bank?", len(vocabulary))
    assert [name for _, name in lexicon.find(asked)] == []
    assert [name for _, name in lexicon.find(asked, loosely=nothing)] == [0]
    assert [name for _, name in lexicon.find(asked, loosely=bank)] == [0, 1]
