"""From names in documents to entities: a pure function of what is given, in whatever order it is given.

Cheapest first: what a person forced; in each document the same name, acronyms that its text defines, and names that
are part of a longer one; then the same name in several documents (graph.resolve.senses says when); then names that
are written alike; then what a language model said. Each step only joins clusters that no guard keeps apart.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from core.graph import Entity, MergeRule
from core.ledger.entities import Owner, Verdict
from graph.resolve.clusters import Clusters, Link
from graph.resolve.corpus import Corpus, Mention, lower_words
from graph.resolve.document import link_in_document
from graph.resolve.fold import surface
from graph.resolve.form import form
from graph.resolve.groups import Groups
from graph.resolve.rules import Rules
from graph.resolve.senses import Senses
from graph.resolve.similar import SURE, alike, why_same

VERSION = "1"  # of what is decided here: another one resolves every library anew
_NAMESPACE = uuid.UUID("5f0c6f3e-6a0b-5d0a-9c0b-8f1f4f1c7d52")


@dataclass(frozen=True)
class Undecided:
    """Two names that are alike, but not enough."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class Resolved:
    """Entities by id, owners by name and document; `undecided`, the likest first, is what a model may be asked."""

    entities: tuple[Entity, ...]
    owners: tuple[Owner, ...]
    undecided: tuple[Undecided, ...] = ()


def resolve(
    corpus: Corpus, rules: Sequence[MergeRule] = (), verdicts: Iterable[Verdict] = (), pairs: int = 0
) -> Resolved:
    """`pairs`: of the likest so many undecided pairs the verdicts count."""
    mentions = sorted(corpus.mentions, key=lambda mention: (mention.name, mention.document_id))
    corpus = replace(corpus, lower=corpus.lower | lower_words(mention.name for mention in mentions))
    work = _Work(mentions, corpus, Rules(rules))
    work.force()
    work.inside_documents()
    work.across_documents()
    undecided = work.by_likeness()
    work.by_verdict(undecided[:pairs], verdicts)
    return Resolved(*work.outcome(), tuple(undecided))


