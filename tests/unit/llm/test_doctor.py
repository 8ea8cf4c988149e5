"""The doctor says what is wrong with an endpoint, and what to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr

from core.llm.doctor import EndpointReport, examine
from core.settings import Endpoint, LLMSettings
from tests.support.scripted_endpoint import HTML, KEY, LLMServer, Request, Scripted, answer, refusal, streamed

LISTED = {"/v1/models": {"data": [{"id": "m", "max_model_len": 32768}]}}
OLYMPIA = '{"city": "Athens", "year": 1896}'
Playing = Callable[[Request], Scripted]


def healthy(request: Request) -> Scripted:
    return streamed("1 ", "2 ", "3 ") if request.body.get("stream") else answer(OLYMPIA)


def thinks(request: Request) -> Scripted:
    return streamed("1 ", "2") if request.body.get("stream") else answer(f"<think>hm</think>{OLYMPIA}")


def in_one_piece(request: Request) -> Scripted:
    return answer(OLYMPIA)


def only_by_prompt(request: Request) -> Scripted:
    return refusal(400, "no response_format") if "response_format" in request.body else healthy(request)


def never_json(request: Request) -> Scripted:
    return streamed("1 ", "2") if request.body.get("stream") else answer("I am ready.")


def never_streams(request: Request) -> Scripted:
    return refusal(400, "streaming is off") if request.body.get("stream") else answer(OLYMPIA)


def unknown(request: Request) -> Scripted:
    return refusal(404, "no such model")


def a_page(request: Request) -> Scripted:
    return Scripted("<html>", type=HTML)


async def examined(playing: Playing, pages: dict[str, Any], **changed: Any) -> EndpointReport:
    with LLMServer(playing, pages) as server:
        given: dict[str, Any] = {"base_url": server.url, "model": "m", "api_key": SecretStr(KEY), "backoff_s": 0}
        (report,) = [report async for report in examine(LLMSettings(**(given | changed)))]
    assert KEY not in report.model_dump_json()
    return report


CASES: dict[str, tuple[Playing, dict[str, Any], dict[str, Any], str, str, str]] = {
    "thinks": (thinks, LISTED, {}, "thinking", "look", "EXTRA_BODY"),
    "in one piece": (in_one_piece, LISTED, {}, "streams", "look", "proxy"),
    "only by prompt": (only_by_prompt, LISTED, {}, "structured", "look", "schemas"),
    "never JSON": (never_json, LISTED, {}, "structured", "bad", "larger model"),
    "never streams": (never_streams, LISTED, {}, "streams", "bad", "EXTRA_BODY"),
    "unknown model": (unknown, {"/v1/models": {"data": [{"id": "n"}]}}, {}, "model", "look", "QUAERE_LLM__MODEL"),
    "a page": (a_page, {}, {}, "answers", "bad", "/v1"),
    "window unknown": (healthy, {}, {}, "window", "look", "CONTEXT_WINDOW"),
    "window small": (healthy, {}, {"context_window": 2048}, "window", "look", "left out"),
    "window claimed": (healthy, LISTED, {"context_window": 99999}, "window", "look", "99999"),
    "no model": (healthy, LISTED, {"model": ""}, "settings", "bad", "QUAERE_LLM__MODEL"),
}


@pytest.mark.parametrize(("playing", "pages", "changed", "what", "state", "advice"), CASES.values(), ids=CASES)
async def test_findings(
    playing: Playing, pages: dict[str, Any], changed: dict[str, Any], what: str, state: str, advice: str
) -> None:
    report = await examined(playing, pages, **changed)
    found = next(check for check in report.checks if check.what == what)
    assert found.state == state
    assert advice in found.advice
    assert report.works is (state != "bad" and playing is not unknown)


async def test_a_healthy_endpoint_needs_no_advice() -> None:
    report = await examined(healthy, LISTED)
    assert [check.what for check in report.checks] == ["answers", "model", "structured", "streams", "speed", "window"]
    assert not any(check.advice for check in report.checks)
    assert report.usage.calls == 3


async def test_each_endpoint_is_examined_once() -> None:
    with LLMServer(healthy, LISTED) as one, LLMServer(healthy, LISTED) as two:
        settings = LLMSettings(base_url=one.url, model="m", vision=Endpoint(base_url=two.url, model="eyes"))
        reports = [report async for report in examine(settings)]
    assert [(report.roles, report.model) for report in reports] == [
        (("write", "extract", "judge"), "m"),
        (("vision",), "eyes"),
    ]
    assert [report async for report in examine(LLMSettings())] == []
