"""Which questions ask for several things that can be searched for one by one."""

import pytest

from retrieval.parts import parts_of


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("How long did training HeronNet take?", ()),
        (
            "How many parameters has HeronNet, and which optimiser trained the Egret baseline?",
            ("How many parameters has HeronNet", "which optimiser trained the Egret baseline"),
        ),
        (
            "Which buoys failed in the winter storm? How often was the water level sampled?",
            ("Which buoys failed in the winter storm", "How often was the water level sampled"),
        ),
        (
            "How many layers has the deep network, and what is its test error?",
            ("How many layers has the deep network",),
        ),
        ("What is the error rate and the training time of the baseline?", ()),
        ("Who wrote it, and when?", ()),
        (
            "深度网络的训练用了多少个样本，测试集的错误率是多少？",
            ("深度网络的训练用了多少个样本", "测试集的错误率是多少"),
        ),
    ],
)
def test_parts(question: str, parts: tuple[str, ...]) -> None:
    assert parts_of(question, lambda term: True, 3) == parts


def test_a_part_needs_words_that_the_library_has_and_there_are_only_so_many() -> None:
    question = "How many nets won the contest, and which deep layer came first, and where was all training data kept?"
    assert len(parts_of(question, lambda term: True, 5)) == 3
    assert len(parts_of(question, lambda term: True, 2)) == 2
    assert parts_of(question, lambda term: True, 0) == ()
    assert parts_of(question, lambda term: False, 5) == ()
