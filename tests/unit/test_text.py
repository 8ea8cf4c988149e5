from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import clean, embedding_text, find_quote, line_boxes, sentences, text_hash, text_of
from core.types import Page, Span


@pytest.mark.parametrize(
    "parts",
    [
        ["One ends here.", "Two starts here."],
        ["As Smith et al. (2017) show in Fig. 3, e.g. for v1.2, it grows by 3.5 points.", "Then it falls."],
        ["We follow Vaswani et al. and use Eq. 4.", "It works!", "Does it?", "“Yes.”", "Good."],
        ["J. Smith wrote it.", "K. Jones read it."],
        ["The answer is no.", "See No. 4."],
        ["3.1. The title of a section"],
        ["她读了这本书。", "然后呢？", "很好！"],
        ["A line without an end", "Another line"],
    ],
)
def test_sentences(parts: list[str]) -> None:
    separator = "" if "。" in parts[0] else "\n" if not parts[0].endswith(".") else " "
    text = separator.join(parts)
    assert [text[start:end] for start, end in sentences(text)] == parts


@given(st.text(alphabet="ab .!?\n。A1", max_size=60))
def test_sentences_cover_all_but_white_space(text: str) -> None:
    found = sentences(text)
    assert all(start < end for start, end in found)
    assert all(one[1] <= other[0] for one, other in zip(found, found[1:], strict=False))
    assert "".join("".join(text[s:e] for s, e in found).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        ("the model", "See the model here", "the model"),
        ("The  MODEL\nis", "See the model is", "the model is"),
        ('a "good" one', "It is a “good” one.", "a “good” one"),
        ("pages 3-5", "on pages 3–5 of it", "pages 3–5"),
        ("the embedding", "all of the embed-\nding is", "the embed-\nding"),
        ("state of the art model", "a state-of-the-art model", None),
        ("long context", "a long-context", None),
        ("long-context", "the longcontext model", "longcontext"),
        ("efficient", "an eﬃcient way", "eﬃcient"),
        ("d k .", "of d k. Then", "d k."),
        ("模型很好", "这个模型 很好。", "模型 很好"),
        ("5 points", "about 15 points", None),
        ("rise of -5", "a rise of 5", None),
        ("therapist", "the rapist", None),
        ("model", "remodelled", "model"),
        ("", "anything", None),
        ("absent", "not here", None),
    ],
)
def test_find_quote(quote: str, text: str, found: str | None) -> None:
    at = find_quote(quote, text)
    assert (text[at[0] : at[1]] if at else None) == found


@given(st.text(st.characters(exclude_categories=["Nd", "No", "Nl"]), min_size=1, max_size=80), st.data())
def test_a_stretch_of_the_text_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    quote = text[start:end].strip()
    found = find_quote(quote, text)
    if quote:
        assert found is not None and text[found[0] : found[1]] == quote


def test_clean() -> None:
    assert clean("a\x00b\tc\r\nd\u00ad\ufffee\ufb01\ud800\ue000\x85") == "ab c\nde" + "fi"


def test_embedding_text_and_hash() -> None:
    assert embedding_text("Title", "", "text") == "Title\ntext"
    assert text_hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_text_of() -> None:
    spans = (Span(page=1, start=4, end=9), Span(page=2, start=0, end=3))
    assert text_of(spans, {1: "one two x", 2: "three"}) == "two x\nthr"


def test_line_boxes_one_a_line() -> None:
    boxes = ((0.0, 0.0, 5.0, 10.0), (5.0, 1.0, 9.0, 10.0), (9.0, 10.0, 9.0, 10.0), (0.0, 12.0, 5.0, 22.0))
    page = Page(number=1, width=100, height=100, text="ab c", boxes=boxes)
    assert line_boxes(page, 0, 4) == ((0.0, 0.0, 9.0, 10.0), (0.0, 12.0, 5.0, 22.0))
    assert line_boxes(page, 2, 3) == ()
