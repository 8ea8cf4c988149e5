"""A pattern as parameterised Cypher for Neo4j 4.4 and later.

The text is made of words that stand in this file and of numbers: names, wordings, relations and the library are
parameters, nodes and relationships are called n1 and r1 by the pattern. So nothing that anyone wrote can be run.
It reads nodes `(:Entity {id, library, documents, names, kind})` and relationships `[:RELATION {relation, wording_keys,
triples, documents, confidence}]`; graph/folding.py says what `names`, `kind` and `wording_keys` are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph.patterns.conditions import TRUE, Alike, Condition, Conj, Neg, Test, conjuncts, unknown_words
from graph.patterns.found import MOST_ENTITIES, Found, RelationKey, Weighed
from graph.patterns.globs import as_regex
from graph.patterns.pattern import Alternative, Edge, Part, Pattern
from graph.patterns.plans import name_tests

Keys = Callable[[Condition], Iterable[str]]
"""The `key` of each node that fulfils a test of names or ids."""
_MOST_KEYS = 1_000  # past this, looking at all names costs less


@dataclass(frozen=True)
class Statement:
    """One read query; its one record is for `read_record`."""

    text: str
    parameters: dict[str, object]


def compiled(
    pattern: Pattern,
    *,
    library: str,
    limit: int,
    documents: Collection[str] | None = None,
    keys: Keys | None = None,
) -> tuple[Statement, ...]:
    """A statement for each alternative of the pattern, in their order; `found` of their records is for
    graph.found.matched.

    `documents`: only relations and entities take part of which one of these documents speaks; None is all. `keys`
    tells which nodes have a name, so that they are found by their `key`, which is indexed: no index of Neo4j's knows
    the items of a list. Without it all names are looked at, 60 ms for 10,000 entities.
    """
    return tuple(_Compiler(library, limit, documents, keys).statement(each) for each in pattern.alternatives)


def read_record(record: Mapping[str, Sequence[Sequence[object]]]) -> Found:
    """What the one record of a statement says."""
    weighed = [
        Weighed(int(str(triples)), RelationKey(str(subject), str(relation), str(object_)))
        for _, triples, subject, relation, object_ in record["relations"]
    ]
    return Found(weighed, [str(each[2]) for each in record["asked"]], [str(each[2]) for each in record["anchors"]])


class _Compiler:
    def __init__(self, library: str, limit: int, documents: Collection[str] | None, keys: Keys | None) -> None:
        self._keys = keys
        self._parameters: dict[str, object] = {"library": library, "over": limit + 1, "entities": MOST_ENTITIES}
        self._by_document = documents is not None
        if documents is not None:
            self._parameters["documents"] = sorted(documents)

    def statement(self, alternative: Alternative) -> Statement:
        bound: set[str] = set()
        clauses = []
        for part in alternative.parts:
            clauses += self._part(part, bound)
            bound |= part.variables
        clauses += self._result(alternative)
        return Statement("\n".join(clauses), self._parameters)

    def _part(self, part: Part, bound: set[str]) -> list[str]:
        word = "OPTIONAL MATCH" if part.optional else "MATCH"
        new: dict[str, str] = {}
        clauses = []
        for group in part.groups or ((),):
            pieces = [self._edge(edge, bound, new) for edge in group]
            if group is (part.groups or ((),))[-1]:
                pieces += [self._node(node, bound, new) for node in part.nodes]
            if pieces:
                clauses.append(f"{word} {', '.join(pieces)}")
        wheres = [
            *(each for node in new for each in self._by_key(node, part)),
            *new.values(),
            *(where for edge in part.edges for where in self._of_edge(edge)),
        ]
        wheres += [self._condition(term) for term in conjuncts(part.where)]
        if not clauses:  # a condition on what is bound already
            clauses = ["WITH *"]
        return [*clauses, f"WHERE {' AND '.join(wheres)}"] if wheres else clauses

    def _by_key(self, node: str, part: Part) -> Iterator[str]:
        tests = name_tests(node, part) if self._keys else None
        if self._keys and tests is not None:
            found = list(dict.fromkeys(key for test in tests for key in self._keys(test)))
            if len(found) <= _MOST_KEYS:
                yield f"{node}.key IN {self._parameter(found)}"

    def _node(self, node: str, bound: set[str], new: dict[str, str]) -> str:
        if node in bound or node in new:
            return f"({node})"
        new[node] = f"{node}.library = $library"
        if self._by_document:
            new[node] += f" AND any(d IN {node}.documents WHERE d IN $documents)"
        return f"({node}:Entity)"

    def _edge(self, edge: Edge, bound: set[str], new: dict[str, str]) -> str:
        source, target = self._node(edge.source, bound, new), self._node(edge.target, bound, new)
        hops = f"*{edge.least:d}..{edge.most:d}" if edge.path else ""
        return f"{source}-[{edge.variable}:RELATION{hops}]-{'>' if edge.directed else ''}{target}"

    def _of_edge(self, edge: Edge) -> list[str]:
        item = "x" if edge.path else edge.variable
        wheres = [f"{item}.library = $library"]
        if self._by_document:
            wheres.append(f"any(d IN {item}.documents WHERE d IN $documents)")
        wheres += [self._condition(term, {edge.variable: item}) for term in conjuncts(edge.condition) if term != TRUE]
        return [f"all(x IN {edge.variable} WHERE {' AND '.join(wheres)})"] if edge.path else wheres

    def _condition(self, condition: Condition, items: Mapping[str, str] | None = None) -> str:
        if isinstance(condition, Test):
            return self._test(condition, (items or {}).get(condition.variable, condition.variable))
        if isinstance(condition, Alike):
            return _alike(condition)
        if isinstance(condition, Neg):
            return f"NOT {self._condition(condition.term, items)}"
        if not condition.terms:
            return "true" if isinstance(condition, Conj) else "false"
        word = " AND " if isinstance(condition, Conj) else " OR "
        return f"({word.join(self._condition(term, items) for term in condition.terms)})"

    def _test(self, test: Test, item: str) -> str:
        key = f"{item}.{_KEYS[test.property]}"
        if test.operator == "missing":
            return f"{item if test.property in ('id', 'relation') else key} IS NULL"
        if test.property == "relation":
            return self._relation(test, item, key)
        if test.property in ("name", "wording"):
            return f"any(y IN {key} WHERE {self._holds(test, 'y')})"
        return self._holds(test, key)

    def _relation(self, test: Test, item: str, key: str) -> str:
        named = f"{key} IN {self._parameter(test.values)}"
        words = [words for value in test.values if (words := unknown_words(str(value)))]
        if not words:
            return named
        told = f"any(z IN {self._parameter(words)} WHERE (' ' + y + ' ') CONTAINS z)"
        return f"({named} OR any(y IN {item}.wording_keys WHERE {told}))"

    def _holds(self, test: Test, key: str) -> str:
        match test.operator:
            case "in":
                return f"{key} IN {self._parameter(test.values)}"
            case "like":
                return self._any(key, "=~", [as_regex(str(value)) for value in test.values])
            case operator:
                return self._any(key, _OPERATORS[operator], test.values)

    def _any(self, key: str, operator: str, values: Sequence[object]) -> str:
        return f"({' OR '.join(f'{key} {operator} {self._parameter(value)}' for value in values)})"

    def _parameter(self, value: object) -> str:
        name = f"p{len(self._parameters)}"
        self._parameters[name] = list(value) if isinstance(value, (tuple, list)) else value
        return f"${name}"

    def _result(self, alternative: Alternative) -> list[str]:
        """One record of three lists, each sorted, without repeats, and cut."""
        edges = [edge for part in alternative.parts for edge in part.edges]
        lists = [*(_nodes("a", alternative.asked)), *(_nodes("b", alternative.anchors))]
        lists += [_relations(edge) for edge in edges]
        kept = "[i IN items WHERE i[0] = '{0}'][..${1}] AS {2}"
        columns = (("r", "over", "relations"), ("a", "entities", "asked"), ("b", "entities", "anchors"))
        return [
            f"WITH {' + '.join(lists) or '[]'} AS found",
            "UNWIND found AS item",
            "WITH DISTINCT item[0] AS kind, item[1] AS triples, item[2] AS one, item[3] AS relation, item[4] AS other",
            "ORDER BY kind, triples, one, relation, other",
            "WITH collect([kind, triples, one, relation, other]) AS items",
            f"RETURN {', '.join(kept.format(*column) for column in columns)}",
        ]


_KEYS = {
    "id": "id", "name": "names", "type": "kind", "relation": "relation", "wording": "wording_keys",
    "confidence": "confidence",
}  # fmt: skip
_OPERATORS = {"contains": "CONTAINS", "starts": "STARTS WITH", "ends": "ENDS WITH", "<": "<", "<=": "<=", ">": ">",
              ">=": ">="}  # fmt: skip


def _alike(condition: Alike) -> str:
    if condition.property == "name":
        return f"any(y IN {condition.left}.names WHERE y IN {condition.right}.names)"
    key = _KEYS[condition.property]
    return f"{condition.left}.{key} = {condition.right}.{key}"


def _nodes(kind: str, nodes: Iterable[str]) -> Iterable[str]:
    listed = ", ".join(nodes)
    return [f"[x IN [{listed}] WHERE x IS NOT NULL | ['{kind}', 0, x.id, '', '']]"] if listed else []


def _relations(edge: Edge) -> str:
    rows = edge.variable if edge.path else f"[{edge.variable}]"
    said = "['r', -size(x.triples), startNode(x).id, x.relation, endNode(x).id]"
    return f"[x IN coalesce({rows}, []) WHERE x IS NOT NULL | {said}]"
