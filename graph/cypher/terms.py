"""Expressions of a query to conditions: which properties there are, and how each is compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lark import Token

from core.errors import InvalidInput
from graph.cypher import syntax
from graph.cypher.refusals import refused
from graph.folding import fold, type_key, wording_key
from graph.patterns.conditions import (
    FALSE,
    TRUE,
    Alike,
    Condition,
    Operator,
    Property,
    Test,
    Value,
    both,
    either,
    negated,
)
from graph.patterns.globs import literal, parts, read_regex
from graph.relations import BY_NAME

Kinds = dict[str, str]
"""What each variable is: node, edge, or path (also a relationship of several hops)."""

_NODE: dict[str, Property] = {"name": "name", "names": "name", "alias": "name", "aliases": "name", "type": "type",
                              "id": "id"}  # fmt: skip
_EDGE: dict[str, Property] = {"relation": "relation", "type": "relation", "name": "relation", "wording": "wording",
                              "wordings": "wording", "confidence": "confidence"}  # fmt: skip
_CASE = frozenset(("tolower", "toupper", "lower", "upper", "trim", "tostring"))
_SHOWN = _CASE | frozenset(
    "type labels id elementid count collect size length nodes relationships rels startnode endnode coalesce min max "
    "avg sum head last properties keys exists distinct".split()
)
_GENERIC = frozenset(("entity", "node"))
_OPERATORS: dict[str, Operator] = {"EQ": "in", "NE": "in", "IN": "in", "CONTAINS": "contains", "STARTS": "starts",
                                   "ENDS": "ends", "LIKE": "like", "LEFT": "<", "LE": "<=", "RIGHT": ">",
                                   "GE": ">="}  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class _Ref:
    variable: str
    property: Property | Literal["self"]
    at: Token


@dataclass(frozen=True)
class _Values:
    values: tuple[object, ...]


class Terms:
    def __init__(self, kinds: Kinds, parameters: Mapping[str, object]) -> None:
        self._kinds = kinds
        self._parameters = parameters
        self._items: dict[str, _Ref] = {}  # variables of any()

    def condition(self, expression: syntax.Expression) -> Condition:
        """Raises InvalidInput with the place of what is not read."""
        match expression:
            case syntax.AllOf(operands):
                return both(map(self.condition, operands))
            case syntax.AnyOf(operands):
                return either(map(self.condition, operands))
            case syntax.Negation(operand):
                return negated(self.condition(operand))
            case syntax.Compared():
                return self._compared(expression)
            case syntax.Labelled(variable, label):
                return self.labelled(variable, label)
            case syntax.IsNull(operand):
                return self._missing(operand)
            case syntax.AnyItem():
                return self._any_item(expression)
            case syntax.Call(function, (operand,)) if function.lower() == "exists":
                return negated(self._missing(operand))
            case syntax.Constant(bool() as value):
                return TRUE if value else FALSE
        raise refused(_place(expression), "a condition is expected here, such as a.name = 'BERT'")

    def labelled(self, variable: Token, label: syntax.Label) -> Condition:
        """A node's type, or a relationship's relation; the label Entity means nothing."""
        if label.name is None:
            found = [self.labelled(variable, each) for each in label.labels]
            return negated(found[0]) if label.kind == "not" else (both if label.kind == "all" else either)(found)
        if self._kind(variable) == "edge":
            return self._test(_Ref(str(variable), "relation", label.name), "in", (str(label.name),))
        if self._kind(variable) != "node":
            raise refused(label.name, "a path has no labels")
        key = type_key(label.name)
        return TRUE if key in _GENERIC else Test(str(variable), "type", "in", (key or "",))

    def equal(self, variable: Token, key: Token, value: syntax.Expression) -> Condition:
        """`{key: value}` of a variable."""
        found = self._operand(value)
        if not isinstance(found, _Values) or len(found.values) != 1:
            raise refused(key, f"{key} is compared with one text, number or parameter")
        return self._test(self._property(variable, key, inline=True), "in", found.values)

    def _compared(self, expression: syntax.Compared) -> Condition:
        left, right = self._operand(expression.left), self._operand(expression.right)
        operator = _OPERATORS[expression.operator.type]
        if isinstance(left, _Values) and isinstance(right, _Ref) and expression.operator.type != "LIKE":
            if operator in ("contains", "starts", "ends"):
                raise refused(expression.operator, "the property stands on the left of it, the text on the right")
            left, right, operator = right, left, _TURNED.get(operator, operator)  # type: ignore[assignment]
        if isinstance(left, _Ref) and isinstance(right, _Ref):
            found = self._alike(left, right, expression.operator)
        elif isinstance(left, _Ref) and isinstance(right, _Values):
            found = self._test(left, operator, right.values)
        else:
            raise refused(expression.operator, "one side has to be a property, such as a.name")
        return negated(found) if expression.operator.type == "NE" else found

    def _alike(self, left: _Ref, right: _Ref, operator: Token) -> Condition:
        kinds = {self._kinds.get(left.variable), self._kinds.get(right.variable)}
        same = left.property == right.property and left.property in ("self", "id", "name", "type")
        if operator.type not in ("EQ", "NE") or kinds != {"node"} or not same:
            raise refused(operator, "two nodes can be compared by = and <>, as a = b or a.name = b.name")
        one, other = sorted((left.variable, right.variable))
        if left.property in ("self", "id"):
            return Alike(one, other, "id")
        return Alike(one, other, "name" if left.property == "name" else "type")

    def _any_item(self, expression: syntax.AnyItem) -> Condition:
        """`any(x IN a.aliases WHERE x CONTAINS 'b')`: what holds for one of several is what a test means anyway."""
        items = self._operand(expression.items)
        if not isinstance(items, _Ref):
            raise refused(expression.item, "any() reads a.aliases and r.wordings")
        inside = expression.condition.operands if isinstance(expression.condition, syntax.AnyOf) else (
            expression.condition,)  # fmt: skip
        if not all(isinstance(each, syntax.Compared) and each.operator.type != "NE" for each in inside):
            raise refused(expression.item, "any() has comparisons joined by OR in it, without NOT and <>")
        if str(expression.item) in self._kinds:
            raise refused(expression.item, "the variable of any() is named already")
        self._items[str(expression.item)] = items
        found = either(map(self.condition, inside))
        del self._items[str(expression.item)]
        return found

    def _missing(self, operand: syntax.Expression) -> Condition:
        found = self._operand(operand)
        if not isinstance(found, _Ref):
            raise refused(_place(operand), "IS NULL is asked of a variable or a property")
        own: Property = "id" if self._kinds[found.variable] == "node" else "relation"
        return Test(found.variable, own if found.property == "self" else found.property, "missing")

    def _operand(self, expression: syntax.Expression) -> _Ref | _Values:
        match expression:
            case syntax.Constant(value):
                return _Values((value,))
            case syntax.Parameter(name):
                return self._parameter(name)
            case syntax.Items(items):
                found = [self._operand(item) for item in items]
                return _Values(tuple(value for each in found if isinstance(each, _Values) for value in each.values))
            case syntax.Variable(name) if name in self._items:
                return self._items[name]
            case syntax.Variable(name):
                if self._kind(name) == "path":
                    raise refused(name, "nothing can be asked of a path as a whole")
                return _Ref(str(name), "self", name)
            case syntax.Property(variable, key):
                return self._property(variable, key)
            case syntax.Call(function, (inner,)):
                return self._called(function, inner)
        raise refused(_place(expression), "it can't be compared: only properties, texts, numbers and lists can")

    def _called(self, function: Token, inner: syntax.Expression) -> _Ref | _Values:
        name = function.lower()
        found = self._operand(inner)
        if name in _CASE:
            return found
        if isinstance(found, _Ref) and found.property == "self":
            kind = self._kinds[found.variable]
            if name == "type" and kind == "edge":
                return _Ref(found.variable, "relation", found.at)
            if name == "labels" and kind == "node":
                return _Ref(found.variable, "type", found.at)
            if name in ("id", "elementid") and kind == "node":
                return found
        raise refused(function, f"the function {function[:60]} can't be called here: toLower and type can")

    def _property(self, variable: Token, key: Token, *, inline: bool = False) -> _Ref:
        kind = self._kind(variable)
        known = _NODE if kind == "node" else _EDGE
        if kind == "path" and not inline:
            raise refused(variable, "nothing can be asked of the relationships of a path of several hops but inside it")
        name = known.get(key.lower())
        if name is None:
            said = ", ".join(sorted(known))
            raise refused(
                key, f"there is no property {key[:40]} of a {'node' if kind == 'node' else 'relation'}: {said}"
            )
        return _Ref(str(variable), name, key)

    def _kind(self, variable: Token) -> str:
        kind = self._kinds.get(variable)
        if kind is None:
            raise refused(variable, f"'{variable[:40]}' is in no MATCH before")
        return kind

    def _parameter(self, name: Token) -> _Values:
        if name[1:] not in self._parameters:
            raise InvalidInput(f"the parameter {name[:60]} has no value", hint="give it in the parameters, or write it")
        value = self._parameters[name[1:]]
        several = isinstance(value, Sequence) and not isinstance(value, str)
        return _Values(tuple(value) if several else (value,))  # type: ignore[arg-type] # a sequence, as was seen

    def _test(self, ref: _Ref, operator: Operator, values: Sequence[object]) -> Condition:
        if ref.property == "self":
            raise refused(ref.at, f"write {ref.variable}.name: a variable itself is no text")
        if operator != "in" and len(values) != 1:
            raise refused(ref.at, "a list is compared with IN")
        if ref.property == "confidence":
            return Test(ref.variable, "confidence", operator, tuple(self._number(ref, value) for value in values))
        if operator in ("<", "<=", ">", ">="):
            raise refused(ref.at, "only confidence can be compared by size")
        texts = [self._text(ref, value) for value in values]
        if operator == "like":
            return self._like(ref, texts[0])
        if ref.property == "relation" and operator != "in":
            return _relation_like(ref, operator, texts[0])
        return Test(ref.variable, ref.property, operator, tuple(sorted({_key(ref.property, text) for text in texts})))

    def _like(self, ref: _Ref, text: str) -> Condition:
        try:
            globs = read_regex(text)
        except ValueError as error:
            raise refused(ref.at, str(error)) from None
        return either(_glob(ref, glob) for glob in globs)

    def _number(self, ref: _Ref, value: object) -> Value:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise refused(ref.at, "confidence is compared with a number")
        return float(value)

    def _text(self, ref: _Ref, value: object) -> str:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return f"{value:g}"
        if not isinstance(value, str):
            raise refused(ref.at, f"{ref.property} is compared with a text; write IS NULL for what is missing")
        if any("\ud800" <= char <= "\udfff" or char == "\0" for char in value):
            raise refused(ref.at, "the text holds half a character or a NUL")
        return value


def _key(name: Property | Literal["self"], text: str) -> str:
    """A text as that property is kept."""
    if name == "name":
        return fold(text)
    if name == "type":
        return type_key(text) or ""
    return wording_key(text) if name == "wording" else text


def _glob(ref: _Ref, glob: str) -> Condition:
    """The simplest test that a glob is."""
    pieces = parts(glob)
    starts, ends = pieces[:1] == ["*"], pieces[-1:] == ["*"]
    middle = literal(pieces[1 if starts else 0 : len(pieces) - (1 if ends else 0)])
    if pieces == ["*"]:
        middle = ""
    if middle is None:
        if ref.property == "relation":
            raise refused(ref.at, "of a relation only texts with .* before and behind are read")
        return Test(ref.variable, ref.property, "like", (fold(glob),))  # type: ignore[arg-type] # not self
    operator: Operator = "contains" if starts and ends else "ends" if starts else "starts" if ends else "in"
    if ref.property == "relation" and operator != "in":
        return _relation_like(ref, operator, middle)
    return Test(ref.variable, ref.property, operator, (_key(ref.property, middle),))  # type: ignore[arg-type] # not self


def _relation_like(ref: _Ref, operator: Operator, text: str) -> Condition:
    """The relations of the vocabulary whose names are so, and wordings that are."""
    words = wording_key(text)
    fits = {"contains": str.__contains__, "starts": str.startswith, "ends": str.endswith}[operator]
    names = tuple(sorted(name for name in BY_NAME if fits(wording_key(name), words)))
    wording = Test(ref.variable, "wording", operator, (words,))
    return either((Test(ref.variable, "relation", "in", names), wording)) if names else wording


def _place(expression: object) -> Token | None:
    """The first word of an expression that has a place."""
    if isinstance(expression, Token):
        return expression
    held = expression if isinstance(expression, tuple) else getattr(expression, "__dict__", {}).values()
    return next((found for each in held if (found := _place(each)) is not None), None)


def check_result(result: syntax.Result, kinds: Kinds, terms: Terms) -> None:
    """Whether what is returned is of the query, and calls nothing but the usual functions. It is dropped afterwards."""
    named = {str(token) for token in _tokens(result) if token.type in ("NAME", "QUOTED")}
    for each in _within(result):
        if isinstance(each, syntax.Call) and each.function.lower() not in _SHOWN:
            raise refused(each.function, f"the function {each.function[:60]} can't be called")
        if isinstance(each, (syntax.Variable, syntax.Property)):
            name = each.name if isinstance(each, syntax.Variable) else each.variable
            if name not in kinds and name not in named:
                raise refused(name, f"'{name[:40]}' is in no MATCH before")


def _within(tree: object) -> Iterator[object]:
    """All parts of a tree, without recursion."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, tuple):
            waiting += each
        elif not isinstance(each, Token):
            waiting += getattr(each, "__dict__", {}).values()


def _tokens(tree: syntax.Result) -> Iterator[Token]:
    """Names that are given in it: AS, and the variables of comprehensions."""
    for each in _within(tree):
        if isinstance(each, syntax.Other):
            yield from (part for part in each.parts if isinstance(part, Token))
        if isinstance(each, syntax.AnyItem):
            yield each.item
