"""What every store keeps of an entity and of a relation, and under which names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from core.graph import Entity, Relation
from graph.folding import edge_keys, node_keys
from graph.projection import relation_id

Properties = dict[str, Any]
NODE = ("id", "name", "names", "kind", "type", "aliases", "documents", "mentions")
EDGE = ("id", "relation", "wordings", "wording_keys", "triples", "documents", "confidence", "is_citation")


def node_values(entity: Entity) -> list[Any]:
    """Of NODE: `names` folded, with the aliases; `kind` the type, folded. None is no property."""
    keys = node_keys(entity)
    return [keys[name] if name in keys else getattr(entity, name) for name in NODE]


def edge_values(relation: Relation) -> list[Any]:
    """Of EDGE: `id` is of the ends and the relation."""
    keys = {"id": relation_id(relation), **edge_keys(relation)}
    return [keys[name] if name in keys else getattr(relation, name) for name in EDGE]


def node_properties(entity: Entity) -> Properties:
    return _known(NODE, node_values(entity))


def edge_properties(relation: Relation) -> Properties:
    return _known(EDGE, edge_values(relation))


def _known(names: Iterable[str], values: Iterable[Any]) -> Properties:
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}
