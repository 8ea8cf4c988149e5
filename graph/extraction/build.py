"""Builds the graph's triples: every passage of the library is read once, a transaction each.

Killed at any moment, the same call goes on with what is left; a reply that had arrived by then is kept by the model's
client and is not paid for again. Only when a passage was read are the triples replaced that another extractor found.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.errors import LLMBudget, LLMError, LLMNotConfigured, LLMRejected, LLMTooLong, LLMUnavailable
from core.graph import Extractor, GraphEstimate, GraphReport
from core.ledger import Ledger
from core.ledger.triples import Extraction
from core.llm import LLM
from core.llm.made_for import made_for
from core.ports import OnEvent
from core.settings import Endpoint, GraphSettings, Limits
from core.spending import account
from core.types import Chunk, Document, Event
from graph.extraction.extract_llm import LLMReader
from graph.extraction.extract_rules import RULES, RuleReader, worth_reading
from graph.extraction.naming import name_key

_LASTING = (LLMUnavailable, LLMBudget, LLMRejected)  # the next chunk would meet it too


@dataclass
class _Tally:
    kept: int = 0
    read: int = 0
    failed: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    stopped: str = ""

    def add(self, extraction: Extraction) -> None:
        self.read += 1
        self.failed += extraction.outcome == "failed"
        self.kept += len(extraction.triples)
        self.dropped.update(extraction.dropped)


class GraphBuilder:
    """`llm` None: by rules only. `endpoint` says what the model's tokens cost, and how many requests it takes."""

    def __init__(
        self, ledger: Ledger, llm: LLM | None, endpoint: Endpoint, settings: GraphSettings, budget: Limits
    ) -> None:
        self._ledger = ledger
        self._llm = llm
        self._endpoint = endpoint
        self._settings = settings
        self._budget = budget
        self._building = asyncio.Lock()

    def estimate(
        self, documents: Sequence[str] | None = None, by: Extractor = "auto", passes: int = 0, again: bool = False
    ) -> GraphEstimate:
        """Of `build` with the same arguments; replies that are kept already will cost less than this says."""
        reader = self._reader(by, passes)
        chunks, read = self._ledger.triples.readable(documents), self._ledger.triples.read(documents)
        todo = [chunk for chunk in chunks if again or not _is_read(chunk, read, reader.name)]
        asked = [chunk for chunk in todo if worth_reading(chunk)]
        prompt, completion, calls = 0, 0, 0
        if isinstance(reader, LLMReader):
            calls = len(asked) * reader.passes
            prompt, completion = reader.tokens(asked)
        million = 1_000_000
        cost = (prompt * self._endpoint.prompt_price + completion * self._endpoint.completion_price) / million
        return GraphEstimate(
            chunks=len(todo),
            done=len(chunks) - len(todo),
            calls=calls,
            prompt_tokens=prompt,
            completion_tokens=completion,
            cost=cost,
            extractor=reader.name,
        )

    async def build(
        self,
        documents: Sequence[str] | None = None,
        by: Extractor = "auto",
        passes: int = 0,
        again: bool = False,
        on_event: OnEvent | None = None,
    ) -> GraphReport:
        """`documents` are ids; None is all that are ready. One build at a time; a second one waits.

        A passage whose reply is no use is marked failed and is read anew by the next build. What every passage would
        meet, such as a server that is down or a budget that is spent, ends it, and `stopped` says why.
        """
        async with self._building:
            reader = self._reader(by, passes)
            chunks = await asyncio.to_thread(self._ledger.triples.readable, documents)
            read = await asyncio.to_thread(self._ledger.triples.read, documents)
            todo = [chunk for chunk in chunks if again or not _is_read(chunk, read, reader.name)]
            empty = sum(not worth_reading(chunk) for chunk in todo)
            tally = await self._read(todo, reader, on_event)
            entities, relations = await asyncio.to_thread(self._counted)
        return GraphReport(
            extractor=reader.name,
            chunks=tally.read - empty if not tally.stopped else tally.read,
            skipped=len(chunks) - len(todo) + (empty if not tally.stopped else 0),
            failed=tally.failed,
            kept=tally.kept,
            dropped=dict(sorted(tally.dropped.items())),
            entities=entities,
            relations=relations,
            stopped=tally.stopped,
        )

    async def read_document(self, document: Document) -> list[str]:
        """A document's triples while it is added, as the settings say; what there was to do without, in words."""
        if self._settings.extract == "off":
            return []
        reader = self._reader("rules" if self._settings.extract == "rules" else "auto", 0)
        chunks = await asyncio.to_thread(self._ledger.triples.readable, [document.id])
        read = await asyncio.to_thread(self._ledger.triples.read, [document.id])
        tally = await self._read([c for c in chunks if not _is_read(c, read, reader.name)], reader, None)
        if not (tally.stopped or tally.failed):
            return []
        left = sum(c.id not in self._ledger.triples.read([document.id]) for c in chunks) + tally.failed
        why = tally.stopped or "the replies were of no use"
        return [f"{left} of {len(chunks)} passages were not read for relations: {why}"]

    async def catch_up(self) -> None:
        """Read by rules what nothing has read yet, or other rules; nothing where the settings say off."""
        if self._settings.extract == "off":
            return
        async with self._building:
            reader = RuleReader(self._ledger)
            chunks = await asyncio.to_thread(self._ledger.triples.readable)
            read = await asyncio.to_thread(self._ledger.triples.read)
            todo = [chunk for chunk in chunks if read.get(chunk.id, (RULES, ""))[0].startswith(RULES)]
            await self._read([chunk for chunk in todo if not _is_read(chunk, read, reader.name)], reader, None)

    def _reader(self, by: Extractor, passes: int) -> LLMReader | RuleReader:
        if by == "llm" and self._llm is None:
            raise LLMNotConfigured(
                "no language model is set that could extract relations",
                hint="set QUAERE_LLM__BASE_URL and QUAERE_LLM__MODEL, or extract by rules",
            )
        if by == "rules" or self._llm is None:
            return RuleReader(self._ledger)
        return LLMReader(self._llm, passes or self._settings.passes)

    async def _read(self, todo: Sequence[Chunk], reader: LLMReader | RuleReader, on_event: OnEvent | None) -> _Tally:
        tally, waiting = _Tally(), iter(todo)
        atonce = self._endpoint.max_concurrency if isinstance(reader, LLMReader) else 1
        with account(self._budget):
            working = [
                asyncio.create_task(self._work(waiting, reader, tally, len(todo), on_event))
                for _ in range(min(atonce, len(todo)))
            ]
            try:
                await asyncio.gather(*working)
            finally:  # of an error in one, or of being cancelled
                for task in working:
                    task.cancel()
                await asyncio.gather(*working, return_exceptions=True)
        return tally

    async def _work(
        self,
        waiting: Iterator[Chunk],
        reader: LLMReader | RuleReader,
        tally: _Tally,
        total: int,
        on_event: OnEvent | None,
    ) -> None:
        for chunk in waiting:
            if tally.stopped:
                return
            with made_for(chunk.document_id), _ending(tally):
                extraction = await self._read_one(chunk, reader)
                if await asyncio.to_thread(self._ledger.triples.store, chunk, extraction):
                    tally.add(extraction)
            if on_event is not None:
                await on_event(Event(kind="ingest", document="graph", step="extract", done=tally.read, total=total))

    async def _read_one(self, chunk: Chunk, reader: LLMReader | RuleReader) -> Extraction:
        if not worth_reading(chunk):
            return Extraction(reader.name)
        try:
            return await reader.read(chunk)
        except LLMError as error:
            if isinstance(error, _LASTING) and not isinstance(error, LLMTooLong):
                raise
            return Extraction(reader.name, "failed", dropped={f"failed: {error.code}": 1})

    def _counted(self) -> tuple[int, int]:
        """Names and relations of the whole graph, as they stand in the texts."""
        triples = self._ledger.triples.all()
        names = {name_key(name) for triple in triples for name in (triple.subject, triple.object)}
        return len(names), len({(name_key(t.subject), t.relation, name_key(t.object)) for t in triples})


@contextmanager
def _ending(tally: _Tally) -> Iterator[None]:
    try:
        yield
    except LLMError as error:
        tally.stopped = tally.stopped or error.message


def _is_read(chunk: Chunk, read: dict[str, tuple[str, str]], extractor: str) -> bool:
    by, outcome = read.get(chunk.id, ("", ""))
    return by == extractor and outcome != "failed"
