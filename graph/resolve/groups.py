"""Names that are one and the same but for their form: tier 0."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set

from graph.resolve.corpus import Mention
from graph.resolve.fold import singulars
from graph.resolve.form import Form, form
from graph.resolve.kinds import family


class Groups:
    """Names of one key (case, hyphens, blanks, full width, traditional Chinese), and plurals with their singular.

    A proper name has no plural: 'Adams' is not 'Adam' unless both are known to be models or the like, or their texts
    write the word small.
    """

    def __init__(self, mentions: Sequence[Mention], lower: Set[str]) -> None:
        self._lower = lower
        families: dict[str, set[str]] = defaultdict(set)
        forms: dict[str, list[Form]] = defaultdict(list)
        for mention in mentions:
            found = form(mention.name)
            families[found.key].add(family(mention.type))
            forms[found.key].append(found)
        self._parent = {key: key for key in forms}
        for key in sorted(forms):
            for one in forms[key]:
                for singular in sorted(one.singular_keys & forms.keys()):
                    if self._is_noun(one, families[key] | families[singular]):
                        self._join(key, singular)
        self._members: dict[str, list[int]] = defaultdict(list)
        for at, mention in enumerate(mentions):
            self._members[self.of(mention.name)].append(at)

    def of(self, name: str) -> str:
        """The key of its group, which two names share that differ in form alone."""
        return self.of_key(form(name).key)

    def of_key(self, key: str) -> str:
        while self._parent.get(key, key) != key:
            key = self._parent[key]
        return key

    def members(self, name: str) -> list[int]:
        """Places of the mentions of its group, ascending."""
        return self._members[self.of(name)]

    def all(self) -> list[tuple[str, list[int]]]:
        return sorted(self._members.items())

    def _is_noun(self, plural: Form, families: Set[str]) -> bool:
        if not plural.is_plain or plural.is_acronym:
            return True
        last = plural.tokens[-1]
        return families == {"artefact"} or not self._lower.isdisjoint((last, *singulars(last)))

    def _join(self, one: str, two: str) -> None:
        left, right = sorted((self.of_key(one), self.of_key(two)))
        self._parent[right] = left


def how(one: str, two: str) -> str:
    """How two names of one group differ."""
    first, second = form(one), form(two)
    if first.key != second.key:
        return "the one is the plural of the other"
    if first.surface.casefold() == second.surface.casefold():
        return "they differ in capitals"
    return "they differ in hyphens, blanks or the form of letters"
