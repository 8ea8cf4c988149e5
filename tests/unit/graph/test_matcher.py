"""What a match is, with answers worked out by hand, and where the work ends."""

from __future__ import annotations

import time

import networkx as nx
import pytest

from core.errors import InvalidInput, TooBroad
from graph.cypher.parser import read_cypher
from graph.patterns.found import Matched, RelationKey
from graph.patterns.matcher import Matcher


def _graph(*edges: tuple[str, str, str], **types: str) -> Matcher:
    """Entities are named as their ids."""
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for source, relation, target in edges:
        for node in (source, target):
            graph.add_node(node, name=node, type=types.get(node, ""), aliases=(), documents=("d1", "d2"))
        graph.add_edge(source, target, key=relation, wordings=("uses",), triples=("t",), documents=("d1",))
    return Matcher(graph)


def _rows(found: Matched) -> list[str]:
    return [f"{row.subject} {row.relation} {row.object}" for row in found.relations]


def _find(matcher: Matcher, text: str, limit: int = 100, documents: set[str] | None = None) -> Matched:
    return matcher.match(read_cypher(text), limit=limit, documents=documents)


def test_no_relationship_is_taken_twice_within_one_match_and_may_be_in_two() -> None:
    matcher = _graph(("a", "USES", "b"))
    assert not _find(matcher, "MATCH (x)-[r]-(y)-[s]-(z) RETURN x").relations
    assert _find(matcher, "MATCH (x)-[r]-(y) MATCH (y)-[s]-(z) RETURN x").relations


def test_a_path_takes_no_relationship_twice_and_may_pass_a_node_twice() -> None:
    matcher = _graph(("a", "USES", "b"), ("b", "IMPROVES", "b"), ("b", "IS_A", "c"))
    assert _find(matcher, "MATCH (x {name: 'a'})-[*3]->(y) RETURN y").answers == ("c",)
    assert not matcher.match(read_cypher("MATCH (x)-[*4]->(y) RETURN y", hops=4), limit=9).relations


def test_self_loops_are_found_either_way() -> None:
    matcher = _graph(("a", "USES", "a"), ("a", "USES", "b"))
    for arrow in ("-->", "<--", "--"):
        assert _rows(_find(matcher, f"MATCH (x){arrow}(x) RETURN x")) == ["a USES a"]


def test_answers_follow_from_the_anchors() -> None:
    matcher = _graph(("a", "USES", "b"), ("b", "PART_OF", "c"))
    none = _find(matcher, "MATCH (x)-[r]->(y) RETURN r")
    assert set(none.answers) == {"a", "b", "c"} and none.joined == () and none.anchors == ()
    one = _find(matcher, "MATCH (x {name: 'a'})-->(y)-->(z) RETURN y")
    assert one.answers == ("c",) and one.anchors == ("a",)
    two = _find(matcher, "MATCH (x {name: 'A'})-[r]->(y {name: 'b'}) RETURN x")
    assert two.answers == ("a", "b") and two.joined == ("USES",)
    between = _find(matcher, "MATCH (x {name: 'a'})-->(y)-->(z {name: 'c'}) RETURN y")
    assert set(between.answers) == {"a", "b", "c"} and between.joined == ("PART_OF", "USES")


def test_an_optional_match_adds_and_never_takes_away() -> None:
    matcher = _graph(("a", "USES", "b"), ("b", "PART_OF", "c"), ("d", "USES", "e"))
    found = _find(matcher, "MATCH (x)-[:USES]->(y) OPTIONAL MATCH (y)-[:PART_OF]->(z) RETURN z")
    assert _rows(found) == ["a USES b", "b PART_OF c", "d USES e"]
    assert _rows(_find(matcher, "MATCH (x)-[:USES]->(y) OPTIONAL MATCH (y)-[:PART_OF]->(z) MATCH (z) RETURN z")) == [
        "a USES b",
        "b PART_OF c",
    ]


def test_what_is_missing_is_neither_equal_nor_unequal() -> None:
    matcher = _graph(("a", "USES", "b"), ("c", "USES", "d"), a="Model")
    assert _rows(_find(matcher, "MATCH (x)-[r]->(y) WHERE x.type <> 'Data' RETURN x")) == ["a USES b"]
    assert _rows(_find(matcher, "MATCH (x)-[r]->(y) WHERE NOT x.type = 'Model' RETURN x")) == []
    assert _rows(_find(matcher, "MATCH (x)-[r]->(y) WHERE x.type IS NULL RETURN x")) == ["c USES d"]
    assert _rows(_find(matcher, "MATCH (x)-[r]->(y) WHERE NOT x.type = 'Model' OR y.name = 'd' RETURN x")) == [
        "c USES d"
    ]


def test_only_what_the_documents_say_takes_part() -> None:
    matcher = _graph(("a", "USES", "b"))
    assert _rows(_find(matcher, "MATCH (x)-->(y) RETURN x", documents={"d1"})) == ["a USES b"]
    assert _find(matcher, "MATCH (x)-->(y) RETURN x", documents={"d2"}).answers == ()
    assert _find(matcher, "MATCH (x {name: 'a'}) RETURN x", documents={"d2"}).anchors == ("a",)
    assert _find(matcher, "MATCH (x {name: 'a'}) RETURN x", documents=set()).anchors == ()