class _Work:
    def __init__(self, mentions: Sequence[Mention], corpus: Corpus, rules: Rules) -> None:
        self.mentions = mentions
        self.corpus = corpus
        self.rules = rules
        self.clusters = Clusters(mentions, rules)
        self.groups = Groups(mentions, corpus.lower)
        self.senses = Senses(mentions, self.clusters, self.groups, corpus)
        self.by_name: dict[str, list[int]] = defaultdict(list)
        for at, mention in enumerate(mentions):
            self.by_name[mention.name].append(at)

    def force(self) -> None:
        first: dict[str, int] = {}
        names = self.rules.names()
        for at, mention in enumerate(self.mentions):
            name = surface(mention.name)
            if name in names:
                start = first.setdefault(self.rules.group(name), at)
                self.clusters.join(start, at, Link("forced", 1, "a person said that they are the same"))

    def inside_documents(self) -> None:
        documents: dict[str, list[int]] = defaultdict(list)
        for at, mention in enumerate(self.mentions):
            documents[mention.document_id].append(at)
        known = {(form(found.short).key, form(found.long).key) for _, found in self.corpus.definitions}
        own: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for document, found in self.corpus.definitions:
            own[document].add((form(found.short).key, form(found.long).key))
        for document, members in sorted(documents.items()):
            link_in_document(
                self.mentions, members, self.clusters, self.groups, own[document], known, self.corpus.lower
            )

    def across_documents(self) -> None:
        self.senses.join_all()
        self.senses.join_heads()
        self.senses.join_initials()

    def by_likeness(self) -> list[Undecided]:
        """Join what is alike enough; the rest, likest first."""
        forms = {form(mention.name).key: form(mention.name) for mention in reversed(self.mentions)}
        found = [
            Undecided(min(one.name, two.name), max(one.name, two.name), round(score, 3))
            for score, one, two in alike([forms[key] for key in sorted(forms)])
        ]
        rest = []
        for pair in sorted(found, key=lambda pair: (-pair.score, pair.first, pair.second)):
            one, two = form(pair.first), form(pair.second)
            why = why_same(one, two, self.corpus.lower) if pair.score >= SURE else ""
            if not why:
                rest.append(pair)
            else:
                self._join_names(pair.first, pair.second, Link("similarity", pair.score, why))
        return [pair for pair in rest if self._open(pair)]

    def by_verdict(self, asked: Sequence[Undecided], verdicts: Iterable[Verdict]) -> None:
        said = {frozenset((verdict.first, verdict.second)): verdict for verdict in verdicts if verdict.same}
        for pair in asked:
            verdict = said.get(frozenset((pair.first, pair.second)))
            if verdict is not None:
                reason = f"{verdict.model} said so: {verdict.reason}" if verdict.reason else f"{verdict.model} said so"
                self._join_names(pair.first, pair.second, Link("llm", pair.score, reason))

    def _join_names(self, one: str, two: str, link: Link) -> None:
        for left, right in self.senses.partners(self._alike(one), self._alike(two)):
            self.clusters.join(left, right, link)

    def _alike(self, name: str) -> list[int]:
        return self.groups.members(name)

    def _open(self, pair: Undecided) -> bool:
        """Whether a model's word could still join them."""
        return any(
            self.clusters.root(left) != self.clusters.root(right) and not self.clusters.why_not(left, right)
            for left, right in self.senses.partners(self._alike(pair.first), self._alike(pair.second))
        )

    # what came of it

    def outcome(self) -> tuple[tuple[Entity, ...], tuple[Owner, ...]]:
        named = [(self._head(members), members) for members in self.clusters.all()]
        bearers = Counter(surface(self.mentions[head].name) for head, _ in named)
        spread: dict[str, set[int]] = defaultdict(set)
        for number, (_, members) in enumerate(named):
            for at in members:
                spread[form(self.mentions[at].name).key].add(number)
        entities: list[Entity] = []
        owners: list[Owner] = []
        for head, members in named:
            entity = self._entity(head, members, bearers[surface(self.mentions[head].name)] > 1)
            entities.append(entity)
            owners += self._owners(head, members, entity.id, spread)
        return tuple(sorted(entities, key=lambda e: e.id)), tuple(sorted(owners))

    def _head(self, members: Sequence[int]) -> int:
        """The mention by whose name the entity is called: of those that are nobody's short form the most used."""
        able = [at for at in members if at not in self.clusters.lesser] or list(members)
        counts: Counter[str] = Counter()
        documents: Counter[str] = Counter()
        for at in able:
            counts[self.mentions[at].name] += self.mentions[at].count
            documents[self.mentions[at].name] += 1

        def rank(at: int) -> tuple[int, int, str, str]:
            name = self.mentions[at].name
            return -documents[name], -counts[name], name, self.mentions[at].document_id

        return min(able, key=rank)

    def _entity(self, head: int, members: Sequence[int], shared: bool) -> Entity:
        name = self.mentions[head].name
        own = min(self.mentions[at].document_id for at in members if surface(self.mentions[at].name) == surface(name))
        types = Counter(self.mentions[at].type for at in members if self.mentions[at].type)
        seed = f"{surface(name)}\n{own}" if shared else surface(name)
        return Entity(
            id=str(uuid.uuid5(_NAMESPACE, seed)),
            name=name,
            type=min(types, key=lambda kind: (-types[kind], kind)) if types else "",
            aliases=tuple(sorted({self.mentions[at].name for at in members} - {name})),
            documents=tuple(sorted({self.mentions[at].document_id for at in members})),
            mentions=sum(self.mentions[at].count for at in members),
        )

    def _owners(self, head: int, members: Sequence[int], entity: str, spread: dict[str, set[int]]) -> Iterable[Owner]:
        ways = self.clusters.ways(head)
        for at in members:
            mention = self.mentions[at]
            step = at
            while step in ways and self.mentions[ways[step][0]].name == mention.name:
                step = ways[step][0]
            others = len(spread[form(mention.name).key]) - 1
            if step in ways and self.mentions[head].name != mention.name:
                into, link = self.mentions[ways[step][0]].name, ways[step][1]
            elif at in ways and ways[at][1].tier == "forced":
                into, link = mention.name, ways[at][1]
            else:
                said = f"kept apart from {others} of that name: nothing joins them" if others else "its own name"
                into, link = mention.name, Link("same", 1, said)
            yield Owner(mention.name, mention.document_id, entity, into, link.tier, link.score, link.reason)
