"""A pattern's canonical form: equal for queries that differ in wording only.

Nodes are named by colour refinement (Weisfeiler and Leman 1968) over their conditions and edges; of nodes that look
alike each order is tried, the smallest text wins. Past `_MOST_ORDERS` orders the order of appearance decides: two
wordings of a very symmetric pattern may then have two texts; their answers are the same all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from graph.patterns.conditions import TRUE, Condition, Test, as_text, both, conjuncts, renamed, variables
from graph.patterns.pattern import Alternative, Edge, Part, Pattern, check_size
from graph.patterns.render import render

_MOST_ORDERS = 48


def pattern_of(alternatives: Sequence[Sequence[Part]], notes: Iterable[str] = ()) -> Pattern:
    """The Pattern of these queries' clauses, one Part a MATCH. Raises InvalidInput when there are too many edges."""
    check_size([Alternative(tuple(parts)) for parts in alternatives])
    found = {render(each): each for each in (_canonical(_merged(parts)) for parts in alternatives)}
    text = " UNION ".join(sorted(found))
    return Pattern(tuple(found[each] for each in sorted(found)), text, tuple(dict.fromkeys(notes)))


def _merged(parts: Iterable[Part]) -> Alternative:
    """Consecutive MATCH clauses as one part, conditions on an edge's relation at the edge, nodes mentioned once."""
    merged: list[Part] = []
    bound: set[str] = set()
    for part in parts:
        if merged and not part.optional and not merged[-1].optional:
            last = merged.pop()
            part = Part((*last.groups, *part.groups), (*last.nodes, *part.nodes), both((last.where, part.where)))
        merged.append(part)
    tidy: list[Part] = []
    seen: set[str] = set()
    for part in merged:
        linked = {node for edge in part.edges for node in (edge.source, edge.target)}
        # Of what an OPTIONAL MATCH has left NULL, another MATCH asks that it is there.
        known = linked | (seen if part.optional else bound)
        alone = tuple(dict.fromkeys(node for node in part.nodes if node not in known))
        groups = tuple(group for group in part.groups if group)
        if groups or alone or (part.where != TRUE and not part.optional):
            tidy.append(_with_relations(replace(part, groups=groups, nodes=alone)))
        seen |= linked | set(alone)
        bound |= set() if part.optional else linked | set(alone)
    return Alternative(tuple(tidy))


def _with_relations(part: Part) -> Part:
    """A condition that an edge's relation is one of some, moved to an edge that says none."""
    terms = list(conjuncts(part.where))
    groups = []
    for group in part.groups:
        edges = []
        for edge in group:
            own = [
                term
                for term in terms
                if isinstance(term, Test) and (term.variable, term.property) == (edge.variable, "relation")
                and term.operator == "in"
            ]  # fmt: skip
            if own and not edge.relations and not edge.path:
                terms.remove(own[0])
                edge = replace(edge, relations=tuple(map(str, own[0].values)))
            edges.append(edge)
        groups.append(tuple(edges))
    return replace(part, groups=tuple(groups), where=both(terms))


def _canonical(alternative: Alternative) -> Alternative:
    best: tuple[str, Alternative] | None = None
    for order in _orders(alternative):
        candidate = _named(alternative, {node: f"n{at}" for at, node in enumerate(order, 1)})
        text = render(candidate)
        if best is None or text < best[0]:
            best = text, candidate
    return best[1] if best else alternative


def _orders(alternative: Alternative) -> list[list[str]]:
    """Orders of the nodes, of which one is the same for every wording."""
    found: list[list[str]] = []
    waiting = [_refined(alternative, dict.fromkeys(_appearing(alternative), ""))]
    while waiting and len(found) + len(waiting) <= _MOST_ORDERS:
        colours = waiting.pop()
        alike = _first_tie(colours)
        if not alike:
            found.append(sorted(colours, key=lambda node: colours[node]))
            continue
        waiting += [_refined(alternative, {**colours, node: colours[node] + "!"}) for node in alike]
    if waiting:
        found += [sorted(colours, key=lambda node: colours[node]) for colours in waiting]
    return found


def _appearing(alternative: Alternative) -> Iterator[str]:
    for part in alternative.parts:
        for edge in part.edges:
            yield edge.source
            yield edge.target
        yield from part.nodes


def _first_tie(colours: Mapping[str, str]) -> list[str]:
    by_colour: dict[str, list[str]] = {}
    for node, colour in colours.items():
        by_colour.setdefault(colour, []).append(node)
    return next((by_colour[colour] for colour in sorted(by_colour) if len(by_colour[colour]) > 1), [])


