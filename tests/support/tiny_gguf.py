"""A language model that says what a test knows beforehand, as a GGUF file (26 MB, nearly all zeros) for llama.cpp.

A llama of one layer whose attention and feed-forward add nothing: what reaches the output is the last token's
embedding. Embeddings are random and so nearly orthogonal, and the output matrix holds for each token the embeddings
of the tokens that it follows: a chain, which greedy decoding walks along. One dimension is the same for all tokens;
over it each token has a weight of its own, which decides where a grammar forbids what the chain says.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

NAME = "tide"
SENTENCE = "The tide rose twice a day."
ENDLESS = "endless"  # a last message with this word in it is answered with 'flood ebb flood ebb…', without end
WORDS = f"{SENTENCE[:-1]} flood ebb passage question"  # a token each; of other words every character is one
TRAINED_CONTEXT = 65536

_CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}"
    f"{{% if '{ENDLESS}' in messages[-1]['content'] %}}<|endless|>{{% else %}}<|assistant|>{{% endif %}}"
    "{% endif %}"
)
_MARKS = ("<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|endless|>")
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6  # kinds of tokens, as GGUF numbers them
_SPACE = "\u2581"  # how this kind of tokenizer writes a space
_FIRST_IN_JSON = ('"', "}", "]", ",", ":")  # what ends a value before what makes it longer
_DIMENSION, _HIDDEN = 256, 16384  # the feed-forward does nothing, at length: a token takes one or two milliseconds
_HEADS, _KEY_HEADS = 4, 1


def write(path: Path) -> None:
    """The model `NAME` in a new file. Needs the package `gguf`."""
    import gguf  # here, so that tests are skipped where it is missing

    pieces, kinds, scores = _vocabulary()
    ids = {piece: number for number, piece in enumerate(pieces)}
    embedding, output = _weights(pieces, [(ids[a], ids[b]) for a, b in _chain()])

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(NAME)
    writer.add_context_length(TRAINED_CONTEXT)
    writer.add_embedding_length(_DIMENSION)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_HIDDEN)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(pieces))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_types(kinds)
    writer.add_token_scores(scores)
    writer.add_bos_token_id(ids["<s>"])
    writer.add_eos_token_id(ids["</s>"])
    writer.add_add_bos_token(True)
    writer.add_chat_template(_CHAT)

    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", output)
    for norm in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{norm}.weight", np.ones(_DIMENSION, np.float32))
    key = _DIMENSION // _HEADS * _KEY_HEADS
    for name, rows, columns in (
        ("attn_q", _DIMENSION, _DIMENSION),
        ("attn_k", key, _DIMENSION),
        ("attn_v", key, _DIMENSION),
        ("attn_output", _DIMENSION, _DIMENSION),
        ("ffn_gate", _HIDDEN, _DIMENSION),
        ("ffn_up", _HIDDEN, _DIMENSION),
        ("ffn_down", _DIMENSION, _HIDDEN),
    ):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((rows, columns), np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _vocabulary() -> tuple[list[str], list[int], list[float]]:
    """(pieces, kinds, scores). A word is put together a character at a time, so each of its beginnings is a piece."""
    words = [_SPACE + word for word in WORDS.split()]
    beginnings = dict.fromkeys(word[:end] for word in words for end in range(2, len(word) + 1))
    characters = [_SPACE, *map(chr, range(0x21, 0x7F))]
    kinds = dict.fromkeys(["<unk>"], _UNKNOWN)
    kinds |= dict.fromkeys(_MARKS, _CONTROL)
    kinds |= {f"<0x{byte:02X}>": _BYTE for byte in range(256)}
    kinds |= dict.fromkeys([*characters, *beginnings], _NORMAL)
    return list(kinds), list(kinds.values()), [float(len(piece)) for piece in kinds]


def _chain() -> list[tuple[str, str]]:
    said = ["<|assistant|>", *(_SPACE + word for word in SENTENCE[:-1].split()), ".", "</s>"]
    flood, ebb = _SPACE + "flood", _SPACE + "ebb"
    return [*zip(said, said[1:], strict=False), ("<|endless|>", flood), (flood, ebb), (ebb, flood)]


def _weights(pieces: list[str], chain: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """(embedding, output), both (pieces, dimension). The next token's logit is about 40, any other below 11."""
    dice = np.random.default_rng(7)
    embedding = dice.standard_normal((len(pieces), _DIMENSION)).astype(np.float32)
    embedding[:, 0] = 1.0
    output = np.zeros_like(embedding)
    for before, after in chain:
        output[after, 1:] += 40 * embedding[before, 1:] / (_DIMENSION - 1)
    for token, piece in enumerate(pieces):
        output[token, 0] = 9 - _FIRST_IN_JSON.index(piece) if piece in _FIRST_IN_JSON else 3 * piece.isdigit()
    return embedding, output
