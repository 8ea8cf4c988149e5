"""The graph in this process, as a NetworkX multigraph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import networkx as nx

from core.collector import collector_paused
from core.graph import Entity, GraphData, Relation
from graph.patterns.conditions import Condition
from graph.patterns.found import Matched
from graph.patterns.matcher import Matcher
from graph.patterns.pattern import Pattern
from graph.stores.properties import edge_properties, node_properties
from graph.stores.searching import likeness, query_key
from graph.stores.store import Documents
from graph.stores.traversal import Subgraph, Wanted, around, between, stating, walked


class NetworkXStore:
    """`graph` has the properties that every store keeps, edges by their relation. Never changed once it is made.

    10,000 entities and 40,000 relations take about a second and 100 MB.
    """

    @collector_paused()
    def __init__(self, data: GraphData) -> None:
        self.version = data.version
        self.graph = nx.MultiDiGraph()
        self._entities = {item.id: item for item in data.entities}
        self._relations: dict[str, Relation] = {}
        self._at: defaultdict[str, list[str]] = defaultdict(list)
        self._names: dict[str, str] = {}  # all of an entity's, where a search looks first
        for entity in data.entities:
            properties = node_properties(entity)
            self._names[entity.id] = "\n".join(properties["names"])
            self.graph.add_node(entity.id, **properties)
        for relation in data.relations:
            properties = edge_properties(relation)
            self._relations[properties["id"]] = relation
            for end in {relation.subject, relation.object}:
                self._at[end].append(properties["id"])
            self.graph.add_edge(relation.subject, relation.object, relation.relation, **properties)
        self._matcher = Matcher(self.graph)

    def check(self) -> None:
        """It is always there."""

    def match(self, pattern: Pattern, limit: int, documents: Documents = None) -> Matched:
        return self._matcher.match(pattern, limit=limit, documents=documents)

    def named(self, test: Condition) -> Iterator[str]:
        """Ids of the entities that fulfil a test of names or ids."""
        return self._matcher.of(test)

    def neighbourhood(self, entity_ids: Sequence[str], hops: int, limit: int, documents: Documents = None) -> Subgraph:
        walk = around(entity_ids, hops, limit)
        return self._with_entities(walked(walk, lambda wanted: self._fetch(wanted, documents)))

    def paths(self, first: str, second: str, hops: int, limit: int, documents: Documents = None) -> Subgraph:
        walk = between(first, second, hops, limit, documents)
        return self._with_entities(walked(walk, lambda wanted: self._fetch(wanted, documents)))

    def entities(self, text: str, limit: int) -> list[Entity]:
        wanted = query_key(text)
        first = wanted.split(" ")[0]
        found = [
            (like, -self._entities[item].mentions, item)
            for item, names in self._names.items()
            if first in names and (like := likeness(self.graph.nodes[item]["names"], wanted)) is not None
        ]
        return [self._entities[item] for *_, item in sorted(found)[:limit]]

    def relation_by_id(self, item: str) -> Relation | None:
        return self._relations.get(item)

    def relation(self, subject: str, relation: str, target: str) -> Relation | None:
        """What a row of a match stands for."""
        edge = self.graph.get_edge_data(subject, target, relation)
        return self._relations[edge["id"]] if edge else None

    def entities_by_id(self, ids: Sequence[str]) -> dict[str, Entity]:
        return {item: self._entities[item] for item in ids if item in self._entities}

    def _with_entities(self, found: Subgraph) -> Subgraph:
        return found.with_entities(self.entities_by_id(found.ends))

    def _fetch(self, wanted: Wanted, documents: Documents) -> list[Relation]:
        without = frozenset(wanted.without)
        allowed = None if documents is None else frozenset(documents)
        ids = {
            key
            for item in wanted.ends
            for key in self._at.get(item, ())
            if self._relations[key].subject not in without and self._relations[key].object not in without
        }
        ranked = sorted((-stating(self._relations[key], allowed), key) for key in ids)
        found = [self._relations[key] for count, key in ranked if count]
        return found[: wanted.limit] if wanted.limit else found
