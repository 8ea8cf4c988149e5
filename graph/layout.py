"""Where nodes are drawn: each connected part by a force-directed layout of its own, the parts side by side."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.float32]
Rectangle = tuple[float, float, float, float]  # left, top, width, height
ROUNDS = 80
_FEW = ((0.15, 0.75), (0.7, 0.3), (0.2, 0.1))
_NEAREST = np.float32(1e-4)  # squared distance below which two nodes push no harder


def positions(nodes: int, edges: NDArray[np.int64]) -> Positions:
    """(nodes, 2) float32 between 0 and 1, the same each time, for `edges` (n, 2) of indices below `nodes`.

    Costs about 0.3 s for 1,000 nodes; NetworkX's own takes 4 s where there is no SciPy.
    """
    graph = nx.empty_graph(nodes)
    graph.add_edges_from(map(tuple, edges.tolist()))
    parts = sorted((sorted(part) for part in nx.connected_components(graph)), key=lambda part: (-len(part), part[0]))
    place = np.empty((nodes, 2), dtype=np.float32)
    for part, (left, top, width, height) in zip(parts, _rooms(parts, (0, 0, 1, 1)), strict=True):
        at = {node: number for number, node in enumerate(part)}
        ends = np.array([(at[a], at[b]) for a, b in graph.edges(part) if a != b], dtype=np.int64).reshape(-1, 2)
        place[part] = (left, top) + (0.06 + 0.88 * _forced(len(part), ends)) * (width, height)
    return place


def _rooms(parts: Sequence[Sequence[int]], room: Rectangle) -> list[Rectangle]:
    """A rectangle for each part, of an area like its size: the room is cut in two along its longer side, and so on."""
    if len(parts) <= 1:
        return [room] * len(parts)
    sizes = np.cumsum([len(part) + 1 for part in parts])
    middle = 1 + int(np.abs(sizes[:-1] - sizes[-1] / 2).argmin())
    share = float(sizes[middle - 1] / sizes[-1])
    left, top, width, height = room
    if width >= height:
        halves = (left, top, width * share, height), (left + width * share, top, width * (1 - share), height)
    else:
        halves = (left, top, width, height * share), (left, top + height * share, width, height * (1 - share))
    return _rooms(parts[:middle], halves[0]) + _rooms(parts[middle:], halves[1])


def _forced(nodes: int, ends: NDArray[np.int64]) -> Positions:
    """(nodes, 2) between 0 and 1. Fruchterman & Reingold 1991, with matrix products for what pushes apart."""
    if nodes <= 3:  # a library has many such parts, and there is nothing to find out
        return np.array(_FEW[:nodes] if nodes > 1 else ((0.5, 0.5),), dtype=np.float32)
    place = np.random.default_rng(7).random((nodes, 2), dtype=np.float32)
    spring = np.float32(np.sqrt(1.0 / nodes))
    room = np.empty((nodes, nodes), dtype=np.float32)
    for heat in np.linspace(0.12, 0.002, ROUNDS, dtype=np.float32):
        push = _apart(place, spring, room) - _together(place, ends, spring)
        length = np.maximum(np.linalg.norm(push, axis=1, keepdims=True), 1e-6)
        place += push / length * np.minimum(length, heat)
    low, size = place.min(axis=0), np.maximum(np.ptp(place, axis=0), 1e-6)
    return np.asarray((place - low) / size, dtype=np.float32)


def _apart(place: Positions, spring: np.float32, room: Positions) -> Positions:
    """For each node the sum of (its place - another's) · spring² / distance², (n, 2). `room` (n, n) is written over."""
    middle = place - place.mean(axis=0)
    square, one = (middle * middle).sum(axis=1), np.ones(len(place), dtype=np.float32)
    np.matmul(np.column_stack((-2 * middle, square, one)), np.vstack((middle.T, one, square)), out=room)
    np.maximum(room, _NEAREST, out=room)
    np.divide(spring * spring, room, out=room)
    np.fill_diagonal(room, 0)
    return np.asarray(place * room.sum(axis=1)[:, None] - room @ place, dtype=np.float32)


def _together(place: Positions, ends: NDArray[np.int64], spring: np.float32) -> Positions:
    """For each node the sum of (its place - a neighbour's) · distance / spring, (n, 2)."""
    apart = place[ends[:, 0]] - place[ends[:, 1]]
    pull = apart * np.linalg.norm(apart, axis=1, keepdims=True) / spring
    total = np.zeros_like(place)
    np.add.at(total, ends[:, 0], pull)
    np.add.at(total, ends[:, 1], -pull)
    return total
