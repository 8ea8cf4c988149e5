"""What an endpoint sends is an answer or the right error, streamed and not."""

from __future__ import annotations

import logging

import pytest
from pydantic import SecretStr

from core.errors import LLMBadReply, LLMError, LLMFiltered, LLMRejected, LLMTooLong, LLMTruncated, LLMUnavailable
from core.llm import Message
from tests.support.scripted_endpoint import HTML, JSON, KEY, Kept, Scripted, answer, raw, refusal
from tests.unit.llm.support import ASK, ONE_CALL, Play, read

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
    "400": (refusal(400, "maximum context length is 4096"), LLMTooLong, "4096"),
    "413": (refusal(413), LLMTooLong, "413"),
    "400 of something else": (refusal(400, "no tools here"), LLMRejected, "tools"),
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


async def test_thinking_that_eats_the_budget_gets_one_larger_one(play: Play) -> None:
    llm, server = play(answer("<think>hm", "length"), answer("<think>hm</think>Ada."), max_tokens=100)
    reply = await llm.complete(ASK)
    assert (reply.text, reply.usage.calls) == ("Ada.", 2)
    assert [request.body["max_tokens"] for request in server.requests] == [100, 2048]


async def test_an_answer_that_is_cut_gets_no_other_try(play: Play) -> None:
    llm, server = play(answer("Ada was", "length"))
    with pytest.raises(LLMTruncated) as caught:
        await llm.complete(ASK)
    assert (caught.value.text, len(server.requests)) == ("Ada was", 1)


async def test_a_larger_budget_stays_within_the_window(play: Play) -> None:
    llm, server = play(answer("<think>hm", "length"), max_tokens=1000, context_window=1500)
    with pytest.raises(LLMTruncated):
        await llm.complete(ASK)
    first, second = (request.body["max_tokens"] for request in server.requests)
    assert first == 750 and first < second < 1500


async def test_a_window_that_ended_a_reply_is_named(play: Play) -> None:
    llm, _ = play(answer("Ada was", "length"), max_tokens=100)
    with pytest.raises(LLMTruncated, match="at 3 tokens") as caught:
        await llm.complete(ASK)
    assert "CONTEXT_WINDOW" in caught.value.hint
