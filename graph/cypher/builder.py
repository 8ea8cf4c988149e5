"""From what a query says to the parts of a pattern: variables, relationships, hops, and where conditions stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lark import Token

from core.errors import InvalidInput
from graph.cypher.refusals import refused
from graph.cypher.syntax import Arrow, Chain, Element, Match, Properties, Query
from graph.cypher.terms import Kinds, Terms, check_result
from graph.patterns.conditions import TRUE, Condition, Conj, Disj, Neg, Test, both, conjuncts
from graph.patterns.pattern import Edge, Part, edge_between, relation_name


@dataclass
class _Draft:
    """A part whose relations are named as the query names them."""

    optional: bool
    edges: list[Edge] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    terms: list[Condition] = field(default_factory=list)


class Builder:
    """One query. `parameters` fills `$name`, `hops` is the most of a path, `notes` takes what a person should know."""

    def __init__(self, parameters: Mapping[str, object], hops: int, notes: list[str]) -> None:
        self._kinds: Kinds = {}
        self._terms = Terms(self._kinds, parameters)
        self._hops = hops
        self._notes = notes

    def parts(self, query: Query) -> list[Part]:
        """Raises InvalidInput."""
        drafts = [self._match(match) for match in query.matches]
        if query.result is not None:
            check_result(query.result, self._kinds, self._terms)
        for draft in drafts:
            draft.terms = [term for each in draft.terms for term in conjuncts(each)]
        for draft in drafts:
            draft.edges = [self._with_names(edge, draft, drafts) for edge in draft.edges]
        turned = {variable for draft in drafts for variable in self._turned(draft)}
        return [self._part(draft, turned) for draft in drafts]

    def _match(self, match: Match) -> _Draft:
        draft = _Draft(match.optional)
        waiting: list[tuple[str, Element]] = []
        for chain in match.chains:
            waiting += self._chain(chain, draft)
        for variable, element in waiting:
            draft.terms.append(self._inside(variable, element))
        if match.where is not None:
            draft.terms.append(self._terms.condition(match.where.condition))
        return draft

    def _chain(self, chain: Chain, draft: _Draft) -> Iterator[tuple[str, Element]]:
        if chain.path is not None:
            self._declared(chain.path, "path", "path")
        names = [self._declared(node.variable, "node", "node") for node in chain.nodes]
        draft.nodes += names
        found = list(zip(names, chain.nodes, strict=True))
        for at, arrow in enumerate(chain.arrows):
            edge = self._edge(arrow, names[at], names[at + 1])
            if edge.path:
                draft.edges.append(edge)
                where = self._inside(edge.variable, arrow.detail, inside_path=True)
                draft.edges[-1] = replace(edge, each=where)
                self._kinds[edge.variable] = "path"
            else:
                draft.edges.append(edge)
                found.append((edge.variable, arrow.detail))
        yield from found

    def _declared(self, name: Token | None, kind: str, word: str) -> str:
        """The variable, named here or before; nodes may be named again, relationships and paths may not."""
        if name is None:
            name = Token("NAME", f" {len(self._kinds)}")
        known = self._kinds.get(name)
        if known is not None and (known != kind or kind != "node"):
            raise refused(name, f"'{name[:40]}' is named twice: each {word} has a variable of its own")
        self._kinds[str(name)] = kind
        return str(name)

    def _edge(self, arrow: Arrow, left: str, right: str) -> Edge:
        detail = arrow.detail
        variable = self._declared(detail.variable, "edge", "relationship")
        source, target = (right, left) if arrow.left and not arrow.right else (left, right)
        least, most = self._range(detail)
        names = tuple(str(name) for name in detail.types.names) if detail.types else ()
        names = () if any(name.upper() == "RELATION" for name in names) else names  # the store's own type: any
        return Edge(variable, source, target, arrow.left != arrow.right, names, least, most)

    def _range(self, detail: Element) -> tuple[int, int]:
        if detail.hops is None:
            return 1, 1
        least = 1 if detail.hops.least is None else detail.hops.least
        most = self._hops if detail.hops.most is None else detail.hops.most
        if detail.hops.most is None or most > self._hops:
            self._notes.append(f"paths are looked for up to {self._hops} hops")
        if detail.hops.most is not None and least > detail.hops.most:
            raise refused(None, f"a path of {least} to {detail.hops.most} hops is none")
        if least > self._hops:
            raise InvalidInput(f"paths have at most {self._hops} hops", hint="ask for fewer, or set QUAERE_GRAPH__HOPS")
        return least, min(most, self._hops)

    def _inside(self, variable: str, element: Element, *, inside_path: bool = False) -> Condition:
        """What is said in the brackets of a node or a relationship."""
        terms: list[Condition] = []
        if element.labels is not None:
            terms.append(self._terms.labelled(Token("NAME", variable), element.labels.label))
        terms += self._properties(variable, element.properties)
        if element.where is not None:
            terms.append(self._terms.condition(element.where.condition))
        found = both(terms)
        if inside_path and not _only_of(found, variable):
            raise refused(element.variable, "a condition inside a path of several hops is of its relationships alone")
        return found

    def _properties(self, variable: str, properties: Properties | None) -> Iterator[Condition]:
        for entry in properties.entries if properties else ():
            yield self._terms.equal(Token.new_borrow_pos("NAME", variable, entry.key), entry.key, entry.value)

    def _with_names(self, edge: Edge, draft: _Draft, drafts: Sequence[_Draft]) -> Edge:
        """With the names that a condition gives to a relationship without any: `type(r) = 'A'` is `[r:A]`."""
        if not edge.relations and edge.path:
            names = [term for term in conjuncts(edge.each) if _names_relation(term, edge.variable)]
            rest = [term for term in conjuncts(edge.each) if term not in names[:1]]
            return self._normal(replace(edge, each=both(rest)), names[0] if names else None)
        near = [draft] if draft.optional else [draft, *(each for each in drafts if not each.optional)]
        for each in () if edge.relations else near:
            for term in each.terms:
                if _names_relation(term, edge.variable):
                    each.terms.remove(term)
                    return self._normal(edge, term)
        return self._normal(edge, None)

    def _normal(self, edge: Edge, term: Condition | None) -> Edge:
        names = tuple(map(str, term.values)) if isinstance(term, Test) else edge.relations
        found, note = edge_between(edge.variable, edge.source, edge.target, names, directed=edge.directed)
        self._notes += [note] if note else []
        return replace(found, least=edge.least, most=edge.most, each=_in_vocabulary(edge.each))

    def _turned(self, draft: _Draft) -> Iterator[str]:
        """Relationships of which a condition names a relation that the vocabulary has the other way round."""
        for test in (test for term in draft.terms for test in _tests(term)):
            if test.property == "relation" and any(relation_name(str(value))[1] for value in test.values):
                self._notes.append(f"{' and '.join(map(str, test.values))}: both directions were looked at")
                yield test.variable

    def _part(self, draft: _Draft, turned: set[str]) -> Part:
        edges = tuple(replace(edge, directed=edge.directed and edge.variable not in turned) for edge in draft.edges)
        where = both(map(_in_vocabulary, draft.terms))
        return Part((edges,) if edges else (), tuple(dict.fromkeys(draft.nodes)), where, draft.optional)


def _names_relation(term: Condition, variable: str) -> bool:
    return isinstance(term, Test) and (term.variable, term.property, term.operator) == (variable, "relation", "in")


def _tests(condition: Condition) -> Iterator[Test]:
    if isinstance(condition, Test):
        yield condition
    elif isinstance(condition, Neg):
        yield from _tests(condition.term)
    elif isinstance(condition, (Conj, Disj)):
        for term in condition.terms:
            yield from _tests(term)


def _only_of(condition: Condition, variable: str) -> bool:
    return condition == TRUE or (
        all(test.variable == variable for test in _tests(condition)) and not isinstance(condition, Neg)
    )


def _in_vocabulary(condition: Condition) -> Condition:
    if isinstance(condition, Test):
        if condition.property != "relation" or condition.operator != "in":
            return condition
        return replace(condition, values=tuple(sorted({relation_name(str(value))[0] for value in condition.values})))
    if isinstance(condition, Neg):
        term = _in_vocabulary(condition.term)
        return Neg(term) if isinstance(term, Test) else condition
    if isinstance(condition, (Conj, Disj)):
        return replace(condition, terms=tuple(map(_in_vocabulary, condition.terms)))
    return condition
