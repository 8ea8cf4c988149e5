"""Whether each configured endpoint can do what Quaere asks of it, and what to change where it can't.

Costs three short calls an endpoint, none of them kept.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel

from core.errors import LLMError, LLMRejected
from core.llm.client import LLM
from core.llm.failures import place
from core.llm.replies import Delta, Reply
from core.llm.window import ASSUMED, Message
from core.settings import ROLES, Connection, Endpoint, LLMSettings, Role
from core.spending import account
from core.types import Frozen, Usage

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PROMPT_TOKENS, _REPLY_TOKENS = 3000, 250  # of a usual answer
_SLOW_S = 90.0
_SMALL_WINDOW = 4096
_WAYS: dict[str, str] = {
    "json_schema": "by JSON schema",
    "json_object_schema": "by JSON mode with a schema",
    "json_object": "by JSON mode",
    "prompt": "by prompt only",
}
_COUNT = "Write the numbers from 1 to 30, separated by blanks, and nothing else."
_TEXT = "The tide gauge was read every ten minutes and its clock was set by radio once a day. " * 24


class Check(Frozen):
    """`look` works, but could be better; `bad` does not work. `advice` says what to change, empty when nothing."""

    what: str
    state: Literal["ok", "look", "bad"]
    found: str
    advice: str = ""


class EndpointReport(Frozen):
    roles: tuple[str, ...]
    model: str
    where: str
    checks: tuple[Check, ...]
    usage: Usage = Usage()

    @property
    def works(self) -> bool:
        return all(check.state != "bad" for check in self.checks)


class _Place(BaseModel):
    city: str
    year: int


async def examine(settings: LLMSettings) -> AsyncIterator[EndpointReport]:
    """A report for each different endpoint, as soon as it is made; none where no language model is configured."""
    for endpoint, roles in _endpoints(settings):
        with account() as spent:
            checks = [check async for check in _checks(endpoint)]
        yield EndpointReport(
            roles=roles, model=endpoint.model, where=place(endpoint.base_url), checks=tuple(checks), usage=spent.usage
        )


def _endpoints(settings: LLMSettings) -> list[tuple[Endpoint, tuple[Role, ...]]]:
    found: list[tuple[Endpoint, tuple[Role, ...]]] = []
    for role in ROLES:
        endpoint = settings.of(role)
        at = next((n for n, (known, _) in enumerate(found) if known == endpoint), None)
        if at is not None:
            found[at] = (endpoint, (*found[at][1], role))
        elif endpoint.base_url:
            found.append((endpoint, (role,)))
    return found


async def _checks(endpoint: Endpoint) -> AsyncIterator[Check]:
    try:
        llm = LLM(endpoint)
    except LLMError as error:
        yield _failed("settings", error)
        return
    try:
        if (secret := key_in_clear(endpoint)) is not None:
            yield secret
        try:
            async for check in _answers(llm):
                yield check
        except LLMError as error:
            yield _failed("answers", error)
            if isinstance(error, LLMRejected):  # something is there: is it the model's name?
                async for check in _listed(llm):
                    yield check
            return
        async for check in _listed(llm):
            yield check
        for what, examine_it in (("structured", _structured), ("streams", _streams), ("window", _window)):
            try:
                for check in await examine_it(llm, endpoint):
                    yield check
            except LLMError as error:
                yield _failed(what, error)
    finally:
        await llm.aclose()


def key_in_clear(endpoint: Connection) -> Check | None:
    parts = urlsplit(endpoint.base_url)
    if parts.scheme == "https" or parts.hostname in _LOOPBACK or not endpoint.api_key.get_secret_value():
        return None
    return Check(what="key", state="look", found="is sent unencrypted", advice="use an https address")


async def _answers(llm: LLM) -> AsyncIterator[Check]:
    start = time.perf_counter()
    reply = await llm.complete([Message("user", "Answer with the single word: ready")])
    seconds = time.perf_counter() - start
    yield Check(what="answers", state="ok", found=f"in {seconds:.1f} s: {' '.join(reply.text.split())[:40]!r}")
    if reply.thinking:
        yield Check(
            what="thinking",
            state="look",
            found=f"{len(reply.thinking)} characters of thinking before one word",
            advice="where speed matters switch it off with QUAERE_LLM__EXTRA_BODY, e.g. "
            '{"chat_template_kwargs": {"enable_thinking": false}} or {"reasoning_effort": "low"}',
        )


async def _listed(llm: LLM) -> AsyncIterator[Check]:
    names = await llm.models.listed()
    if names is None:
        yield Check(what="model", state="ok", found="the endpoint has no list of its models")
    elif llm.model in names:
        yield Check(what="model", state="ok", found="is in the endpoint's list")
    else:
        names = list(dict.fromkeys(names))
        there = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        yield Check(
            what="model",
            state="look",
            found=f"{llm.model!r} is not in the endpoint's list: {there or 'it is empty'}",
            advice="set QUAERE_LLM__MODEL to one of the list, if this one is not meant",
        )


async def _structured(llm: LLM, _: Endpoint) -> Sequence[Check]:
    asked = "In 1896 the first modern Olympic Games took place in Athens. Give city and year as JSON."
    start = time.perf_counter()
    await llm.structured([Message("user", asked)], _Place, max_tokens=100)
    seconds = time.perf_counter() - start
    by = _WAYS[llm.mode]
    if llm.mode in ("json_schema", "json_object_schema"):
        return [Check(what="structured", state="ok", found=f"{by}, in {seconds:.1f} s")]
    advice = "an endpoint that takes JSON schemas fails less often"
    return [Check(what="structured", state="look", found=f"{by}, in {seconds:.1f} s", advice=advice)]


@dataclass
class _Timed:
    reply: Reply
    pieces: int
    first_s: float
    rest_s: float


async def _timed(llm: LLM, prompt: str) -> _Timed:
    start = time.perf_counter()
    first = start
    pieces = 0
    async for piece in llm.stream([Message("user", prompt)]):
        if isinstance(piece, Delta):
            first = time.perf_counter() if not pieces else first
            pieces += 1
        else:
            return _Timed(piece, pieces, first - start, time.perf_counter() - first)
    raise AssertionError("unreachable")


async def _streams(llm: LLM, _: Endpoint) -> Sequence[Check]:
    timed = await _timed(llm, f"{_TEXT}\n\n{_COUNT}")
    usage = timed.reply.usage
    checks = []
    if timed.pieces > 1:
        reported = "no usage reported, tokens are estimated" if usage.estimated_calls else "usage reported"
        checks.append(Check(what="streams", state="ok", found=f"{timed.pieces} pieces, {reported}"))
    else:
        advice = "answers will appear all at once; look for a proxy that buffers, or the server's settings"
        checks.append(Check(what="streams", state="look", found="the whole answer in one piece", advice=advice))
    reading = usage.prompt_tokens / max(timed.first_s, 1e-3)
    writing = usage.completion_tokens / max(timed.rest_s, 1e-3) if timed.pieces > 1 else 0.0
    whole = _PROMPT_TOKENS / reading + (_REPLY_TOKENS / writing if writing else 0.0)
    slow = whole > _SLOW_S
    checks.append(
        Check(
            what="speed",
            state="look" if slow else "ok",
            found=f"reads about {reading:.0f} and writes {writing:.0f} tokens/s: an answer takes about {whole:.0f} s",
            advice="use a smaller or faster model, or lower QUAERE_RETRIEVAL__TOP_K" if slow else "",
        )
    )
    return checks


async def _window(llm: LLM, endpoint: Endpoint) -> Sequence[Check]:
    told, said = await llm.models.window(), endpoint.context_window
    window = await llm.window()
    source = "told by the endpoint" if told == window else "by QUAERE_LLM__CONTEXT_WINDOW" if said else "assumed"
    found = f"{window} tokens, {source}"
    if window == ASSUMED and source == "assumed":
        advice = "set QUAERE_LLM__CONTEXT_WINDOW to the model's window"
    elif said and told and said > told:
        advice = f"QUAERE_LLM__CONTEXT_WINDOW says {said}: the endpoint's smaller figure is used"
    elif window < _SMALL_WINDOW:
        advice = "passages will be left out of prompts; give the model a larger window"
    else:
        return [Check(what="window", state="ok", found=found)]
    return [Check(what="window", state="look", found=found, advice=advice)]


def _failed(what: str, error: LLMError) -> Check:
    return Check(what=what, state="bad", found=error.message, advice=error.hint)
