"""What people decide of names."""

from __future__ import annotations

import pytest

from core.errors import InvalidInput
from graph.resolve.rules import Rules
from tests.support.names import forbid, force, resolved


def test_a_forced_pair_is_one_whatever_speaks_against_it() -> None:
    found = resolved("GPT-3", "GPT-4", ("GPT-4", "d2"), rules=[force("GPT-3", "GPT-4")])
    assert found.one("GPT-3", "GPT-4", "d1", "d2")
    assert "forced" in {owner.tier for owner in found.owner.values()}


def test_a_forbidden_pair_is_two_though_it_differs_in_capitals_only() -> None:
    assert not resolved("Heron", "HERON", rules=[forbid("Heron", "HERON")]).one("Heron", "HERON")


def test_forbidding_undoes_a_merge_by_way_of_a_third_name_too() -> None:
    rows = ["M1", "MiniMax-M1", "minimax m1"]
    assert len(resolved(*rows).clusters) == 1
    found = resolved(*rows, rules=[forbid("M1", "MiniMax-M1")])
    assert not found.one("M1", "MiniMax-M1")


def test_homonyms_are_joined_and_parted_by_naming_them_twice() -> None:
    people = [("Owen Reed", "d1", "Person", "MIT"), ("Owen Reed", "d2", "Person", "Oxford")]
    assert resolved(*people, rules=[force("Owen Reed", "Owen Reed")]).one("Owen Reed", "Owen Reed", "d1", "d2")
    models = [("Heron-3", "d1"), ("Heron-3", "d2")]
    assert not resolved(*models, rules=[forbid("Heron-3", "Heron-3")]).one("Heron-3", "Heron-3", "d1", "d2")


def test_a_rule_about_names_that_are_not_there_does_nothing() -> None:
    assert resolved("Heron", rules=[force("Kite", "Wren"), forbid("Heron", "Kite")]).clusters == [["Heron@d1"]]


def test_rules_that_contradict_each_other_are_refused_with_the_chain() -> None:
    Rules([force("A", "B"), forbid("C", "D"), force("B", "C")]).check()
    with pytest.raises(InvalidInput, match="'A' and 'C' are kept apart, and made one by A = B = C") as caught:
        Rules([force("A", "B"), force("B", "C"), forbid("A", "C")]).check()
    assert "forget" in caught.value.hint


def test_a_name_may_be_forbidden_itself_while_it_is_forced_with_another() -> None:
    rules = [force("A", "B"), forbid("A", "A")]
    Rules(rules).check()
    with pytest.raises(InvalidInput):
        Rules([force("A", "A"), forbid("A", "A")]).check()
