"""Names that are one, as sets that never hold two names which may not be."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from core.graph import Tier
from graph.resolve.compare import forbidden
from graph.resolve.corpus import Mention
from graph.resolve.fold import surface
from graph.resolve.kinds import clash, family
from graph.resolve.rules import Rules


class Link(NamedTuple):
    """Why two names are one; `score` is 0 to 1, 1 is surest."""

    tier: Tier
    score: float
    reason: str


@dataclass
class _Cluster:
    members: list[int]
    names: set[str]
    families: set[str]
    documents: set[str]
    neighbours: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


class Clusters:
    """Union-find over mentions. Before two clusters become one, each name of the one is held against each of the
    other: that A is B and B is C never makes A C where the guards forbid it."""

    def __init__(self, mentions: Sequence[Mention], rules: Rules) -> None:
        self._mentions = mentions
        self._rules = rules
        self._parent = list(range(len(mentions)))
        self._clusters = {at: _of(mention) for at, mention in enumerate(mentions)}
        for at, cluster in self._clusters.items():
            cluster.members.append(at)
        self._links: dict[int, list[tuple[int, Link]]] = {}
        self.lesser: set[int] = set()
        """Mentions by whose name no entity is called, where it has another: 'M1' of MiniMax-M1."""

    def root(self, at: int) -> int:
        while self._parent[at] != at:
            self._parent[at] = self._parent[self._parent[at]]
            at = self._parent[at]
        return at

    def of(self, at: int) -> _Cluster:
        return self._clusters[self.root(at)]

    def all(self) -> list[list[int]]:
        """Members in ascending order, clusters by their first."""
        return sorted(sorted(cluster.members) for cluster in self._clusters.values())

    def why_not(self, one: int, two: int) -> str:
        """What forbids that the clusters of two mentions become one; '' for nothing."""
        first, second = self.of(one), self.of(two)
        if any(clash(left, right) for left in first.families for right in second.families):
            return "their types differ"
        for left in sorted(first.names):
            for right in sorted(second.names):
                if reason := self._forbidden(left, right, first.documents | second.documents):
                    return reason
        return ""

    def _forbidden(self, one: str, two: str, documents: set[str]) -> str:
        left, right = surface(one), surface(two)
        if self._rules.apart(left, right) and (left != right or len(documents) > 1):
            return "a person said that they are not the same"
        if self._rules.group(left) == self._rules.group(right) and left in self._rules.names():
            return ""
        return forbidden(one, two)

    def join(self, one: int, two: int, link: Link, lesser: int | None = None) -> bool:
        """Whether the two are in one cluster now. A forced link asks no guard."""
        left, right = sorted((self.root(one), self.root(two)))
        if left != right:
            if link.tier != "forced" and self.why_not(left, right):
                return False
            self._parent[right] = left
            first, second = self._clusters[left], self._clusters.pop(right)
            first.members += second.members
            for name in ("names", "families", "documents", "neighbours", "words"):
                getattr(first, name).update(getattr(second, name))
            self._links.setdefault(one, []).append((two, link))
            self._links.setdefault(two, []).append((one, link))
        if lesser is not None:
            self.lesser.add(lesser)
        return True

    def ways(self, start: int) -> dict[int, tuple[int, Link]]:
        """By mention of the cluster of `start`: the next one on the way to it, and what links the two."""
        found: dict[int, tuple[int, Link]] = {}
        queue = deque([start])
        while queue:
            at = queue.popleft()
            for other, link in self._links.get(at, ()):
                if other != start and other not in found:
                    found[other] = at, link
                    queue.append(other)
        return found


def _of(mention: Mention) -> _Cluster:
    kind = family(mention.type)
    return _Cluster(
        [],
        {mention.name},
        {kind} if kind else set(),
        {mention.document_id},
        set(mention.neighbours),
        set(mention.words),
    )
