"""Streams."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import LLMBadReply, LLMError, LLMFiltered, LLMTruncated, LLMUnavailable
from core.llm import LLM, Delta, Reply
from core.settings import LLMSettings
from core.spending import account
from tests.support.scripted_endpoint import KEY, Kept, LLMServer, Scripted, answer, delta, events, streamed
from tests.unit.llm.support import ASK, ONE_CALL, Play, read

STREAMS = {
    "plain": (streamed("A", "da", "."), ["A", "da", "."], "Ada.", ""),
    "tag cut": (streamed("<th", "ink>h", "m</thi", "nk>", "\n\nA", "da."), ["A", "da."], "Ada.", "hm"),
    "reasoning field": (events(delta(reasoning="h"), delta(content="Ada."), delta("stop")), ["Ada."], "Ada.", "h"),
    "quoted": (streamed("It is <", "think>."), ["It is ", "<think>."], "It is <think>.", ""),
    "null delta": (events({"choices": [{"delta": None}]}, delta(content="Ada."), delta("stop")), ["Ada."], "Ada.", ""),
    "not streamed": (answer("Ada."), ["Ada."], "Ada.", ""),
}


@pytest.mark.parametrize(("script", "pieces", "text", "thinking"), STREAMS.values(), ids=STREAMS)
async def test_streams(play: Play, script: Scripted, pieces: list[str], text: str, thinking: str) -> None:
    llm, server = play(script)
    given, reply = await read(llm)
    assert (given, reply.text, reply.thinking) == (pieces, text, thinking)
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


async def test_a_stream_has_usage(play: Play) -> None:
    llm, _ = play(streamed("Ada."))
    assert (await read(llm))[1].usage == ONE_CALL


BROKEN: dict[str, tuple[Scripted, type[LLMError]]] = {
    "cut": (streamed("Ad", finish=None, done=False, cut=True), LLMUnavailable),
    "ends early": (streamed("Ad", finish=None, done=False), LLMUnavailable),
    "error object": (events(delta(content="Ad"), {"error": {"message": KEY, "code": 500}}), LLMUnavailable),
    "not JSON": (events(delta(content="Ad"), "{oops"), LLMBadReply),
    "length": (streamed("Ad", finish="length"), LLMTruncated),
    "filter": (streamed("Ad", finish="content_filter"), LLMFiltered),
}


@pytest.mark.parametrize(("script", "kind"), BROKEN.values(), ids=BROKEN)
async def test_a_stream_that_breaks_is_no_answer(play: Play, script: Scripted, kind: type[LLMError]) -> None:
    kept, given = Kept(), []
    llm, server = play(script, cache=kept)
    with pytest.raises(kind) as caught:
        async for piece in llm.stream(ASK):
            given.append(piece)
    assert given == [Delta("Ad")]
    assert len(server.requests) == 1  # what was given can't be taken back, so it is not tried again
    assert not kept
    assert KEY not in str(caught.value)


async def test_thinking_without_a_tag_is_held_back_once_it_was_seen(play: Play) -> None:
    llm, _ = play(streamed("hm", "</think>Ada and more."))
    assert (await read(llm))[0] == ["hm", "Ada and more."]
    given, reply = await read(llm)
    assert given == ["Ada and more."]
    assert (reply.text, reply.thinking) == ("Ada and more.", "hm")


async def test_a_closed_stream_frees_its_slot(play: Play) -> None:
    llm, _ = play(streamed("A", "da."), max_concurrency=1)
    for _ in range(3):
        stream = llm.stream(ASK)
        await anext(stream)
        await stream.aclose()
    assert (await read(llm))[1].text == "Ada."


REPLIES = {
    "closed": "<think>One, two.</think>\n\nThe answer is 3.",
    "only closing": "One, two.</think>The answer is 3.",
    "nested": "<think>A <think>tag</think> of my own</think>The answer is 3.",
    "quoted": "It is written <think>like this</think>.",
    "none": "a < b and b </ c: 答案是三。",
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@given(data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_cut_of_a_stream_gives_the_same(reply: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(reply)), max_size=10))
    borders = [0, *sorted(cuts), len(reply)]
    pieces = [reply[a:b] for a, b in pairwise(borders)]

    async def streamed_and_whole() -> tuple[Reply, Reply]:
        with LLMServer([streamed(*pieces), answer(reply)]) as server:
            llm = LLM(LLMSettings(base_url=server.url, model="m"))
            _, first = await read(llm)
            second = await llm.complete(ASK)
            await llm.aclose()
        return first, second

    first, second = asyncio.run(streamed_and_whole())
    assert (first.text, first.thinking) == (second.text, second.thinking)


THOUGHT_TOO_LONG: dict[str, Scripted] = {
    "in a field": events(delta(reasoning_content="hm"), delta("length")),
    "in the text": streamed("<think>hm", finish="length"),
}


@pytest.mark.parametrize("first", THOUGHT_TOO_LONG.values(), ids=THOUGHT_TOO_LONG)
async def test_thinking_that_eats_the_budget_gets_one_larger_one(play: Play, first: Scripted) -> None:
    llm, server = play(first, streamed("Ada."), max_tokens=1000)
    given, reply = await read(llm)
    assert (given, reply.text) == (["Ada."], "Ada.")
    assert [request.body["max_tokens"] for request in server.requests] == [1000, 4000]
    with account() as spent, pytest.raises(LLMTruncated, match="still thinking"):
        stubborn, _ = play(first, max_tokens=1000)
        await read(stubborn)
    assert (spent.usage.calls, spent.usage.failed_calls) == (2, 2)
