"""What one document's text says of its own names: the same name, its acronyms, and short forms of longer names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence, Set

from graph.resolve import contained
from graph.resolve.clusters import Clusters, Link
from graph.resolve.corpus import Mention
from graph.resolve.form import form
from graph.resolve.groups import Groups, how
from graph.resolve.kinds import family

Defined = Set[tuple[str, str]]


def link_in_document(
    mentions: Sequence[Mention],
    members: Sequence[int],
    clusters: Clusters,
    groups: Groups,
    own: Defined,
    known: Defined,
    lower: Set[str],
) -> None:
    """`own`: (short, long) keys that this document's text defines, `known`: those that any does."""
    work = _Document(mentions, members, clusters, groups)
    work.same()
    work.defined(own)
    work.defined(known)
    work.letters()
    work.heads(lower)
    work.parts()


class _Document:
    def __init__(self, mentions: Sequence[Mention], members: Sequence[int], clusters: Clusters, groups: Groups) -> None:
        self.mentions = mentions
        self.members = members
        self.clusters = clusters
        self.groups = groups
        self.forms = {at: form(mentions[at].name) for at in members}
        self.by_group: dict[str, list[int]] = defaultdict(list)
        self.by_last: dict[str, list[int]] = defaultdict(list)
        # Keys of names that may be of a maker, as OpenAI in 'OpenAI GPT-4'.
        self.owners = {
            form(mentions[at].name).key
            for at in members
            if family(mentions[at].type) in ("", "organisation") and mentions[at].name[:1].isupper()
        }
        for at in members:
            self.by_group[groups.of(mentions[at].name)].append(at)
            if len(self.forms[at].tokens) > 1:
                self.by_last[self.forms[at].tokens[-1]].append(at)

    def same(self) -> None:
        for _, group in sorted(self.by_group.items()):
            for at in group[1:]:
                reason = how(self.mentions[group[0]].name, self.mentions[at].name)
                if not self.clusters.join(group[0], at, Link("same", 1, reason)):
                    for other in group[1 : group.index(at)]:
                        if self.clusters.join(other, at, Link("same", 1, how(self._name(other), self._name(at)))):
                            break

    def defined(self, definitions: Defined) -> None:
        """A short form that is defined twice differently says nothing."""
        long: dict[str, set[str]] = defaultdict(set)
        for short, whole in definitions:
            long[self.groups.of_key(short)].add(self.groups.of_key(whole))
        for short, wholes in sorted(long.items()):
            targets = [at for whole in sorted(wholes) for at in self.by_group.get(whole, ())]
            roots = {self.clusters.root(at) for at in targets}
            if len(roots) == 1:
                for at in self.by_group.get(short, ()):
                    reason = f"the text defines {self._name(at)} as {self._name(targets[0])}"
                    self.clusters.join(at, targets[0], Link("same", 1, reason))

    def letters(self) -> None:
        by_letters: dict[str, list[int]] = defaultdict(list)
        for at in self.members:
            for letters in self.forms[at].letters:
                by_letters[letters].append(at)
        for at in self.members:
            letters = contained.acronym_letters(self.forms[at])
            if letters in by_letters and len(self.clusters.of(at).names) <= len(self._group(at)):
                self._link(at, by_letters[letters], self._by_letters, 0.9, "same", lesser=False)

    def heads(self, lower: Set[str]) -> None:
        bare: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at in self.members:
            if not self.forms[at].heads:
                bare[self.forms[at].content].append(at)
        for at in self.members:
            for other in bare.get(self.forms[at].content, ()) if self.forms[at].heads else ():
                why = contained.by_head(self.forms[other], self.forms[at], self.mentions[other].type, lower)
                common = contained.is_common(self.clusters.of(other).names, lower)
                if why and not common and self.clusters.join(other, at, Link("containment", 0.95, why), lesser=at):
                    break

    def parts(self) -> None:
        """Short forms of a longer name, where one thing alone of this document has such a name."""
        for at in self.members:
            shorter = self.forms[at]
            if shorter.may_be_short:
                last = shorter.content[-1] if shorter.content else shorter.tokens[-1]
                near = sorted({*self.by_last[shorter.tokens[-1]], *self.by_last[last]})
                self._link(at, near, self._by_part, 0.9, "containment", lesser=True)

    def _by_letters(self, short: int, long: int) -> str:
        return contained.by_letters(self.forms[short], self.forms[long])

    def _by_part(self, short: int, long: int) -> str:
        one, two = self.forms[short], self.forms[long]
        types = self.mentions[short].type, self.mentions[long].type
        return (
            contained.by_code(one, two)
            or contained.by_owner(one, two, self.owners)
            or contained.by_surname(one, two, *types)
            or contained.by_initial(one, two, *types)
        )

    def _link(
        self,
        at: int,
        near: Sequence[int],
        why: Callable[[int, int], str],
        score: float,
        tier: str,
        lesser: bool,
    ) -> None:
        """Join with what it is the short form of, unless that could be two things."""
        found = [(other, reason) for other in near if other != at and (reason := why(at, other))]
        free = [one for one in found if self.clusters.root(one[0]) != self.clusters.root(at)]
        able = [one for one in free if not self.clusters.why_not(at, one[0])]
        if len({self.clusters.root(other) for other, _ in able}) == 1:
            other, reason = able[0]
            link = Link("same" if tier == "same" else "containment", score, reason)
            self.clusters.join(at, other, link, lesser=at if lesser else None)

    def _group(self, at: int) -> list[int]:
        return self.by_group[self.groups.of(self.mentions[at].name)]

    def _name(self, at: int) -> str:
        return self.mentions[at].name
