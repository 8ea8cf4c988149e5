"""The language-model client: any OpenAI-compatible endpoint, over the `openai` SDK.

What comes back is an answer or a typed error; nothing above this file looks at think blocks, finish reasons or
status codes. Replies are kept by a hash of all that was asked: the same call again costs nothing. That holds at any
temperature, so a caller who wants several samples of one prompt takes a client without a cache.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, Literal, TypeVar

import httpx2
import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, ValidationError

from core.errors import LLMBadReply, LLMRejected
from core.json_reply import MODES, as_model, ask_for_json, instruction
from core.llm_dialect import Dialect
from core.llm_failures import Failed, Failures, check, words
from core.ports import ReplyCache
from core.replies import Assembly, Body, Reply
from core.reply_cache import KeptReplies
from core.settings import LLMSettings

M = TypeVar("M", bound=BaseModel)
_LONGEST_WAIT_S = 60.0  # an endpoint that asks for more is not waited for
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Delta:
    """A piece of the answer's text as it is written, thinking left out."""

    text: str


class LLM:
    """One endpoint and model. Calls raise LLMError's kinds, with the key in none of them.

    At most `max_concurrency` requests run at once; a stream counts until it is read to its end or closed, so don't
    call the model again inside a loop over `stream`. Belongs to one event loop. Raises LLMNotConfigured.
    """

    def __init__(self, settings: LLMSettings, cache: ReplyCache | None = None) -> None:
        check(settings)
        self._settings = settings
        self._kept = KeptReplies(settings, cache)
        self._failures = Failures(settings)
        self._dialect = Dialect()
        self._slots = asyncio.Semaphore(settings.max_concurrency)
        self._mode = 0  # index into MODES: the first that this endpoint was found to take
        self._unopened = False  # the last reply's thinking began without a tag
        self._client = AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key.get_secret_value().strip() or "none",
            max_retries=0,  # retried here, where Retry-After and the stream's beginning are known
            timeout=httpx2.Timeout(settings.read_timeout_s, connect=settings.connect_timeout_s, pool=None),
        )
        # The SDK takes these from OPENAI_ORG_ID and OPENAI_PROJECT_ID; they are no business of another endpoint.
        self._client.organization = self._client.project = None

    @property
    def model(self) -> str:
        return self._settings.model

    async def aclose(self) -> None:
        await self._client.close()

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, temperature: float | None = None
    ) -> Reply:
        """The whole reply; from the cache, with no tokens used, where the same was asked before."""
        request = self._request(messages, max_tokens, temperature)
        if (known := await self._kept.get(request)) is not None:
            return known
        try:
            reply = await self._whole(request)
        except Failed as failed:
            raise failed.error from None
        await self._kept.keep(request, reply)
        return reply

    async def stream(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, temperature: float | None = None
    ) -> AsyncIterator[Delta | Reply]:
        """Deltas as the text is written, then the Reply, whose text is authoritative.

        They differ by blanks at the end, and where a model's thinking only ends with a tag, the first time that this
        client sees it. A failure is tried again only before the first Delta: afterwards its error is raised, and
        what came is no answer.
        """
        request = self._request(messages, max_tokens, temperature)
        if (known := await self._kept.get(request)) is not None:
            yield Delta(known.text)
            yield known
            return
        attempt, begun = 0, False
        while True:
            try:
                async with aclosing(self._pieces(request)) as pieces:
                    async for piece in pieces:
                        begun = True
                        if isinstance(piece, Reply):
                            await self._kept.keep(request, piece)
                        yield piece
                return
            except Failed as failed:
                if begun or (pause := self._pause(failed, attempt)) is None:
                    raise failed.error from None
            await asyncio.sleep(pause)
            attempt += 1

    async def structured(
        self,
        messages: Sequence[Message],
        model: type[M],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> tuple[M, Reply]:
        """A reply that validates as `model`, asked for by schema, by JSON mode or by prompt, as the endpoint takes it.

        What does not validate is asked for once more with the validator's words; then LLMBadReply. Only what
        validates is kept in the cache. The Reply's usage is that of both.
        """
        request = self._request(messages, max_tokens, temperature) | {"schema": model.model_json_schema()}
        if (known := await self._kept.get(request)) is not None:
            try:
                return as_model(known.text, model), known
            except ValueError:
                pass  # the model's own validators changed: ask again
        try:
            value, reply = await self._asked_twice(messages, model, max_tokens, temperature)
        except Failed as failed:
            raise failed.error from None
        await self._kept.keep(request, reply)
        return value, reply

    async def _asked_twice(
        self, messages: Sequence[Message], model: type[M], max_tokens: int | None, temperature: float | None
    ) -> tuple[M, Reply]:
        first = await self._in_some_mode(self._request(messages, max_tokens, temperature), model)
        try:
            return as_model(first.text, model), first
        except ValueError as error:
            complaint = f"That was not the JSON asked for: {error}\n{instruction(model)}"
        again = [*messages, Message("assistant", first.text[:4000]), Message("user", complaint)]
        second = await self._in_some_mode(self._request(again, max_tokens, temperature), model)
        try:
            return as_model(second.text, model), second.with_usage(first.usage + second.usage)
        except ValueError as error:
            raise Failed(
                LLMBadReply(
                    f"{self.model} did not give the JSON that was asked for: {str(error)[:200]}",
                    hint="use a larger model, or one that supports JSON schemas",
                )
            ) from None

    async def _in_some_mode(self, request: dict[str, Any], model: type[BaseModel]) -> Reply:
        first = self._mode
        for index in range(first, len(MODES)):
            try:
                reply = await self._whole(ask_for_json(request, MODES[index], model))
            except Failed as failed:
                status = failed.error.status_of_endpoint if isinstance(failed.error, LLMRejected) else 0
                if status not in (400, 422) or index == len(MODES) - 1:
                    raise
            else:
                # Kept only now: a prompt that is too long is refused in every mode, and says nothing about them.
                self._mode = max(self._mode, index)
                return reply
        raise AssertionError("unreachable")

    def _request(
        self, messages: Sequence[Message], max_tokens: int | None, temperature: float | None
    ) -> dict[str, Any]:
        return {
            "model": self._settings.model,
            "messages": [{"role": message.role, "content": _sendable(message.content)} for message in messages],
            "max_tokens": self._settings.max_tokens if max_tokens is None else max_tokens,
            "temperature": self._settings.temperature if temperature is None else temperature,
            "extra_body": dict(self._settings.extra_body),
        }

    async def _whole(self, request: dict[str, Any]) -> Reply:
        """One reply, tried again as the settings say. Raises Failed."""
        attempt = 0
        while True:
            try:
                async with self._slots:
                    response = await self._post(request)
                assembly = self._assembly(request, streamed=False)
                assembly.add(self._body(response.text))
                return self._ended(assembly)[1]
            except Failed as failed:
                if (pause := self._pause(failed, attempt)) is None:
                    raise
            await asyncio.sleep(pause)
            attempt += 1

    async def _pieces(self, request: dict[str, Any]) -> AsyncGenerator[Delta | Reply, None]:
        """One attempt at a stream. Raises Failed."""
        asked = request | {"stream": True, "stream_options": {"include_usage": True}}
        async with self._slots:
            response = await self._post(asked)
            kind = response.headers.get("content-type", "")
            streamed = "json" not in kind and "html" not in kind
            assembly = self._assembly(request, streamed=streamed)
            async with aclosing(self._bodies(response, streamed)) as bodies:
                async for body in bodies:
                    if text := assembly.add(body):
                        yield Delta(text)
        rest, reply = self._ended(assembly)
        if rest:
            yield Delta(rest)
        yield reply

    async def _bodies(self, response: Any, streamed: bool) -> AsyncGenerator[Body, None]:
        try:
            if not streamed:  # an endpoint that does not stream answers all at once, or it is none
                yield self._body((await response.http_response.aread()).decode(errors="replace"))
                return
            async for chunk in response.parse():
                yield self._body(chunk.to_json())
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
                raise self._failures.silent() from None
            raise self._failures.cut() from None
        except openai.OpenAIError as error:
            raise self._failures.of(error) from None
        except JSONDecodeError:
            raise self._failures.garbled("a piece of its stream is not JSON") from None
        finally:
            await response.http_response.aclose()  # the server stops generating

    async def _post(self, request: dict[str, Any]) -> Any:
        """The SDK's raw response, of status 200. Raises Failed."""
        while True:
            sent = self._dialect.translate(request)
            try:
                return await self._client.chat.completions.with_raw_response.create(**sent)
            except openai.OpenAIError as error:
                if isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError):
                    told = words(error.body) or error.response.text
                    if self._dialect.learn(told, sent):
                        continue
                raise self._failures.of(error) from None

    def _body(self, text: str) -> Body:
        try:
            return Body.model_validate_json(text)
        except ValidationError:
            is_page = text.lstrip().startswith("<")
            raise self._failures.garbled("an HTML page" if is_page else "not its JSON") from None

    def _assembly(self, request: dict[str, Any], *, streamed: bool) -> Assembly:
        return Assembly(self._failures, request, hold=self._unopened, streamed=streamed)

    def _ended(self, assembly: Assembly) -> tuple[str, Reply]:
        rest, reply = assembly.finish()
        self._unopened = assembly.unopened
        return rest, reply

    def _pause(self, failed: Failed, attempt: int) -> float | None:
        """Seconds before the next attempt; None where there is none."""
        asked = failed.wait_s or 0.0
        if not failed.retry or attempt >= self._settings.max_retries or asked > _LONGEST_WAIT_S:
            return None
        pause = max(asked, self._settings.backoff_s * 2.0**attempt * random.uniform(0.8, 1.2))
        _log.info("trying again in %.1f s: %s", pause, failed)
        return pause


def _sendable(text: str) -> str:
    """Half a surrogate pair, which JSON lets a caller send, can't be written as UTF-8."""
    return text.encode(errors="replace").decode()
