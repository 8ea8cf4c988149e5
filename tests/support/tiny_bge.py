"""Small XLM-RoBERTa models with random weights, saved as the real ones are: a cross-encoder and a bge-m3."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

WORDS = """the tide gauge was read every ten minutes and its clock set by radio once a day herons nest in tall trees
near shallow water how often where do they what is of to for question passage model score length batch training took
hours 潮 位 计 每 十 分 钟 读 一 次 . , ? ! 0 1 2 3 4 5 6 7 8 9""".split()
POSITIONS = 512


def need_bge() -> None:
    """Skips where the extra bge is not installed; fails instead when QUAERE_REQUIRE_BGE=1."""
    lacking = [name for name in ("torch", "transformers", "FlagEmbedding") if importlib.util.find_spec(name) is None]
    if lacking:
        leave = pytest.fail if os.environ.get("QUAERE_REQUIRE_BGE") == "1" else pytest.skip
        leave(f"the extra bge is not installed: no {', '.join(lacking)}")


def cross_encoder(folder: Path, *, labels: int = 1, layers: int = 2, hidden: int = 64, seed: int = 0) -> Path:
    from transformers import XLMRobertaForSequenceClassification

    _saved(folder, XLMRobertaForSequenceClassification, layers, hidden, seed, num_labels=labels)
    return folder


def bge_m3(folder: Path, *, seed: int = 0) -> Path:
    import torch
    from transformers import XLMRobertaModel

    _saved(folder, XLMRobertaModel, 2, 64, seed)
    torch.save(torch.nn.Linear(64, 64).state_dict(), folder / "colbert_linear.pt")
    sparse = torch.nn.Linear(64, 1)
    torch.nn.init.normal_(sparse.weight)  # so that about half of the tokens weigh something
    torch.save(sparse.state_dict(), folder / "sparse_linear.pt")
    return folder


def _saved(folder: Path, kind: type, layers: int, hidden: int, seed: int, **more: object) -> None:
    import torch
    from transformers import XLMRobertaConfig

    tokenizer = _tokenizer()
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=4 * hidden,
        max_position_embeddings=POSITIONS + 2,
        type_vocab_size=1,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.3,  # so that scores of different texts lie apart
        **more,
    )
    torch.manual_seed(seed)
    kind(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer() -> Any:
    """A unigram model of words, their pieces and single characters, as SentencePiece's is."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import XLMRobertaTokenizerFast

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = dict.fromkeys(["▁", *(f"▁{word}" for word in WORDS), *WORDS, *(char for word in WORDS for char in word)])
    vocabulary = [(token, 0.0) for token in special] + [(piece, -1.0 / len(piece)) for piece in pieces]
    made = Tokenizer(models.Unigram([*vocabulary, ("<mask>", 0.0)], unk_id=3))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return XLMRobertaTokenizerFast(tokenizer_object=made, model_max_length=POSITIONS)


if __name__ == "__main__":  # python -m tests.support.tiny_bge FOLDER LAYERS HIDDEN, for eval.rerank
    cross_encoder(Path(sys.argv[1]), layers=int(sys.argv[2]), hidden=int(sys.argv[3]))
