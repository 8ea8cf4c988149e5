"""Reranking: the order, what is cut, what a budget leaves out, and what a model's failure does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import LLMBadReply, ServiceUnavailable
from core.ports import Scored
from retrieval.batching import by_length, size_of
from retrieval.rerank import Reranking
from tests.support.reranker import Clock, ScriptedReranker

TEXTS = ["score 1", "score 5", "score -2", "score 5", "score 9"]


def padded(score: int, length: int) -> str:
    return f"{score} ".ljust(length, "x")


def test_the_best_comes_first_and_equals_keep_their_order() -> None:
    found = Reranking(ScriptedReranker()).rank("q", TEXTS)

    assert found.order == (4, 1, 3, 0, 2)
    assert found.scores == {0: 1, 1: 5, 2: -2, 3: 5, 4: 9}
    assert (found.cut, found.late, found.failed, found.notes) == (0, 0, 0, ())


def test_no_candidates_cost_no_call() -> None:
    reranker = ScriptedReranker()
    found = Reranking(reranker, budget_ms=10).rank("q", [])

    assert (found.order, found.scores, reranker.batches) == ((), {}, [])


def test_one_candidate() -> None:
    assert Reranking(ScriptedReranker()).rank("q", ["7"]).order == (0,)


def test_what_was_cut_is_counted_and_said() -> None:
    found = Reranking(ScriptedReranker(limit=50)).rank("q", [padded(n, 40 + 10 * n) for n in range(5)])

    assert found.cut == 3
    assert found.notes == ("3 were cut to the reranker's length",)


def test_batches_are_of_one_length_and_that_of_the_first_candidate_comes_first() -> None:
    reranker = ScriptedReranker(batch_size=2)
    Reranking(reranker).rank("q", [padded(0, n) for n in (10, 500, 20, 510, 900)])

    assert [[len(text) for text in batch] for batch in reranker.batches] == [[10], [500, 20], [510, 900]]


@given(st.lists(st.integers(-50, 50), max_size=40), st.integers(1, 9), st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_batches_and_lengths(numbers: list[int], batch_size: int, random) -> None:
    texts = [padded(number, random.randint(3, 900)) for number in numbers]
    found = Reranking(ScriptedReranker(batch_size=batch_size)).rank("q", texts)

    assert found.order == tuple(sorted(range(len(texts)), key=lambda place: (-numbers[place], place)))
    assert found.scores == dict(enumerate(numbers))


# --- the budget


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(5, 900)), max_size=40),
    st.integers(1, 9),
    st.integers(1, 20_000),
    st.integers(1, 3),
)
def test_a_budget_is_kept_and_the_rest_stays_where_it_was(
    candidates: list[tuple[int, int]], batch_size: int, budget_ms: int, questions: int
) -> None:
    clock = Clock()
    reranker = ScriptedReranker(clock, pace=0.001, batch_size=batch_size)
    reranking = Reranking(reranker, budget_ms, clock)
    texts = [padded(number, length) for number, length in candidates]
    for _ in range(questions):
        found = reranking.rank("q", texts)
        left = [place for place in range(len(texts)) if place not in found.scores]

        assert sorted(found.order) == list(range(len(texts)))
        assert all(found.order[place] == place for place in left)
        inside = [found.scores[place] for place in found.order if place in found.scores]
        assert inside == sorted(inside, reverse=True)
        assert found.late == len(left)
        # Now and then one text is scored, whatever it takes: of a model that was never called, or was too slow.
        assert len(found.scores) == 1 or found.ms <= budget_ms * 1.02 + 1
        assert not left or f"{len(left)} left in fused order: the budget of {budget_ms} ms ran out" in found.notes


def test_what_fits_is_the_head_of_the_fused_order() -> None:
    clock = Clock()
    reranking = Reranking(ScriptedReranker(clock, pace=0.001, batch_size=2), 1000, clock)
    texts = [padded(n, 99) for n in range(20)]
    first, second = reranking.rank("q", texts), reranking.rank("q", texts)

    # 100 ms a text; the first of all is scored alone, and its time is part of the budget.
    assert sorted(first.scores) == sorted(second.scores) == list(range(len(second.scores)))
    assert 8 <= len(second.scores) <= 10
    assert second.order[len(second.scores) :] == tuple(range(len(second.scores), 20))


def test_a_budget_that_nothing_fits_in_leaves_all() -> None:
    clock = Clock()
    reranker = ScriptedReranker(clock, pace=0.01)
    reranking = Reranking(reranker, 10, clock)
    reranking.rank("q", [padded(1, 99)])
    found = reranking.rank("q", [padded(n, 99) for n in range(3)])

    assert (found.order, found.scores, found.late) == ((0, 1, 2), {}, 3)
    assert len(reranker.batches) == 1


def test_a_model_that_got_faster_is_noticed() -> None:
    clock = Clock()
    reranker = ScriptedReranker(clock, pace=0.01, batch_size=1)
    reranking = Reranking(reranker, 3000, clock)
    texts = [padded(n, 99) for n in range(20)]
    slow = reranking.rank("q", texts)
    reranker.pace = 0.0001
    fast = reranking.rank("q", texts)

    assert len(slow.scores) < 5
    assert len(fast.scores) == 20


def test_a_model_that_was_slow_once_is_tried_again() -> None:
    clock = Clock()
    reranker = ScriptedReranker(clock, pace=1.0)
    reranking = Reranking(reranker, 2000, clock)
    texts = [padded(n, 99) for n in range(5)]
    reranking.rank("q", texts)  # its first call took 100 s, to warm up
    reranker.pace = 0.001
    found = [reranking.rank("q", texts) for _ in range(12)]

    assert not found[0].scores
    assert len(found[-1].scores) == 5


def test_a_model_that_stops_is_given_the_time_that_is_left() -> None:
    clock = Clock()
    reranker = ScriptedReranker(clock, pace=0.001, batch_size=2, stops=True)
    found = Reranking(reranker, 1000, clock).rank("q", [padded(n, 99) for n in range(20)])

    assert reranker.within == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2])
    assert len(found.scores) == 10 and found.late == 10


def test_a_model_that_was_stopped_leaves_what_it_had_not_scored() -> None:
    reranker = ScriptedReranker(stops=True, batch_size=2, fails=lambda call: TimeoutError() if call == 2 else None)
    found = Reranking(reranker, 1000).rank("q", ["1", "2", "3"])

    assert found.order == (1, 0, 2)
    assert found.notes == ("1 left in fused order: the budget of 1000 ms ran out",)


# --- failures


@pytest.mark.parametrize("error", [ServiceUnavailable("the service is away"), LLMBadReply("no list")])
def test_a_model_that_fails_leaves_the_order_and_says_so(error: Exception) -> None:
    found = Reranking(ScriptedReranker(fails=lambda call: error)).rank("q", TEXTS)

    assert found.order == (0, 1, 2, 3, 4)
    assert (found.failed, found.late) == (5, 0)
    assert found.notes == (f"5 left in fused order: {error}",)
    assert found.summary.startswith("0 reranked in ")


def test_what_was_scored_before_a_failure_counts() -> None:
    reranker = ScriptedReranker(batch_size=2, fails=lambda call: ServiceUnavailable("gone") if call == 2 else None)

    assert Reranking(reranker).rank("q", ["1", "2", "3"]).order == (1, 0, 2)


def test_a_score_that_is_no_number_changes_nothing() -> None:
    class Bad(ScriptedReranker):
        def scores(self, query, texts, *, within_s=float("inf")):
            return Scored(np.full(len(texts), np.nan, np.float32))

    found = Reranking(Bad()).rank("q", TEXTS)

    assert found.order == (0, 1, 2, 3, 4)
    assert found.notes == ("5 left in fused order: the reranker gave a score that is no number",)


def test_any_other_error_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        Reranking(ScriptedReranker(fails=lambda call: ZeroDivisionError())).rank("q", TEXTS)


def test_many_questions_at_once() -> None:
    reranking = Reranking(ScriptedReranker(), budget_ms=60_000)
    with ThreadPoolExecutor(8) as pool:
        assert {found.order for found in pool.map(lambda _: reranking.rank("q", TEXTS), range(50))} == {(4, 1, 3, 0, 2)}


# --- batches


@given(st.lists(st.integers(0, 1000), max_size=60), st.integers(1, 9))
def test_by_length_is_a_partition_in_order_of_length(sizes: list[int], batch_size: int) -> None:
    batches = by_length(sizes, batch_size)

    assert sorted(place for batch in batches for place in batch) == list(range(len(sizes)))
    assert all(len(batch) <= batch_size for batch in batches)
    for longer, shorter in zip(batches, batches[1:], strict=False):
        assert min(sizes[place] for place in longer) >= max(sizes[place] for place in shorter)


def test_the_size_of_a_text_is_its_bytes() -> None:
    assert size_of("aé潮") == 6
