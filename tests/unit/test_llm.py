"""The client against a scripted server on loopback."""

import json
from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import BaseModel, SecretStr

from core.errors import LLMBadReply, LLMError, LLMFiltered, LLMRejected, LLMTruncated, LLMUnavailable
from core.llm import LLM, Delta, Message
from core.replies import Reply
from core.settings import LLMSettings
from tests.support.llm_server import Script, Scripted, completion, llm_server, stream

ASK = [Message("user", "What?")]
KEY = "sk-very-secret"


class Picked(BaseModel):
    sentences: list[int]


class Kept:
    def __init__(self) -> None:
        self.replies: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        return self.replies.get(key)

    def put(self, key: str, model: str, reply: str) -> None:
        self.replies[key] = reply


@pytest.fixture
def script() -> Iterator[Script]:
    with llm_server() as script:
        yield script


@pytest.fixture
async def llm(script: Script) -> AsyncIterator[LLM]:
    client = LLM(LLMSettings(base_url=script.url, model="m", api_key=SecretStr(KEY), backoff_s=0.0), Kept())
    yield client
    await client.aclose()


async def streamed(llm: LLM) -> tuple[str, Reply]:
    pieces = [piece async for piece in llm.stream(ASK)]
    assert isinstance(pieces[-1], Reply)
    return "".join(p.text for p in pieces if isinstance(p, Delta)), pieces[-1]


@pytest.mark.parametrize(
    ("reply", "text", "thinking"),
    [
        (completion("Answer."), "Answer.", ""),
        (completion("<think>hm</think>Answer."), "Answer.", "hm"),
        (completion("hm</think>Answer."), "Answer.", "hm"),
        (completion("Say <think> x </think>"), "Say <think> x </think>", ""),
        (completion("Answer.", reasoning_content="hm"), "Answer.", "hm"),
        (completion("Answer.", reasoning="hm"), "Answer.", "hm"),
    ],
)
async def test_answers(llm: LLM, script: Script, reply: Scripted, text: str, thinking: str) -> None:
    script.enqueue(reply)
    got = await llm.complete(ASK)
    assert (got.text, got.thinking) == (text, thinking)
    assert got.usage.prompt_tokens == 7 and got.usage.calls == 1


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (completion(""), LLMBadReply),
        (completion(None), LLMBadReply),
        (completion(None, reasoning_content="only this"), LLMBadReply),
        (completion("<think>only this</think>"), LLMBadReply),
        (completion("cut he", finish="length"), LLMTruncated),
        (completion("<think>cut he", finish="length"), LLMTruncated),
        (completion("", finish="content_filter"), LLMFiltered),
        (Scripted('{"id": "x", "choices": []}'), LLMBadReply),
        (Scripted('{"error": {"message": "quota"}}'), LLMBadReply),
        (Scripted("<html>hello</html>", headers={"content-type": "text/html"}), LLMBadReply),
        (Scripted("{}", status=401), LLMRejected),
        (Scripted("{}", status=403), LLMRejected),
        (Scripted("{}", status=404), LLMRejected),
        (Scripted("{}", status=400), LLMRejected),
    ],
)
async def test_what_is_no_answer(llm: LLM, script: Script, reply: Scripted, kind: type[LLMError]) -> None:
    script.enqueue(reply)
    with pytest.raises(kind) as caught:
        await llm.complete(ASK)
    assert caught.value.hint
    assert KEY not in f"{caught.value} {caught.value.hint} {caught.value!r}"
    assert len(script.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_passing_faults_are_tried_again(llm: LLM, script: Script, status: int) -> None:
    script.enqueue(Scripted("{}", status=status, headers={"retry-after": "0"}), completion("Answer."))
    assert (await llm.complete(ASK)).text == "Answer."
    assert len(script.requests) == 2


async def test_a_lasting_fault_ends_after_the_last_try(llm: LLM, script: Script) -> None:
    script.enqueue(*[Scripted("{}", status=503)] * 3)
    with pytest.raises(LLMUnavailable):
        await llm.complete(ASK)
    assert len(script.requests) == 3


async def test_nobody_listens() -> None:
    client = LLM(LLMSettings(base_url="http://127.0.0.1:1/v1", model="m", backoff_s=0.0))
    with pytest.raises(LLMUnavailable, match="no language model answers"):
        await client.complete(ASK)
    await client.aclose()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (("An", "swer."), "Answer."),
        (("<th", "ink>hm</thi", "nk>An", "swer."), "Answer."),
        (("a <", " b"), "a < b"),
    ],
)
async def test_streams(llm: LLM, script: Script, pieces: tuple[str, ...], text: str) -> None:
    script.enqueue(stream(*pieces))
    shown, reply = await streamed(llm)
    assert shown.strip() == reply.text == text
    assert reply.usage.completion_tokens == 3


