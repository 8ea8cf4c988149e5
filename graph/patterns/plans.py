"""In what order a part of a pattern is bound: from what is known, or from the node with the fewest candidates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from graph.patterns.conditions import Condition, Disj, Test, conjuncts, variables
from graph.patterns.pattern import Alternative, Edge, Part

_FEW = 32  # ends of a path that are tried one by one, so that the way to each can be bounded


class Entities(Protocol):
    """What a plan has to know of a graph."""

    @property
    def nodes(self) -> Mapping[str, object]: ...

    def of(self, test: Condition) -> Iterator[str]: ...


@dataclass(frozen=True)
class Step:
    """Bind an edge and the node at its end, or with no edge a node to each of its candidates; then `where` must hold.

    `start` is the end of the edge that is known; `uses` are the edges of the same MATCH that are bound before.
    """

    edge: Edge | None
    node: str
    start: str = ""
    uses: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    candidates: Collection[str] = ()


def plan(alternative: Alternative, part: Part, bound: set[str], graph: Entities) -> list[Step]:
    """Steps that bind all of a part; each condition stands at the first step after which all of it is known."""
    if not part.groups and not set(part.nodes) - bound:
        return [Step(None, "", where=conjuncts(part.where))]
    terms = list(conjuncts(part.where))
    known = bound | set(_edges_before(alternative, part))
    steps = []
    for step in _order(part, bound, graph):
        known |= {step.node} | ({step.edge.variable} if step.edge else set())
        due = [term for term in terms if variables(term) <= known]
        terms = [term for term in terms if term not in due]
        steps.append(replace(step, where=tuple(due)))
    steps[-1] = replace(steps[-1], where=(*steps[-1].where, *terms))
    return steps


def _order(part: Part, bound: set[str], graph: Entities) -> Iterator[Step]:
    known = set(bound)
    waiting = {edge.variable: edge for edge in part.edges}
    candidates = {node: _candidates(node, part, graph) for node in sorted(part.variables - known)}
    group = {edge.variable: number for number, edges in enumerate(part.groups) for edge in edges}
    before: list[str] = []
    while waiting or part.variables - known:
        edge = _cheapest(waiting.values(), known)
        node = _unknown_end(edge, known)
        if edge is None or (edge.path and node in candidates and len(candidates[node]) <= _FEW):
            node = node or min(candidates.keys() - known, key=lambda each: (len(candidates[each]), each))
            yield Step(None, node, candidates=candidates[node])
        else:
            start, end = (edge.source, edge.target) if edge.source in known else (edge.target, edge.source)
            uses = tuple(each for each in before if group[each] == group[edge.variable])
            before.append(waiting.pop(edge.variable).variable)
            node = end
            yield Step(edge, end, start, uses)
        known.add(node)


def _unknown_end(edge: Edge | None, known: set[str]) -> str:
    return next((end for end in (edge.source, edge.target) if end not in known), "") if edge else ""


def _cheapest(edges: Iterable[Edge], known: set[str]) -> Edge | None:
    """Of the edges at what is known: one with both ends, then one hop, then paths."""
    joined = [edge for edge in edges if edge.source in known or edge.target in known]
    return min(joined, key=lambda edge: (bool(_unknown_end(edge, known)), edge.path, edge.variable), default=None)


def _edges_before(alternative: Alternative, part: Part) -> Iterator[str]:
    for each in alternative.parts:
        if each is part:
            return
        yield from (edge.variable for edge in each.edges)


def _candidates(node: str, part: Part, graph: Entities) -> Collection[str]:
    """Entities that it may be, by the names that it is pinned to."""
    tests = name_tests(node, part)
    return graph.nodes if tests is None else dict.fromkeys(each for test in tests for each in graph.of(test))


def name_tests(node: str, part: Part) -> tuple[Condition, ...] | None:
    """Tests of the node's names or ids of which one must hold; None where there are none."""
    for term in conjuncts(part.where):
        tests = term.terms if isinstance(term, Disj) else (term,)
        if all(_is_of_names(test, node) for test in tests):
            return tests
    return None


def _is_of_names(test: Condition, node: str) -> bool:
    if not isinstance(test, Test) or test.variable != node:
        return False
    return (test.property == "name" and test.operator != "missing") or (test.property, test.operator) == ("id", "in")
