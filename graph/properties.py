"""What every store keeps of an entity and a relation, under which names, and back. A value that is null is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.graph import Entity, Relation
from graph.folding import edge_keys, node_keys
from graph.projection import relation_id

Properties = dict[str, Any]
_ENTITY = tuple(Entity.model_fields)
_RELATION = tuple(name for name in Relation.model_fields if name not in ("subject", "object"))


def node_properties(entity: Entity) -> Properties:
    """id, name, names (folded), kind (the type, folded), type, aliases, documents, mentions."""
    return _known({name: getattr(entity, name) for name in _ENTITY} | node_keys(entity))


def edge_properties(relation: Relation) -> Properties:
    """id, relation, wordings, wording_keys, triples, documents, confidence, is_citation."""
    own = {name: getattr(relation, name) for name in _RELATION}
    return _known({"id": relation_id(relation)} | own | edge_keys(relation))


def entity_of(properties: Mapping[str, Any]) -> Entity:
    return Entity(**{name: properties[name] for name in _ENTITY if name in properties})


def relation_of(subject: str, target: str, properties: Mapping[str, Any]) -> Relation:
    own = {name: properties[name] for name in _RELATION if name in properties}
    return Relation(subject=subject, object=target, **own)


def _known(properties: Mapping[str, Any]) -> Properties:
    """Sequences as lists, which is what a database takes."""
    kept = {name: value for name, value in properties.items() if value is not None}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}
