"""The language-model client against llama.cpp's own server and a model whose every word is known."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from core.errors import LLMBadReply, LLMBudget, LLMTooLong, LLMTruncated, LLMUnavailable
from core.llm import LLM, Delta, Message, Reply
from core.llm.doctor import examine
from core.llm.window import size_of
from core.prompts import Part, Prompt
from core.settings import Limits, LLMSettings
from core.spending import account
from core.types import Usage
from tests.support.llama_server import LlamaServer, model_file, running_llama
from tests.support.tiny_gguf import ENDLESS, NAME, SENTENCE

pytestmark = pytest.mark.integration

SMALL, LARGE = 512, 65536  # windows
LONG = LARGE // 2  # tokens of a reply that takes much longer than any of these tests waits
ASK = [Message("user", "Who?")]  # with <s>, the role, a space and the beginning of the reply: 8 tokens
FOR_EVER = [Message("user", ENDLESS)]
PASSAGE = f"{SENTENCE} " * 4

Serve = Callable[..., LlamaServer]
Talk = Callable[..., LLM]
Call = Callable[[LLM], Awaitable[object]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_file(tmp_path_factory.mktemp("model"))


@pytest.fixture
def serve(model: Path, tmp_path: Path) -> Iterator[Serve]:
    """`serve(context=…, slots=…)`; killed at the end."""
    with ExitStack() as stack:

        def start(context: int = SMALL, slots: int = 1) -> LlamaServer:
            return stack.enter_context(running_llama(model, tmp_path, context=context, slots=slots))

        yield start


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    """`talk(server, setting=…)`; closed at the end."""
    clients: list[LLM] = []

    def start(server: LlamaServer, **changed: Any) -> LLM:
        clients.append(LLM(settings_for(server, **changed)))
        return clients[-1]

    yield start
    for client in clients:
        await client.aclose()


def settings_for(server: LlamaServer, **changed: Any) -> LLMSettings:
    given: dict[str, Any] = {"base_url": server.url, "model": NAME, "max_tokens": 100, "backoff_s": 0}
    return LLMSettings(**(given | changed))


async def whole(llm: LLM, messages: list[Message], **given: int) -> Reply:
    return await llm.complete(messages, **given)


async def streamed(llm: LLM, messages: list[Message], **given: int) -> Reply:
    """The reply of a stream whose pieces were that reply."""
    *pieces, reply = [piece async for piece in llm.stream(messages, **given)]
    assert isinstance(reply, Reply)
    assert "".join(piece.text for piece in pieces if isinstance(piece, Delta)) == reply.text
    return reply


either_way = pytest.mark.parametrize("ask", [whole, streamed])
Ask = Callable[..., Awaitable[Reply]]


@either_way
async def test_an_answer_and_its_usage(serve: Serve, talk: Talk, ask: Ask) -> None:
    reply = await ask(talk(serve()), ASK)
    assert (reply.text, reply.finish_reason, reply.left_out) == (SENTENCE, "stop", ())
    assert reply.usage == Usage(calls=1, prompt_tokens=8, completion_tokens=8)


async def test_a_stream_comes_in_pieces(serve: Serve, talk: Talk) -> None:
    pieces = [piece async for piece in talk(serve()).stream(ASK)]
    assert [piece.text for piece in pieces if isinstance(piece, Delta)] == [
        "The", " tide", " rose", " twice", " a", " day", "."
    ]  # fmt: skip


@either_way
async def test_a_reply_that_is_cut_off(serve: Serve, talk: Talk, ask: Ask) -> None:
    with account() as spent, pytest.raises(LLMTruncated, match="at 20 tokens") as caught:
        await ask(talk(serve()), FOR_EVER, max_tokens=20)
    assert caught.value.text == " ".join(["flood", "ebb"] * 10)
    assert (spent.usage.calls, spent.usage.failed_calls, spent.usage.completion_tokens) == (1, 1, 20)


# JSON


class Verdict(BaseModel):
    supported: bool
    verdict: Literal["yes", "no", "unclear"]
    stars: int = Field(ge=2, le=5)
    gauges: list[int] = Field(min_length=2, max_length=3)
    note: str | None


class Found(BaseModel):
    found: bool


class Sevens(BaseModel):
    number: int = Field(ge=1, multiple_of=7)  # llama.cpp's grammars know no multiples: this model says 1


async def test_json_by_schema(serve: Serve, talk: Talk) -> None:
    llm = talk(serve())
    for _ in range(2):
        value, reply = await llm.structured(ASK, Verdict)
        assert value == Verdict.model_validate_json(reply.text)
        assert (reply.usage.calls, reply.usage.prompt_tokens, reply.finish_reason) == (1, 8, "stop")
        assert llm.mode == "json_schema"


async def test_json_that_was_cut_off_is_asked_for_with_more_tokens(serve: Serve, talk: Talk) -> None:
    with account() as spent:
        _, reply = await talk(serve(), max_tokens=16).structured(ASK, Verdict)
    assert reply.finish_reason == "stop"
    assert reply.usage.calls == spent.usage.calls == 2
    assert spent.usage.failed_calls == 1
    assert spent.usage.completion_tokens == reply.usage.completion_tokens > 32


async def test_json_that_the_grammar_let_through_is_asked_for_once_more(serve: Serve, talk: Talk) -> None:
    llm = talk(serve(4096))
    with account() as spent, pytest.raises(LLMBadReply, match="multiple of 7"):
        await llm.structured(ASK, Sevens)
    assert (spent.usage.calls, spent.usage.failed_calls, llm.mode) == (2, 2, "json_schema")


async def test_twenty_at_once_two_at_a_time(serve: Serve, talk: Talk) -> None:
    server = serve(slots=4)
    llm = talk(server, max_concurrency=2)
    with account() as spent:
        calls = asyncio.gather(*(llm.structured([Message("user", f"Who is {n}?")], Found) for n in range(20)))
        seen = set()
        while not calls.done():
            seen.add(await asyncio.to_thread(server.working))
        answers = await calls
    assert [value for value, _ in answers] == [Found(found=False)] * 20
    assert max(seen) == 2
    assert (spent.usage.calls, spent.usage.failed_calls, spent.usage.estimated_calls) == (20, 0, 0)


# the window


def asked(passages: int) -> Message:
    parts = [Part(f"{PASSAGE}\n", n, "passage") for n in range(1, passages + 1)]
    return Message("user", Prompt("p", "1", (Part("passage "), *parts, Part("question"))))


async def test_the_window_is_that_of_a_slot(serve: Serve, talk: Talk) -> None:
    server = serve(slots=2)
    assert await talk(server).window() == SMALL
    assert await talk(server, context_window=4096).window() == SMALL
    assert await talk(server, context_window=300).window() == 300


@either_way
@pytest.mark.parametrize("said", [0, 4096], ids=["as told", "too large a setting"])
async def test_three_windows_of_prompt_are_fitted(serve: Serve, talk: Talk, ask: Ask, said: int) -> None:
    message = asked(60)
    assert size_of([message]) > 3 * SMALL
    server = serve()
    with account() as spent:
        reply = await ask(talk(server, context_window=said), [message])
    assert reply.text == SENTENCE
    kept = 60 - len(reply.left_out)
    assert [part.rank for part in reply.left_out] == list(range(kept + 1, 61))
    assert 0.7 * (SMALL - 100) < reply.usage.prompt_tokens <= SMALL - 100  # filled, with room for the reply
    assert any("passages left out" in note for note in spent.notes)
    assert "exceeds the available context" not in server.log.read_text(errors="replace")


@either_way
async def test_a_refusal_that_names_the_window_is_learned_from(serve: Serve, talk: Talk, ask: Ask) -> None:
    """A call that any usual window takes is sent without asking for the window."""
    message = asked(22)
    assert SMALL + 100 < size_of([message]) < 1024 - 100
    server = serve()
    reply = await ask(talk(server), [message])
    assert "exceeds the available context size" in server.log.read_text(errors="replace")
    assert reply.text == SENTENCE
    assert 0 < len(reply.left_out) < 22
    assert reply.usage.prompt_tokens <= SMALL - 100


async def test_what_may_not_be_left_out_is_too_long(serve: Serve, talk: Talk) -> None:
    server = serve()
    llm = talk(server)
    long = [Message("user", PASSAGE * 60)]
    for call in (llm.complete(long), streamed(llm, long), llm.structured(long, Verdict)):
        with pytest.raises(LLMTooLong, match="at least"):
            await call
    assert "exceeds the available context" not in server.log.read_text(errors="replace")


async def test_a_prompt_of_more_tokens_than_estimated_is_too_long(serve: Serve, talk: Talk) -> None:
    """To this model each character of a word that it does not know is a token."""
    server = serve()
    llm = talk(server)
    words = [Message("user", "Bathymetry " * 52)]
    for call in (llm.complete(words), streamed(llm, words), llm.structured(words, Found)):
        with pytest.raises(LLMTooLong, match="exceeds the available context") as caught:
            await call
        assert caught.value.window == SMALL
    # Each was sent once: the refusal was not taken for one of JSON schemas.
    await asyncio.sleep(1)  # it writes its log beside its replies
    assert server.log.read_text(errors="replace").count("send_error") == 3
    assert llm.mode == "json_schema"


# faults


async def first_pieces(stream: AsyncIterator[Delta | Reply]) -> None:
    for _ in range(5):
        assert isinstance(await anext(stream), Delta)


async def rest_of(stream: AsyncIterator[Delta | Reply]) -> None:
    async for _ in stream:
        pass


async def test_a_server_killed_while_it_streams(serve: Serve, talk: Talk) -> None:
    server = serve(LARGE)
    llm = talk(server)
    async with aclosing(llm.stream(FOR_EVER, max_tokens=LONG)) as stream:
        await first_pieces(stream)
        server.kill()
        start = time.monotonic()
        with pytest.raises(LLMUnavailable, match="lost while it wrote"):
            await rest_of(stream)
    with pytest.raises(LLMUnavailable, match="no language model answers"):
        await llm.complete(ASK)
    assert time.monotonic() - start < 3


async def test_a_server_killed_while_it_writes(serve: Serve, talk: Talk) -> None:
    server = serve(LARGE)
    call = asyncio.create_task(talk(server).complete(FOR_EVER, max_tokens=LONG))
    await server.until(working=1, within_s=10)
    server.kill()
    with pytest.raises(LLMUnavailable, match="no language model answers"):  # it was tried again
        await asyncio.wait_for(call, 3)


async def test_a_server_that_falls_silent_before_it_answers(serve: Serve, talk: Talk) -> None:
    server = serve()
    llm = talk(server, read_timeout_s=1)
    assert (await llm.complete(ASK)).text == SENTENCE
    server.freeze()
    start = time.monotonic()
    with pytest.raises(LLMUnavailable, match="silent"):
        await llm.complete(ASK)
    assert 0.9 < time.monotonic() - start < 4  # one attempt
    server.thaw()
    await server.until(working=0, within_s=10)
    assert (await llm.complete(ASK)).text == SENTENCE


async def test_a_server_that_falls_silent_in_a_stream(serve: Serve, talk: Talk) -> None:
    server = serve(LARGE)
    llm = talk(server, read_timeout_s=1)
    async with aclosing(llm.stream(FOR_EVER, max_tokens=LONG)) as stream:
        await first_pieces(stream)
        server.freeze()
        with pytest.raises(LLMUnavailable, match="silent"):
            await asyncio.wait_for(rest_of(stream), 5)
    server.thaw()
    await server.until(working=0, within_s=5)
    assert (await llm.complete(ASK)).text == SENTENCE


# calls that end early


async def write_for_ever(llm: LLM) -> None:
    await llm.complete(FOR_EVER, max_tokens=LONG)


async def stream_for_ever(llm: LLM) -> None:
    await rest_of(llm.stream(FOR_EVER, max_tokens=LONG))


STOPS = {"whole": (write_for_ever, 1.5), "stream": (stream_for_ever, 0.01)}
for_ever = pytest.mark.parametrize(("call", "every_s"), STOPS.values(), ids=STOPS)


@for_ever
async def test_a_cancelled_call_stops_the_server(serve: Serve, talk: Talk, call: Call, every_s: float) -> None:
    server = serve(LARGE)
    llm = talk(server, max_concurrency=1)
    task = asyncio.ensure_future(call(llm))
    await server.until(working=1, within_s=10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.until(working=0, within_s=5, every_s=every_s)
    assert (await llm.complete(ASK)).text == SENTENCE  # and its place is free


@for_ever
async def test_the_end_of_the_time_budget_stops_the_server(
    serve: Serve, talk: Talk, call: Call, every_s: float
) -> None:
    server = serve(LARGE)
    with account(Limits(seconds=0.5)), pytest.raises(LLMBudget):
        await call(talk(server))
    await server.until(working=0, within_s=5, every_s=every_s)
    assert "stop processing" in server.log.read_text(errors="replace")  # it had begun


async def test_a_stream_that_is_not_read_to_its_end_stops_the_server(serve: Serve, talk: Talk) -> None:
    server = serve(LARGE)
    with account() as spent:
        async with aclosing(talk(server).stream(FOR_EVER, max_tokens=LONG)) as stream:
            await first_pieces(stream)
            assert await asyncio.to_thread(server.working) == 1
    await server.until(working=0, within_s=5)
    assert (spent.usage.calls, spent.usage.estimated_calls) == (1, 1)
    assert spent.usage.completion_tokens >= 5


# the doctor


@pytest.mark.parametrize(("context", "window"), [(8192, "ok"), (2048, "look")])
async def test_the_doctor_finds_it_well(serve: Serve, context: int, window: str) -> None:
    server = serve(context)
    (report,) = [report async for report in examine(settings_for(server))]
    states = {check.what: check.state for check in report.checks}
    assert states.pop("speed") != "bad"
    assert states == {"answers": "ok", "model": "ok", "structured": "ok", "streams": "ok", "window": window}
    assert report.works
    assert (report.usage.calls, report.usage.failed_calls, report.usage.estimated_calls) == (3, 0, 0)
