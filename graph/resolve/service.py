"""Keeps the ledger's entities up to date with its triples, and with what people and models decided of names."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Literal

from rapidfuzz import fuzz, process

from core.errors import InvalidInput, NotFound
from core.graph import Merge, MergeRule
from core.ledger.entities import EntityLedger
from graph.resolve.asking import Asker
from graph.resolve.corpus import Corpus, corpus_of
from graph.resolve.fold import surface
from graph.resolve.resolution import VERSION, Resolved, resolve
from graph.resolve.rules import Rules

_HINT = "see `quaere graph merges` for the names that there are"


class Resolver:
    """Entities are a function of the ledger alone, so that neither the order in which documents came nor a document
    that came and went leaves a mark. Thread-safe; but for `ask` synchronous.

    `pairs`: how many pairs of names, the likest first, a model may be asked of. Without an asker what a model once
    said does not count either.
    """

    def __init__(self, ledger: EntityLedger, asker: Asker | None = None, pairs: int = 0) -> None:
        self._ledger = ledger
        self._asker = asker
        self._pairs = pairs if asker is not None else 0
        self._lock = threading.Lock()

    def sync(self) -> bool:
        """Resolve again where triples, rules or verdicts have changed; whether they had. Unchanged it costs 0.1 s of
        40,000 triples; 5,000 names that stand in these take 6 s of CPU, in a few triples 2 s."""
        with self._lock:
            state = self._state()
            if state == self._ledger.resolved_from():
                return False
            self._store(self.resolved(), state)
            return True

    def resolved(self) -> Resolved:
        """As things are now; nothing is stored."""
        return resolve(self.corpus(), self._ledger.rules(), self._ledger.verdicts(), self._pairs)

    def corpus(self) -> Corpus:
        return corpus_of(self._ledger.said(), self._ledger.texts())

    async def ask(self) -> int:
        """Have the model decide what it has not been asked yet, then `sync`; how many verdicts came. Spends from the
        open account. What can't be had stays apart, and the account notes why; never an error of the model."""
        if self._asker is None:
            return 0
        resolved = await asyncio.to_thread(self.resolved)
        known = {frozenset((one.first, one.second)) for one in await asyncio.to_thread(self._ledger.verdicts)}
        pairs = [p for p in resolved.undecided[: self._pairs] if frozenset((p.first, p.second)) not in known]
        seen = await asyncio.to_thread(self._ledger.seen, {name for p in pairs for name in (p.first, p.second)})
        verdicts = await self._asker.verdicts(pairs, seen)
        for verdict in verdicts:
            await asyncio.to_thread(self._ledger.put_verdict, verdict)
        await asyncio.to_thread(self.sync)
        return len(verdicts)

    def merges(self, *, query: str = "", entity: str = "", limit: int = 100) -> list[Merge]:
        """As core.ports.MergeService says."""
        self.sync()
        found = self._ledger.merges()
        if entity:
            found = [merge for merge in found if entity in (merge.entity_id, merge.entity)]
        else:
            found = [merge for merge in found if merge.name != merge.into or "apart" in merge.reason]
        part = query.casefold().strip()
        return [m for m in found if part in f"{m.name}\n{m.entity}\n{m.into}\n{m.reason}".casefold()][:limit]

    def rules(self) -> list[MergeRule]:
        return self._ledger.rules()

    def put_rule(self, first: str, second: str, kind: Literal["force", "forbid"]) -> MergeRule:
        """Raises NotFound, InvalidInput as core.ports.MergeService says."""
        names = sorted({name for said in self._ledger.said() for name in (said.subject, said.object)})
        one, two = sorted((_known(first, names), _known(second, names)))
        rule = MergeRule(first=one, second=two, kind=kind)
        others = [known for known in self._ledger.rules() if {known.first, known.second} != {one, two}]
        Rules([*others, rule]).check()
        self._ledger.put_rule(rule)
        self.sync()
        return rule

    def forget_rule(self, first: str, second: str) -> MergeRule:
        gone = self._ledger.drop_rule(surface(first), surface(second))
        if gone is None:
            raise NotFound(f"there is no rule about {first!r} and {second!r}", hint="see `quaere graph rules`")
        self.sync()
        return gone

    def _state(self) -> str:
        return f"{VERSION}/{self._pairs}/{self._ledger.state()}"

    def _store(self, resolved: Resolved, state: str) -> None:
        self._ledger.replace(resolved.entities, resolved.owners, state)
        if self._state() != state:  # verdicts went with the last name that they spoke of
            self._ledger.replace(resolved.entities, resolved.owners, self._state())


def _known(name: str, names: Sequence[str]) -> str:
    """As it stands in a document. Raises NotFound, InvalidInput."""
    wanted = surface(name)
    forms = sorted({surface(known) for known in names})
    if wanted in forms:
        return wanted
    alike = [form for form in forms if form.casefold() == wanted.casefold()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise InvalidInput(f"{name!r} is written in {len(alike)} ways", hint=f"one of {', '.join(alike)}")
    near = [found[0] for found in process.extract(wanted, forms, scorer=fuzz.WRatio, limit=3, score_cutoff=70)]
    hint = f"did you mean {', '.join(near)}?" if near else _HINT
    raise NotFound(f"no document's graph has the name {name!r}", hint=hint)
