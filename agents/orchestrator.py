"""The orchestrator: router, retriever, reasoner, reflector in this order, into one trace.

Where a question asks how things are related, the graph is asked before the retriever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agents.draft import Draft
from agents.graph_retriever import NONE, GraphRetriever, Related
from agents.quoter import Quoter
from agents.reflector import Reflector
from agents.retriever import Retriever
from agents.router import Router
from agents.writer import Writer
from core.errors import LLMBudget, LLMNotConfigured, NothingIngested
from core.trace import Tracer
from core.types import Answer, Document, Event, Passage, Reflection, Route, Selection, Turn

Policy = Literal["auto", "quote", "llm"]
NOT_FOUND = "Nothing in the library supports an answer to this question."
NOT_FOUND_HERE = "The nearest passages are listed below; none of them answers it."
UNFOUNDED = "no sentence that was written rests on a quote"
OVERLOOKED = "the model found no answer, but the knowledge graph has one"
GREETING = "Ask me about the documents in this library: each sentence of an answer comes with its page and its quote."


class Orchestrator:
    def __init__(
        self,
        router: Router,
        retriever: Retriever,
        quoter: Quoter,
        writer: Writer | None,
        reflector: Reflector,
        graph: GraphRetriever | None = None,
    ) -> None:
        self._router = router
        self._retriever = retriever
        self._quoter = quoter
        self._writer = writer
        self._reflector = reflector
        self._graph = graph

    async def ask(
        self,
        question: str,
        history: Sequence[Turn],
        library: Sequence[Document],
        selection: Selection,
        policy: Policy,
        tracer: Tracer,
    ) -> Answer:
        """The answer, its usage left out; QuaereErrors of any stage pass through, recorded in the tracer. `library`
        is what was selected of it.

        When the open account's budget runs out while it is written, the answer quotes, and is partial.
        """
        writer = self._writer_for(policy)
        async with tracer.stage("router") as step:
            chosen = selection.documents or () if selection.chosen else ()
            route = await self._router.route(question, history, library, chosen)
            if not route.documents:
                route = route.model_copy(update={"documents": selection.documents or ()})
            step.summary = f"{route.kind}: {route.reason} ({route.decided_by})"
            step.details = {"question": route.question}
        if route.kind == "chat":
            return _answer(question, Draft((), (), "none"), (), Reflection(support=0), tracer, GREETING)
        related = await self._relate(route, selection, policy == "quote", tracer)
        passages = await self._retrieve(route, library, selection, related, tracer)
        draft, partial = await self._reason(route, passages, related, writer, tracer)
        async with tracer.stage("reflector") as step:
            reflection = self._reflector.reflect(draft.claims, draft.citations)
            step.summary = f"support {reflection.support:.2f} over {len(draft.claims)} claims"
        return _answer(question, draft, passages, reflection, tracer, partial=partial)

    def _writer_for(self, policy: Policy) -> Writer | None:
        if policy == "llm" and self._writer is None:
            raise LLMNotConfigured(
                "no language model is configured", hint="set QUAERE_LLM__BASE_URL and QUAERE_LLM__MODEL, or quote"
            )
        return None if policy == "quote" else self._writer

    async def _relate(self, route: Route, selection: Selection, by_rules: bool, tracer: Tracer) -> Related:
        """What the graph says, of a question of relation."""
        if self._graph is None or route.kind != "relation" or selection.documents == ():
            return NONE
        async with tracer.stage("graph") as step:
            return await self._graph.retrieve(route, step, by_rules=by_rules)

    async def _retrieve(
        self, route: Route, library: Sequence[Document], selection: Selection, related: Related, tracer: Tracer
    ) -> tuple[Passage, ...]:
        async with tracer.stage("retriever") as step:
            if selection.documents == ():  # nothing at all: to the search no ids mean every document
                raise NothingIngested(
                    f"no document fits what the search was limited to{left_out(selection)}",
                    hint="see `quaere list`, or limit it less",
                )
            found = related.before(await self._retriever.retrieve(route, library))
            passages = found.passages
            pages = {(p.document_id, p.page) for p in passages}
            step.summary = f"{len(passages)} passages from {len(pages)} pages by {' + '.join(found.channels)}"
            step.summary += left_out(selection)
            step.details = {"channels": ", ".join(found.channels), "reranker": found.reranker or "none"}
            step.details |= counts(selection)
            step.details["candidates"] = "\n".join(candidate.line for candidate in found.candidates)
            if found.notes:
                step.details["notes"] = "; ".join(found.notes)
            if related.passages:
                step.summary += f"; {len(related.passages)} of the graph's first"
        return passages

    async def _reason(
        self, route: Route, passages: Sequence[Passage], related: Related, writer: Writer | None, tracer: Tracer
    ) -> tuple[Draft, bool]:
        """(draft, whether the budget ran out and the draft quotes instead of being written). A model of whose sentences
        none can be kept, or that finds nothing where the graph answers exactly what is asked, is no better than none:
        what it was to write from is quoted."""
        why, spent = "", False
        if writer is not None:
            try:
                async with tracer.stage("reasoner") as step:
                    draft = await writer.write(route, passages, _teller(tracer), related)
                    step.summary = f"{len(draft.claims)} claims written by {draft.model or 'the language model'}"
                    step.details["dropped"] = draft.dropped
                if not draft.unfounded and (draft.claims or not related.exact):
                    return draft, False
                why = UNFOUNDED if draft.unfounded else OVERLOOKED
            except LLMBudget as error:
                why, spent = error.message, True  # the best that is left is to quote
        async with tracer.stage("reasoner") as step:
            draft = await self._quoter.quote(route, passages, related)
            step.summary = f"{len(draft.claims)} sentences quoted"
            step.degraded = f"{why}: quoted, not written" if why else ""
            await tracer.tell(Event(kind="text", text=draft.text))
        return draft, spent


def left_out(selection: Selection) -> str:
    """'; 2 expired documents left out', or nothing."""
    count = len(selection.expired)
    return f"; {count} expired document{'s' if count > 1 else ''} left out" if count else ""


def counts(selection: Selection) -> dict[str, str | int | float]:
    """What a trace says of it."""
    searched = {} if selection.documents is None else {"documents": len(selection.documents)}
    return {**searched, "expired": len(selection.expired)} if searched or selection.expired else {}


def _teller(tracer: Tracer):  # type: ignore[no-untyped-def]
    async def tell(text: str) -> None:
        await tracer.tell(Event(kind="text", text=text))

    return tell


def _answer(
    question: str,
    draft: Draft,
    passages: Sequence[Passage],
    reflection: Reflection,
    tracer: Tracer,
    text: str = "",
    partial: bool = False,
) -> Answer:
    nothing = NOT_FOUND + (" " + NOT_FOUND_HERE if passages else "")
    claims = tuple(
        claim.model_copy(update={"support": score.support})
        for claim, score in zip(draft.claims, reflection.claims, strict=True)
    )
    return Answer(
        question=question,
        text=text or draft.text or nothing,
        claims=claims,
        citations=draft.citations,
        nearest=() if draft.claims else tuple(passages[:3]),
        written_by=draft.written_by,
        model=draft.model,
        partial=partial,
        reflection=reflection,
        trace_id=tracer.id,
        trace=tracer.steps,
    )