def _refined(alternative: Alternative, colours: Mapping[str, str]) -> dict[str, str]:
    """Colours that also say what a node is joined to, as often as it tells nodes apart."""
    now = dict(colours)
    for _ in range(len(now) + 1):
        seen: dict[str, list[str]] = {node: [colour] for node, colour in now.items()}
        for at, part in enumerate(alternative.parts):
            for edge in part.edges:
                _colour_edge(edge, _own(edge, part, at, now), now, seen)
            for node in part.nodes:
                seen[node].append(f"alone {at}")
            for term in conjuncts(part.where):
                _colour_term(term, at, now, seen)
        before, now = now, {node: _hash(f"{said[0]}|{'|'.join(sorted(said[1:]))}") for node, said in seen.items()}
        if len(set(before.values())) == len(set(now.values())) and _ > 0:
            break
    return now


def _own(edge: Edge, part: Part, at: int, colours: Mapping[str, str]) -> str:
    """All that is said of an edge but its ends."""
    said = [as_text(_masked(term, edge.variable, colours)) for term in conjuncts(part.where)
            if edge.variable in variables(term)]  # fmt: skip
    mates = next(len(group) for group in part.groups if edge in group)
    each = as_text(renamed(edge.each, {edge.variable: "self"}))
    return f"{at} {mates} {part.optional} {edge.directed} {edge.relations} {edge.least} {edge.most} {each} {said}"


def _colour_edge(edge: Edge, own: str, colours: Mapping[str, str], seen: dict[str, list[str]]) -> None:
    out, into = ("out", "in") if edge.directed else ("at", "at")
    loop = edge.source == edge.target
    seen[edge.source].append(_hash(f"{out} {own} {loop} {colours[edge.target]}"))
    seen[edge.target].append(_hash(f"{into} {own} {loop} {colours[edge.source]}"))


def _colour_term(term: Condition, at: int, colours: Mapping[str, str], seen: dict[str, list[str]]) -> None:
    for variable in variables(term):
        if variable in seen:
            seen[variable].append(_hash(f"{at} {as_text(_masked(term, variable, colours))}"))


def _masked(term: Condition, self: str, colours: Mapping[str, str]) -> Condition:
    names = {other: f"~{colours.get(other, 'edge')}" for other in variables(term)}
    return renamed(term, {**names, self: "~self"})


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _named(alternative: Alternative, names: Mapping[str, str]) -> Alternative:
    """With nodes of these names, edges and conditions sorted, and edges named by their place."""
    parts = [_turned(part, names) for part in alternative.parts]
    edges: dict[str, str] = {}
    for part in parts:
        for group in part.groups:
            for edge in group:
                edges[edge.variable] = f"r{len(edges) + 1}"
    return Alternative(tuple(_renamed_edges(part, edges) for part in parts))


def _turned(part: Part, names: Mapping[str, str]) -> Part:
    where = renamed(part.where, names)
    groups = []
    for group in part.groups:
        edges = []
        for edge in group:
            source, target = names[edge.source], names[edge.target]
            if not edge.directed and _later(source, target):
                source, target = target, source
            edges.append(replace(edge, source=source, target=target))
        groups.append(tuple(sorted(edges, key=lambda edge: _edge_key(edge, where))))
    groups.sort(key=lambda group: [_edge_key(edge, where) for edge in group])
    nodes = tuple(sorted((names[node] for node in part.nodes), key=_number))
    return replace(part, groups=tuple(groups), nodes=nodes, where=where)


def _edge_key(edge: Edge, where: Condition) -> tuple[object, ...]:
    said = [as_text(renamed(term, {edge.variable: "~self"})) for term in conjuncts(where)
            if variables(term) == {edge.variable}]  # fmt: skip
    each = as_text(renamed(edge.each, {edge.variable: "~self"}))
    ends = _number(edge.source), _number(edge.target)
    return (*ends, edge.directed, edge.relations, edge.least, edge.most, each, said)


def _renamed_edges(part: Part, names: Mapping[str, str]) -> Part:
    groups = tuple(
        tuple(
            replace(edge, variable=names[edge.variable], each=renamed(edge.each, names))
            for edge in group
        )
        for group in part.groups
    )  # fmt: skip
    return replace(part, groups=groups, where=renamed(part.where, names))


def _number(name: str) -> int:
    return int(name[1:])


def _later(one: str, other: str) -> bool:
    return _number(one) > _number(other)
