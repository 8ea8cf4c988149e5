"""Conditions of a pattern, in negation normal form, under Cypher's three-valued logic (true, false, NULL as None)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from graph.patterns.globs import matches_glob
from graph.relations import BY_NAME

Property = Literal["id", "name", "type", "relation", "wording", "confidence"]
Operator = Literal["in", "contains", "starts", "ends", "like", "<", "<=", ">", ">=", "missing"]
Value = str | float


@dataclass(frozen=True)
class Test:
    """One property of one variable against constants, folded already; `in` holds where it equals any of them.

    `name` stands for the name and all aliases: it holds where it does for one of them. So does `wording`. A
    `relation` that the vocabulary does not know holds for edges of that name, and of a wording that has its words.
    """

    variable: str
    property: Property
    operator: Operator
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Alike:
    """Two nodes are one (`id`), or have a name or their type in common."""

    left: str
    right: str
    property: Literal["id", "name", "type"]


@dataclass(frozen=True)
class Neg:
    term: Test | Alike


@dataclass(frozen=True)
class Conj:
    """Without terms it is true."""

    terms: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Disj:
    """Without terms it is false."""

    terms: tuple[Condition, ...] = ()


Condition = Test | Alike | Neg | Conj | Disj
TRUE, FALSE = Conj(), Disj()
Truth = bool | None
Facts = Mapping[str, object]
"""Of a node `id`, `names`, `kind`; of an edge `relation`, `wording_keys`, `confidence`; what is missing is NULL."""


def negated(condition: Condition) -> Condition:
    """De Morgan's laws hold for three values too."""
    if isinstance(condition, Neg):
        return condition.term
    if isinstance(condition, Conj):
        return either(negated(term) for term in condition.terms)
    if isinstance(condition, Disj):
        return both(negated(term) for term in condition.terms)
    return Neg(condition)


def both(terms: Iterable[Condition]) -> Condition:
    """All of them hold: flat, each once, in one order."""
    flat = _flat(terms, Conj)
    if FALSE in flat:
        return FALSE
    return flat[0] if len(flat) == 1 else Conj(tuple(flat))


def either(terms: Iterable[Condition]) -> Condition:
    """One of them holds: flat, each once, in one order; equalities of one property are one test."""
    flat = _flat(_joined(_flat(terms, Disj)), Disj)
    if TRUE in flat:
        return TRUE
    return flat[0] if len(flat) == 1 else Disj(tuple(flat))


def _flat(terms: Iterable[Condition], kind: type[Conj] | type[Disj]) -> list[Condition]:
    found: dict[str, Condition] = {}
    for term in terms:
        for each in term.terms if isinstance(term, kind) else (term,):
            found[as_text(each)] = each
    return [found[text] for text in sorted(found)]


def _joined(terms: list[Condition]) -> Iterator[Condition]:
    equal: dict[tuple[str, Property], set[Value]] = {}
    for term in terms:
        if isinstance(term, Test) and term.operator == "in":
            equal.setdefault((term.variable, term.property), set()).update(term.values)
        else:
            yield term
    for (variable, name), values in equal.items():
        yield Test(variable, name, "in", tuple(sorted(values, key=lambda value: (str(type(value)), value))))


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    return condition.terms if isinstance(condition, Conj) else (condition,)


def variables(condition: Condition) -> frozenset[str]:
    if isinstance(condition, Test):
        return frozenset((condition.variable,))
    if isinstance(condition, Alike):
        return frozenset((condition.left, condition.right))
    if isinstance(condition, Neg):
        return variables(condition.term)
    return frozenset().union(*map(variables, condition.terms))


def renamed(condition: Condition, names: Mapping[str, str]) -> Condition:
    """With other variables; what `names` does not hold stays."""
    if isinstance(condition, Test):
        return replace(condition, variable=names.get(condition.variable, condition.variable))
    if isinstance(condition, Alike):
        left, right = sorted(names.get(each, each) for each in (condition.left, condition.right))
        return Alike(left, right, condition.property)
    if isinstance(condition, Neg):
        return negated(renamed(condition.term, names))
    terms = [renamed(term, names) for term in condition.terms]
    return both(terms) if isinstance(condition, Conj) else either(terms)


