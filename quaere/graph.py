"""The knowledge graph behind one class: what is asked of it, what is drawn of it, and what answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from core.errors import NotFound, TooBroad
from core.graph import Entity, GraphData, GraphResult, GraphView
from core.ledger import Ledger
from core.llm import LLM
from core.settings import GraphSettings
from core.trace import Step, Tracer
from graph.asking.ask_graph import Asked, GraphAsker
from graph.asking.names import NameIndex, index_of
from graph.cypher.parser import read_cypher
from graph.patterns.canonical import pattern_of
from graph.patterns.found import Matched
from graph.patterns.pattern import Edge, Part, Pattern, named
from graph.projection import Projection
from graph.resolve.service import Resolver
from graph.rows import rows_of
from graph.stores.failover import Answered, Graph
from graph.stores.store import Documents, GraphStore
from graph.stores.traversal import Subgraph
from graph.view import view_of
from quaere.providers import graph_database_of

AskedBy = Literal["cypher", "slots", "rules", "entity", ""]
EMPTY = "the knowledge graph is empty: no relation was read from the documents yet (`quaere graph build`)"
NO_NAME = "the question names nothing that is in the knowledge graph"
NO_FIT = "what the question names is in the knowledge graph, but no relation there fits"
NEAR = "no relation says what is asked: these are said of what the question names"
NONE_HERE = "no relation of it is stated by the documents that were asked for"


@dataclass(frozen=True)
class _Known:
    """One state of the graph, and the names in it."""

    data: GraphData
    names: NameIndex


class KnowledgeGraph:
    """Of one library. Follows the ledger by itself: each call sees the graph as the ledger has it then, which costs
    1 ms where nothing has changed. Documents are ids; None is every one."""

    def __init__(self, settings: GraphSettings, ledger: Ledger, resolver: Resolver, llm: LLM | None) -> None:
        self.resolver = resolver
        self._settings = settings
        self._ledger = ledger
        self._llm = llm
        self._known: _Known | None = None
        database = graph_database_of(settings, ledger.graph.library)
        self._store = Graph(Projection(ledger.graph, resolver.sync).current, database)

    async def ask(
        self,
        question: str,
        *,
        documents: Documents = None,
        hops: int = 0,
        limit: int = 50,
        by_rules: bool = False,
    ) -> GraphResult:
        """What a question asks for, by paths of at most `hops` (0: as the settings say). `by_rules`: no model is asked.

        Where nothing fits as it is asked, there may be rows about what it names, which `note` says; `answers` and
        `relations` are then empty.
        """
        tracer = Tracer()
        async with tracer.stage("graph") as step:
            known = await asyncio.to_thread(self._state)
            if not known.data.relations:
                found = _nothing(step, EMPTY)
            else:
                asker = GraphAsker(None if by_rules else self._llm, known.names, hops=hops or self._settings.hops)
                found = await self._found(asker, question, documents, limit, step)
        return found.model_copy(update={"question": question, "trace": tracer.steps})

    async def about(self, name: str, *, documents: Documents = None, hops: int = 2, limit: int = 50) -> GraphResult:
        """What an entity, by a name or its id, is related to, the nearest first."""
        tracer = Tracer()
        async with tracer.stage("graph") as step:
            found = await asyncio.to_thread(self._about, name, documents, hops, limit, step)
        return found.model_copy(update={"trace": tracer.steps})

    async def match(self, cypher: str, *, documents: Documents = None, hops: int = 0, limit: int = 50) -> GraphResult:
        """What a read-only query points at. Raises InvalidInput where it can't be read, TooBroad."""
        tracer = Tracer()
        pattern = read_cypher(cypher, hops=hops or self._settings.hops)
        async with tracer.stage("graph") as step:
            asked = Asked((pattern,), "", pattern.notes)
            found = await asyncio.to_thread(self._first, asked, documents, limit, step)
        return found.model_copy(update={"asked_by": "cypher", "trace": tracer.steps})

    async def view(self, name: str = "", *, documents: Documents = None, hops: int = 1, limit: int = 300) -> GraphView:
        """Raises NotFound where there is no such entity."""
        return await asyncio.to_thread(self._view, name, documents, hops, limit)

    async def entities(self, text: str, limit: int) -> list[Entity]:
        """Those with a name like `text`, the likest first; '' is like every name."""

        def query(store: GraphStore) -> list[Entity]:
            return store.entities(text, limit)

        return (await asyncio.to_thread(self._store.ask, query)).value

    async def update(self) -> tuple[int, int]:
        """Bring what answers up to date now, instead of at the next question; (entities, relations)."""
        await asyncio.to_thread(self._store.update)
        data = await asyncio.to_thread(self._store.data)
        return len(data.entities), len(data.relations)

    async def health(self) -> tuple[str, int, int]:
        """(what answers, entities, relations)."""
        data = await asyncio.to_thread(self._store.data)
        return await asyncio.to_thread(self._store.health), len(data.entities), len(data.relations)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._store.close)

    def _state(self) -> _Known:
        data = self._store.data()
        if self._known is None or self._known.data is not data:
            self._known = _Known(data, index_of(data))
        return self._known

    async def _found(
        self, asker: GraphAsker, question: str, documents: Documents, limit: int, step: Step
    ) -> GraphResult:
        """Where rules read every word and the graph has it, no model is asked: it costs calls, and could only err."""
        plain = asker.by_rules(question)
        if plain is not None:
            found = await asyncio.to_thread(self._first, plain, documents, limit, step)
            if found.answers or found.relations:
                return found.model_copy(update={"exact": True})
        return await asyncio.to_thread(self._first, await asker.ask(question), documents, limit, step)

    def _first(self, asked: Asked, documents: Documents, limit: int, step: Step) -> GraphResult:
        """What the first pattern that fits anything finds."""
        notes = list(asked.notes)
        for pattern in asked.patterns:
            try:
                answered = self._store.ask(partial(_match, pattern=pattern, limit=limit, documents=documents))
            except TooBroad as error:
                if asked.asked_by == "":
                    raise
                notes.append(error.message)
                continue
            found = self._matched(answered, documents)
            of_nodes = asked.asked_by in ("", "cypher") and found.answers  # a pattern without relations has no rows
            if found.rows or of_nodes:
                notes += pattern.notes
                if _is_looser(pattern, asked.patterns[0]):
                    found = found.model_copy(update={"answers": (), "relations": ()})
                    notes.append(NEAR)
                return self._said(found, answered, step, pattern.text, asked.asked_by, notes)
        notes.append(NO_FIT if asked.patterns else NO_NAME)
        step.summary = "no rows"
        first = asked.patterns[0].text if asked.patterns else ""
        return GraphResult(pattern=first, asked_by=asked.asked_by, note="; ".join(notes))

    def _matched(self, answered: Answered[Matched], documents: Documents) -> GraphResult:
        found, local = answered.value, answered.local
        relations = [relation for key in found.relations if (relation := local.relation(*key)) is not None]
        entities = local.entities_by_id(
            [*found.answers, *(end for key in relations for end in (key.subject, key.object))]
        )
        return GraphResult(
            rows=rows_of(relations, entities, self._ledger, documents),
            answers=tuple(entities[item] for item in found.answers if item in entities),
            relations=found.joined,
            truncated=found.truncated,
        )

    def _said(
        self,
        found: GraphResult,
        answered: Answered[Matched] | Answered[Subgraph],
        step: Step,
        pattern: str,
        asked_by: AskedBy,
        notes: Sequence[str],
    ) -> GraphResult:
        step.summary = f"{len(found.rows)}{'+' if found.truncated else ''} rows by {answered.backend}"
        step.degraded = answered.degraded
        step.details = {"pattern": pattern, "backend": answered.backend, "rows": len(found.rows)}
        said = {"pattern": pattern, "asked_by": asked_by, "backend": answered.backend, "note": "; ".join(notes)}
        return found.model_copy(update=said)

    def _about(self, name: str, documents: Documents, hops: int, limit: int, step: Step) -> GraphResult:
        known = self._state()
        entities = self._called(name, known)
        if not entities:
            step.summary = "no rows"
            return GraphResult(asked_by="entity", note=self._unknown(name) if known.data.relations else EMPTY)
        ids = [entity.id for entity in entities]
        answered = self._store.ask(lambda store: store.neighbourhood(ids, hops, limit, documents))
        around = answered.value
        rows = rows_of(around.relations, around.entities, self._ledger, documents)
        ends = dict.fromkeys(end.id for row in rows for end in (row.subject, row.object) if end.id not in ids)
        answers = tuple(around.entities[item] for item in ends)
        found = GraphResult(rows=rows, answers=answers, truncated=around.truncated)
        edge = Edge("r", "a", "b", False, (), 1, hops)
        asked = pattern_of([[Part(((edge,),), (), named("a", *(entity.name for entity in entities)))]])
        return self._said(found, answered, step, asked.text, "entity", [] if rows else [NONE_HERE])

    def _view(self, name: str, documents: Documents, hops: int, limit: int) -> GraphView:
        known = self._state()
        around = self._called(name, known) if name.strip() else ()
        if name.strip() and not around:
            raise NotFound(self._unknown(name), hint="see `quaere graph entities`")
        return view_of(known.data, around, hops=hops, limit=limit, documents=documents)

    def _called(self, name: str, known: _Known) -> Sequence[Entity]:
        """Those of that id, or of that name; homonyms are several."""
        by_id = self._store.local().entities_by_id([name.strip()])
        return tuple(by_id.values()) or known.names.entities(name)

    def _unknown(self, name: str) -> str:
        near = [entity.name for entity in self._store.local().entities(name, 3)]
        like = f"; there is {', '.join(near)}" if near else ""
        return f"no entity of the knowledge graph is called {' '.join(name.split())!r}{like}"


def _is_looser(pattern: Pattern, first: Pattern) -> bool:
    """Whether it leaves out a name or the relation that the first pattern has; a path between two names does not."""
    names, of_first = (min(len(alternative.anchors) for alternative in each.alternatives) for each in (pattern, first))
    return names < of_first or (names < 2 and bool(_relations(first)) and not _relations(pattern))


def _relations(pattern: Pattern) -> set[str]:
    return {
        name for each in pattern.alternatives for part in each.parts for edge in part.edges for name in edge.relations
    }


def _match(store: GraphStore, pattern: Pattern, limit: int, documents: Documents) -> Matched:
    return store.match(pattern, limit, documents)


def _nothing(step: Step, note: str) -> GraphResult:
    step.summary = "no rows"
    return GraphResult(note=note)
