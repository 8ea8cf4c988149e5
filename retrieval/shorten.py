"""Texts cut to a number of tokens where the model's own tokenizer is out of reach."""

from __future__ import annotations

from core.llm.tokens import estimate

SPECIAL = 4  # tokens that stand round and between question and passage


def shortened(text: str, tokens: int) -> str:
    """The longest beginning of about that many tokens (see core.llm.tokens), the text itself where it is shorter."""
    if len(text) <= tokens // 3 or estimate(text) <= tokens:  # no character is more than three tokens
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate(text[:middle]) <= tokens else (low, middle - 1)
    return text[:low]


def pair_room(query: str, max_tokens: int) -> tuple[str, int]:
    """The question, cut to three quarters of the room as FlagEmbedding does, and the tokens left to a passage."""
    kept = shortened(query, max_tokens * 3 // 4)
    return kept, max_tokens - estimate(kept) - SPECIAL
