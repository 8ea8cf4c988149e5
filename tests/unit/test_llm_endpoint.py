"""The client against a real HTTP server on the loopback that plays a script."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from email.utils import formatdate
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from core.errors import LLMBadReply, LLMError, LLMFiltered, LLMNotConfigured, LLMRejected, LLMTruncated, LLMUnavailable
from core.json_reply import as_model
from core.llm import LLM, Delta, Message
from core.llm_failures import wait_asked
from core.replies import Reply
from core.settings import LLMSettings
from core.types import Usage
from tests.support.scripted_endpoint import (
    HTML,
    JSON,
    LLMServer,
    Scripted,
    answer,
    delta,
    events,
    raw,
    refusal,
    streamed,
)

KEY = "sk-very-secret"
ASK = [Message("user", "Who?")]
ONE_CALL = Usage(calls=1, prompt_tokens=7, completion_tokens=3)


class Person(BaseModel):
    name: str
    age: int = Field(default=0, ge=0)


class Loose(BaseModel):
    note: str = ""


class Kept(dict[str, str]):
    """A ReplyCache."""

    def put(self, key: str, model: str, reply: str) -> None:
        self[key] = reply


Play = Callable[..., tuple[LLM, LLMServer]]


@pytest.fixture
async def play() -> AsyncIterator[Play]:
    """`llm, server = play(script…, setting=…)`; both are closed at the end."""
    clients: list[LLM] = []
    with ExitStack() as stack:

        def start(*script: Scripted, cache: Kept | None = None, **changed: Any) -> tuple[LLM, LLMServer]:
            server = stack.enter_context(LLMServer(script))
            given: dict[str, Any] = {"base_url": server.url, "model": "m", "api_key": SecretStr(KEY), "backoff_s": 0}
            clients.append(LLM(LLMSettings(**(given | changed)), cache))
            return clients[-1], server

        yield start
        for client in clients:
            await client.aclose()


async def read(llm: LLM) -> tuple[list[str], Reply]:
    pieces = [piece async for piece in llm.stream(ASK)]
    assert isinstance(pieces[-1], Reply)
    return [piece.text for piece in pieces[:-1] if isinstance(piece, Delta)], pieces[-1]


ANSWERS = {
    "plain": (answer("Ada."), "Ada.", ""),
    "think block": (answer("<think>hm</think>\n\nAda."), "Ada.", "hm"),
    "only closing": (answer("hm</think>Ada."), "Ada.", "hm"),
    "quoted tag": (answer("It is <think>x</think>."), "It is <think>x</think>.", ""),
    "reasoning_content": (answer("Ada.", reasoning_content="hm"), "Ada.", "hm"),
    "reasoning": (answer("Ada.", reasoning="hm"), "Ada.", "hm"),
    "list of parts": (answer([{"type": "text", "text": "Ada."}]), "Ada.", ""),  # type: ignore[arg-type]
    "nothing but content": (raw({"choices": [{"message": {"content": "Ada."}}]}), "Ada.", ""),
}


@pytest.mark.parametrize(("script", "text", "thinking"), ANSWERS.values(), ids=ANSWERS)
async def test_answers(play: Play, script: Scripted, text: str, thinking: str) -> None:
    llm, _ = play(script)
    reply = await llm.complete(ASK)
    assert (reply.text, reply.thinking, reply.cached, reply.usage.calls) == (text, thinking, False, 1)


async def test_what_is_sent(play: Play) -> None:
    llm, server = play(answer("x"), extra_body={"top_k": 5}, max_tokens=50)
    reply = await llm.complete([Message("system", "Be brief. \ud800"), *ASK], temperature=0.5)
    sent = server.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body["messages"] == [{"role": "system", "content": "Be brief. ?"}, {"role": "user", "content": "Who?"}]
    assert (sent.body["max_tokens"], sent.body["temperature"], sent.body["top_k"]) == (50, 0.5, 5)
    assert reply.usage == ONE_CALL


async def test_without_a_key_none_is_sent_and_nothing_of_openai(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "mine")
    llm, server = play(answer("x"), api_key=SecretStr(""))
    await llm.complete(ASK)
    assert server.requests[0].headers["authorization"] == "Bearer none"
    assert "mine" not in str(server.requests[0].headers)


NO_ANSWERS: dict[str, tuple[Scripted, type[LLMError], str]] = {
    "no choices": (raw({"choices": []}), LLMBadReply, "no choices"),
    "null choices": (raw({"choices": None}), LLMBadReply, "no choices"),
    "null content": (answer(None), LLMBadReply, "empty"),
    "blank content": (answer(" \n"), LLMBadReply, "empty"),
    "null message": (raw({"choices": [{"message": None}]}), LLMBadReply, "empty"),
    "reasoning only": (answer(None, reasoning_content="hm"), LLMBadReply, "only thinking"),
    "unclosed thinking": (answer("<think>hm"), LLMBadReply, "only thinking"),
    "length": (answer("Ada was", "length"), LLMTruncated, "in the middle"),
    "length while thinking": (answer("<think>hm", "length"), LLMTruncated, "still thinking"),
    "length, reasoning field": (answer(None, "length", reasoning="hm"), LLMTruncated, "still thinking"),
    "content filter": (answer("", "content_filter"), LLMFiltered, "filter"),
    "refusal": (answer(None, refusal="I can't."), LLMFiltered, "filter"),
    "error with 200": (raw({"error": {"message": "boom"}}), LLMBadReply, "boom"),
    "refusal with 200": (raw({"error": {"message": "boom", "code": 403}}), LLMRejected, "403"),
    "HTML with 200": (Scripted("<html>", type=HTML), LLMBadReply, "HTML"),
    "HTML called JSON": (Scripted("<html>", type=JSON), LLMBadReply, "HTML"),
    "broken JSON": (Scripted("{oops"), LLMBadReply, "JSON"),
    "JSON of something else": (raw([1, 2]), LLMBadReply, "JSON"),
    "401": (refusal(401, f"bad key {KEY}"), LLMRejected, "401"),
    "403": (refusal(403), LLMRejected, "403"),
    "404": (refusal(404, "no such model"), LLMRejected, "no such model"),
    "404 HTML": (Scripted("<html>nginx</html>", 404, HTML), LLMRejected, "404"),
    "400": (refusal(400, "maximum context length is 4096"), LLMRejected, "4096"),
    "500": (refusal(500, f"trace of {KEY}"), LLMUnavailable, "500"),
    "504": (refusal(504), LLMUnavailable, "504"),
    "429": (refusal(429), LLMUnavailable, "429"),
    "cut": (Scripted('{"choices"', cut=True), LLMUnavailable, "lost"),
}


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("script", "kind", "part"), NO_ANSWERS.values(), ids=NO_ANSWERS)
async def test_no_answers(
    play: Play,
    script: Scripted,
    kind: type[LLMError],
    part: str,
    streaming: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    kept = Kept()
    llm, _ = play(script, cache=kept, max_retries=1)
    with pytest.raises(LLMError) as caught:
        await (read(llm) if streaming else llm.complete(ASK))
    error = caught.value
    assert type(error) is kind
    assert part in error.message
    assert error.hint
    assert KEY not in f"{error!r} {error.hint} {error.__cause__!r} {llm!r} {vars(llm)!r} {caplog.text}"
    assert not kept


HINTS = {401: "API_KEY", 403: "API_KEY", 404: "'m'", 413: "window", 429: "later"}


@pytest.mark.parametrize(("status", "part"), HINTS.items())
async def test_hints_say_what_to_do(play: Play, status: int, part: str) -> None:
    llm, _ = play(refusal(status), max_retries=0)
    with pytest.raises(LLMError) as caught:
        await llm.complete(ASK)
    assert part in caught.value.hint


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
        await stream.aclose()  # type: ignore[attr-defined]
    assert (await read(llm))[1].text == "Ada."


async def test_cache(play: Play) -> None:
    kept = Kept()
    llm, server = play(answer("Ada."), answer("Bea."), cache=kept)
    first, second = await llm.complete(ASK), await llm.complete(ASK)
    assert (first.cached, second.cached, second.text) == (False, True, "Ada.")
    assert second.usage == Usage(cached_calls=1)
    given, streamed_reply = await read(llm)
    assert (given, streamed_reply.cached, len(server.requests)) == (["Ada."], True, 1)
    assert (await llm.complete(ASK, temperature=1)).text == "Bea."  # asked otherwise
    for key in kept:
        kept[key] = "{broken"
    assert (await llm.complete(ASK)).cached is False


JSONS = {
    "plain": '{"name": "Ada", "age": 3}',
    "fenced": 'Here:\n```json\n{"name": "Ada", "age": 3}\n```\nGood?',
    "prose": 'Sure: {"name": "Ada", "age": 3} Good?',
    "thinking with braces": 'I see {"a": 1}...</think>\n{"name": "Ada", "age": 3}',
    "trailing comma": '{"name": "Ada", "age": 3,}',
    "single quotes": "{'name': 'Ada', 'age': 3}",
    "list of one": '[{"name": "Ada", "age": 3}]',
    "wrapped": '{"person": {"name": "Ada", "age": 3}}',
    "draft and answer": '```json\n{"name": "?"}\n```\nBetter:\n```json\n{"name": "Ada", "age": 3}\n```',
}


@pytest.mark.parametrize("text", JSONS.values(), ids=JSONS)
async def test_structured(play: Play, text: str) -> None:
    llm, server = play(answer(text))
    value, reply = await llm.structured(ASK, Person)
    assert (value, reply.usage) == (Person(name="Ada", age=3), ONE_CALL)
    assert server.requests[0].body["response_format"]["json_schema"]["schema"] == Person.model_json_schema()


def test_a_fence_inside_a_string_is_text() -> None:
    assert as_model('{"name": "```py\\n1\\n```"}', Person).name == "```py\n1\n```"


@pytest.mark.parametrize("text", ["I don't know.", "The set {x}.", '{"other": 1}', "", "[]"])
def test_what_is_no_answer_never_becomes_an_empty_one(text: str) -> None:
    with pytest.raises(ValueError):
        as_model(text, Loose)


async def test_asked_once_more_with_what_was_wrong(play: Play) -> None:
    llm, server = play(answer('{"name": "Ada", "age": -3}'), answer('{"name": "Ada", "age": 3}'))
    value, reply = await llm.structured(ASK, Person)
    assert (value.age, reply.usage.calls, reply.usage.prompt_tokens) == (3, 2, 14)
    *_, said, complaint = server.requests[1].body["messages"]
    assert (said["role"], complaint["role"]) == ("assistant", "user")
    assert "age: Input should be greater than or equal to 0" in complaint["content"]


async def test_wrong_twice_is_an_error_and_is_not_kept(play: Play) -> None:
    kept = Kept()
    llm, server = play(answer("no"), answer("no"), answer('{"name": "Ada"}'), cache=kept)
    with pytest.raises(LLMBadReply):
        await llm.structured(ASK, Person)
    assert not kept
    assert (await llm.structured(ASK, Person))[0].name == "Ada"
    value, reply = await llm.structured(ASK, Person)
    assert (value.name, reply.cached, len(server.requests)) == ("Ada", True, 3)


@pytest.mark.parametrize("status", [400, 422])
async def test_ways_to_ask_for_json(play: Play, status: int) -> None:
    good = answer('{"name": "Ada"}')
    llm, server = play(refusal(status, "response_format"), refusal(status, "response_format"), good)
    await llm.structured(ASK, Person)
    await llm.structured([Message("user", "And?")], Person)
    forms = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert forms == ["json_schema", "json_object", None, None]  # what was found is kept
    assert '"name"' in server.requests[3].body["messages"][-1]["content"]


async def test_calls_side_by_side_find_the_way_together(play: Play) -> None:
    no = refusal(400, "response_format")
    llm, _ = play(no, no, no, no, answer('{"name": "Ada"}'))
    found = await asyncio.gather(*(llm.structured(ASK, Person) for _ in range(2)))
    assert [value.name for value, _ in found] == ["Ada", "Ada"]


async def test_a_prompt_that_is_too_long_says_nothing_about_json(play: Play) -> None:
    no = refusal(400, "maximum context length exceeded")
    llm, server = play(no, no, no, answer('{"name": "Ada"}'))
    with pytest.raises(LLMRejected) as caught:
        await llm.structured(ASK, Person)
    assert "window" in caught.value.hint
    await llm.structured(ASK, Person)
    assert server.requests[-1].body["response_format"]["type"] == "json_schema"


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


async def test_a_context_that_is_too_small_does_not_rename_max_tokens(play: Play) -> None:
    told = "'max_tokens' or 'max_completion_tokens' is too large: 1024. The maximum context length is 512 tokens."
    llm, server = play(refusal(400, told))
    with pytest.raises(LLMRejected):
        await llm.complete(ASK)
    assert len(server.requests) == 1
