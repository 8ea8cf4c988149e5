from hypothesis import given
from hypothesis import strategies as st

from retrieval.fusion import reciprocal_rank_fusion

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
