"""What a query says, as it is written: the syntax tree, with the places of its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lark import Token, Transformer


@dataclass(frozen=True)
class Constant:
    value: str | float | bool | None


@dataclass(frozen=True)
class Parameter:
    name: Token


@dataclass(frozen=True)
class Variable:
    name: Token


@dataclass(frozen=True)
class Property:
    variable: Token
    key: Token


@dataclass(frozen=True)
class Items:
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Call:
    function: Token
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Compared:
    operator: Token
    left: Expression
    right: Expression


@dataclass(frozen=True)
class IsNull:
    operand: Expression


@dataclass(frozen=True)
class Negation:
    operand: Expression


@dataclass(frozen=True)
class AllOf:
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class AnyOf:
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Labelled:
    variable: Token
    label: Label


@dataclass(frozen=True)
class AnyItem:
    """`any(item IN items WHERE condition)`"""

    item: Token
    items: Expression
    condition: Expression


@dataclass(frozen=True)
class Other:
    """What may stand in RETURN only; its parts are looked at for what is not allowed."""

    parts: tuple[object, ...]
    item: Token | None = None  # a list comprehension's own variable


Expression = (
    Constant | Parameter | Variable | Property | Items | Call | Compared | IsNull | Negation | AllOf | AnyOf | Labelled
    | AnyItem | Other
)  # fmt: skip


@dataclass(frozen=True)
class Label:
    """`is`: one name; `not`, `all`, `any`: of others."""

    kind: str
    name: Token | None = None
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True)
class Entry:
    key: Token
    value: Expression


@dataclass(frozen=True)
class Properties:
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Where:
    condition: Expression


@dataclass(frozen=True)
class Labels:
    label: Label


@dataclass(frozen=True)
class Types:
    names: tuple[Token, ...]


@dataclass(frozen=True)
class Hops:
    """None is left open."""

    least: int | None
    most: int | None


@dataclass(frozen=True)
class Element:
    """A node, or what stands in the brackets of a relationship."""

    variable: Token | None = None
    labels: Labels | None = None
    types: Types | None = None
    hops: Hops | None = None
    properties: Properties | None = None
    where: Where | None = None


@dataclass(frozen=True)
class Arrow:
    detail: Element
    left: bool
    right: bool


@dataclass(frozen=True)
class Chain:
    path: Token | None
    nodes: tuple[Element, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True)
class Match:
    optional: bool
    chains: tuple[Chain, ...]
    where: Where | None


@dataclass(frozen=True)
class Result:
    parts: tuple[object, ...]


@dataclass(frozen=True)
class Query:
    matches: tuple[Match, ...]
    result: Result | None


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def _of(children: list[Any], kind: type) -> Any:
    return next((child for child in children if isinstance(child, kind)), None)


def _all(children: list[Any], *kinds: type) -> tuple[Any, ...]:
    return tuple(child for child in children if isinstance(child, kinds))


def _unquoted(name: Token) -> Token:
    return name.update(value=name[1:-1].strip()) if name.startswith("`") else name


def _string(children: list[Token]) -> Constant:
    text = children[0][1:-1]
    pieces = text.split("\\\\")
    for at, piece in enumerate(pieces):
        first, *rest = piece.split("\\")
        pieces[at] = first + "".join(_ESCAPES.get(each[0], each[0]) + each[1:] for each in rest)
    return Constant("\\".join(pieces))


def _joined(kind: type[AllOf] | type[AnyOf]) -> Callable[[Any, list[Any]], Any]:
    return lambda _, children: children[0] if len(children) == 1 else kind(tuple(children))


def _labels(kind: str) -> Callable[[Any, list[Any]], Label]:
    def joined(_: Any, children: list[Any]) -> Label:
        labels = _all(children, Label)
        return labels[0] if len(labels) == 1 and kind != "not" else Label(kind, None, labels)

    return joined


class ToSyntax(Transformer[Token, tuple[Query, ...]]):
    """The tree of graph/cypher/grammar.lark, made while it is read: bottom-up, so that nesting costs no stack."""

    any_of = _joined(AnyOf)
    all_of = _joined(AllOf)
    label_any, label_all, label_not = _labels("any"), _labels("all"), _labels("not")

    def start(self, children: list[Any]) -> tuple[Query, ...]:
        return _all(children, Query)

    def query(self, children: list[Any]) -> Query:
        return Query(_all(children, Match), _of(children, Result))

    def match(self, children: list[Any]) -> Match:
        return Match(isinstance(children[0], Token), _all(children, Chain), _of(children, Where))

    def chain(self, children: list[Any]) -> Chain:
        return Chain(_of(children, Token), _all(children, Element), _all(children, Arrow))

    def node(self, children: list[Any]) -> Element:
        name = _of(children, Token)
        return Element(name, _of(children, Labels), None, None, _of(children, Properties), _of(children, Where))

    def detail(self, children: list[Any]) -> Element:
        found = (_of(children, kind) for kind in (Types, Hops, Properties, Where))
        return Element(_of(children, Token), None, *found)

    def edge(self, children: list[Any]) -> Arrow:
        kinds = {child.type for child in _all(children, Token)}
        return Arrow(_of(children, Element) or Element(), "LEFT" in kinds, "RIGHT" in kinds)

    def where(self, children: list[Any]) -> Where:
        return Where(children[0])

    def types(self, children: list[Any]) -> Types:
        return Types(tuple(children))

    def type(self, children: list[Any]) -> Token:
        return _unquoted(children[0])

    def hops(self, children: list[Any]) -> Hops:
        return children[0] if children else Hops(None, None)

    def exactly(self, children: list[Any]) -> Hops:
        return Hops(int(children[0]), int(children[0]))

    def from_on(self, children: list[Any]) -> Hops:
        return Hops(int(children[0]), int(children[1]) if len(children) > 1 else None)

    def up_to(self, children: list[Any]) -> Hops:
        return Hops(None, int(children[0]))

    def labels(self, children: list[Any]) -> Labels:
        return Labels(children[0])

    def label_is(self, children: list[Any]) -> Label:
        return Label("is", _unquoted(children[0]))

    def properties(self, children: list[Any]) -> Properties:
        return Properties(tuple(children))

    def entry(self, children: list[Any]) -> Entry:
        return Entry(_unquoted(children[0]), children[1])

    def result(self, children: list[Any]) -> Result:
        return Result(tuple(children))

    def other(self, children: list[Any]) -> Other:
        own = [child for child in children if isinstance(child, Token)]
        return Other(tuple(children), own[0] if len(own) > 1 and own[1].type == "IN" else None)

    column = order = sort = skip = limit = bound = shown = other

    def negation(self, children: list[Any]) -> Negation:
        return Negation(children[0])

    def compare(self, children: list[Any]) -> Compared:
        return Compared(children[1], children[0], children[2])

    def is_null(self, children: list[Any]) -> IsNull:
        return IsNull(children[0])

    def is_not_null(self, children: list[Any]) -> Negation:
        return Negation(IsNull(children[0]))

    def has_label(self, children: list[Any]) -> Labelled:
        return Labelled(children[0], children[1].label)

    def variable(self, children: list[Any]) -> Variable:
        return Variable(children[0])

    def property(self, children: list[Any]) -> Property:
        return Property(children[0], _unquoted(children[1]))

    def parameter(self, children: list[Any]) -> Parameter:
        return Parameter(children[0])

    def string(self, children: list[Any]) -> Constant:
        return _string(children)

    def number(self, children: list[Any]) -> Constant:
        return Constant(float(children[0]))

    def negative(self, children: list[Any]) -> Constant:
        return Constant(-float(children[0]))

    def true(self, _: list[Any]) -> Constant:
        return Constant(True)

    def false(self, _: list[Any]) -> Constant:
        return Constant(False)

    def null(self, _: list[Any]) -> Constant:
        return Constant(None)

    def listed(self, children: list[Any]) -> Items:
        return Items(tuple(children))

    def any_item(self, children: list[Any]) -> AnyItem:
        _, item, _, items, where = children
        return AnyItem(item, items, where.condition)

    def call(self, children: list[Any]) -> Call:
        return Call(children[0], tuple(child for child in children[1:] if not isinstance(child, Token)))
