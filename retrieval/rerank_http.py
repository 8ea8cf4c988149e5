"""Reranking by a service: `/rerank` of TEI, or of Jina, Cohere and vLLM, told apart by their answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import AliasChoices, BaseModel, Field, TypeAdapter, ValidationError

from core.errors import ServiceRejected
from core.ports import Scored
from core.settings import RerankSettings
from retrieval.service import Service
from retrieval.shorten import pair_room, shortened

BATCH_SIZE = 32  # pairs: the most that TEI takes, unless it is told otherwise


class _Row(BaseModel):
    index: int
    score: float = Field(validation_alias=AliasChoices("relevance_score", "score"))


_ROWS = TypeAdapter(list[_Row])


class HttpReranker:
    """TEI is asked for raw logits. The others give what they like, mostly a sigmoid of them: the order is the same.

    Texts are cut here, by an estimate of tokens, and counted: a service cuts in silence. One request a batch;
    batches of several questions run side by side. Over after `within_s`.
    """

    stops = True

    def __init__(self, settings: RerankSettings) -> None:
        self._settings = settings
        self._service = Service(settings, "RERANK")
        self.api = settings.api
        self.batch_size = settings.batch_size or BATCH_SIZE

    @property
    def fingerprint(self) -> str:
        return f"http/{self._settings.model}/{self._settings.max_tokens}"

    def scores(self, query: str, texts: Sequence[str], *, within_s: float = float("inf")) -> Scored:
        if not texts:
            return Scored(np.empty(0, dtype=np.float32))
        asked, room = pair_room(query, self._settings.max_tokens)
        given = [shortened(text, room) for text in texts]
        cut = sum(asked != query or short != text for short, text in zip(given, texts, strict=True))
        return Scored(self._scored(self._reply(asked, given, within_s), len(given)), cut)

    def _reply(self, query: str, texts: Sequence[str], within_s: float) -> object:
        if self.api == "tei":
            body: dict[str, Any] = {"query": query, "texts": list(texts), "raw_scores": True, "truncate": True}
            return self._service.post("/rerank", body, within_s=within_s)
        body = {"model": self._settings.model, "query": query, "documents": list(texts)}
        try:
            reply = self._service.post("/rerank", body, within_s=within_s)
        except ServiceRejected as refused:
            # TEI says: missing field `texts`.
            if self.api == "jina" or refused.status_of_service not in (400, 422) or "texts" not in refused.told:
                raise
            self.api = "tei"
            return self._reply(query, texts, within_s)
        self.api = "jina"
        return reply

    def _scored(self, reply: object, count: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        found = reply.get("results") if isinstance(reply, dict) else reply
        try:
            rows = _ROWS.validate_python(found)
        except ValidationError:
            raise self._service.bad("it has no list of scores") from None
        if sorted(row.index for row in rows) != list(range(count)):
            raise self._service.bad(f"{len(rows)} scores that are not one for each of {count} texts")
        scores = np.empty(count, dtype=np.float32)
        for row in rows:
            scores[row.index] = row.score
        if not np.isfinite(scores).all():
            raise self._service.bad("a score is no number")
        return scores