async def test_a_stream_without_usage_is_estimated(llm: LLM, script: Script) -> None:
    script.enqueue(stream("Answer.", usage=False))
    assert (await streamed(llm))[1].usage.calls == 1


async def test_a_stream_that_is_cut(llm: LLM, script: Script) -> None:
    script.enqueue(stream("Ans", finish=None, cut=True, usage=False))
    with pytest.raises(LLMUnavailable, match="lost while it wrote"):
        await streamed(llm)


async def test_a_stream_that_runs_out_of_tokens(llm: LLM, script: Script) -> None:
    script.enqueue(stream("Ans", finish="length"))
    with pytest.raises(LLMTruncated):
        await streamed(llm)


@pytest.mark.parametrize(
    "text",
    [
        '{"sentences": [1, 2]}',
        '```json\n{"sentences": [1, 2]}\n```',
        'Here you are: {"sentences": [1, 2]} Good luck.',
        "{'sentences': [1, 2],}",
        '{"result": {"sentences": [1, 2]}}',
        '[{"sentences": [1, 2]}]',
        'I see {"a": 1}...</think>\n```json\n{"sentences": [1, 2]}\n```',
    ],
)
async def test_structured(llm: LLM, script: Script, text: str) -> None:
    script.enqueue(completion(text))
    value, _ = await llm.structured(ASK, Picked)
    assert value.sentences == [1, 2]


async def test_structured_asks_once_more_with_the_complaint(llm: LLM, script: Script) -> None:
    script.enqueue(completion("none of them"), completion('{"sentences": [3]}'))
    value, reply = await llm.structured(ASK, Picked)
    assert value.sentences == [3] and reply.usage.calls == 2
    assert "not the JSON" in script.requests[1]["messages"][-1]["content"]


async def test_structured_gives_up_with_an_error(llm: LLM, script: Script) -> None:
    script.enqueue(completion("no"), completion("no again"))
    with pytest.raises(LLMBadReply):
        await llm.structured(ASK, Picked)


async def test_structured_finds_what_the_endpoint_takes(llm: LLM, script: Script) -> None:
    refused = Scripted('{"error": "response_format is not supported"}', status=400)
    script.enqueue(refused, refused, completion('{"sentences": []}'), completion('{"sentences": [1]}'))
    assert (await llm.structured(ASK, Picked))[0].sentences == []
    await llm.structured([Message("user", "Other?")], Picked)
    assert [r.get("response_format", {}).get("type") for r in script.requests] == [
        "json_schema", "json_object", None, None,
    ]  # fmt: skip


async def test_the_same_call_is_paid_for_once(llm: LLM, script: Script) -> None:
    script.enqueue(completion("Answer."), completion("Other."))
    first, again, other = await llm.complete(ASK), await llm.complete(ASK), await llm.complete([Message("user", "B")])
    assert (first.text, again.text, other.text) == ("Answer.", "Answer.", "Other.")
    assert again.cached and again.usage.prompt_tokens == 0 and again.usage.cached_calls == 1
    assert len(script.requests) == 2


async def test_the_key_is_sent_and_extra_fields_too(script: Script) -> None:
    client = LLM(LLMSettings(base_url=script.url, model="m", extra_body={"chat_template_kwargs": {"x": False}}))
    script.enqueue(completion("Answer."))
    await client.complete(ASK)
    assert script.requests[0]["chat_template_kwargs"] == {"x": False}
    assert json.dumps(script.requests[0])
    await client.aclose()
