"""Kept replies: the same is paid for once."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from core.llm import Message
from core.prompts import Part, Prompt
from core.types import Usage
from tests.support.scripted_endpoint import Kept, Scripted, answer
from tests.unit.llm.support import ASK, Loose, Person, Play, read


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


async def test_equal_calls_at_once_are_one_request(play: Play) -> None:
    llm, server = play(Scripted(answer("Ada.").body, delay_s=0.05), cache=Kept())
    replies = await asyncio.gather(*(llm.complete(ASK) for _ in range(5)), read(llm))
    assert len(server.requests) == 1
    assert sum(reply.cached for reply in replies[:5]) + replies[5][1].cached == 5  # type: ignore[index, union-attr, misc]


async def test_equal_structured_calls_at_once_are_one_request(play: Play) -> None:
    llm, server = play(Scripted(answer('{"name": "Ada"}').body, delay_s=0.05), cache=Kept())
    await asyncio.gather(*(llm.structured(ASK, Person) for _ in range(5)))
    assert len(server.requests) == 1


async def test_when_the_first_of_two_equal_calls_is_cancelled_the_second_asks(play: Play) -> None:
    llm, server = play(Scripted(answer("Ada.").body, delay_s=0.5), cache=Kept())
    first, second = asyncio.create_task(llm.complete(ASK)), asyncio.create_task(llm.complete(ASK))
    while not server.requests:
        await asyncio.sleep(0.01)
    first.cancel()
    assert (await second).text == "Ada."
    assert len(server.requests) == 2


async def test_a_reply_that_has_come_is_kept_though_the_caller_goes(play: Play) -> None:
    begun = threading.Event()

    class Slow(Kept):
        def put(self, key: str, model: str, reply: str, prompt: str = "") -> None:
            begun.set()
            time.sleep(0.2)
            super().put(key, model, reply, prompt)

    kept = Slow()
    llm, _ = play(answer("Ada."), cache=kept)
    call = asyncio.create_task(llm.complete(ASK))
    await asyncio.to_thread(begun.wait, 5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    while not kept:
        await asyncio.sleep(0.02)


async def test_what_makes_another_call(play: Play) -> None:
    kept = Kept()
    llm, server = play(answer("{}"), cache=kept, pages={})
    prompts = [Message("user", Prompt("write", version, (Part("Who?"),))) for version in ("1", "2")]
    await llm.complete(ASK)
    await llm.complete(ASK, max_tokens=5)
    await llm.complete(ASK, temperature=0.5)
    await llm.complete([Message("system", "Who?")])
    for prompt in prompts:  # the same words under another version of the prompt's file
        await llm.complete([prompt])
    await llm.structured(ASK, Loose)
    asked = len(server.requests)
    other, _ = play(answer("x"), cache=kept, base_url=server.url, model="n")
    await other.complete(ASK)
    thinking, _ = play(answer("x"), cache=kept, base_url=server.url, extra_body={"think": False})
    await thinking.complete(ASK)
    assert (asked, len(server.requests), len(kept)) == (7, 9, 9)


async def test_what_is_kept_does_not_depend_on_whether_the_window_was_known(play: Play) -> None:
    kept = Kept()
    llm, server = play(answer("Ada."), cache=kept, context_window=1000)
    await llm.complete(ASK, max_tokens=800)
    await llm.window()
    assert (await llm.complete(ASK, max_tokens=800)).cached
    assert len(server.requests) == 1
