"""The subgraph that a question asks for, whoever wrote it down: what two compilers take, and nothing else.

A Pattern keeps the meaning of a read-only Cypher query and none of its wording: arrows point one way, conditions
stand in one place and order, variables are named by their part in it, what a query RETURNs is not there. Two
queries that are rewordings of each other give one Pattern (graph/patterns/canonical.py says how far that goes).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from core.errors import InvalidInput
from graph.folding import fold, wording_key
from graph.patterns.conditions import TRUE, Condition, Test, both, conjuncts, pins
from graph.relations import BY_NAME, RELATED_TO, is_symmetric, normalise

MOST_EDGES, MOST_ALTERNATIVES = 12, 8


@dataclass(frozen=True)
class Edge:
    """A relationship, or with `path` a row of `least` to `most` of them, each of which fits.

    `relations` are alternatives, names of the vocabulary or words that a wording has to have; none: any relation.
    """

    variable: str
    source: str
    target: str
    directed: bool = True
    relations: tuple[str, ...] = ()
    least: int = 1
    most: int = 1
    each: Condition = TRUE  # of every relationship of a path, as a condition on `variable`

    @property
    def path(self) -> bool:
        return (self.least, self.most) != (1, 1)

    @property
    def condition(self) -> Condition:
        """What a relationship has to fulfil on its own."""
        named = Test(self.variable, "relation", "in", self.relations) if self.relations else TRUE
        return both((named, self.each))


@dataclass(frozen=True)
class Part:
    """Consecutive MATCH clauses with one WHERE, or one OPTIONAL MATCH.

    Each group is a clause: within one, no relationship is taken twice. `nodes` stand alone in it.
    """

    groups: tuple[tuple[Edge, ...], ...] = ()
    nodes: tuple[str, ...] = ()
    where: Condition = TRUE
    optional: bool = False

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(edge for group in self.groups for edge in group)

    @property
    def variables(self) -> frozenset[str]:
        """Its nodes."""
        return frozenset(self.nodes).union(*((edge.source, edge.target) for edge in self.edges))


@dataclass(frozen=True)
class Alternative:
    """One query of a UNION."""

    parts: tuple[Part, ...]

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted(frozenset().union(*(part.variables for part in self.parts))))

    @cached_property
    def anchors(self) -> tuple[str, ...]:
        """Nodes that are pinned to a name; only where none is, those that are to a part of one."""
        wheres = [term for part in self.parts for term in conjuncts(part.where)]

        def pinned(exactly: bool) -> tuple[str, ...]:
            return tuple(n for n in self.nodes if any(pins(term, n, exactly=exactly) for term in wheres))

        return pinned(exactly=True) or pinned(exactly=False)

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """Nodes whose entities are the answer: with no anchor all, with one the other ends, with more all too."""
        if len(self.anchors) != 1:
            return self.nodes
        required = [part for part in self.parts if not part.optional]
        ends = {*self._ends(required), *self._ends(self.parts)}
        return tuple(sorted(ends)) or tuple(node for node in self.nodes if node not in self.anchors) or self.nodes

    def _ends(self, parts: Iterable[Part]) -> Iterator[str]:
        """Nodes without a name that have at most one neighbour."""
        pairs = {frozenset((edge.source, edge.target)) for part in parts for edge in part.edges}
        degree = Counter(node for pair in pairs for node in pair)
        nodes = {node for part in parts for node in part.variables}
        return (node for node in nodes - set(self.anchors) if degree[node] <= 1)


@dataclass(frozen=True)
class Pattern:
    """Equal for equivalent queries; `text` is it as Cypher, equal where it is equal. Build it with
    graph.canonical.pattern_of, which names the variables."""

    alternatives: tuple[Alternative, ...]
    text: str
    notes: tuple[str, ...] = field(default=(), compare=False)


def relation_name(name: str) -> tuple[str, bool]:
    """(name of the vocabulary, whether it points the other way), of any wording of one: IS_TRAINED_ON, 'developed
    by'. What is unknown stays, as words in capitals."""
    found = normalise(name)
    words = wording_key(name)
    if found.relation == RELATED_TO and words != wording_key(RELATED_TO):
        return words.replace(" ", "_").upper(), False
    return found.relation, found.inverted


def edge_between(
    variable: str, source: str, target: str, names: Sequence[str] = (), *, directed: bool = True
) -> tuple[Edge, str]:
    """An edge with its relations' names put into the vocabulary, and a note or ''.

    Where a name means the inverse of a relation, the ends change places; where only some do, or a relation has no
    direction, it is looked for both ways.
    """
    known = [relation_name(name) for name in names]
    relations = tuple(sorted({name for name, _ in known}))
    inverted = {turned for _, turned in known}
    note = ""
    if directed and len(inverted) > 1:
        directed, note = False, f"{' and '.join(names)} point in different ways: both ways were looked at"
    if relations and all(map(is_symmetric, relations)):
        directed = False
    if inverted == {True}:
        source, target = target, source
    return Edge(variable, source, target, directed, relations), note


def named(variable: str, *names: str) -> Test:
    """The condition that a node has one of these names."""
    return Test(variable, "name", "in", tuple(sorted(map(fold, names))))


def check_size(alternatives: Sequence[Alternative]) -> None:
    """Raises InvalidInput for more than can be matched in reasonable time."""
    edges = max((sum(len(part.edges) for part in each.parts) for each in alternatives), default=0)
    nodes = max((len(each.nodes) for each in alternatives), default=0)
    if edges > MOST_EDGES or nodes > MOST_EDGES + 1:
        raise InvalidInput(
            f"the query has {edges} relationships and {nodes} nodes; {MOST_EDGES} relationships are the most",
            hint="ask for fewer hops, or in several questions",
        )
    if len(alternatives) > MOST_ALTERNATIVES:
        raise InvalidInput(f"the query is a UNION of more than {MOST_ALTERNATIVES}", hint="ask several questions")


def is_known(relation: str) -> bool:
    return relation in BY_NAME
