from typing import Any

import pytest

from eval.quotation import key_in, report


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("5", "It took 25 hours.", False),
        ("5", "It took 5 hours.", True),
        ("0.5", "a rate of 0.55", False),
        ("12", "12.5 hours", False),
        (["8", "eight"], "on Eight GPUs", True),
        ("labeled", "unlabeled data", False),
        ("self-attention", "Self-Attention layers", True),
    ],
)
def test_key_terms(key: str | list[str], text: str, expected: bool) -> None:
    assert key_in(key, text) is expected


def test_what_can_not_be_scored_is_left_out_of_a_mean() -> None:
    row: dict[str, Any] = {"question": "?", "type": "fact", "lang": "en", "none": False, "page_cited": True}
    unanswerable = row | {"type": "unanswerable", "none": True, "page_cited": False, "keys": None, "ms": 2.0}
    found = report([row | {"keys": 0.5, "ms": 1.0}, unanswerable])
    assert (found["n"], found["page_cited"], found["key_terms"]) == (1, 1.0, 0.5)
    assert found["unanswerable_refused"] == 1.0
