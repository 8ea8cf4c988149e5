"""Faults on the way: what is tried again, what is not, and who waits."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections import Counter
from email.utils import formatdate
from typing import Any

import pytest
from pydantic import SecretStr

from core.errors import LLMNotConfigured, LLMUnavailable
from core.llm import LLM, LLMs, Message
from core.llm.failures import wait_asked
from core.settings import Endpoint, LLMSettings
from tests.support.scripted_endpoint import KEY, SSE, LLMServer, Request, Scripted, answer, raw, refusal, streamed
from tests.unit.llm.support import ASK, Play, read

WRONG: dict[str, dict[str, Any]] = {
    "no scheme": {"base_url": "127.0.0.1:8089/v1"},
    "no host": {"base_url": "http:///v1"},
    "bad host": {"base_url": "http://[::1/v1"},
    "bad port": {"base_url": "http://a:99999/v1"},
    "empty": {"base_url": ""},
    "no model": {"model": ""},
    "key with a dash of its own": {"api_key": SecretStr(f"{KEY}\u2013")},
    "key of two lines": {"api_key": SecretStr(f"{KEY}\n{KEY}")},
}


@pytest.mark.parametrize("changed", WRONG.values(), ids=WRONG)
def test_settings_that_can_not_work(changed: dict[str, Any]) -> None:
    with pytest.raises(LLMNotConfigured) as caught:
        LLM(LLMSettings(**({"base_url": "http://127.0.0.1:9/v1", "model": "m"} | changed)))
    assert "QUAERE_LLM__" in f"{caught.value.message} {caught.value.hint}"
    assert KEY not in repr(caught.value)


async def test_nobody_listens_and_the_url_holds_a_password() -> None:
    with socket.socket() as taken:  # bound, never listening: refused
        taken.bind(("127.0.0.1", 0))
        url = f"http://me:{KEY}@127.0.0.1:{taken.getsockname()[1]}/v1?key={KEY}"
        llm = LLM(LLMSettings(base_url=url, model="m", backoff_s=0))
        with pytest.raises(LLMUnavailable) as caught:
            await llm.complete(ASK)
        await llm.aclose()
    assert "no language model answers" in caught.value.message
    assert KEY not in str(caught.value)


async def test_silence_is_not_tried_again(play: Play) -> None:
    llm, server = play(Scripted("{}", delay_s=0.3), read_timeout_s=0.05)
    with pytest.raises(LLMUnavailable, match="silent") as caught:
        await llm.complete(ASK)
    assert "READ_TIMEOUT_S" in caught.value.hint
    assert len(server.requests) == 1


PASSING = [refusal(status) for status in (429, 500, 502, 503, 504)] + [
    Scripted("{", cut=True),
    raw({"error": {"message": "busy", "code": 429}}),
    raw({"error": {"message": "busy", "code": "503"}}),
]


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("failure", PASSING, ids=lambda failure: f"{failure.status}{failure.body[:40]}")
async def test_passing_failures_are_tried_again(play: Play, failure: Scripted, streaming: bool) -> None:
    llm, server = play(failure, failure, streamed("Ada.") if streaming else answer("Ada."))
    reply = (await read(llm))[1] if streaming else await llm.complete(ASK)
    assert (reply.text, len(server.requests)) == ("Ada.", 3)


async def test_retries_end(play: Play) -> None:
    llm, server = play(refusal(503), max_retries=3)
    with pytest.raises(LLMUnavailable):
        await llm.complete(ASK)
    assert len(server.requests) == 4


async def test_retry_after_is_kept_to(play: Play) -> None:
    llm, _ = play(refusal(429, Retry_After="0.2"), answer("Ada."))
    start = time.perf_counter()
    await llm.complete(ASK)
    assert time.perf_counter() - start >= 0.2


async def test_a_long_retry_after_is_not_waited_for(play: Play) -> None:
    llm, server = play(refusal(429, Retry_After="3600"), answer("Ada."))
    with pytest.raises(LLMUnavailable):
        await llm.complete(ASK)
    assert len(server.requests) == 1


def test_retry_after_in_its_forms() -> None:
    assert wait_asked({"retry-after": "2.5"}) == 2.5
    assert wait_asked({"retry-after": "-1"}) == 0
    assert wait_asked({"retry-after": formatdate(time.time() + 30, usegmt=True)}) == pytest.approx(30, abs=2)
    assert [wait_asked({"retry-after": value}) for value in ("soon", "", "inf", "nan")] == [None] * 4
    assert wait_asked({}) is None


async def test_no_more_than_max_concurrency_at_once(play: Play) -> None:
    llm, server = play(Scripted(answer("Ada.").body, delay_s=0.03), max_concurrency=2)
    await asyncio.gather(*(llm.complete(ASK) for _ in range(6)))
    assert (server.peak, len(server.requests)) == (2, 6)


PARAMETERS = {
    "max_tokens": ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
    "temperature": ("'temperature' does not support 0.0 with this model", "temperature"),
    "stream_options": ("Extra inputs are not permitted: stream_options", "stream_options"),
}


@pytest.mark.parametrize(("told", "name"), PARAMETERS.values(), ids=PARAMETERS)
async def test_a_parameter_that_is_refused_is_left_out(play: Play, told: str, name: str) -> None:
    llm, server = play(refusal(400, told), streamed("Ada."), streamed("Ada."))
    await read(llm)
    await read(llm)
    assert [name in request.body for request in server.requests] == [True, False, False]
    assert ("max_completion_tokens" in server.requests[1].body) is (name == "max_tokens")


async def test_a_window_that_is_told_in_a_refusal_is_kept_to(play: Play) -> None:
    told = "'max_tokens' or 'max_completion_tokens' is too large: 1024. The maximum context length is 512 tokens."
    llm, server = play(refusal(400, told), answer("Ada."))
    assert (await llm.complete(ASK)).text == "Ada."
    assert [request.body["max_tokens"] for request in server.requests] == [1024, 256]  # under its own name


async def test_busy_is_waited_for_longer_than_broken(play: Play) -> None:
    llm, server = play(*[refusal(429)] * 9, answer("Ada."), max_retries=1)
    assert (await llm.complete(ASK)).text == "Ada."
    assert len(server.requests) == 10


async def test_a_pause_that_was_asked_for_holds_for_every_call(play: Play) -> None:
    arrived: list[float] = []

    def script(request: Request) -> Scripted:
        arrived.append(time.perf_counter())
        return refusal(429, Retry_After="0.3") if len(arrived) == 1 else answer("Ada.")

    llm, _ = play(script, max_concurrency=1)
    await asyncio.gather(*(llm.complete(ASK) for _ in range(3)))
    assert arrived[1] - arrived[0] >= 0.29


async def test_retry_after_as_a_date(play: Play) -> None:
    llm, _ = play(refusal(429, Retry_After=formatdate(time.time() + 2, usegmt=True)), answer("Ada."))
    start = time.perf_counter()
    await llm.complete(ASK)
    assert 0.5 < time.perf_counter() - start < 3


async def test_200_calls_at_once_none_paid_for_twice(play: Play) -> None:
    """Every third request is told to come again: all calls end, at most four are under way, each is answered once."""
    lock, requests, answered = threading.Lock(), 0, Counter[str]()

    def script(request: Request) -> Scripted:
        nonlocal requests
        with lock:
            requests += 1
            if requests % 3 == 0:
                return refusal(429)
            answered[request.body["messages"][0]["content"]] += 1
        return Scripted(answer("Ada.").body, delay_s=0.005)

    llm, server = play(script, max_concurrency=4, backoff_s=0.01)
    replies = await asyncio.gather(*(llm.complete([Message("user", f"Who is {n}?")]) for n in range(200)))
    assert {reply.text for reply in replies} == {"Ada."}
    assert 1 < server.peak <= 4
    assert (len(answered), set(answered.values())) == (200, {1})


async def test_clients_of_one_address_share_its_limit() -> None:
    with LLMServer([Scripted(answer("Ada.").body, delay_s=0.05)]) as server:
        settings = LLMSettings(base_url=server.url, model="a", max_concurrency=2, extract=Endpoint(model="b"))
        llms = LLMs(settings, None)
        writer, extractor = llms.of("write"), llms.of("extract")
        assert writer is not None and extractor is not None and writer is not extractor
        await asyncio.gather(*(llm.complete(ASK) for llm in (writer, extractor) * 4))
        await llms.aclose()
    assert (server.peak, len(server.requests)) == (2, 8)


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
async def test_a_cancelled_call_closes_its_connection(play: Play, streaming: bool) -> None:
    slow = Scripted(streamed(*"Ada." * 50).body, type=SSE, drip_s=0.02) if streaming else answer("Ada.")
    llm, server = play(slow if streaming else Scripted(slow.body + " " * 2_000_000, delay_s=1), max_concurrency=1)
    call = asyncio.create_task(read(llm) if streaming else llm.complete(ASK))  # type: ignore[arg-type]
    while not server.requests:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await asyncio.to_thread(server.left.wait, 30)
