"""bge-m3 by FlagEmbedding, on the CPU: dense vectors and lexical weights (Chen et al., arXiv:2402.03216)."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import LibraryError
from core.ports import SparseVector, Vectors
from core.settings import EmbedderSettings
from retrieval.batching import by_length, size_of
from retrieval.pairs import longest_input

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when PyTorch loads; else idle threads spin

import torch
from FlagEmbedding import BGEM3FlagModel
from huggingface_hub import snapshot_download
from transformers.utils import logging as transformers_logging

MODEL = "BAAI/bge-m3"
_LONGEST = 8192  # tokens: the model's own; what is longer is embedded by its beginning
_QUESTIONS = 16  # kept, so that a question's two vectors cost one pass
_HEADS = ("sparse_linear.pt", "colbert_linear.pt")  # without them FlagEmbedding makes up random ones

Both = tuple[Vectors, SparseVector]


class BgeM3:
    """1,024 dimensions, over 100 languages, 2.3 GB of memory.

    The loaded model is called itself: FlagEmbedding's `encode` runs its first batch twice, to see whether it fits.
    It takes one batch at a time, since PyTorch uses all cores by itself. Of a hub's name the weights are downloaded
    on first use. Raises LibraryError for what can't be loaded.
    """

    def __init__(self, settings: EmbedderSettings) -> None:
        name = settings.model or MODEL
        self._flag = _loaded(name)
        self._batch_size = settings.batch_size
        self._lock = threading.Lock()
        self._questions: dict[str, Both] = {}
        tokenizer, encoder = self._flag.tokenizer, self._flag.model.model
        self._longest = longest_input(encoder.config, tokenizer, _LONGEST)
        special = (tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id)
        self._special = np.array(special)
        revision = _digest(self._flag.model)
        self.fingerprint = f"bge-m3/{Path(name).name}@{revision}/{encoder.config.hidden_size}"
        lexical = f"bge-m3/{Path(name).name}@{revision}/lexical"
        self.sparse = LexicalWeights(self, lexical) if settings.sparse else None

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self.both(texts)[0]

    def query(self, text: str) -> Vectors:
        return self.asked(text)[0]

    def both(self, texts: Sequence[str]) -> tuple[Vectors, list[SparseVector]]:
        """Of one pass for each `batch_size` texts; batches are of about one length."""
        vectors = np.empty((len(texts), self._flag.model.model.config.hidden_size), dtype=np.float32)
        terms: dict[int, SparseVector] = {}
        for batch in by_length([size_of(text) for text in texts], self._batch_size):
            with self._lock:
                dense, sparse = self._pass([texts[place] for place in batch])
            vectors[batch] = dense
            terms |= zip(batch, sparse, strict=True)
        return vectors, [terms[place] for place in range(len(texts))]

    def asked(self, text: str) -> Both:
        """Both of a question; of the last few questions without another pass."""
        with self._lock:
            if text not in self._questions:
                dense, sparse = self._pass([text])
                if len(self._questions) >= _QUESTIONS:
                    del self._questions[next(iter(self._questions))]
                self._questions[text] = dense[0], sparse[0]
            return self._questions[text]

    def _pass(self, texts: Sequence[str]) -> tuple[Vectors, list[SparseVector]]:
        inputs = self._flag.tokenizer(
            list(texts), truncation=True, max_length=self._longest, padding=True, return_tensors="pt"
        )
        with torch.inference_mode():
            found = self._flag.model(inputs, return_dense=True, return_sparse=True)
        weights = found["sparse_vecs"].squeeze(-1).numpy()
        pairs = zip(inputs["input_ids"].numpy(), weights, strict=True)
        return found["dense_vecs"].numpy(), [self._terms(ids, row) for ids, row in pairs]

    def _terms(self, ids: NDArray[np.int64], weights: NDArray[np.float32]) -> SparseVector:
        """The heaviest weight of each token, special ones left out."""
        counted = (weights > 0) & ~np.isin(ids, self._special)
        terms, places = np.unique(ids[counted], return_inverse=True)
        heaviest = np.zeros(len(terms), dtype=np.float32)
        np.maximum.at(heaviest, places, weights[counted])
        return terms.astype(np.int32), heaviest


class LexicalWeights:
    """bge-m3's weight of each token of a text, by the token's id, 250,002 in all."""

    def __init__(self, model: BgeM3, fingerprint: str) -> None:
        self._model = model
        self.fingerprint = fingerprint

    def passages(self, texts: Sequence[str]) -> list[SparseVector]:
        return self.both(texts)[1]

    def query(self, text: str) -> SparseVector:
        return self._model.asked(text)[1]

    def both(self, texts: Sequence[str]) -> tuple[Vectors, list[SparseVector]]:
        return self._model.both(texts)


def _loaded(name: str) -> BGEM3FlagModel:
    transformers_logging.disable_progress_bar()
    try:
        folder = Path(name) if Path(name).is_dir() else Path(snapshot_download(name, ignore_patterns=["onnx/*"]))
        missing = [head for head in _HEADS if not (folder / head).is_file()]
        if missing:
            raise OSError(f"it has no {missing[0]}")
        flag = BGEM3FlagModel(str(folder), use_fp16=False, devices="cpu")
    except (OSError, ValueError) as error:
        raise LibraryError(
            f"the embedder {name} can't be loaded: {str(error).splitlines()[0][:200]}",
            hint=f"QUAERE_EMBEDDER__MODEL is a folder with bge-m3, or a hub's name, such as {MODEL}",
        ) from error
    flag.model.float().eval()
    return flag


def _digest(model: Any) -> str:
    """Tells one training of a model from another by the first weights of each layer; reads next to nothing."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode() + tensor.flatten()[:16].float().numpy().tobytes())
    return digest.hexdigest()[:8]
