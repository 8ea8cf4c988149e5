"""BM25+ over postings gives the scores of rank_bm25 and bm25s, whatever came and went before."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Plus

from retrieval import postings
from retrieval.postings import Postings

Texts = dict[str, list[str]]
WORDS = [f"t{n}" for n in range(12)]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30)
# True: a chunk comes with that text; False: one of those there goes.
changes = st.lists(st.tuples(st.booleans(), texts, st.integers(0, 10**6)), min_size=1, max_size=40)
queries = st.lists(st.sampled_from([*WORDS, "nowhere"]), max_size=6)


def _changed(steps: Sequence[tuple[bool, list[str], int]], every: int) -> tuple[Postings, Texts]:
    index, held = Postings(), dict[str, list[str]]()
    for number, (comes, tokens, choice) in enumerate(steps):
        if comes or not held:
            held[f"c{number}"] = tokens
            index.add(f"c{number}", f"d{number % 3}", tokens)
        else:
            gone = sorted(held)[choice % len(held)]
            del held[gone]
            index.remove(gone)
        if every and number % every == 0:
            index.settle()
        index.settle_when_due()
    return index, held


def _scores(index: Postings, query: Sequence[str]) -> dict[str, float]:
    """What BM25+ gives each chunk."""
    scores, floor = index.scores(query)
    return {item: float(scores[index._row_of[item]]) + floor for item in index.held()}


@given(changes, queries, st.sampled_from([0, 1, 7]))
def test_what_came_and_went_scores_as_rank_bm25_scores_the_rest(
    steps: list[tuple[bool, list[str], int]], query: list[str], every: int
) -> None:
    index, held = _changed(steps, every)
    assert index.held() == set(held) and len(index) == len(held)
    for n in range(3):
        assert index.held(f"d{n}") == {item for item in held if int(item[1:]) % 3 == n}
    if not held:
        assert index.search(query, 5) == []
        return
    oracle = BM25Plus(list(held.values()))
    expected = dict(zip(held, oracle.get_scores(query), strict=True))
    assert _scores(index, query) == pytest.approx(expected, rel=1e-12)
    assert {term: index.idf(term) for term in oracle.idf} == oracle.idf
    assert index.idf("nowhere") == 0


@given(changes, queries, st.integers(1, 8), st.sampled_from([(), ("d0",), ("d2", "d1"), ("none",)]))
def test_found_is_what_holds_a_term_best_first_and_of_equals_the_smaller_id(
    steps: list[tuple[bool, list[str], int]], query: list[str], k: int, documents: tuple[str, ...]
) -> None:
    index, held = _changed(steps, 5)
    scores, _ = index.scores(query)
    matching = {
        item: float(scores[index._row_of[item]])
        for item, tokens in held.items()
        if set(query) & set(tokens) and (not documents or f"d{int(item[1:]) % 3}" in documents)
    }
    assert index.search(query, k, documents) == sorted(matching.items(), key=lambda hit: (-hit[1], hit[0]))[:k]


@given(st.lists(texts, min_size=1, max_size=30), queries)
def test_bm25s_scores_the_same(corpus: list[list[str]], query: list[str]) -> None:
    oracle = bm25s.BM25(method="bm25+", k1=postings.K1, b=postings.B, delta=postings.DELTA, dtype="float64")
    oracle.index(corpus, show_progress=False)
    index, held = _changed([(True, tokens, 0) for tokens in corpus], 0)
    known = [term for term in query if index.idf(term)]
    expected = oracle.get_scores(known) if known else np.zeros(len(corpus))  # bm25s refuses no tokens
    assert _scores(index, known) == pytest.approx(dict(zip(held, expected, strict=True)), rel=1e-9)


def test_the_tail_is_sorted_in_and_the_dead_are_forgotten_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "UNSORTED", 50)
    monkeypatch.setattr(postings, "DEAD", 10)
    steps = [(n % 3 != 2, [f"w{n}", f"w{n % 5}", "all"], n) for n in range(600)]
    index, held = _changed(steps, 0)
    assert 0 < len(index._rows) <= 3 * len(held) * 2 and len(index._ids) < len(held) * 1.3
    assert len(index._new_terms) <= 51 + len(index._rows) // 8
    expected = BM25Plus(list(held.values())).get_scores(["all", "w3"])
    assert _scores(index, ["all", "w3"]) == pytest.approx(dict(zip(held, expected, strict=True)), rel=1e-12)
    for item in held:
        index.remove(item)
    index.settle()
    assert not index._vocabulary and not index._documents and not len(index._rows) and not index._ids


def test_more_occurrences_than_are_told_apart_are_that_many() -> None:
    index = Postings()
    index.add("a", "d", ["x"] * 70_000)
    index.add("b", "d", ["y"] * 70_000)
    assert dict(index.search(["x"], 2)).keys() == {"a"}
    assert index.idf("x") == pytest.approx(np.log(3))
