"""What a store of the graph answers, and how it fails."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from core.errors import QuaereError
from core.graph import Entity
from graph.patterns.found import Matched
from graph.patterns.pattern import Pattern
from graph.stores.traversal import Subgraph

Documents = Collection[str] | None
"""Ids: only relations that one of them states count. None is any document."""


class GraphStore(Protocol):
    """One version of the graph. Synchronous and thread-safe; every store gives the same, in the same order.

    Raises StoreError where the store can't answer; the one in this process always can.
    """

    def check(self) -> None:
        """Whether it would answer now."""

    def match(self, pattern: Pattern, limit: int, documents: Documents = None) -> Matched:
        """What fits the pattern: at most `limit` relations and answers. Raises TooBroad too."""

    def neighbourhood(self, entity_ids: Sequence[str], hops: int, limit: int, documents: Documents = None) -> Subgraph:
        """Relations up to `hops` steps away from one of these, the nearest first. Unknown ids have none."""

    def paths(self, first: str, second: str, hops: int, limit: int, documents: Documents = None) -> Subgraph:
        """Rows of at most `hops` relations from one to the other, the shortest first, that pass no entity twice."""

    def entities(self, text: str, limit: int) -> list[Entity]:
        """Those with a name like it, the likest first, then those that more triples name."""

    def entities_by_id(self, ids: Sequence[str]) -> dict[str, Entity]:
        """Ids that are not there are left out."""


class StoreError(QuaereError):
    """A graph database did not answer one query; another store may. The message says why, and names no password."""

    code, status, retryable = "graph_store_error", 502, True


class StoreUnavailable(StoreError):
    """No query can be answered now: the server is down, silent, not the one we know, or refuses us."""

    code, status = "graph_store_unavailable", 503


class StoreOutdated(StoreError):
    """The server holds another version of the graph, or one that is being loaded."""

    code, status = "graph_store_outdated", 409
