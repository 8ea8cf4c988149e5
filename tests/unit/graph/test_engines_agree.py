"""The matcher against kglite, which runs what the compiler made: two engines, one answer."""

from __future__ import annotations

import random

import pytest

from graph.cypher.parser import read_cypher
from graph.patterns.matcher import Matcher
from tests.support.graph_patterns import QueryWriter, RawWriter, answered, in_kglite, random_graph, relations_of

_GRAPHS, _QUERIES = 30, 25


@pytest.mark.parametrize("seed", range(_GRAPHS))
def test_the_matcher_and_kglite_find_the_same(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(rng)
    matcher, run = Matcher(graph), in_kglite(graph)
    for _ in range(_QUERIES):
        writer = QueryWriter(rng)
        text = writer.query()
        pattern = read_cypher(text, writer.parameters)
        documents = rng.choice((None, None, {"d1"}, set()))
        limit = rng.choice((3, 1000))
        keys = rng.choice((None, matcher.of))
        mine = matcher.match(pattern, limit=limit, documents=documents)
        assert mine == answered(run, pattern, limit=limit, documents=documents, keys=keys), text[:2000]


@pytest.mark.parametrize("seed", range(_GRAPHS))
def test_a_query_finds_what_kglite_finds_for_its_own_text(seed: int) -> None:
    """Nothing of the parser and of the canonical form is shared here."""
    rng = random.Random(1000 + seed)
    graph = random_graph(rng)
    matcher, run = Matcher(graph), in_kglite(graph)
    for _ in range(_QUERIES):
        writer = RawWriter(rng)
        text = writer.query()
        found = matcher.match(read_cypher(text), limit=1000)
        assert set(found.relations) == relations_of(run, writer.returned), text
