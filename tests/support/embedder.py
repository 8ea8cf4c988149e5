"""A scripted embedder: words hashed to a small vector, fast and the same everywhere; notes what it embedded."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from core.ports import Vectors
from core.terms import tokenise


class HashEmbedder:
    sparse = None

    def __init__(self, name: str = "hash", log: Path | None = None, size: int = 64) -> None:
        self.fingerprint = f"{name}/{size}"
        self._size = size
        self._log = log

    def passages(self, texts: Sequence[str]) -> Vectors:
        if self._log is not None:
            with self._log.open("a") as file:
                file.writelines(hashlib.sha256(text.encode()).hexdigest() + "\n" for text in texts)
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> Vectors:
        vector = np.full(self._size, 1e-3, dtype=np.float32)
        for term in tokenise(text):
            vector[int(hashlib.sha256(term.encode()).hexdigest(), 16) % self._size] += 1
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)
