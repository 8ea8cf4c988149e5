"""Walks through the graph, over whatever store has it: each asks for the relations at some entities, and again.

A walk is a generator that a store drives, so that NetworkX and Neo4j find the same, in the same order: near before
far, then what more of the permitted documents state, then the smaller id. Directions don't count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

from core.graph import Entity, Relation
from graph.projection import relation_id

T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """Relations with an end in `ends` and none in `without`, in order; the first `limit`, or all where it is 0."""

    ends: tuple[str, ...]
    without: tuple[str, ...] = ()
    limit: int = 0


Walk = Generator[Wanted, Sequence[Relation], T]


@dataclass(frozen=True)
class Subgraph:
    """`relations` in order; `paths` are rows of them, end to end, where paths were asked for."""

    relations: tuple[Relation, ...] = ()
    paths: tuple[tuple[Relation, ...], ...] = ()
    truncated: bool = False
    entities: Mapping[str, Entity] = field(default_factory=dict)

    @property
    def ends(self) -> list[str]:
        """Ids of all entities that a relation has at an end, sorted."""
        return sorted({end for each in self.relations for end in (each.subject, each.object)})

    def with_entities(self, entities: Mapping[str, Entity]) -> Subgraph:
        return replace(self, entities=entities)


def stating(relation: Relation, documents: Collection[str] | None) -> int:
    """How many of the permitted documents state it."""
    return len(relation.documents) if documents is None else sum(item in documents for item in relation.documents)


def walked(walk: Walk[T], fetch: Callable[[Wanted], Sequence[Relation]]) -> T:
    """What the walk returns, where `fetch` gives it what it asks for."""
    try:
        wanted = next(walk)
        while True:
            wanted = walk.send(fetch(wanted))
    except StopIteration as end:
        found: T = end.value
        return found


def around(starts: Iterable[str], hops: int, limit: int) -> Walk[Subgraph]:
    """Every relation up to `hops` steps away from one of `starts`; at most `limit`, the nearest."""
    found: list[Relation] = []
    edge = set(starts)
    near, expanded = set(edge), set[str]()
    for _ in range(hops):
        found += yield Wanted(tuple(sorted(edge)), tuple(sorted(expanded)), limit + 1 - len(found))
        if len(found) > limit:
            break
        expanded |= edge
        edge = {end for each in found for end in (each.subject, each.object)} - near
        near |= edge
        if not edge:
            break
    return Subgraph(relations=tuple(found[:limit]), truncated=len(found) > limit)


def between(first: str, second: str, hops: int, limit: int, documents: Collection[str] | None = None) -> Walk[Subgraph]:
    """Paths of at most `hops` relations that pass no entity twice; at most `limit`, the shortest.

    Both ends are walked from, the one with the smaller edge first: whatever path there is, its relations are met.
    """
    known: dict[str, Relation] = {}
    edges = {start: {start} for start in (first, second)}
    near = {start: {start} for start in edges}
    expanded = {start: set[str]() for start in edges}
    for _ in range(hops if first != second else 0):
        start = min(edges, key=lambda each: (len(edges[each]), each))
        met = yield Wanted(tuple(sorted(edges[start])), tuple(sorted(expanded[start])))
        known |= {relation_id(each): each for each in met}
        expanded[start] |= edges[start]
        edges[start] = {end for each in met for end in (each.subject, each.object)} - near[start]
        near[start] |= edges[start]
        if not edges[start]:
            break  # all that hangs together with this end is known
    ordered = [known[item] for item in sorted(known, key=lambda item: (-stating(known[item], documents), item))]
    paths = list(islice(_paths(ordered, first, second, hops), limit + 1))
    kept = tuple(paths[:limit])
    relations = dict.fromkeys(each for path in kept for each in path)
    return Subgraph(relations=tuple(relations), paths=kept, truncated=len(paths) > limit)


def _paths(relations: Iterable[Relation], first: str, second: str, hops: int) -> Iterator[tuple[Relation, ...]]:
    """The shortest first, those of one length in the order of their relations."""
    at: defaultdict[str, list[tuple[str, Relation]]] = defaultdict(list)
    for relation in relations:
        if relation.subject != relation.object:
            at[relation.subject].append((relation.object, relation))
            at[relation.object].append((relation.subject, relation))
    reaching = [{second}]  # by the number of steps that are left
    for length in range(1, hops + 1):
        yield from _of_length(length, first, at, reaching, frozenset({first, second}))
        reaching.append({other for item in reaching[-1] for other, _ in at[item]})


def _of_length(
    length: int,
    here: str,
    at: Mapping[str, Sequence[tuple[str, Relation]]],
    reaching: Sequence[Collection[str]],
    passed: frozenset[str],
) -> Iterator[tuple[Relation, ...]]:
    """`reaching[n]`: the entities from which n steps can end where the path does; `passed` has both ends."""
    for other, relation in at[here]:
        if other not in reaching[length - 1]:
            continue
        if length == 1:
            yield (relation,)
        elif other not in passed:
            for rest in _of_length(length - 1, other, at, reaching, passed | {other}):
                yield (relation, *rest)
