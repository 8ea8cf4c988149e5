"""Prompts are made to fit the model's window, and the trace says what that cost."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import LLMTooLong
from core.llm import Message
from core.llm.failures import window_told
from core.llm.window import fit, size_of
from core.prompts import Part, Prompt
from core.trace import Tracer
from tests.support.scripted_endpoint import Kept, Scripted, answer, events, refusal, streamed
from tests.unit.llm.support import ASK, Play

PASSAGE = "The gauge was read every ten minutes, and the mean of an hour was kept. " * 20
OPENAI = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."


def asked(passages: int) -> Message:
    parts = [Part(f"[{n}] {PASSAGE}\n", n, "passage") for n in range(1, passages + 1)]
    return Message("user", Prompt("p", "1", (Part("Instructions.\n"), *parts, Part("QUESTION: Who?"))))


def listed(**fields: object) -> dict[str, object]:
    return {"/v1/models": {"data": [{"id": "m", **fields}]}}


TELLING: dict[str, tuple[dict[str, object], int]] = {
    "vLLM": (listed(max_model_len=2048), 2048),
    "OpenRouter": ({"/v1/models": {"data": [{"id": "x", "context_length": 9}, {"id": "m", "context_length": 20}]}}, 20),
    "Groq": (listed(context_window=2048), 2048),
    "LM Studio": (listed(loaded_context_length=2048, max_context_length=9999), 2048),
    "llama.cpp": (listed(meta={"n_ctx_train": 9}) | {"/props": {"default_generation_settings": {"n_ctx": 2048}}}, 2048),
    "Ollama": (listed() | {"/api/ps": {"models": [{"name": "m", "context_length": 2048}]}}, 2048),
    "nobody": ({}, 8192),
    "nonsense": ({"/v1/models": {"data": "?"}, "/props": [], "/api/ps": {"models": [{"context_length": "9"}]}}, 8192),
    "other models": ({"/v1/models": {"data": [{"id": "a", "context_length": 9}, {"id": "b"}]}}, 8192),
}


@pytest.mark.parametrize(("pages", "window"), TELLING.values(), ids=TELLING)
async def test_the_endpoint_tells_its_window(play: Play, pages: dict[str, object], window: int) -> None:
    llm, server = play(answer("x"), pages=pages)
    assert await asyncio.gather(llm.window(), llm.window()) == [window, window]
    assert server.fetched.count("/v1/models") == 1  # asked once


async def test_the_smaller_of_what_is_told_and_what_is_set_holds(play: Play) -> None:
    pages = {"/v1/models": {"data": [{"id": "m", "max_model_len": 2048}]}}
    for said, window in ((1500, 1500), (9000, 2048)):
        llm, _ = play(answer("x"), pages=pages, context_window=said)
        assert await llm.window() == window


async def test_a_small_call_asks_for_no_window(play: Play) -> None:
    llm, server = play(answer("x"))
    await llm.complete(ASK, max_tokens=100)
    assert server.fetched == []


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
async def test_three_windows_of_prompt_are_fitted(play: Play, streaming: bool) -> None:
    pages = {"/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}}
    llm, server = play(streamed("x") if streaming else answer("x"), pages=pages, max_tokens=512)
    message = asked(30)
    assert size_of([message]) > 3 * 4096
    tracer = Tracer()
    async with tracer.stage("reasoner"):
        if streaming:
            reply = [piece async for piece in llm.stream([message])][-1]
        else:
            reply = await llm.complete([message])
    sent = server.requests[0].body["messages"][0]["content"]
    shown = sent.count("gauge was read") // 20
    assert sent.startswith("Instructions.\n[1] ") and sent.endswith("QUESTION: Who?")
    assert 5 <= shown < 30
    assert f"\n[{shown}] " in sent and f"[{shown + 1}] " not in sent  # the lowest-ranked are gone, and only they
    assert [part.rank for part in reply.left_out] == list(range(shown + 1, 31))
    assert tracer.steps[0].degraded == f"{30 - shown} passages left out: the prompt is longer than the window of m"


async def test_what_may_not_be_left_out_and_does_not_fit_is_an_error(play: Play) -> None:
    llm, server = play(answer("x"), context_window=1000)
    with pytest.raises(LLMTooLong, match="at least") as caught:
        await llm.complete([Message("user", PASSAGE * 10)])
    assert (caught.value.hint != "", server.requests) == (True, [])


async def test_a_refusal_that_names_the_window_is_learned_from(play: Play) -> None:
    kept = Kept()
    llm, server = play(refusal(400, OPENAI), answer("x"), cache=kept)
    message = asked(20)
    reply = await llm.complete([message])
    first, second = (len(request.body["messages"][0]["content"]) for request in server.requests)
    assert second < first and reply.left_out
    await llm.complete([message])
    assert len(server.requests) == 2  # it is kept as it was answered


async def test_a_refusal_in_a_stream_is_learned_from(play: Play) -> None:
    llm, server = play(refusal(400, OPENAI), streamed("x"))
    *_, reply = [piece async for piece in llm.stream([asked(20)])]
    assert reply.left_out and len(server.requests) == 2


@pytest.mark.parametrize("empty", [events(done=False), events(done=False, cut=True)], ids=["ended", "cut"])
async def test_an_empty_stream_is_asked_again_for_its_reason(play: Play, empty: Scripted) -> None:
    """llama-cpp-python's server streams nothing at all when the prompt is too long."""
    llm, server = play(empty, refusal(400, OPENAI), streamed("x"))
    *_, reply = [piece async for piece in llm.stream([asked(20)])]
    assert reply.left_out
    assert [request.body.get("stream", False) for request in server.requests] == [True, False, True]


TOLD = {
    OPENAI: 4096,
    "the request exceeds the available context size (4096 tokens), try increasing it": 4096,
    "Requested tokens (5017) exceed context window of 4096": 4096,
    "too many tokens": 0,
}


@pytest.mark.parametrize(("told", "window"), TOLD.items())
def test_windows_in_refusals(told: str, window: int) -> None:
    assert window_told(told) == window


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 400)), max_size=12), st.integers(100, 1200))
def test_fitting(parts: list[tuple[int, int]], limit: int) -> None:
    message = Message("user", Prompt("p", "1", tuple(Part("word " * size, rank) for rank, size in parts)))
    try:
        fitted = fit([message], limit)
    except LLMTooLong:
        always = Prompt("p", "1", tuple(part for part in message.parts if not part.rank))
        assert size_of([Message("user", always)]) > limit
        return
    assert fitted.tokens <= limit + 1
    kept_ranks = [part.rank for part in message.parts if part not in fitted.left_out]
    assert all(part.rank for part in fitted.left_out)
    lowest_gone = min((part.rank for part in fitted.left_out), default=9)
    assert all(rank <= lowest_gone for rank in kept_ranks)
