"""A part of the graph that can be drawn: which entities, and where each stands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from core.graph import EdgeView, Entity, GraphData, GraphView, NodeView, Relation
from graph.layout import positions

MAX_NODES = 1000


def view_of(
    data: GraphData,
    around: Sequence[Entity] = (),
    *,
    hops: int = 1,
    limit: int = 300,
    documents: Collection[str] | None = None,
) -> GraphView:
    """What is `hops` relations or less away from one of `around`, the nearest first, or without these what has the
    most relations; at most `limit` entities. Only relations that one of `documents` states count; None is any document.

    1,000 entities take about half a second.
    """
    relations = [
        relation
        for relation in data.relations
        if documents is None or not set(relation.documents).isdisjoint(documents)
    ]
    degrees = Counter(end for relation in relations for end in {relation.subject, relation.object})
    named = [item for item in data.entities if item.id in degrees]
    limit = min(limit, MAX_NODES)
    if around:
        chosen = _around([item.id for item in around], relations, degrees, hops, limit)
        away = f"up to {hops} relation{'s' * (hops != 1)} away from {around[0].name}"
        shown = f"{len(chosen)} entit{'y' if len(chosen) == 1 else 'ies'} {away}"
    else:
        chosen = [item.id for item in sorted(named, key=lambda item: (-degrees[item.id], item.name, item.id))][:limit]
        whole = len(chosen) == len(named)
        shown = f"all {len(named)} entities" if whole else f"the {len(chosen)} of {len(named)} with the most relations"
    by_id = {item.id: item for item in data.entities}
    return _drawn([by_id[item] for item in chosen], relations, degrees, (len(named), len(relations)), shown)


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
