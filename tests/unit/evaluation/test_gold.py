"""When evidence counts as found."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from core.types import Passage
from eval.gold import MAX_CHARS, Judged, judged, normalised, within
from eval.questions import Question
from tests.support.data import PAPERS
from tests.support.passages import passage, place, row


def verdict(kind: str, evidence: list[dict[str, Any]], *passages: Passage) -> Judged:
    return judged(Question.model_validate(row("?", *evidence, type=kind)), passages)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("long-\r\ncontext", "longcontext"),
        ("long\ufffe\ncontext", "longcontext"),
        ("long-context", "longcontext"),
        ("soft\u00adhyphen", "softhyphen"),
        ("eﬃcient  ﬁts\n", "efficient fits"),
        ("“It’s” – 3 − 2", '"it\'s" - 3 - 2'),
        ("𝑥 ＝ １", "x = 1"),
        (" A\tB\nC ", "a b c"),
    ],
)
def test_normalised(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.skipif(not PAPERS.is_dir(), reason=f"no papers at {PAPERS}")
def test_normalised_as_the_questions_were_checked() -> None:
    spec = importlib.util.spec_from_file_location("check_gold", PAPERS / "check_gold.py")
    assert spec is not None and spec.loader is not None
    checker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checker)
    rows = map(json.loads, (PAPERS / "papers4_open.jsonl").read_text(encoding="utf-8").splitlines())
    texts = [text for row in rows for text in (row["question"], *(e["quote"] for e in row["evidence"]))]
    texts += ["long-\r\ncontext", "a\ufffe b", "x\u00ad\ny", "“q”—‘r’", "ﬁ ﬀ Ⅳ ½ ﹣ －", "a -b c-\n d", "\r1\r-2\r3"]
    assert [normalised(text) for text in texts] == [checker.norm(text) for text in texts]


def test_any_one_place_is_enough_for_most_types() -> None:
    places = [place("a", 1, "Red hens"), place("a", 2, "Blue ducks")]
    found = verdict("fact", places, passage("a", 9), passage("a", 2, text="So blue\nducks swim."))
    assert (found.page_rank, found.quote_rank) == (2, 2)


def test_a_quote_has_to_be_in_one_passage_of_its_document() -> None:
    places = [place("a", 1, "Red hens lay")]
    halves = (passage("a", 1, text="Red hens"), passage("a", 1, text="lay"), passage("b", 1, text="Red hens lay"))
    assert verdict("fact", places, *halves).quote_rank is None
    # an equal sentence elsewhere in the document is evidence as well
    assert verdict("fact", places, passage("a", 4, text="red hens lay")).quote_rank == 1


def test_a_passage_covers_all_pages_of_its_spans_and_of_its_document_only() -> None:
    places = [place("a", 3, "x")]
    assert verdict("fact", places, passage("a", 2, 3)).page_rank == 1
    assert verdict("fact", places, passage("b", 3)).page_rank is None


def test_multihop_needs_every_evidence_page() -> None:
    places = [place("a", 1, "one"), place("a", 1, "also one"), place("a", 5, "five")]
    first, second = passage("a", 1, text="one"), passage("a", 5, text="nothing")
    assert verdict("multihop", places, first).page_rank is None
    both = verdict("multihop", places, first, passage("a", 7), second)
    assert (both.page_rank, both.quote_rank) == (3, None)
    assert verdict("multihop", places, first, passage("a", 5, text="five")).quote_rank == 2


def test_crossdoc_needs_one_place_of_each_document() -> None:
    places = [place("a", 1, "one"), place("a", 2, "two"), place("b", 1, "uno")]
    assert verdict("crossdoc", places, passage("a", 1), passage("a", 2)).page_rank is None
    found = verdict("crossdoc", places, passage("a", 2, text="two"), passage("b", 1, text="uno"))
    assert (found.page_rank, found.quote_rank) == (2, 2)


def test_evidence_without_page_or_quote() -> None:
    found = verdict("fact", [place("a", None)], passage("b", 1), passage("a", 7))
    assert (found.page_rank, found.quote_rank, found.has_quotes) == (2, None, False)
    assert not verdict("multihop", [place("a", 1, "x"), place("a", 2)]).has_quotes


def test_no_more_characters_than_a_reader_is_handed() -> None:
    exact = [passage("a", 1, text="x" * (MAX_CHARS // 4))] * 4
    assert len(within(exact)) == 4
    assert len(within([*exact, passage("a", 1, text="y")])) == 4
    assert within([passage("a", 1, text="x" * (MAX_CHARS + 1)), passage("a", 1)]) == ()
