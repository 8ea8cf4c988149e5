"""A pattern as Cypher for people, in one form; the parser reads it back into the same pattern."""

from __future__ import annotations

import re

from graph.patterns.conditions import TRUE, Alike, Condition, Conj, Neg, Test, Value, both, conjuncts
from graph.patterns.globs import as_regex
from graph.patterns.pattern import Alternative, Edge, Part

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def render(alternative: Alternative) -> str:
    """`MATCH (n1 {name: 'bert'})-[:TRAINED_ON]->(n2) RETURN *`; names are folded, which matching does too."""
    seen: set[str] = set()
    return " ".join([*(_part(part, seen) for part in alternative.parts), "RETURN *"])


def _part(part: Part, seen: set[str]) -> str:
    terms = list(conjuncts(part.where)) if part.where != TRUE else []
    told = {variable for term in terms for variable in _edges_of(term)}
    clauses = []
    groups: list[tuple[Edge, ...]] = list(part.groups) or [()]
    for at, group in enumerate(groups):
        pieces = []
        for edge in group:
            source = _node(edge.source, terms, seen)
            pieces.append(f"{source}{_edge(edge, edge.variable in told)}{_node(edge.target, terms, seen)}")
        if at == len(groups) - 1:
            pieces += [_node(node, terms, seen) for node in part.nodes]
        if pieces:
            clauses.append(f"{'OPTIONAL ' if part.optional else ''}MATCH {', '.join(pieces)}")
    if terms:
        clauses.append(f"WHERE {_condition(both(terms), top=True)}")
    return " ".join(clauses)


def _edges_of(term: Condition) -> list[str]:
    if isinstance(term, Test):
        return [term.variable]
    if isinstance(term, Neg):
        return _edges_of(term.term)
    if isinstance(term, Alike):
        return []
    return [variable for each in term.terms for variable in _edges_of(each)]


def _node(variable: str, terms: list[Condition], seen: set[str]) -> str:
    """With its name and type in it where it first appears; these conditions are then taken out of `terms`."""
    if variable in seen:
        return f"({variable})"
    seen.add(variable)
    said = []
    for name in ("name", "type"):
        own = [term for term in terms if isinstance(term, Test) and _is_plain(term, variable, name)]
        if len(own) == 1:
            terms.remove(own[0])
            said.append(f"{name}: {_constant(own[0].values[0])}")
    return f"({variable} {{{', '.join(said)}}})" if said else f"({variable})"


def _is_plain(test: Test, variable: str, name: str) -> bool:
    return (test.variable, test.property, test.operator) == (variable, name, "in") and len(test.values) == 1


def _edge(edge: Edge, told: bool) -> str:
    hops = ("*" if edge.path else "") + (f"{edge.least}..{edge.most}" if edge.path else "")
    inside = f"{edge.variable if told or edge.each != TRUE or not _sayable(edge) else ''}"
    if edge.relations and _sayable(edge):
        inside += f":{'|'.join(edge.relations)}"
    where = both((edge.each, TRUE if _sayable(edge) else Test(edge.variable, "relation", "in", edge.relations)))
    inside += hops + (f" WHERE {_condition(where, top=True)}" if where != TRUE else "")
    arrow = "->" if edge.directed else "-"
    return f"-[{inside}]{arrow}" if inside else f"-{arrow}"


def _sayable(edge: Edge) -> bool:
    return all(_IDENTIFIER.fullmatch(name) for name in edge.relations)


def _condition(condition: Condition, *, top: bool = False) -> str:
    if isinstance(condition, Test):
        return _test(condition)
    if isinstance(condition, Alike):
        if condition.property == "id":
            return f"{condition.left} = {condition.right}"
        return f"{condition.left}.{condition.property} = {condition.right}.{condition.property}"
    if isinstance(condition, Neg):
        return f"NOT {_condition(condition.term)}"
    if not condition.terms:
        return "true" if isinstance(condition, Conj) else "false"
    word = " AND " if isinstance(condition, Conj) else " OR "
    text = word.join(_condition(term) for term in condition.terms)
    return text if top else f"({text})"


_WORDS = {"contains": "CONTAINS", "starts": "STARTS WITH", "ends": "ENDS WITH"}


def _test(test: Test) -> str:
    left = f"{test.variable}.{test.property}"
    match test.operator:
        case "missing":
            return f"{test.variable if test.property in ('id', 'relation') else left} IS NULL"
        case "in" if len(test.values) == 1:
            return f"{left} = {_constant(test.values[0])}"
        case "in":
            return f"{left} IN [{', '.join(map(_constant, test.values))}]"
        case "like":
            return f"{left} =~ {_constant('|'.join(as_regex(str(glob), anchored=False) for glob in test.values))}"
        case _:
            return f"{left} {_WORDS.get(test.operator, test.operator)} {_constant(test.values[0])}"


def _constant(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:g}" if value == float(f"{value:g}") else repr(value)
    return "'" + re.sub(r"[\\'\n\r\t]", lambda match: _ESCAPES[match.group()], value) + "'"
