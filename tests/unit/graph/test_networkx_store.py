"""What the walks find, against NetworkX's own enumeration; and the search for entities."""

from __future__ import annotations

import time

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.graph import GraphData, Relation
from graph.cypher.parser import read_cypher
from graph.stores.networkx_store import NetworkXStore
from tests.support.graphs import HOSTILE, graph_of, random_graph, said

small = st.builds(random_graph, st.integers(2, 9), st.integers(1, 14), st.integers(0, 10_000), st.just(3))


def _id(data: GraphData, name: str) -> str:
    return next(entity.id for entity in data.entities if entity.name == name)


def _key(relation: Relation) -> tuple[str, str, str]:
    return relation.subject, relation.relation, relation.object


def _undirected(data: GraphData, documents: frozenset[str] | None = None) -> nx.MultiGraph:
    graph = nx.MultiGraph()
    graph.add_nodes_from(entity.id for entity in data.entities)
    for relation in data.relations:
        if documents is None or documents & set(relation.documents):
            graph.add_edge(relation.subject, relation.object, _key(relation))
    return graph


@settings(deadline=None)
@given(small, st.integers(1, 4), st.sampled_from([None, frozenset({"d0"}), frozenset({"d1", "d2"})]))
def test_paths_are_all_simple_paths(data: GraphData, hops: int, documents: frozenset[str] | None) -> None:
    first, second = data.entities[0].id, data.entities[-1].id
    found = NetworkXStore(data).paths(first, second, hops, 10_000, documents)
    graph = _undirected(data, documents)
    every = nx.all_simple_edge_paths(graph, first, second, hops) if first != second else ()
    oracle = {tuple(edge[2] for edge in path) for path in every}
    got = [tuple(_key(relation) for relation in path) for path in found.paths]
    assert set(got) == oracle and len(got) == len(oracle) and not found.truncated
    assert [len(path) for path in got] == sorted(len(path) for path in got)
    assert found.entities.keys() == {end for path in got for one, _, other in path for end in (one, other)}


@settings(deadline=None)
@given(small, st.integers(1, 4), st.sampled_from([None, frozenset({"d0"}), frozenset({"d1", "d2"})]))
def test_a_neighbourhood_is_what_is_near(data: GraphData, hops: int, documents: frozenset[str] | None) -> None:
    start = data.entities[0].id
    found = NetworkXStore(data).neighbourhood([start], hops, 10_000, documents)
    graph = _undirected(data, documents)
    far = nx.single_source_shortest_path_length(graph, start)
    expected = {key: min(far[one], far[other]) for one, other, key in graph.edges(keys=True) if far.get(one, 99) < 99}
    got = [_key(relation) for relation in found.relations]
    assert set(got) == {key for key, at in expected.items() if at < hops} and len(got) == len(set(got))
    assert [expected[key] for key in got] == sorted(expected[key] for key in got)


@settings(deadline=None)
@given(small, st.integers(1, 5))
def test_a_limit_cuts_and_says_so(data: GraphData, limit: int) -> None:
    store = NetworkXStore(data)
    first, second = data.entities[0].id, data.entities[-1].id
    every, some = store.neighbourhood([first], 3, 10_000), store.neighbourhood([first], 3, limit)
    assert some.relations == every.relations[:limit] and some.truncated == (len(every.relations) > limit)
    all_paths, paths = store.paths(first, second, 3, 10_000), store.paths(first, second, 3, limit)
    assert paths.paths == all_paths.paths[:limit] and paths.truncated == (len(all_paths.paths) > limit)


def test_what_more_documents_state_comes_first() -> None:
    data = graph_of(
        said("a", "R", "b", "d1"), *[said("a", "R", "c", f"d{n}") for n in (1, 2, 3)], said("a", "S", "c", "d9")
    )
    store = NetworkXStore(data)
    assert store.neighbourhood([_id(data, "a")], 1, 1).relations[0].object == _id(data, "c")
    (only,) = store.neighbourhood([_id(data, "a")], 1, 5, documents=["d9"]).relations
    assert only.relation == "S"


def test_unknown_ids_have_nothing() -> None:
    store = NetworkXStore(graph_of(said("a", "R", "b")))
    assert store.neighbourhood(["?"], 2, 5).relations == store.paths("?", "!", 3, 5).paths == ()
    assert store.entities_by_id(["?"]) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bert", ["BERT", "BERT large", "RoBERTa", "a BERT"]),
        ("  ＢＥＲＴ ", ["BERT", "BERT large", "RoBERTa", "a BERT"]),
        ("large bert", ["BERT large"]),
        ("nothing like it", []),
    ],
)
def test_search(text: str, expected: list[str]) -> None:
    data = graph_of(said("BERT", "R", "BERT large"), said("RoBERTa", "R", "RoBERTa"), said("RoBERTa", "R", "a BERT"))
    found = [entity.name for entity in NetworkXStore(data).entities(text, 10)]
    assert found[:2] == expected[:2] and sorted(found) == sorted(expected)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_only_names(name: str) -> None:
    data = random_graph(30, 60, seed=3)
    store = NetworkXStore(data)
    found = store.entities(name, 3)
    assert name in {entity.name for entity in found}


def test_a_pattern_is_matched() -> None:
    data = graph_of(said("BERT", "TRAINED_ON", "BookCorpus"), said("GPT", "TRAINED_ON", "WebText"))
    store = NetworkXStore(data)
    found = store.match(read_cypher('MATCH (a {name: "BERT"})-[:TRAINED_ON]->(b) RETURN b'), 10)
    assert found.answers == (_id(data, "BookCorpus"),)
    assert store.relation(*found.relations[0]) == next(r for r in data.relations if r.subject == _id(data, "BERT"))


def test_forty_thousand_relations_load_in_time() -> None:
    data = random_graph(10_000, 40_000)
    start = time.process_time()
    NetworkXStore(data)
    assert time.process_time() - start < 3