def pins(condition: Condition, variable: str, *, exactly: bool) -> bool:
    """Whether it can only hold where the variable has one of some names; `exactly`: whole names, not parts of them."""
    if isinstance(condition, Test):
        wanted = condition.operator == "in" or (condition.operator != "missing" and not exactly)
        return wanted and condition.property in ("name", "id") and condition.variable == variable
    if isinstance(condition, Conj):
        return any(pins(term, variable, exactly=exactly) for term in condition.terms)
    if isinstance(condition, Disj):
        return bool(condition.terms) and all(pins(term, variable, exactly=exactly) for term in condition.terms)
    return False


def truth(condition: Condition, facts: Callable[[str], Facts | None]) -> Truth:
    """`facts(variable)` is None for a variable that an OPTIONAL MATCH left NULL."""
    if isinstance(condition, Test):
        return _test(condition, facts(condition.variable))
    if isinstance(condition, Alike):
        return _alike(condition, facts(condition.left), facts(condition.right))
    if isinstance(condition, Neg):
        found = truth(condition.term, facts)
        return None if found is None else not found
    return _together((truth(term, facts) for term in condition.terms), isinstance(condition, Conj))


def _together(truths: Iterable[Truth], is_and: bool) -> Truth:
    unknown = False
    for each in truths:
        if each is None:
            unknown = True
        elif each is not is_and:
            return each
    return None if unknown else is_and


def _test(test: Test, facts: Facts | None) -> Truth:
    if test.operator == "missing":
        return not facts or _of(test.property, facts) is None
    if facts is None:
        return None
    if test.property == "relation":
        return _relation(test.values, facts)
    found = _of(test.property, facts)
    if found is None:
        return None
    if isinstance(found, (list, tuple)):
        return any(holds(test, each) for each in found)
    return holds(test, found)


_KEYS = {"name": "names", "type": "kind", "wording": "wording_keys"}


def _of(name: Property, facts: Facts) -> object:
    return facts.get(_KEYS.get(name, name))


def _relation(wanted: tuple[Value, ...], facts: Facts) -> Truth:
    name = facts.get("relation")
    if name is None:
        return None
    unknown = [words for each in wanted if (words := unknown_words(str(each)))]
    if name in wanted or not unknown:
        return name in wanted
    wordings = facts.get("wording_keys")
    if not isinstance(wordings, (list, tuple)):
        return None
    return any(words in f" {wording} " for wording in wordings for words in unknown)


def unknown_words(relation: str) -> str:
    """The words, with a blank before and behind, of a relation that is not in the vocabulary; '' for one that is."""
    return "" if relation in BY_NAME else f" {relation.replace('_', ' ').casefold()} "


def holds(test: Test, found: object) -> bool:
    """Whether one value of the property, a name for example, fulfils it."""
    if isinstance(found, (int, float)):
        return any(isinstance(value, float) and _compared(test.operator, found, value) for value in test.values)
    text = str(found)
    match test.operator:
        case "in":
            return text in test.values
        case "contains":
            return any(str(value) in text for value in test.values)
        case "starts":
            return text.startswith(tuple(map(str, test.values)))
        case "ends":
            return text.endswith(tuple(map(str, test.values)))
        case "like":
            return any(matches_glob(str(value), text) for value in test.values)
        case _:
            return False


def _compared(operator: Operator, left: float, right: float) -> bool:
    order = {"in": left == right, "<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
    return order.get(operator, False)


def _alike(condition: Alike, left: Facts | None, right: Facts | None) -> Truth:
    if left is None or right is None:
        return None
    one, other = _of(condition.property, left), _of(condition.property, right)
    if one is None or other is None:
        return None
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return not set(one).isdisjoint(other)
    return one == other


def as_text(condition: Condition) -> str:
    """A text that is equal for equal conditions: to sort them by."""
    if isinstance(condition, Test):
        name, operator = condition.property, condition.operator
        return f"{name} {condition.variable} {operator} {json.dumps(condition.values, ensure_ascii=False)}"
    if isinstance(condition, Alike):
        return f"alike {condition.left} {condition.right} {condition.property}"
    if isinstance(condition, Neg):
        return f"not({as_text(condition.term)})"
    word = "all" if isinstance(condition, Conj) else "one"
    return f"{word}({'; '.join(map(as_text, condition.terms))})"
