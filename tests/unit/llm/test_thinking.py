"""Thinking and answer are parted the same way, wherever a reply is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.llm.thinking import ThinkSplitter, split

CASES = {
    "none": ("Just text.", "", "Just text."),
    "closed": ("<think>hm</think>\n\nYes.", "hm", "Yes."),
    "blanks before": ("\n <think>hm</think>Yes.", "hm", "Yes."),
    "empty block": ("<think>\n\n</think>\n\nYes.", "", "Yes."),
    "unclosed": ("<think>hm, hm", "hm, hm", ""),
    "only closing": ("hm {1}\n</think>\nYes.", "hm {1}", "Yes."),
    "JSON behind only closing": (
        'I see {"a": 1}...</think>\n```json\n[1]\n```',
        'I see {"a": 1}...',
        "```json\n[1]\n```",
    ),
    "quoted later": ("The template is <think> r </think> a", "", "The template is <think> r </think> a"),
    "quoted after a block": ("<think>x</think>It is <think>a</think>.", "x", "It is <think>a</think>."),
    "half a tag": ("<thi", "", "<thi"),
    "half a closing tag": ("a </thi", "", "a </thi"),
    "another tag": ("<thinker> a", "", "<thinker> a"),
    "empty": ("", "", ""),
}
UNOPENED_QUOTES = {
    "closing tag in quotes": "Qwen ends its thinking with `</think>` and answers.",
    "closing tag in JSON": '{"quote": "ends with </think> here"}',
}


@pytest.mark.parametrize(("reply", "thinking", "text"), CASES.values(), ids=CASES)
def test_whole(reply: str, thinking: str, text: str) -> None:
    assert split(reply) == (thinking, text)


@pytest.mark.parametrize("reply", UNOPENED_QUOTES.values(), ids=UNOPENED_QUOTES)
def test_a_closing_tag_that_is_part_of_the_answer_cuts_nothing(reply: str) -> None:
    assert split(reply) == ("", reply)


WORDS = st.sampled_from(["<think>", "</think>", "<thi", "nk>", "</", "<", ">", "a", " ", "\n", "`", "{", "hm "])


@given(words=st.lists(WORDS, max_size=12), data=st.data(), hold=st.booleans())
@example(words=["hm", "</think>", "a long answer"], data=None, hold=False)
def test_cuts_change_nothing(words: list[str], data: st.DataObject | None, hold: bool) -> None:
    reply = "".join(words)
    cuts = data.draw(st.lists(st.integers(0, len(reply)))) if data else [2, 4, len(reply)]
    borders = [0, *sorted(cuts), len(reply)]
    splitter = ThinkSplitter(hold=hold)
    given_text = [splitter.feed(reply[a:b]) for a, b in pairwise(borders)]
    assert splitter.finish() == split(reply)
    given_text.append(splitter.rest)
    if hold or not splitter.unopened:
        assert "".join(given_text) == splitter.text  # nothing of the thinking was given, nothing lost
    else:
        assert "".join(given_text).endswith(splitter.text)


def test_long_replies_take_linear_time() -> None:
    splitter = ThinkSplitter()
    for _ in range(50_000):
        splitter.feed("word ")
    splitter.finish()
    assert len(splitter.text) == 250_000
