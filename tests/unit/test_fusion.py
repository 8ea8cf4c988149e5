import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.ledger.store import Kin
from retrieval.fusion import by_parent, maximal_marginal_relevance, reciprocal_rank_fusion

IDS = st.lists(st.sampled_from("abcdefgh"), unique=True)


def test_the_formula() -> None:
    fused = reciprocal_rank_fusion({"dense": ["a", "b"], "bm25": ["b"]}, {"dense": 1.0, "bm25": 0.5}, k=60)
    assert fused == {"b": 1 / 62 + 0.5 / 61, "a": 1 / 61}
    assert list(fused) == ["b", "a"]


def test_no_channel_found_anything() -> None:
    assert reciprocal_rank_fusion({"dense": [], "bm25": []}, {}) == {}


@given(IDS, IDS)
def test_every_hit_once_and_the_order_of_channels_does_not_matter(first: list[str], second: list[str]) -> None:
    one = reciprocal_rank_fusion({"x": first, "y": second}, {})
    other = reciprocal_rank_fusion({"y": second, "x": first}, {})
    assert list(one) == list(other)
    assert set(one) == set(first) | set(second)


@given(IDS.filter(bool))
def test_one_channel_keeps_its_order(ids: list[str]) -> None:
    assert list(reciprocal_rank_fusion({"x": ids}, {})) == ids


def test_a_parent_has_its_best_childs_score_and_a_share_of_the_others() -> None:
    children = {"a": Kin("p", False), "b": Kin("q", False), "c": Kin("q", False), "r": Kin("refs", True)}
    fused = {"a": 1.0, "b": 0.8, "c": 0.5, "r": 1.0, "gone": 9.0}
    assert by_parent(children, fused, 0.5) == {"q": 0.8 + 0.25, "p": 1.0, "refs": 0.5}
    assert list(by_parent(children, fused, 0.0)) == ["p", "q", "refs"]


def test_mmr_puts_what_is_unlike_before_what_is_alike() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    assert maximal_marginal_relevance([1.0, 0.9, 0.8], vectors, 1.0) == [0, 1, 2]
    assert maximal_marginal_relevance([1.0, 0.9, 0.8], vectors, 0.7) == [0, 2, 1]
    assert maximal_marginal_relevance([], np.zeros((0, 2), dtype=np.float32), 0.5) == []


@given(st.lists(st.floats(0, 10), max_size=8), st.floats(0, 1))
def test_mmr_gives_each_place_once(scores: list[float], balance: float) -> None:
    vectors = np.eye(8, dtype=np.float32)[: len(scores)]
    assert sorted(maximal_marginal_relevance(scores, vectors, balance)) == list(range(len(scores)))
