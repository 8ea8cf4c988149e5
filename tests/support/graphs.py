"""Made-up graphs for tests, from made-up triples."""

from __future__ import annotations

import random

from core.graph import GraphData
from core.ledger.graph import GraphRows, Named, Said
from graph.projection import project

HOSTILE = (
    'it\'s "quoted" and `ticked`',
    "}) DETACH DELETE n //",
    "{braces} $parameter",
    "床前明月光",
    "🦜 emoji 🏴‍☠️",
    "back\\slash\nline",
    "Ｗｉｄｅ",
    "x" * 10_000,
    "null",
    " blanks ",
)


def said(subject: str, relation: str, target: str, document: str = "d1", **changes: object) -> Said:
    values = {"wording": relation.lower().replace("_", " "), "confidence": 1.0, "is_citation": False} | changes
    key = f"{document}|{subject}|{relation}|{values['wording']}|{target}"
    return Said(key, document, subject, "Thing", relation, str(values["wording"]), target, "", *_rest(values))


def _rest(values: dict[str, object]) -> tuple[float, bool]:
    return float(str(values["confidence"])), bool(values["is_citation"])


def graph_of(*stated: Said) -> GraphData:
    return project(GraphRows("", stated, {}, {}))


def resolved(stated: list[Said], owners: dict[tuple[str, str], str], entities: dict[str, Named]) -> GraphData:
    return project(GraphRows("", stated, owners, entities))


def random_graph(entities: int, relations: int, seed: int = 0, documents: int = 20) -> GraphData:
    """That many of each, or nearly: names may be left out by chance. With self-loops, parallel edges, hostile names."""
    chance = random.Random(seed)
    names = [f"Entity {n}" for n in range(entities)]
    names[: len(HOSTILE)] = HOSTILE[: len(names)]
    found: dict[str, Said] = {}
    while len(found) < relations:
        one, other = chance.choice(names), chance.choice(names)
        document = f"d{chance.randrange(documents)}"
        stated = said(one, f"RELATION_{chance.randrange(12)}", other, document, confidence=chance.random())
        found[stated.id] = stated
    return graph_of(*found.values())
