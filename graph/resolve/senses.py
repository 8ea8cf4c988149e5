"""One name in several documents: when it is one thing.

The rule: a *distinctive* name (with a digit or inner capitals, an acronym of three letters or more, several words, or
a word in small letters) is one thing wherever it stands, unless its types clash. A *person* is the same only where
both documents relate the name to a common other name (a place of work, a co-author). A *plain* proper name ('Mercury',
'Adam') is one thing unless types clash or the sentences round it disagree; a *brief* one ('M1', 'LA') only where they
agree. Where documents make a name short for different longer names, what stands alone elsewhere is brief too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from graph.resolve import contained
from graph.resolve.clusters import Clusters, Link
from graph.resolve.corpus import Corpus, Mention
from graph.resolve.form import Form, form
from graph.resolve.groups import Groups, how
from graph.resolve.kinds import PERSON, family

Need = Literal["nothing", "no disagreement", "agreement", "acquaintance"]
_ENOUGH = 4  # words of a context that can disagree
_SHARE = 0.1  # of the smaller context that two of one thing have in common


class Senses:
    def __init__(self, mentions: Sequence[Mention], clusters: Clusters, groups: Groups, corpus: Corpus) -> None:
        self.mentions = mentions
        self.clusters = clusters
        self.groups = groups
        self.corpus = corpus
        self._long: dict[tuple[str, str], set[str]] = defaultdict(set)
        for document, found in corpus.definitions:
            short, whole = form(found.short).key, form(found.long).key
            self._long[document, groups.of_key(short)].add(groups.of_key(whole))

    def join_all(self) -> None:
        """Longer names first, so that short ones follow those that they stand for."""

        def rank(group: tuple[str, list[int]]) -> tuple[bool, int, str]:
            key, members = group
            return any(at in self.clusters.lesser for at in members), -len(form(self._name(members[0])).words), key

        for _, members in sorted(self.groups.all(), key=rank):
            self._join(members)

    def join_heads(self) -> None:
        """'ImageNet' here and 'ImageNet dataset' there."""
        bare: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at, mention in enumerate(self.mentions):
            if not form(mention.name).heads:
                bare[form(mention.name).content].append(at)
        for at, mention in enumerate(self.mentions):
            headed = form(mention.name)
            for other in bare.get(headed.content, ()) if headed.heads else ():
                why = contained.by_head(form(self._name(other)), headed, self.mentions[other].type, self.corpus.lower)
                common = contained.is_common(self.clusters.of(other).names, self.corpus.lower)
                if why and not common and self._need(other, at) == "nothing":
                    self.clusters.join(other, at, Link("containment", 0.95, why), lesser=at)
                    break

    def join_initials(self) -> None:
        """'J. Smith' here and 'John Smith' there, where both are related to a common other name."""
        by_last: dict[str, list[int]] = defaultdict(list)
        for at, mention in enumerate(self.mentions):
            if len(form(mention.name).words) > 1:
                by_last[form(mention.name).words[-1]].append(at)
        for near in by_last.values():
            short = [at for at in near if any(len(word) == 1 for word in form(self._name(at)).words)]
            for at in short:
                found = [(other, why) for other in near if (why := self._by_initial(at, other))]
                if len({self.clusters.root(other) for other, _ in found}) == 1:
                    self.clusters.join(found[0][0], at, Link("containment", 0.9, found[0][1]), lesser=at)

    def _by_initial(self, short: int, long: int) -> str:
        if self.clusters.root(short) == self.clusters.root(long) or not self._acquainted(short, long):
            return ""
        types = self.mentions[short].type, self.mentions[long].type
        return contained.by_initial(form(self._name(short)), form(self._name(long)), *types)

    def partners(self, ones: Sequence[int], others: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs of mentions of two names that may be one thing: those of one document, those that know each other,
        and, where each name is of one thing only and needs no evidence, any."""
        left = {self.clusters.root(at): at for at in reversed(ones)}
        right = {self.clusters.root(at): at for at in reversed(others)}
        found = [(a, b) for a in left.values() for b in right.values() if self._acquainted(a, b)]
        if not found and len(left) == len(right) == 1:
            a, b = next(iter(left.values())), next(iter(right.values()))
            if self._enough(a, b, self._need(a, b)):
                found.append((a, b))
        return sorted(found)

    def _join(self, members: Sequence[int]) -> None:
        attached = [at for at in members if self._is_attached(at)]
        heads: list[int] = []
        for at in sorted(attached, key=self._order):
            self._place(at, heads, several=False)
        several = len({self.clusters.root(at) for at in attached}) > 1
        for at in sorted(set(members) - set(attached), key=self._order):
            self._place(at, heads, several=several)

    def _order(self, at: int) -> tuple[bool, str, str]:
        mention = self.mentions[at]
        return not family(mention.type), mention.document_id, mention.name

    def _place(self, at: int, heads: list[int], several: bool) -> None:
        """Join with each sense so far that it is shown to be of, or with the first that needs no showing."""
        placed = False
        for head in heads:
            need = self._need(at, head)
            if several and need in ("nothing", "no disagreement"):
                need = "agreement"
            if placed and need in ("nothing", "no disagreement"):
                continue
            if self._enough(at, head, need):
                link = Link("same", 1, how(self._name(head), self._name(at)))
                placed = self.clusters.join(head, at, link) or placed
        if not placed:
            heads.append(at)

    def _need(self, one: int, two: int) -> Need:
        """What has to be shown before two mentions in different documents are one."""
        families = {family(self.mentions[one].type), family(self.mentions[two].type)}
        if PERSON in families:
            return "acquaintance"
        needs = {_need_of(form(self._name(at))) for at in (one, two)}
        if "agreement" in needs:
            return "agreement"
        if "no disagreement" in needs:
            return "nothing" if families == {"artefact"} or families == {"organisation"} else "no disagreement"
        return "nothing"

    def _enough(self, one: int, two: int, need: Need) -> bool:
        if self.mentions[one].document_id == self.mentions[two].document_id:
            return True
        first, second = self._defined(one), self._defined(two)
        if first and second:
            return not first.isdisjoint(second)
        if need == "nothing":
            return True
        if self._acquainted(one, two):
            return True
        if need == "acquaintance":
            return False
        left, right = self.clusters.of(one).words, self.clusters.of(two).words
        shared, least = len(left & right), min(len(left), len(right))
        if need == "agreement":
            return shared >= max(2, _SHARE * least)
        return least < _ENOUGH or shared >= max(1, _SHARE * least)

    def _acquainted(self, one: int, two: int) -> bool:
        """Of one document, or related to a common other name."""
        first, second = self.clusters.of(one), self.clusters.of(two)
        if not first.documents.isdisjoint(second.documents):
            return True
        return not first.neighbours.isdisjoint(second.neighbours)

    def _is_attached(self, at: int) -> bool:
        own = self.groups.of(self._name(at))
        return any(self.groups.of(name) != own for name in self.clusters.of(at).names)

    def _defined(self, at: int) -> set[str]:
        mention = self.mentions[at]
        return self._long.get((mention.document_id, self.groups.of(mention.name)), set())

    def _name(self, at: int) -> str:
        return self.mentions[at].name


def _need_of(one: Form) -> Need:
    if one.is_distinctive:
        return "nothing"
    return "agreement" if one.is_brief else "no disagreement"