def test_a_limit_cuts_in_one_order_and_says_so() -> None:
    matcher = _graph(*((f"a{n}", "USES", "b") for n in range(9)))
    whole = _find(matcher, "MATCH (x)-->(y {name: 'b'}) RETURN x")
    cut = _find(matcher, "MATCH (x)-->(y {name: 'b'}) RETURN x", limit=4)
    assert not whole.truncated and len(whole.relations) == len(whole.answers) == 9
    assert cut.truncated and cut.relations == whole.relations[:4] and cut.answers == ("a0", "a1", "a2", "a3")


def test_a_relation_that_the_vocabulary_does_not_know_is_looked_for_in_the_wording() -> None:
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    graph.add_node("a", name="a")
    graph.add_node("b", name="b")
    graph.add_edge("a", "b", key="RELATED_TO", wordings=("jointly orchestrates",), triples=("t",))
    matcher = Matcher(graph)
    assert _find(matcher, "MATCH (x)-[:ORCHESTRATES]->(y) RETURN x").relations == (RelationKey("a", "RELATED_TO", "b"),)
    assert not _find(matcher, "MATCH (x)-[:ORCHESTRATE]->(y) RETURN x").relations
    assert not _find(matcher, "MATCH (x)-[:USES]->(y) RETURN x").relations


def test_inverse_names_of_relations_turn_the_arrow() -> None:
    matcher = _graph(("lab", "PROPOSES", "model"), ("a", "SAME_AS", "b"))
    assert read_cypher("MATCH (m)-[:DEVELOPED_BY]->(l) RETURN l") == read_cypher("MATCH (l)-[:DEVELOPS]->(m) RETURN l")
    assert _find(matcher, "MATCH (m)-[:DEVELOPED_BY]->(l {name: 'lab'}) RETURN m").answers == ("model",)
    assert _find(matcher, "MATCH (x {name: 'b'})-[:SAME_AS]->(y) RETURN y").answers == ("a",)  # it has no direction
    mixed = read_cypher("MATCH (m)-[:DEVELOPED_BY|USES]->(l) RETURN l")
    assert mixed.notes and "-[" in mixed.text and "->" not in mixed.text


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)--(b)--(c)--(d)--(e)--(f)--(g)--(h) RETURN a",
        "MATCH (a)-[*1..3]-(b)-[*1..3]-(c)-[*1..3]-(d) WHERE a.name = d.name AND b.name = 'nowhere' OR a.name = 'n0' "
        "RETURN a",
        "MATCH (a), (b), (c), (d), (e), (f) RETURN a",
        "MATCH (a)--(b)--(c)--(d)--(e)--(a) WHERE a.name <> e.name RETURN a",
    ],
)
def test_a_pattern_of_too_many_matches_ends_with_an_error(text: str) -> None:
    names = [f"n{number}" for number in range(40)]
    matcher = _graph(*((one, "USES", other) for one in names for other in names))
    start = time.perf_counter()
    with pytest.raises(TooBroad) as error:
        matcher.match(read_cypher(text), limit=10, seconds=1)
    assert time.perf_counter() - start < 5
    assert error.value.hint
    with pytest.raises(TooBroad):
        matcher.match(read_cypher(text), limit=10, seconds=60, steps=20_000)


def test_a_pattern_of_too_many_parts_is_refused() -> None:
    chain = "-->".join(f"(n{number})" for number in range(14))
    with pytest.raises(InvalidInput, match="13 relationships"):
        read_cypher(f"MATCH {chain} RETURN *")
    with pytest.raises(InvalidInput, match="UNION"):
        read_cypher(" UNION ".join(f"MATCH (n {{name: '{each}'}}) RETURN n" for each in range(9)))


def test_hops_are_capped_and_that_is_noted() -> None:
    assert read_cypher("MATCH (a)-[*]-(b) RETURN a", hops=2).notes == ("paths are looked for up to 2 hops",)
    assert "*1..2" in read_cypher("MATCH (a)-[*1..9]-(b) RETURN a", hops=2).text
    assert read_cypher("MATCH (a)-[*1..2]-(b) RETURN a", hops=2).notes == ()
    with pytest.raises(InvalidInput, match="at most 2"):
        read_cypher("MATCH (a)-[*5]-(b) RETURN a", hops=2)


def test_the_way_between_two_names_is_found_past_a_hub() -> None:
    spokes = [("hub", "USES", f"s{number}") for number in range(3_000)]
    matcher = _graph(*spokes, ("a", "USES", "hub"), ("s7", "USES", "b"))
    found = matcher.match(read_cypher("MATCH (x {name: 'a'})-[*1..3]-(y {name: 'b'}) RETURN x"), limit=10, steps=20_000)
    assert _rows(found) == ["a USES hub", "hub USES s7", "s7 USES b"]
