"""What makes names one, with the reason that a person reads."""

from __future__ import annotations

import pytest

from graph.resolve.definitions import Definition, definitions
from tests.support.names import resolved

PERSON = "Person"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("we use Lightning Attention (LA) here", ("LA", "Lightning Attention")),
        ("an LLM (large language model) is", ("LLM", "large language model")),
        ("Proximal Policy Optimization (PPO) and", ("PPO", "Proximal Policy Optimization")),
        ("large language models (LLMs)", ("LLMs", "large language models")),
        ("Rotary Position Embedding (RoPE; Su et al.)", ("RoPE", "Rotary Position Embedding")),
        ("大语言模型（LLM）", ("LLM", "大语言模型")),
        ("LLM（大语言模型）", ("LLM", "大语言模型")),
        ("GPT-4 (OpenAI, 2023)", None),
        ("the result (see Table 2)", None),
        ("in the year (2019)", None),
        ("(LA)", None),
    ],
)
def test_definitions(text: str, wanted: tuple[str, str] | None) -> None:
    assert list(definitions(text)) == ([Definition(*wanted)] if wanted else [])


def test_the_same_name_in_another_form() -> None:
    found = resolved("Gradient Clipping", "gradient clipping", "gradient-clipping")
    assert len(found.clusters) == 1
    owner = found.owner["gradient clipping", "d1"]
    assert (owner.tier, owner.score, owner.reason) == ("same", 1, "they differ in capitals")


def test_an_acronym_needs_a_definition_or_its_letters_in_one_document() -> None:
    names = ("LA", "Lightning Attention")
    assert resolved(*names, texts=[("d1", "Lightning Attention (LA) scales")]).one(*names)
    assert not resolved(*names).one(*names)
    assert not resolved(("LA", "d1"), ("Lightning Attention", "d2")).one(*names, "d1", "d2")
    assert resolved("CNN", "convolutional neural network").one("CNN", "convolutional neural network")


def test_an_acronym_with_two_meanings_in_one_text_is_nobodys() -> None:
    text = "Lightning Attention (LA) beats linear attention (LA)."
    found = resolved("LA", "Lightning Attention", "linear attention", texts=[("d1", text)])
    assert len(found.clusters) == 3


def test_a_definition_elsewhere_counts_where_both_names_stand() -> None:
    rows = [("LA", "d2"), ("Lightning Attention", "d2"), ("Lightning Attention", "d1")]
    assert resolved(*rows, texts=[("d1", "Lightning Attention (LA)")]).one("LA", "Lightning Attention", "d2", "d2")


def test_the_short_end_of_a_name_belongs_to_the_one_that_has_it() -> None:
    found = resolved("M1", "MiniMax-M1", "MiniMax-M1-80k")
    assert found.one("M1", "MiniMax-M1") and not found.one("M1", "MiniMax-M1-80k")
    owner = found.owner["M1", "d1"]
    assert (owner.into, owner.tier, found.named("M1")) == ("MiniMax-M1", "containment", "MiniMax-M1")


def test_two_longer_names_leave_it_alone_but_each_document_speaks_for_itself() -> None:
    assert not resolved("M1", "MiniMax-M1", "Apple M1").one("M1", "MiniMax-M1")
    found = resolved(("M1", "d1"), ("MiniMax-M1", "d1"), ("M1", "d2"), ("Apple M1", "d2"), ("M1", "d3"))
    assert found.clusters == [["Apple M1@d2", "M1@d2"], ["M1@d1", "MiniMax-M1@d1"], ["M1@d3"]]


def test_heads_add_nothing_to_a_proper_name() -> None:
    assert resolved("Adam", "Adam optimizer", "optimizer Adam").clusters == [
        ["Adam@d1", "Adam optimizer@d1", "optimizer Adam@d1"]
    ]
    assert not resolved("attention", "attention model").one("attention", "attention model")
    names = ("RL", "reinforcement learning", "RL algorithm")
    assert not resolved(*names, texts=[("d1", "reinforcement learning (RL)")]).one("RL", "RL algorithm")
    typed = [("Heron", "d1", "Model"), ("Heron dataset", "d1", "Dataset")]
    assert not resolved(*typed).one("Heron", "Heron dataset")


def test_a_last_name_in_its_document() -> None:
    rows = [("Reed", "d1", PERSON), ("Owen Reed", "d1", PERSON)]
    assert resolved(*rows).named("Reed") == "Owen Reed"
    assert not resolved(*rows, ("Olga Reed", "d1", PERSON)).one("Reed", "Owen Reed")
    assert not resolved("Lightning Attention", "Attention").one("Lightning Attention", "Attention")


def test_likeness_with_its_score() -> None:
    found = resolved("Schrödinger equation", ("Schroedinger equation", "d2"))
    owner = found.owner["Schrödinger equation", "d1"], found.owner["Schroedinger equation", "d2"]
    moved = next(one for one in owner if one.into != one.name)
    assert moved.tier == "similarity" and 0.88 <= moved.score < 1


def test_a_slip_of_the_pen_in_a_long_name() -> None:
    good, bad = "Workshop on Statistical Language Processing", "Workshop on Statistical Langauge Processing"
    assert resolved(good, bad).one(good, bad)
    assert not resolved("absorption", "adsorption").one("absorption", "adsorption")


def test_direction_counts() -> None:
    assert not resolved("image to text", "text to image").one("image to text", "text to image")


def test_names_of_nothing_but_marks_do_no_harm() -> None:
    names = ["…", "***", "()", "“”", "的", "𝔐", "x" * 10_000, "a\nb", "'); DROP TABLE triples;--"]
    found = resolved(*names)
    assert len(found.owner) == len(names) + 1
