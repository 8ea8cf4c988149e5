"""Patterns over a NetworkX multigraph, with Cypher's semantics and an end to the work that one may cost.

Within one MATCH no relationship is taken twice; an undirected relationship is taken either way; what an OPTIONAL
MATCH does not find is NULL; conditions have three values. A match is found by backtracking from the node with the
fewest candidates along edges that join what is bound.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import networkx as nx

from core.errors import TooBroad
from graph.conditions import TRUE, Condition, Disj, Facts, Test, conjuncts, truth, variables
from graph.folding import folded_names, type_key, wording_key
from graph.found import MOST_ENTITIES, Found, Matched, RelationKey, Weighed, matched
from graph.pattern import Alternative, Edge, Part, Pattern


@dataclass(frozen=True, eq=False)
class _Rel:
    """One relationship of the graph."""

    key: RelationKey
    triples: int
    documents: frozenset[str]
    facts: Facts


_Bound = dict[str, object]
"""Of a node variable its id, of an edge one _Rel, of a path a tuple of them; None is NULL."""


class Matcher:
    """Over one graph, which must not change afterwards. Takes 60 ms for 10,000 entities and 40,000 relations.

    Nodes are entity ids with `name`, `type`, `aliases`, `documents`; edge keys are relations, with `wordings`,
    `triples`, `documents`, `confidence`. What is missing is NULL.
    """

    def __init__(self, graph: nx.MultiDiGraph[str]) -> None:
        self.nodes: dict[str, Facts] = {}
        self.documents: dict[str, frozenset[str]] = {}
        self.named: dict[str, list[str]] = defaultdict(list)
        self.leaving: dict[str, list[_Rel]] = defaultdict(list)
        self.entering: dict[str, list[_Rel]] = defaultdict(list)
        for node, data in sorted(graph.nodes(data=True)):
            names = folded_names(data["name"], data.get("aliases") or ()) if data.get("name") else None
            self.nodes[node] = {"id": node, "names": names, "kind": type_key(data.get("type"))}
            self.documents[node] = frozenset(data.get("documents") or ())
            for name in names or ():
                self.named[name].append(node)
        for source, target, key, data in sorted(graph.edges(keys=True, data=True), key=lambda edge: edge[:3]):
            rel = _relationship(source, target, key, data)
            self.leaving[source].append(rel)
            self.entering[target].append(rel)

    def match(
        self,
        pattern: Pattern,
        *,
        limit: int,
        documents: Collection[str] | None = None,
        seconds: float = 5,
        steps: int = 3_000_000,
    ) -> Matched:
        """At most `limit` relations and answers. `documents`: only relations and entities take part of which one of
        these documents speaks; None is all.

        Raises TooBroad after so many seconds, or so many relationships and nodes tried; about a million a second.
        """
        work = _Work(time.monotonic() + seconds, steps)
        allowed = None if documents is None else frozenset(documents)
        found = [_Search(self, each, allowed, work).run() for each in pattern.alternatives]
        return matched(pattern, found, limit)


def _relationship(source: str, target: str, key: str, data: Mapping[str, object]) -> _Rel:
    wordings, triples, documents = (data.get(name) for name in ("wordings", "triples", "documents"))
    keys = sorted({wording_key(str(each)) for each in wordings}) if isinstance(wordings, (list, tuple)) else None
    facts: Facts = {"relation": key, "wording_keys": keys, "confidence": data.get("confidence")}
    counted = len(triples) if isinstance(triples, (list, tuple)) else 0
    said = frozenset(map(str, documents)) if isinstance(documents, (list, tuple)) else frozenset()
    return _Rel(RelationKey(source, key, target), counted, said, facts)


class _Work:
    """What is left of it."""

    def __init__(self, end: float, steps: int) -> None:
        self._end = end
        self._steps = steps

    def step(self) -> None:
        self._steps -= 1
        if self._steps < 0 or (self._steps % 1024 == 0 and time.monotonic() > self._end):
            raise TooBroad(
                "the question is of too many paths to look at them all",
                hint="name an entity or a relation, or ask for fewer hops",
            )


@dataclass(frozen=True)
class _Step:
    """Bind an edge and the node at its end, or with no edge a node; then `where` must hold.

    `uses`: the edges of the same MATCH that are bound before.
    """

    edge: Edge | None
    node: str
    start: str = ""
    uses: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    candidates: Collection[str] = ()


class _Search:
    """One alternative."""

    def __init__(self, graph: Matcher, alternative: Alternative, allowed: frozenset[str] | None, work: _Work) -> None:
        self._graph = graph
        self._alternative = alternative
        self._allowed = allowed
        self._work = work
        self._bound: _Bound = {}
        edges = [edge for part in alternative.parts for edge in part.edges]
        self._edges = [edge.variable for edge in edges]
        self._conditions = {edge.variable: edge.condition for edge in edges}
        bound: set[str] = set()
        self._plans: list[tuple[Part, list[_Step]]] = []
        for part in alternative.parts:
            self._plans.append((part, self._plan(part, bound)))
            bound |= part.variables

    def run(self) -> Found:
        relations: set[_Rel] = set()
        asked: set[str] = set()
        anchors: set[str] = set()
        for _ in self._parts(0):
            for variable in self._edges:
                relations.update(_rels(self._bound[variable]))
            asked.update(str(self._bound[node]) for node in self._alternative.asked if self._bound[node] is not None)
            anchors.update(str(self._bound[each]) for each in self._alternative.anchors if self._bound[each])
        weighed = [Weighed(-rel.triples, rel.key) for rel in relations]
        return Found(weighed, sorted(asked)[:MOST_ENTITIES], sorted(anchors)[:MOST_ENTITIES])

    def _parts(self, at: int) -> Iterator[None]:
        """Every match of the parts from there on, in `_bound`."""
        if at == len(self._plans):
            yield
            return
        part, steps = self._plans[at]
        found = False
        new = [*(edge.variable for edge in part.edges), *(node for node in part.variables if node not in self._bound)]
        if self._possible(part):
            for _ in self._steps(steps, 0):
                found = True
                yield from self._parts(at + 1)
        if part.optional and not found:
            self._bound.update(dict.fromkeys(new))
            yield from self._parts(at + 1)
            for name in new:
                del self._bound[name]

    def _possible(self, part: Part) -> bool:
        """Not where it has a node that is NULL."""
        return all(self._bound.get(node, "") is not None for node in part.variables)

    def _plan(self, part: Part, bound: set[str]) -> list[_Step]:
        """An order of binding: from what is bound, or else the node with the fewest candidates, along edges."""
        known, steps = set(bound), list[_Step]()
        waiting = {edge.variable: edge for edge in part.edges}
        group = {edge.variable: number for number, edges in enumerate(part.groups) for edge in edges}
        terms = list(conjuncts(part.where))
        if not part.groups and not set(part.nodes) - known:
            return [_Step(None, "", where=tuple(terms))]
        while waiting or set(part.nodes) - known:
            edge = _cheapest(waiting.values(), known)
            if edge is None:
                ends = {*part.nodes, *(end for each in waiting.values() for end in (each.source, each.target))} - known
                fewest = {each: self._candidates(each, part) for each in sorted(ends)}
                node = min(fewest, key=lambda each: len(fewest[each]))
                step = _Step(None, node, candidates=fewest[node])
            else:
                del waiting[edge.variable]
                start, node = (edge.source, edge.target) if edge.source in known else (edge.target, edge.source)
                uses = tuple(each.edge.variable for each in steps
                             if each.edge and group[each.edge.variable] == group[edge.variable])  # fmt: skip
                step = _Step(edge, node, start, uses)
            known |= {step.node} | ({step.edge.variable} if step.edge else set())
            due = [term for term in terms if variables(term) <= known | set(self._edges_before(part))]
            terms = [term for term in terms if term not in due]
            steps.append(replace(step, where=tuple(due)))
        steps[-1] = replace(steps[-1], where=(*steps[-1].where, *terms))
        return steps

    def _edges_before(self, part: Part) -> Iterator[str]:
        for each in self._alternative.parts:
            if each is part:
                return
            yield from (edge.variable for edge in each.edges)

    def _candidates(self, node: str, part: Part) -> Collection[str]:
        """Entities that it may be, by the names that it is pinned to."""
        for term in conjuncts(part.where):
            if isinstance(term, Test) and term.variable == node and term.operator == "in":
                if term.property == "name":
                    return dict.fromkeys(each for name in term.values for each in self._graph.named.get(str(name), ()))
                if term.property == "id":
                    return [str(value) for value in term.values if value in self._graph.nodes]
            if isinstance(term, Disj) and not term.terms:
                return ()
        return self._graph.nodes

    def _steps(self, steps: list[_Step], at: int) -> Iterator[None]:
        if at == len(steps):
            yield
            return
        step = steps[at]
        for _ in self._bind(step):
            if all(truth(term, self._facts) is True for term in step.where):
                yield from self._steps(steps, at + 1)

    def _bind(self, step: _Step) -> Iterator[None]:
        if step.edge is not None:
            yield from self._expand(step, step.edge)
        elif not step.node:
            yield
        else:
            for node in step.candidates:
                self._work.step()
                if self._may(self._graph.documents[node]):
                    self._bound[step.node] = node
                    yield
            self._bound.pop(step.node, None)

    def _expand(self, step: _Step, edge: Edge) -> Iterator[None]:
        """Each way to follow the edge from the end that is bound."""
        start, end = str(self._bound[step.start]), self._bound.get(step.node)
        used = {rel for name in step.uses for rel in _rels(self._bound[name])}
        for rels, node in self._ways(edge, start, step.start == edge.source, used):
            if end is not None and node != end:
                continue
            if end is None and not self._may(self._graph.documents[node]):
                continue
            self._bound[edge.variable] = rels if edge.path else rels[0]
            if end is None:
                self._bound[step.node] = node
            yield
        self._bound.pop(edge.variable, None)
        if end is None:
            self._bound.pop(step.node, None)

    def _ways(self, edge: Edge, start: str, forward: bool, used: set[_Rel]) -> Iterator[tuple[tuple[_Rel, ...], str]]:
        """(relationships, last node) of each row that fits, depth first."""
        if edge.least == 0:
            yield (), start
        waiting = [(start, self._around(edge, start, forward))] if edge.most else []
        taken: list[_Rel] = []
        while waiting:
            rel, node = next(waiting[-1][1], (None, ""))
            if rel is None:
                waiting.pop()
                if taken:
                    taken.pop()
                continue
            if rel in used or rel in taken:
                continue
            taken.append(rel)
            if len(taken) >= edge.least:
                yield tuple(taken), node
            if len(taken) < edge.most:
                waiting.append((node, self._around(edge, node, forward)))
            else:
                taken.pop()

    def _around(self, edge: Edge, node: str, forward: bool) -> Iterator[tuple[_Rel, str]]:
        """Relationships at a node that fit the edge, and the nodes at their other ends."""
        if forward or not edge.directed:
            for rel in self._graph.leaving.get(node, ()):
                if self._fits(edge, rel):
                    yield rel, rel.key.object
        if not forward or not edge.directed:
            for rel in self._graph.entering.get(node, ()):
                loop = rel.key.subject == rel.key.object
                if not (loop and not edge.directed) and self._fits(edge, rel):
                    yield rel, rel.key.subject

    def _fits(self, edge: Edge, rel: _Rel) -> bool:
        self._work.step()
        condition = self._conditions[edge.variable]
        return self._may(rel.documents) and (condition == TRUE or truth(condition, lambda _: rel.facts) is True)

    def _may(self, documents: frozenset[str]) -> bool:
        return self._allowed is None or not self._allowed.isdisjoint(documents)

    def _facts(self, variable: str) -> Facts | None:
        found = self._bound.get(variable)
        return found.facts if isinstance(found, _Rel) else self._graph.nodes[str(found)] if found is not None else None


def _rels(bound: object) -> tuple[_Rel, ...]:
    if isinstance(bound, _Rel):
        return (bound,)
    return bound if isinstance(bound, tuple) else ()


def _cheapest(edges: Iterable[Edge], known: set[str]) -> Edge | None:
    """Of the edges at what is bound: one with both ends, then one hop, then paths."""
    joined = [edge for edge in edges if edge.source in known or edge.target in known]
    return min(
        joined,
        key=lambda edge: (not (edge.source in known and edge.target in known), edge.path, edge.variable),
        default=None,
    )
