"""A question as a form to fill in: what a small model gets right more often than Cypher."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from graph.asking.names import NameIndex
from graph.folding import fold
from graph.patterns.canonical import pattern_of
from graph.patterns.conditions import TRUE, Condition, Test, both
from graph.patterns.pattern import Edge, Part, Pattern, edge_between, named


class Slots(BaseModel):
    """One fact with what is asked for left empty."""

    subject: str = Field(default="", max_length=300)
    relation: str = Field(default="", max_length=100)
    object: str = Field(default="", max_length=300)
    hops: int = Field(default=1, ge=1, le=5)
    asked: Literal["subject", "object", "relation"] = "object"


def pattern_from(slots: Slots, index: NameIndex, hops: int) -> Pattern:
    """The pattern that filled slots mean. Raises ValueError, in words for the model, where no entity is named.

    An end that is asked for is never pinned: 'which model' in it is a type. Several hops may be any way round, and
    the relation is then the last that leads to what is asked.
    """
    subject = _end("s", slots.subject, index, asked=slots.asked == "subject" and bool(slots.object))
    object_ = _end("o", slots.object, index, asked=slots.asked == "object" and bool(slots.subject))
    if not any(isinstance(end, Test) and end.property == "name" for end in (subject, object_)):
        raise ValueError("neither subject nor object is a name of the graph")
    names = [slots.relation] if slots.relation.strip() and slots.asked != "relation" else []
    edge, note = edge_between("r", "s", "o", names)
    if slots.asked == "relation":
        edge = Edge("r", "s", "o", False, (), 1, min(slots.hops, hops))
    elif slots.hops > 1:
        edge = Edge("r", "s", "o", False, edge.relations, 1, min(slots.hops, hops))
    return pattern_of([[Part(((edge,),), (), both((subject, object_)))]], [note] if note else [])


def _end(variable: str, said: str, index: NameIndex, *, asked: bool) -> Condition:
    if not said.strip():
        return TRUE
    if type_ := index.type_of(said):
        if asked or not index.entities(said):
            return Test(variable, "type", "in", (type_,))
    elif asked:
        return TRUE
    entities = index.entities(said)
    if entities:
        return named(variable, *(entity.name for entity in entities))
    if linked := index.linked(said):
        return named(variable, linked[0].name)
    part = fold(said).strip()
    if not any(part in name for name in index.names()):
        raise ValueError(f"'{said[:60]}' is no name of the graph")
    return Test(variable, "name", "contains", (part,))
