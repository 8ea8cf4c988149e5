"""The form in which names are compared."""

from __future__ import annotations

import pytest

from graph.resolve.fold import key, latin, singulars, spelling, surface, tokens
from graph.resolve.form import form


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("GPT-4", ("gpt", "4")),
        ("GPT4", ("gpt", "4")),
        ("GPT-4o", ("gpt", "4o")),
        ("Llama 2 7B", ("llama", "2", "7b")),
        ("MiniMax-M1-80k", ("minimax", "m", "1", "80k")),
        ("U.S.A.", ("usa",)),
        ("C++", ("c", "++")),
        ("the Transformer", ("transformer",)),
        ("A* search", ("a", "*", "search")),
        ("OpenAI's GPT-4", ("openai", "gpt", "4")),
        ("Adam优化器", ("adam", "优化器")),
        ("類神經網路", ("类神经网路",)),
        ("ＢＥＲＴ", ("bert",)),
        ("…", ("...",)),
    ],
)
def test_tokens(name: str, wanted: tuple[str, ...]) -> None:
    assert tokens(name) == wanted


def test_a_key_joins_what_blanks_part_but_never_two_numbers() -> None:
    assert key(tokens("multi-head attention")) == key(tokens("Multihead Attention"))
    assert key(tokens("Llama 2 7B")) != key(tokens("Llama 27B"))
    assert key(tokens("GPT-3.5")) != key(tokens("GPT-35"))


@pytest.mark.parametrize(
    ("plural", "singular"),
    [("policies", "policy"), ("matrices", "matrix"), ("analyses", "analysis"), ("biases", "bias"), ("boxes", "box")],
)
def test_plurals(plural: str, singular: str) -> None:
    assert singular in singulars(plural)


@pytest.mark.parametrize("word", ["loss", "corpus", "analysis", "gas1", "as"])
def test_what_is_no_plural(word: str) -> None:
    assert singulars(word) == ()


def test_transliterations_meet() -> None:
    assert latin("schrödinger") & latin("schroedinger")
    assert latin("müller") & latin("muller") and not latin("mueller") & latin("muller")
    assert latin("колмогоров") == {"kolmogorov"}
    assert latin("が") == {"が"}


def test_american_spelling() -> None:
    assert [spelling(word) for word in ("optimiser", "modelling", "behaviour", "four", "noise")] == [
        "optimizer",
        "modeling",
        "behavior",
        "four",
        "noise",
    ]


def test_numbers_are_digits_romans_and_words() -> None:
    assert form("World War II").numbers == form("World War 2").numbers == ("2",)
    assert form("third layer").numbers == form("3rd layer").numbers == ("3",)
    assert form("Henry VIII").numbers == ("8",)
    assert form("MIX and match").numbers == ()


def test_a_surface_keeps_everything_but_width_and_blanks() -> None:
    assert surface(" Mini\u3000Max－M1 ") == "Mini Max-M1"
