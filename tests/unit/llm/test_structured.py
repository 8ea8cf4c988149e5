"""JSON that validates, however the endpoint can be asked for it."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from core.errors import LLMBadReply, LLMTooLong, LLMTruncated
from core.llm import Message
from core.llm.json_reply import as_model
from core.spending import account
from tests.support.scripted_endpoint import Kept, Request, Scripted, answer, refusal
from tests.unit.llm.support import ASK, ONE_CALL, Loose, Person, Play

JSONS = {
    "plain": '{"name": "Ada", "age": 3}',
    "fenced": 'Here:\n```json\n{"name": "Ada", "age": 3}\n```\nGood?',
    "prose": 'Sure: {"name": "Ada", "age": 3} Good?',
    "thinking with braces": 'I see {"a": 1}...</think>\n{"name": "Ada", "age": 3}',
    "trailing comma": '{"name": "Ada", "age": 3,}',
    "single quotes": "{'name': 'Ada', 'age': 3}",
    "list of one": '[{"name": "Ada", "age": 3}]',
    "wrapped": '{"person": {"name": "Ada", "age": 3}}',
    "a string of JSON": '"{\\"name\\": \\"Ada\\", \\"age\\": 3}"',
    "a key that holds a string of JSON": '{"result": "{\\"name\\": \\"Ada\\", \\"age\\": 3}"}',
    "cut off, all there": '{"name": "Ada", "age": 3',
    "comments": '{"name": "Ada", // hm\n "age": 3}',
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


@pytest.mark.parametrize("status", [400, 422, 500])
async def test_ways_to_ask_for_json(play: Play, status: int) -> None:
    good = answer('{"name": "Ada"}')
    no = refusal(status, "response_format")
    llm, server = play(no, no, no, good)
    await llm.structured(ASK, Person)
    await llm.structured([Message("user", "And?")], Person)
    forms = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert forms == ["json_schema", "json_object", "json_object", None, None]  # what was found is kept
    assert ["schema" in request.body.get("response_format", {}) for request in server.requests[1:3]] == [True, False]
    assert '"name"' in server.requests[4].body["messages"][-1]["content"]


async def test_calls_side_by_side_find_the_way_together(play: Play) -> None:
    def answered(request: Request) -> Scripted:
        return refusal(400, "response_format") if "response_format" in request.body else answer('{"name": "Ada"}')

    llm, _ = play(answered)
    found = await asyncio.gather(*(llm.structured(ASK, Person) for _ in range(2)))
    assert [value.name for value, _ in found] == ["Ada", "Ada"]


async def test_a_prompt_that_is_too_long_says_nothing_about_json(play: Play) -> None:
    no = refusal(400, "maximum context length exceeded")
    llm, server = play(no, answer('{"name": "Ada"}'))
    with pytest.raises(LLMTooLong) as caught:
        await llm.structured(ASK, Person)
    assert "window" in caught.value.hint
    assert len(server.requests) == 1
    await llm.structured(ASK, Person)
    assert server.requests[-1].body["response_format"]["type"] == "json_schema"


class People(BaseModel):
    people: list[Person]


CUT = '{"people": [{"name": "Ada", "age": 3}, {"name": "Bea"}, {"na'


async def test_a_reply_that_is_cut_is_asked_for_with_more_tokens(play: Play) -> None:
    llm, server = play(answer(CUT, "length"), answer('{"people": []}'))
    value, reply = await llm.structured(ASK, People, max_tokens=100)
    assert (value.people, reply.usage.calls, reply.usage.failed_calls) == ([], 2, 1)
    assert [request.body["max_tokens"] for request in server.requests] == [100, 2048]


async def test_a_reply_that_stays_cut_is_an_error(play: Play) -> None:
    kept = Kept()
    llm, server = play(answer(CUT, "length"), cache=kept)
    with pytest.raises(LLMTruncated) as caught:
        await llm.structured(ASK, People)
    assert (caught.value.text, len(server.requests), kept) == (CUT, 2, {})


async def test_what_was_whole_of_a_cut_reply_is_given_where_it_is_wanted(play: Play) -> None:
    kept = Kept()
    llm, _ = play(answer(CUT, "length"), cache=kept)
    with account() as spent:
        value, reply = await llm.structured(ASK, People, keep_cut=True)
    assert [person.name for person in value.people] == ["Ada", "Bea"]
    assert (reply.finish_reason, kept) == ("length", {})
    assert "cut off" in spent.notes[0]


async def test_numbers_are_not_shortened_by_a_cut(play: Play) -> None:
    class Numbers(BaseModel):
        numbers: list[int]

    llm, _ = play(answer('{"numbers": [12, 34, 5', "length"))
    assert (await llm.structured(ASK, Numbers, keep_cut=True))[0].numbers == [12, 34]


async def test_the_way_that_was_found_outlives_the_client(play: Play) -> None:
    kept = Kept()
    no, good = refusal(400, "response_format"), answer('{"name": "Ada"}')
    llm, server = play(no, good, cache=kept)
    await llm.structured(ASK, Person)
    again, _ = play(good, cache=kept, base_url=server.url)
    await again.structured([Message("user", "And?")], Person)
    assert [r.body["response_format"]["type"] for r in server.requests] == ["json_schema", "json_object", "json_object"]


async def test_what_is_unusable_is_counted(play: Play) -> None:
    llm, _ = play(answer("no"), answer("no"))
    with account() as spent, pytest.raises(LLMBadReply):
        await llm.structured(ASK, Person)
    assert (spent.usage.calls, spent.usage.failed_calls, spent.usage.prompt_tokens) == (2, 2, 14)
