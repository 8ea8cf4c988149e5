"""What may never be one, whatever else speaks for it."""

from __future__ import annotations

from itertools import combinations

import pytest

from graph.resolve.compare import compared, forbidden, opposed
from tests.support.names import resolved

NEVER = [
    ("Quill-3", "Quill-4"),
    ("Sparrow 2 7B", "Sparrow 2 13B"),
    ("Finch v1", "Finch v2"),
    ("Heron-40k", "Heron-80k"),
    ("World Cup IX", "World Cup XI"),
    ("Track 2024", "Track 2025"),
    ("first stage", "second stage"),
    ("Heron base", "Heron large"),
    ("Heron", "Heron Turbo"),
    ("guided search", "unguided search"),
    ("pre-selection", "post-selection"),
    ("hyperbaric chamber", "hypobaric chamber"),
    ("Owen Reed", "Nora Reed"),
    ("KITE", "KILE"),
    ("Kite", "Kiti"),
    ("sparse index", "dense index"),
    ("WHO", "who"),
]


@pytest.mark.parametrize(("first", "second"), NEVER)
def test_guards_hold_both_ways_round(first: str, second: str) -> None:
    assert forbidden(first, second) and forbidden(second, first)
    assert not resolved(first, second).one(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Quill-3", "quill 3"),
        ("Heron", "Herons"),
        ("LA", "Lightning Attention"),
        ("T5", "Text-to-Text Transfer Transformer"),
        ("M1", "MiniMax-M1"),
        ("O. Reed", "Owen Reed"),
        ("Heron model", "Heron"),
    ],
)
def test_what_the_guards_leave_open(first: str, second: str) -> None:
    assert forbidden(first, second) == "" == forbidden(second, first)


def test_opposites() -> None:
    assert opposed("symmetric", "asymmetric") and opposed("encoder", "decoder") and opposed("lossless", "lossy")
    assert not opposed("network", "work") and not opposed("cat", "cats")


def test_words_find_one_partner_each() -> None:
    pair = compared("multi head attention attention", "multihead attention")
    assert (pair.shared, pair.first, pair.second) == (3, ("attention",), ())


def test_a_chain_never_joins_what_is_forbidden() -> None:
    """J. Reed is like both, and they are two."""
    rows = [(name, "d1", "Person") for name in ("O. Reed", "Owen Reed", "Olga Reed")]
    assert resolved(*rows).clusters == [["O. Reed@d1"], ["Olga Reed@d1"], ["Owen Reed@d1"]]


def test_no_two_of_the_forbidden_names_meet_when_all_stand_in_one_library() -> None:
    names = sorted({name for pair in NEVER for name in pair})
    found = resolved(*names)
    for first, second in combinations(names, 2):
        if forbidden(first, second):
            assert not found.one(first, second), (first, second)
