"""However a question is worded in Cypher, its answer is the same."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph.cypher.parser import read_cypher
from graph.patterns.matcher import Matcher
from tests.support.rewordings import QUESTIONS, Question, Reworder, fixed_graph

_WORDINGS = 20
_matcher = Matcher(fixed_graph())


def test_there_are_enough_questions() -> None:
    assert len(QUESTIONS) >= 40


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_twenty_wordings_have_one_answer(question: Question) -> None:
    texts: set[str] = set()
    rng = random.Random(question.text)
    patterns, answers = set(), set()
    while len(texts) < _WORDINGS:
        reworder = Reworder(rng)
        text = reworder.write(question)
        texts.add(text)
        pattern = read_cypher(text, reworder.parameters)
        patterns.add(pattern.text)
        found = _matcher.match(pattern, limit=100)
        assert set(found.answers) == question.answers, text
        answers.add(found)
    assert len(answers) == 1  # rows, their order, anchors
    assert len(patterns) == 1


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(question=st.sampled_from(QUESTIONS), seeds=st.tuples(st.integers(0), st.integers(0)))
def test_any_two_wordings_are_one_pattern(question: Question, seeds: tuple[int, int]) -> None:
    read = []
    for seed in seeds:
        reworder = Reworder(random.Random(seed))
        read.append(read_cypher(reworder.write(question), reworder.parameters))
    assert read[0] == read[1]
    assert read[0].text == read[1].text
    assert read_cypher(read[0].text) == read[0]  # what is shown can be asked
