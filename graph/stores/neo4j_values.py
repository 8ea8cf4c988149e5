"""What Neo4j returns, as values that JSON has."""

from __future__ import annotations

import math
from typing import Any

from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time


def plain(value: Any) -> Any:
    """Dates, times and durations as ISO 8601 text, points as {srid, coordinates}, bytes as hex; nodes and relationships
    as their properties, with `labels` or `type`; a path as its nodes and relationships in turn; None for
    what is no finite number."""
    if isinstance(value, Date | DateTime | Time | Duration):
        return value.iso_format()
    if isinstance(value, Point):
        return {"srid": value.srid, "coordinates": list(value)}
    if isinstance(value, Node):
        return {"labels": sorted(value.labels), "properties": plain(dict(value))}
    if isinstance(value, Relationship):
        return {"type": value.type, "properties": plain(dict(value))}
    if isinstance(value, Path):
        turns = [step for pair in zip(value.nodes, value.relationships, strict=False) for step in pair]
        return [plain(step) for step in (*turns, value.nodes[-1])]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.hex() if isinstance(value, bytes | bytearray) else value
