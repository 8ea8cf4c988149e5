"""Which names of the graph a text says."""

from __future__ import annotations

import time

import pytest

from core.graph import Entity
from graph.asking.names import NameIndex


def _index(*names: str) -> NameIndex:
    return NameIndex([Entity(id=name, name=name, type="Model") for name in names])


@pytest.mark.parametrize(
    ("names", "text", "found"),
    [
        (("BERT", "GPT-3"), "Is bert better than gpt-3?", ["bert", "gpt-3"]),
        (("GPT-3",), "Is GPT-3.5 better?", []),
        (("GPT",), "Is GPT-4 better?", []),
        (("BERT",), "A BERT-based or Sentence-BERT model", ["bert"]),
        (("MiniMax", "MiniMax-M1"), "What does MiniMax M1 use?", ["minimax-m1"]),
        (("MiniMax", "MiniMax-M1"), "What does MiniMax do with MiniMax-M1?", ["minimax", "minimax-m1"]),
        (("the", "model", "BERT"), "Which model is the BERT?", ["bert"]),
        (("清华大学", "大学"), "清华大学在哪里？", ["清华大学"]),
        (("ＢＥＲＴ",), "Who made BERT?", ["bert"]),
        (("O'Brien",), "Where does O'Brien work?", ["o'brien"]),
        (("C++",), "Who uses C++?", []),
        (("it's a `trap`",), "What of it's a `trap`?", ["it's a `trap`"]),
        (("BERT",), "", []),
    ],
)
def test_the_longest_names_that_stand_alone(names: tuple[str, ...], text: str, found: list[str]) -> None:
    assert [link.name for link in _index(*names).linked(text)] == found


def test_a_name_of_several_entities_says_all_of_them() -> None:
    index = NameIndex([Entity(id="1", name="John Smith"), Entity(id="2", name="john smith", mentions=3)])
    (link,) = index.linked("Who is John Smith?")
    assert link.entities == ("1", "2")
    assert [entity.id for entity in index.entities("JOHN SMITH")] == ["2", "1"]


def test_types_are_known_by_their_plurals() -> None:
    index = NameIndex([Entity(id="1", name="a", type="Data Set"), Entity(id="2", name="b", type="Company")])
    assert index.type_of("datasets") == index.type_of("Data sets") == "dataset"
    assert index.type_of("companies") == "company"
    assert index.type_of("models") is None


def test_a_long_text_of_hostile_names_takes_no_time() -> None:
    index = _index("x", "x y", "x y z", *(f"x {'y ' * length}" for length in range(50)), "n" * 10_000)
    start = time.perf_counter()
    assert index.linked("x y " * 2_000 + "n" * 10_000)
    assert time.perf_counter() - start < 3
