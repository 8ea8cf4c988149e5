"""A bge cross-encoder by FlagEmbedding, its authors' own code, on the CPU (Chen et al., arXiv:2402.03216)."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import numpy as np

from core.errors import LibraryError
from core.ports import Scored
from core.settings import RerankSettings
from retrieval.pairs import BATCH_SIZE, fit, longest_input

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when PyTorch loads; else idle threads spin

from FlagEmbedding import FlagReranker
from transformers.utils import logging as transformers_logging


class BgeReranker:
    """Raw logits. Each batch costs two passes: FlagEmbedding runs the first one twice, to see whether it fits.

    A model is loaded once and takes one batch at a time: PyTorch uses all cores by itself. Of a hub's name the weights
    are downloaded on first use. Raises LibraryError for what can't be loaded or is no reranker.
    """

    stops = False

    def __init__(self, settings: RerankSettings) -> None:
        self._flag = _loaded(settings.model)
        self._lock = threading.Lock()
        self._max_tokens = longest_input(self._flag.model.config, self._flag.tokenizer, settings.max_tokens)
        self.batch_size = settings.batch_size or BATCH_SIZE
        self.fingerprint = f"bge/{settings.model}/{self._max_tokens}"

    def scores(self, query: str, texts: Sequence[str], *, within_s: float = float("inf")) -> Scored:
        if not texts:  # compute_score fails on none
            return Scored(np.empty(0, dtype=np.float32))
        with self._lock:
            _, cut = fit(self._flag.tokenizer, query, texts, self._max_tokens)
            logits = self._flag.compute_score(
                [(query, text) for text in texts],
                batch_size=len(texts) + 1,  # one batch; a full one would draw a progress bar
                max_length=self._max_tokens,
            )
        return Scored(np.asarray(logits, dtype=np.float32), cut)


def _loaded(model: str) -> FlagReranker:
    transformers_logging.disable_progress_bar()
    try:
        flag = FlagReranker(model, use_fp16=False, devices="cpu")
    except (OSError, ValueError) as error:
        raise LibraryError(
            f"the reranker {model} can't be loaded: {str(error).splitlines()[0][:200]}",
            hint="QUAERE_RERANK__MODEL is a folder, or a hub's name, which is downloaded on first use",
        ) from error
    if flag.model.config.num_labels != 1:
        raise LibraryError(
            f"{model} is no reranker: it has no head with one score",
            hint="QUAERE_RERANK__MODEL names a cross-encoder, such as BAAI/bge-reranker-v2-m3",
        )
    return flag
