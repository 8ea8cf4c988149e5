"""ragas' metrics (the extra `eval`), judged by the product's own language-model client and embedder.

Its own client would show it think blocks, know no budget, and speak to one way of giving JSON only.
Es et al., EACL 2024.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel

os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # before the import: it sends what is used to its makers

from ragas.embeddings.base import BaseRagasEmbedding
from ragas.llms.base import InstructorBaseRagasLLM
from ragas.metrics.collections import (
    AnswerRelevancy,
    ContextPrecision,
    ContextRecall,
    Faithfulness,
)

from core.errors import LLMBadReply
from core.llm import LLM, Message
from core.ports import Embedder
from eval.judged import Metric, Sample

M = TypeVar("M", bound=BaseModel)
MAX_TOKENS = 2048  # a list of verdicts, each with its reason


def metrics(llm: LLM, embedder: Embedder, *, samples: int = 1) -> dict[str, Metric]:
    """By name. `samples`: questions made of an answer, for its relevancy; more than one helps only where the judge's
    temperature is above 0. Each raises LLMError."""
    judge, vectors = _Judge(llm), _Vectors(embedder)
    recall, precision = ContextRecall(llm=judge), ContextPrecision(llm=judge)
    faithfulness = _Faithfulness(llm=judge)
    relevancy = AnswerRelevancy(llm=judge, embeddings=vectors, strictness=samples)

    async def context_recall(one: Sample) -> float:
        return _value(await recall.ascore(one.question, list(one.passages), one.reference))

    async def context_precision(one: Sample) -> float:
        return _value(await precision.ascore(one.question, one.reference, list(one.passages)))

    async def faithful(one: Sample) -> float:
        return _value(await faithfulness.ascore(one.question, one.answer, list(one.passages)))

    async def answer_relevancy(one: Sample) -> float:
        return _value(await relevancy.ascore(one.question, one.answer))

    return {
        "context_recall": context_recall,
        "context_precision": context_precision,
        "faithfulness": faithful,
        "answer_relevancy": answer_relevancy,
    }


def _value(result: Any) -> float:
    return float(result.value)


class _Judge(InstructorBaseRagasLLM):  # type: ignore[misc]
    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def generate(self, prompt: str, response_model: type[M]) -> M:
        raise NotImplementedError("the metrics are asked asynchronously")

    async def agenerate(self, prompt: str, response_model: type[M]) -> M:
        """Raises LLMBadReply where the verdict is none: ragas would count a 7 seven times, and an empty question 0."""
        found, _ = await self._llm.structured([Message("user", prompt)], response_model, max_tokens=MAX_TOKENS)
        if unfit := next(_unfit(found.model_dump()), ""):
            raise LLMBadReply(f"{self._llm.model} gave no verdict: {unfit}")
        return found


def _unfit(value: object, name: str = "") -> Iterator[str]:
    """What of a verdict ragas would take for one though it is none. All its whole numbers are yes or no."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _unfit(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _unfit(inner, name)
    elif isinstance(value, int) and value not in (0, 1):
        yield f"{name} is {value}, not 0 or 1"
    elif isinstance(value, str) and name == "question" and not value.strip():
        yield "an empty question"


class _Faithfulness(Faithfulness):  # type: ignore[misc]
    async def _create_verdicts(self, statements: list[str], context: str) -> Any:
        """ragas takes the mean of the verdicts that came, however many statements got none."""
        found = await super()._create_verdicts(statements, context)
        if len(found.statements) != len(statements):
            raise LLMBadReply(f"{len(found.statements)} verdicts on {len(statements)} statements")
        return found


class _Vectors(BaseRagasEmbedding):  # type: ignore[misc]
    def __init__(self, embedder: Embedder) -> None:
        super().__init__()
        self._embedder = embedder

    def embed_text(self, text: str, **_: Any) -> list[float]:
        return [float(value) for value in self._embedder.query(text)]

    async def aembed_text(self, text: str, **_: Any) -> list[float]:
        return await asyncio.to_thread(self.embed_text, text)
