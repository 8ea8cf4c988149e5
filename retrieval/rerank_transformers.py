"""A cross-encoder such as bge-reranker-v2-m3 by plain transformers, on the CPU (Chen et al., arXiv:2402.03216)."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.errors import LibraryError
from core.ports import Scored
from core.settings import RerankSettings
from retrieval.pairs import BATCH_SIZE, fit, longest_input

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when PyTorch loads; else idle threads spin

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging as transformers_logging


class TransformersReranker:
    """Raw logits, equal to FlagEmbedding's, in one pass a batch where that needs two.

    A model is loaded once and takes one batch at a time: PyTorch uses all cores by itself. Of a hub's name the weights
    are downloaded on first use. Raises LibraryError for what can't be loaded or is no reranker.
    """

    stops = False

    def __init__(self, settings: RerankSettings) -> None:
        self._tokenizer, self._model = _loaded(settings.model)
        self._lock = threading.Lock()
        self._max_tokens = longest_input(self._model.config, self._tokenizer, settings.max_tokens)
        self.batch_size = settings.batch_size or BATCH_SIZE
        self.fingerprint = f"transformers/{settings.model}/{self._max_tokens}"

    def scores(self, query: str, texts: Sequence[str], *, within_s: float = float("inf")) -> Scored:
        if not texts:
            return Scored(np.empty(0, dtype=np.float32))
        with self._lock, torch.inference_mode():
            # The tokenizer too: how it pads and cuts is set on it, not given to a call.
            kept, cut = fit(self._tokenizer, query, texts, self._max_tokens)
            inputs = self._tokenizer(
                [kept] * len(texts),
                list(texts),
                truncation="only_second",
                max_length=self._max_tokens,
                padding=True,
                return_tensors="pt",
            )
            logits = self._model(**inputs, return_dict=True).logits
        return Scored(logits.view(-1).float().numpy(), cut)


def _loaded(model: str) -> tuple[Any, Any]:
    transformers_logging.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
        loaded, told = AutoModelForSequenceClassification.from_pretrained(
            model, dtype=torch.float32, output_loading_info=True
        )
    except (OSError, ValueError) as error:
        raise LibraryError(
            f"the reranker {model} can't be loaded: {str(error).splitlines()[0][:200]}",
            hint="QUAERE_RERANK__MODEL is a folder, or a hub's name, which is downloaded on first use",
        ) from error
    if told["missing_keys"] or loaded.config.num_labels != 1:
        raise LibraryError(
            f"{model} is no reranker: it has no head with one score",
            hint="QUAERE_RERANK__MODEL names a cross-encoder, such as BAAI/bge-reranker-v2-m3",
        )
    return tokenizer, loaded.eval()
