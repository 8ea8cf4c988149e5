"""Embeddings from any OpenAI-compatible service (`POST /embeddings`): TEI, vLLM, Ollama, llama.cpp, OpenAI."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, TypeAdapter, ValidationError

from core.ports import Vectors
from core.settings import EmbedderSettings
from retrieval.batching import by_length, size_of
from retrieval.service import Service


class _Row(BaseModel):
    index: int
    embedding: list[float]


_ROWS = TypeAdapter(list[_Row])


class HttpEmbedder:
    """Unit vectors of the service's model. One request for each `batch_size` texts; requests may run side by side.

    Where no dimension is set, the first look at `fingerprint` embeds one word to see it. Raises ServiceError.
    """

    sparse = None

    def __init__(self, settings: EmbedderSettings) -> None:
        self._settings = settings
        self._service = Service(settings, "EMBEDDER")
        self._dimensions = settings.dimensions

    @property
    def fingerprint(self) -> str:
        """Model, dimension and what stands before each passage; not the address: the same model may move."""
        if not self._dimensions:
            self.query("size")
        prefix = self._settings.passage_prefix
        return f"http/{self._settings.model}/{self._dimensions}" + (f"/{_short_hash(prefix)}" if prefix else "")

    def passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self._dimensions), dtype=np.float32)
        asked = [self._settings.passage_prefix + text for text in texts]
        batches = by_length([size_of(text) for text in asked], self._settings.batch_size)
        parts = [self._embedded([asked[place] for place in batch]) for batch in batches]
        found = np.empty((len(asked), parts[0].shape[1]), dtype=np.float32)
        for batch, rows in zip(batches, parts, strict=True):
            found[batch] = rows
        return found

    def query(self, text: str) -> Vectors:
        return np.asarray(self._embedded([self._settings.query_prefix + text])[0], dtype=np.float32)

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        body: dict[str, Any] = {"model": self._settings.model, "input": list(texts), "encoding_format": "float"}
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        rows = self._rows(self._service.post("/embeddings", body), len(texts))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        # A vector of zeros has no direction, and the norm of one with a NaN or an infinity is none either.
        if not (np.isfinite(norms).all() and (norms > 0).all()):
            raise self._service.bad("a vector is zero or holds what is no number")
        return np.asarray(rows / norms, dtype=np.float32)

    def _rows(self, reply: object, count: int) -> NDArray[np.float64]:
        """(count, dim), in the order of the texts, whatever order the service sent them in."""
        try:
            rows = _ROWS.validate_python(reply.get("data") if isinstance(reply, dict) else None)
        except ValidationError:
            raise self._service.bad("it has no list of embeddings of numbers") from None
        if len(rows) != count:
            raise self._service.bad(f"{len(rows)} vectors for {count} texts")
        if sorted(row.index for row in rows) != list(range(count)):
            raise self._service.bad("its indices do not say which vector is of which text")
        sizes = sorted({len(row.embedding) for row in rows})
        wanted = self._dimensions or sizes[0]
        if sizes != [wanted] or not wanted:
            raise self._service.bad(f"vectors of {', '.join(map(str, sizes))} dimensions, not {wanted}")
        self._dimensions = wanted
        return np.array([row.embedding for row in sorted(rows, key=lambda row: row.index)], dtype=np.float64)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
