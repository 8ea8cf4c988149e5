"""The walk against NetworkX's PageRank."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.mentions import walk
from graph.mentions.walk import Bipartite

edges = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 4)), st.sampled_from([0.1, 0.5, 1.0, 2.0]), min_size=1, max_size=20
)


@settings(deadline=None)
@given(edges, st.dictionaries(st.integers(0, 4), st.sampled_from([0.5, 1.0]), min_size=1, max_size=3))
def test_the_mass_is_personalised_pagerank(weights: dict[tuple[int, int], float], start: dict[int, float]) -> None:
    """Of a graph without dead ends, whose mass comes back to the start in NetworkX."""
    graph = nx.DiGraph()
    for (chunk, name), weight in weights.items():
        graph.add_edge(f"c{chunk}", f"n{name}", weight=weight)
        graph.add_edge(f"n{name}", f"c{chunk}", weight=1.0)
    start = {name: weight for name, weight in start.items() if f"n{name}" in graph}
    if not start:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "_STEPS", 200)
        patch.setattr(walk, "_LEAST", 0.0)
        links = Bipartite(list(weights), list(weights.values()), [1.0] * len(weights), (6, 5))
        found = links.walk(start, {})
    expected = nx.pagerank(
        graph, alpha=walk.DAMPING, personalization={f"n{name}": w for name, w in start.items()}, tol=1e-12, max_iter=500
    )
    assert found == pytest.approx([expected.get(f"c{chunk}", 0.0) for chunk in range(6)], abs=1e-8)


def test_few_steps_and_small_masses_left_out_change_little() -> None:
    dice = np.random.default_rng(0)
    pairs = {(int(c), int(n)) for c, n in dice.integers(0, [300, 100], (2000, 2))}
    links = Bipartite(sorted(pairs), [1.0] * len(pairs), [1.0] * len(pairs), (300, 100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "_STEPS", 200)
        patch.setattr(walk, "_LEAST", 0.0)
        exact = links.walk({3: 1.0}, {})
    assert np.abs(links.walk({3: 1.0}, {}) - exact).sum() < 0.02


def test_nothing_passes_through_what_is_closed() -> None:
    """c0 - n0 - c1 - n1 - c2: with c1 closed, c2 is out of reach."""
    links = Bipartite([(0, 0), (1, 0), (1, 1), (2, 1)], [1.0] * 4, [1.0] * 4, (3, 2))
    assert links.walk({0: 1.0}, {})[2] > 0
    found = links.walk({0: 1.0}, {}, np.array([False, True, False]))
    assert found[0] > 0
    assert list(found[1:]) == [0, 0]


def test_a_walk_from_nowhere_ends_nowhere() -> None:
    links = Bipartite([(0, 0)], [1.0], [1.0], (1, 1))
    assert not links.walk({}, {}).any()
