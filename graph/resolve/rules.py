"""What people decided of names, and whether it can all be had at once."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import InvalidInput
from core.graph import MergeRule


class Rules:
    """Names are surfaces (graph.resolve.fold.surface). Forced pairs chain: A is B and B is C make A C."""

    def __init__(self, rules: Sequence[MergeRule]) -> None:
        self._forced = [(rule.first, rule.second) for rule in rules if rule.kind == "force"]
        self.forbidden = frozenset(frozenset((rule.first, rule.second)) for rule in rules if rule.kind == "forbid")
        self.forced = frozenset(frozenset(pair) for pair in self._forced)
        self._group: dict[str, str] = {}
        for first, second in sorted(self._forced):
            self._join(first, second)

    def __bool__(self) -> bool:
        return bool(self.forced or self.forbidden)

    def group(self, name: str) -> str:
        """One of the names that it was made one with, the same for all of them; itself where there is no rule."""
        while self._group.get(name, name) != name:
            name = self._group[name]
        return name

    def names(self) -> set[str]:
        """That a rule makes one with another."""
        return {name for pair in self._forced for name in pair}

    def apart(self, first: str, second: str) -> bool:
        """Whether a rule forbids this pair, in so many words."""
        return frozenset((first, second)) in self.forbidden

    def check(self) -> None:
        """Raises InvalidInput where two names are made one, be it by way of others, and forbidden."""
        for pair in sorted(self.forbidden, key=sorted):
            first, second = min(pair), max(pair)
            if self.group(first) == self.group(second) and (first != second or pair in self.forced):
                path = " = ".join(self._path(first, second))
                raise InvalidInput(
                    f"rules contradict each other: {first!r} and {second!r} are kept apart, and made one by {path}",
                    hint="forget one of these rules first: `quaere graph forget`",
                )

    def _join(self, first: str, second: str) -> None:
        one, two = sorted((self.group(first), self.group(second)))
        self._group[two] = one

    def _path(self, first: str, second: str) -> list[str]:
        """Names from the first to the second, each made one with the next."""
        paths, seen = [[first]], {first}
        while paths and paths[0][-1] != second:
            path = paths.pop(0)
            for pair in sorted(self._forced):
                if path[-1] in pair:
                    step = pair[1] if pair[0] == path[-1] else pair[0]
                    if step not in seen:
                        seen.add(step)
                        paths.append([*path, step])
        return paths[0]
