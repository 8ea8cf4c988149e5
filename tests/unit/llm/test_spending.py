"""Budgets hold, and what is spent is counted whatever comes of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from core.errors import LLMBudget, LLMError
from core.settings import Limits
from core.spending import account, current
from core.trace import Tracer
from core.types import Usage
from tests.support.scripted_endpoint import Kept, Scripted, answer, delta, events, raw, refusal, streamed
from tests.unit.llm.support import ASK, ONE_CALL, Play, read


async def test_usage_and_cost_are_summed_in_each_stage(play: Play) -> None:
    llm, _ = play(answer("x"), cache=Kept(), prompt_price=1_000_000, completion_price=2_000_000)
    tracer = Tracer()
    with account() as spent:
        async with tracer.stage("one"):
            await llm.complete(ASK)
        async with tracer.stage("two"):
            await llm.complete(ASK)
        async with tracer.stage("three"):
            pass
    one, two, three = (step.details for step in tracer.steps)
    assert one == {"calls": 1, "prompt_tokens": 7, "completion_tokens": 3, "cost": 13.0}
    assert (two, three) == ({"cached_calls": 1}, {})
    assert spent.usage == ONE_CALL + Usage(cached_calls=1, cost=13.0)


async def test_a_reported_cost_is_taken(play: Play) -> None:
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    llm, _ = play(raw(body | {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.25}}), prompt_price=1e9)
    assert (await llm.complete(ASK)).usage.cost == 0.25


@pytest.mark.parametrize("script", [events(delta(content="Ada was here."), delta("stop"))], ids=["stream"])
async def test_tokens_are_estimated_where_none_are_reported(play: Play, script: Scripted) -> None:
    llm, _ = play(script, completion_price=1_000_000)
    usage = (await read(llm))[1].usage
    assert (usage.calls, usage.estimated_calls) == (1, 1)
    assert 1 <= usage.prompt_tokens <= 4 and 3 <= usage.completion_tokens <= 8
    assert usage.cost == usage.completion_tokens


FAILED: dict[str, Scripted] = {
    "length": answer("Ada was", "length"),
    "empty": answer(""),
    "filter": answer("", "content_filter"),
    "no JSON": Scripted("{oops"),
}


@pytest.mark.parametrize("script", FAILED.values(), ids=FAILED)
async def test_a_reply_that_can_not_be_used_is_paid_for_all_the_same(play: Play, script: Scripted) -> None:
    llm, _ = play(script)
    with account() as spent, pytest.raises(LLMError):
        await llm.complete(ASK)
    assert (spent.usage.calls, spent.usage.failed_calls) == (1, 1)
    assert spent.usage.prompt_tokens > 0


async def test_a_refused_request_costs_nothing(play: Play) -> None:
    llm, _ = play(refusal(401))
    with account() as spent, pytest.raises(LLMError):
        await llm.complete(ASK)
    assert spent.usage == Usage()


async def test_a_stream_that_is_left_is_charged(play: Play) -> None:
    llm, _ = play(streamed("Ada ", "was ", "here."))
    with account() as spent:
        stream = llm.stream(ASK)
        await anext(stream)
        await stream.aclose()
    assert (spent.usage.calls, spent.usage.failed_calls) == (1, 1)


SPENT: dict[str, tuple[dict[str, Any], str]] = {
    "calls": ({"calls": 2}, "budget of 2 calls"),
    "tokens": ({"tokens": 150}, "budget of 150 tokens ran out: 20 are used"),
    "money": ({"money": 0.15}, "budget of 0.15 ran out: 0.02 is spent"),
}


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("limits", "told"), SPENT.values(), ids=SPENT)
async def test_a_budget_ends_before_it_is_overdrawn(
    play: Play, limits: dict[str, Any], told: str, streaming: bool
) -> None:
    llm, server = play(
        *([streamed("x"), streamed("x")] if streaming else [answer("x"), answer("x")]),
        max_tokens=90,
        prompt_price=1000,
        completion_price=1000,
    )
    with account(Limits(**limits)), pytest.raises(LLMBudget) as caught:
        for _ in range(3):
            await (read(llm) if streaming else llm.complete(ASK))
    assert len(server.requests) == 2
    assert told in caught.value.message
    assert "QUAERE_BUDGET__QUESTION__" in caught.value.hint


async def test_calls_side_by_side_do_not_overdraw(play: Play) -> None:
    llm, server = play(Scripted(answer("x").body, delay_s=0.02), max_concurrency=8)
    with account(Limits(calls=3)):
        done = await asyncio.gather(*(llm.complete(ASK) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(one, LLMBudget) for one in done) == 5
    assert len(server.requests) == 3


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
async def test_seconds_run_out(play: Play, streaming: bool) -> None:
    slow = Scripted(streamed(*"Ada." * 20).body, type="text/event-stream", drip_s=0.05)
    llm, server = play(slow if streaming else Scripted(answer("x").body, delay_s=0.5))
    with account(Limits(seconds=0.2)), pytest.raises(LLMBudget, match=r"0\.2 seconds"):
        await (read(llm) if streaming else llm.complete(ASK))
    with account(Limits(seconds=0.2)) as spent:
        await asyncio.sleep(0.25)
        with pytest.raises(LLMBudget):
            await llm.complete(ASK)
    assert (spent.usage, len(server.requests)) == (Usage(), 1)


async def test_what_was_sent_and_never_answered_may_be_billed(play: Play) -> None:
    llm, _ = play(Scripted(answer("x").body, delay_s=0.3), read_timeout_s=0.05)
    with account() as spent, pytest.raises(LLMError):
        await llm.complete(ASK)
    assert (spent.usage.calls, spent.usage.failed_calls, spent.usage.estimated_calls) == (1, 1, 1)


async def test_waiting_for_a_busy_endpoint_counts_as_time(play: Play) -> None:
    llm, _ = play(refusal(429, Retry_After="5"))
    with account(Limits(seconds=0.2)), pytest.raises(LLMBudget):
        await llm.complete(ASK)


async def test_a_kept_reply_needs_no_budget(play: Play) -> None:
    llm, _ = play(answer("x"), cache=Kept())
    await llm.complete(ASK)
    with account(Limits(calls=1, tokens=1, money=0.1)):
        assert (await llm.complete(ASK)).cached
        assert (await llm.complete(ASK)).cached


def test_accounts_nest_and_close() -> None:
    with account(Limits(tokens=100)) as outer:
        with account() as inner:
            current().charge(Usage(prompt_tokens=60))
        with account(), pytest.raises(LLMBudget), current().reserved(50, 0):
            pass
        with current().reserved(40, 0), pytest.raises(LLMBudget), current().reserved(1, 0):
            pass
        with current().reserved(40, 0):
            pass
    assert (inner.usage.prompt_tokens, outer.usage.prompt_tokens) == (60, 60)
    current().charge(Usage(prompt_tokens=1))
    assert outer.usage.prompt_tokens == 60
