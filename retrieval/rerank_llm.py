"""Listwise reranking by a language model (RankGPT: Sun et al., EMNLP 2023, arXiv:2304.09542). For strong models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
from anyio import from_thread
from pydantic import BaseModel, Field

from core.errors import LLMBadReply
from core.llm import LLM, Message
from core.ports import Scored
from core.prompts import Part, prompt
from core.settings import RerankSettings
from retrieval.shorten import shortened

WINDOW, STEP = 20, 10  # passages of one list, and how far the window moves, as in the paper
_REPLY_TOKENS = 250  # a list of 20 numbers is 80


class Ranking(BaseModel):
    """The reply: numbers of passages, the best first."""

    order: list[int] = Field(max_length=200)


class LLMReranker:
    """One call for up to 20 passages, one more for each ten beyond: windows slide from the last passages to the first.

    The order of equals matters to a model, so passages come in fused order. What a list does not name is put behind
    it, and noted; a list that names fewer than half of its passages is no list, LLMBadReply. Each passage is cut to
    `max_tokens`, by estimate. Replies are charged to the open account and kept. `scores` is for a thread that
    `anyio.to_thread` started: the model's client belongs to the event loop.
    """

    stops = True
    batch_size = 10**6  # lists can't be compared: all passages go into one call of `scores`

    def __init__(self, llm: LLM, settings: RerankSettings) -> None:
        self._llm = llm
        self._max_tokens = settings.max_tokens

    @property
    def fingerprint(self) -> str:
        return f"llm/{self._llm.model}/{self._max_tokens}"

    def scores(self, query: str, texts: Sequence[str], *, within_s: float = float("inf")) -> Scored:
        """Minus the rank, from 0. A single text needs no call."""
        given = [" ".join(shortened(text, self._max_tokens).split()) for text in texts]
        notes: list[str] = []
        order = from_thread.run(self._order, query, given, within_s, notes) if len(given) > 1 else range(len(given))
        scores = np.empty(len(given), dtype=np.float32)
        scores[list(order)] = -np.arange(len(given))
        cut = sum(" ".join(text.split()) != short for text, short in zip(texts, given, strict=True))
        return Scored(scores, cut if len(given) > 1 else 0, tuple(notes))

    async def _order(self, query: str, texts: Sequence[str], within_s: float, notes: list[str]) -> list[int]:
        order = list(range(len(texts)))
        async with asyncio.timeout(within_s if within_s != float("inf") else None):
            for start in windows(len(texts)):
                inside = order[start : start + WINDOW]
                named = await self._named(query, [texts[place] for place in inside], notes)
                order[start : start + WINDOW] = [inside[n] for n in named]
        return order

    async def _named(self, query: str, texts: Sequence[str], notes: list[str]) -> list[int]:
        """Places in the list, all of them, as the model sorts them."""
        lines = [Part(f"[{n}] {text}\n", n, "passage") for n, text in enumerate(texts, 1)]
        asked = Message("user", prompt("rerank", passages=lines, question=query))
        reply, _ = await self._llm.structured([asked], Ranking, max_tokens=_REPLY_TOKENS)
        named = [n - 1 for n in dict.fromkeys(reply.order) if 1 <= n <= len(texts)]
        if len(named) * 2 < len(texts):
            raise LLMBadReply(
                f"{self._llm.model} named {len(named)} of {len(texts)} passages when it was asked to sort them",
                hint="listwise reranking needs a stronger model; QUAERE_RERANK__PROVIDER=none does without",
            )
        if len(named) < len(texts):
            notes.append(f"{len(texts) - len(named)} of {len(texts)} passages were not named, and put last")
        return named + [n for n in range(len(texts)) if n not in named]


def windows(count: int) -> list[int]:
    """Where each window begins, the last one first: 0 alone for up to 20 passages."""
    return [*range(max(count - WINDOW, 0), 0, -STEP), 0]
