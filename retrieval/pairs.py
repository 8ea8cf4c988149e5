"""Question and passage as one input of a cross-encoder, as FlagEmbedding makes it, with what is cut counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BATCH_SIZE = 4  # pairs: the fastest of 1, 4, 8 and 20 on two cores (eval/results/rerank_small_model.json)
_OFFSET_BY_PADDING = ("roberta", "camembert")  # positions are counted from the padding token's id on


def longest_input(config: Any, tokenizer: Any, wanted: int) -> int:
    """Tokens that the model takes, at most `wanted`."""
    positions = config.max_position_embeddings
    if any(name in config.model_type for name in _OFFSET_BY_PADDING):
        positions -= config.pad_token_id + 1
    return int(min(wanted, positions, tokenizer.model_max_length))


def fit(tokenizer: Any, query: str, texts: Sequence[str], max_tokens: int) -> tuple[str, int]:
    """The question, cut to three quarters of the length where it is longer, and how many pairs are over-long.

    The tokenizer cuts the passages itself (`truncation="only_second"`).
    """
    asked = _ids(tokenizer, [query])[0]
    most = max_tokens * 3 // 4
    if len(asked) > most:
        kept = tokenizer.decode(asked[:most], clean_up_tokenization_spaces=False)
        return kept, len(texts)
    room = max_tokens - len(asked) - tokenizer.num_special_tokens_to_add(pair=True)
    return query, sum(len(ids) > room for ids in _ids(tokenizer, texts))


def _ids(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    found: list[list[int]] = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    return found
