"""A part of the graph that can be drawn: which entities, and where each stands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from core.errors import NotFound
from core.graph import EdgeView, Entity, GraphData, GraphView, NodeView, Relation
from graph.layout import positions

MAX_NODES = 1000


def view_of(
    data: GraphData, entity: str = "", *, hops: int = 1, limit: int = 300, documents: Collection[str] | None = None
) -> GraphView:
    """The entities around `entity` (a name, another name, or an id), the nearest first, or those with the most
    relations; at most `limit` of them. Only relations that one of `documents` states count; None is any document.

    Raises NotFound where no entity is called so. 1,000 nodes take about half a second.
    """
    relations = [r for r in data.relations if documents is None or not set(r.documents).isdisjoint(documents)]
    degrees = Counter(end for relation in relations for end in {relation.subject, relation.object})
    named = [item for item in data.entities if item.id in degrees]
    limit = min(limit, MAX_NODES)
    if entity.strip():
        found = named_entities(data.entities, entity)
        if not found:
            raise NotFound(f"no entity is called {entity!r}", hint="see `quaere graph entities` or search for one")
        chosen = _around([item.id for item in found], relations, degrees, hops, limit)
        shown = f"{len(chosen)} entities up to {hops} relation{'s' * (hops != 1)} away from {found[0].name}"
    else:
        chosen = [item.id for item in sorted(named, key=lambda item: (-degrees[item.id], item.name, item.id))][:limit]
        whole = len(chosen) == len(named)
        shown = f"all {len(named)} entities" if whole else f"the {len(chosen)} of {len(named)} with the most relations"
    by_id = {item.id: item for item in data.entities}
    return _drawn([by_id[item] for item in chosen], relations, degrees, (len(named), len(relations)), shown)


def named_entities(entities: Iterable[Entity], name: str) -> list[Entity]:
    """Those with that id, or of that name; else those with it as another name. Homonyms are several."""
    wanted = " ".join(name.split()).casefold()
    found = [item for item in entities if item.id == name.strip() or item.name.casefold() == wanted]
    return found or [item for item in entities if wanted in {other.casefold() for other in item.aliases}]


def likest(entities: Sequence[Entity], query: str, limit: int) -> list[Entity]:
    """Entities with a name like `query`: the same, then those that begin with it, then those that hold it or all of
    its words; within these by how much is said of them. Without a query all, by how much is said."""
    wanted = " ".join(query.split()).casefold()
    ranked = [(rank, item) for item in entities if (rank := _likeness(item, wanted)) is not None]
    ranked.sort(key=lambda pair: (pair[0], -pair[1].mentions, pair[1].name, pair[1].id))
    return [item for _, item in ranked[:limit]]


def _likeness(entity: Entity, wanted: str) -> int | None:
    if not wanted:
        return 0
    names = [name.casefold() for name in (entity.name, *entity.aliases)]
    tests = (
        lambda name: name == wanted,
        lambda name: name.startswith(wanted),
        lambda name: wanted in name,
        lambda name: all(word in name for word in wanted.split()),
    )
    return next((rank for rank, test in enumerate(tests) if any(map(test, names))), None)


def _around(
    starts: Sequence[str], relations: Sequence[Relation], degrees: Mapping[str, int], hops: int, limit: int
) -> list[str]:
    """`starts` and what is near them, nearest first; of equal distance those with the most relations first."""
    near: defaultdict[str, set[str]] = defaultdict(set)
    for relation in relations:
        near[relation.subject].add(relation.object)
        near[relation.object].add(relation.subject)
    chosen = dict.fromkeys(starts)
    edge = list(starts)
    for _ in range(hops):
        edge = sorted({item for start in edge for item in near[start]} - chosen.keys(), key=lambda i: (-degrees[i], i))
        chosen |= dict.fromkeys(edge)
    return list(chosen)[:limit]


def _drawn(
    entities: Sequence[Entity],
    relations: Sequence[Relation],
    degrees: Mapping[str, int],
    counts: tuple[int, int],
    shown: str,
) -> GraphView:
    at = {item.id: number for number, item in enumerate(entities)}
    inside = [relation for relation in relations if relation.subject in at and relation.object in at]
    ends = np.array([(at[relation.subject], at[relation.object]) for relation in inside], dtype=np.int64)
    place = positions(len(entities), ends.reshape(-1, 2))
    nodes = tuple(
        NodeView(id=e.id, name=e.name, type=e.type, x=float(x), y=float(y), degree=degrees.get(e.id, 0))
        for e, (x, y) in zip(entities, place, strict=True)
    )
    edges = tuple(
        EdgeView(source=r.subject, target=r.object, relation=r.relation, documents=len(r.documents)) for r in inside
    )
    return GraphView(nodes=nodes, edges=edges, entities=counts[0], relations=counts[1], shown=shown)
