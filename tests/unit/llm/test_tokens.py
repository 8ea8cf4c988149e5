"""The estimate of tokens against real counts (Qwen2.5's tokenizer) of texts of our own."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from pathlib import Path

import pytest

from core.llm.tokens import estimate

COUNTED = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "token_counts.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_no_kind_of_text_is_a_tenth_under_nor_a_half_over() -> None:
    estimated, counted = defaultdict(int), defaultdict(int)
    for row in COUNTED:
        estimated[row["kind"]] += estimate(row["text"])
        counted[row["kind"]] += row["tokens"]
    ratios = {kind: estimated[kind] / counted[kind] for kind in counted}
    assert set(ratios) >= {"english", "chinese", "code", "table"}
    assert {kind: ratio for kind, ratio in ratios.items() if not 0.9 <= ratio <= 1.4} == {}


@pytest.mark.parametrize("row", COUNTED, ids=lambda row: f"{row['kind']}: {row['text'][:12]!r}")
def test_no_text_is_far_off(row: dict[str, str]) -> None:
    assert 0.8 <= estimate(row["text"]) / int(row["tokens"]) <= 1.6


def test_odd_texts() -> None:
    assert estimate("") == 0
    assert estimate("\ud800") >= 1  # half a surrogate pair
    start = time.perf_counter()
    estimate("a" * 300_000 + " " * 300_000 + "☃" * 300_000)
    assert time.perf_counter() - start < 3
