"""The language-model client: any OpenAI-compatible endpoint, over the `openai` SDK.

What comes back is an answer or a typed error; nothing above this file looks at think blocks, finish reasons or
status codes. Replies are kept by a hash of all that was asked: the same call again costs nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import httpx2
import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, ValidationError

from core.errors import LLMBadReply, LLMError, LLMRejected, LLMUnavailable
from core.ports import ReplyCache
from core.replies import Reply, as_model, checked, reply_of, schema_format
from core.settings import LLMSettings
from core.thinking import ThinkSplitter
from core.types import Usage

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
_MODES: tuple[Literal["json_schema", "json_object", "prompt"], ...] = ("json_schema", "json_object", "prompt")


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Delta:
    """A piece of the answer's text as it is written, thinking left out."""

    text: str


class LLM:
    """Calls raise LLMError's kinds, with the key in none of them. At most `max_concurrency` run at once."""

    def __init__(self, settings: LLMSettings, cache: ReplyCache | None = None) -> None:
        self._settings = settings
        self._cache = cache
        self._slots = asyncio.Semaphore(settings.max_concurrency)
        self._mode = 0  # index into _MODES: what this endpoint was found to take
        self._client = AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key.get_secret_value() or "none",
            max_retries=0,  # retried here, where Retry-After and the stream's beginning are known
            timeout=httpx2.Timeout(settings.read_timeout_s, connect=settings.connect_timeout_s),
        )

    @property
    def model(self) -> str:
        return self._settings.model

    async def aclose(self) -> None:
        await self._client.close()

    async def complete(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Reply:
        """The whole reply; from the cache, with no usage, where the same was asked before."""
        return await self._complete(self._request(messages, max_tokens))

    async def stream(
        self, messages: Sequence[Message], *, max_tokens: int | None = None
    ) -> AsyncIterator[Delta | Reply]:
        """Deltas as the text is written, then the Reply, whose text is authoritative."""
        request = self._request(messages, max_tokens)
        if (known := self._cached(request)) is not None:
            yield Delta(known.text)
            yield known
            return
        async with self._slots:
            stream = await self._retried(lambda: self._open_stream(request))
            collected = _Collected()
            try:
                async for chunk in stream:
                    if new := collected.take(chunk):
                        yield Delta(new)
            except (openai.APIConnectionError, httpx2.HTTPError) as error:
                raise self._cut(error) from None
            except openai.OpenAIError as error:
                raise self._typed(error) from None
            finally:
                await stream.close()  # the server stops generating
        if not collected.finished:  # closed without a word: the server ended in the middle
            raise self._cut(None)
        reply = checked(collected.reply(self.model, messages), self._limit(request))
        self._keep(request, reply)
        yield reply

    async def structured(
        self, messages: Sequence[Message], model: type[M], *, max_tokens: int | None = None
    ) -> tuple[M, Reply]:
        """A reply that validates as `model`, asked for by schema, by JSON mode or by prompt, as the endpoint takes it.

        What does not validate is asked for once more with the validator's words; then LLMBadReply.
        """
        reply = await self._in_some_mode(messages, model, max_tokens)
        try:
            return as_model(reply.text, model), reply
        except (ValueError, ValidationError) as error:
            complaint = f"That was not the JSON asked for: {str(error)[:500]}\nGive the corrected JSON only."
        again = [*messages, Message("assistant", reply.text[:4000]), Message("user", complaint)]
        second = await self._in_some_mode(again, model, max_tokens)
        try:
            return as_model(second.text, model), second.with_usage(reply.usage + second.usage)
        except (ValueError, ValidationError) as error:
            raise LLMBadReply(
                f"{self.model} did not give the JSON that was asked for: {str(error).splitlines()[0][:200]}",
                hint="use a larger model, or one that supports JSON schemas",
            ) from None

    async def _in_some_mode(self, messages: Sequence[Message], model: type[BaseModel], limit: int | None) -> Reply:
        while True:
            mode = _MODES[self._mode]
            request = self._request(messages, limit) | schema_format(mode, model)
            if mode == "prompt":
                ask = f"Answer with one JSON object of this schema:\n{json.dumps(model.model_json_schema())}"
                request["messages"] = [*request["messages"], {"role": "system", "content": ask}]
            try:
                return await self._complete(request)
            except LLMRejected as error:
                if error.status_of_endpoint not in (400, 422) or self._mode == len(_MODES) - 1:
                    raise
                self._mode += 1

    def _request(self, messages: Sequence[Message], max_tokens: int | None) -> dict[str, Any]:
        return {
            "model": self._settings.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "max_tokens": max_tokens or self._settings.max_tokens,
            "temperature": self._settings.temperature,
            "extra_body": dict(self._settings.extra_body),
        }

    async def _complete(self, request: dict[str, Any]) -> Reply:
        if (known := self._cached(request)) is not None:
            return known
        async with self._slots:
            reply = await self._retried(lambda: self._call(request))
        checked(reply, self._limit(request))
        self._keep(request, reply)
        return reply

    async def _call(self, request: dict[str, Any]) -> Reply:
        return reply_of(await self._client.chat.completions.create(**request), self.model)

    async def _open_stream(self, request: dict[str, Any]) -> Any:
        return await self._client.chat.completions.create(
            **request, stream=True, stream_options={"include_usage": True}
        )

    async def _retried(self, call: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(self._settings.max_retries + 1):
            try:
                return await call()
            except openai.OpenAIError as error:
                typed, wait = self._typed(error), _retry_after(error)
            except httpx2.HTTPError as error:
                typed, wait = self._cut(error), None
            if not typed.retryable or attempt == self._settings.max_retries:
                raise typed
            pause = self._settings.backoff_s * 2**attempt * random.uniform(0.8, 1.2)
            await asyncio.sleep(pause if wait is None else min(wait, 60.0))
        raise AssertionError("unreachable")

    def _typed(self, error: openai.OpenAIError) -> LLMError:
        where = self._settings.base_url
        if isinstance(error, openai.APITimeoutError):
            return self._silent()
        if isinstance(error, openai.APIConnectionError):
            return LLMUnavailable(
                f"no language model answers at {where}", hint="start the server, or check QUAERE_LLM__BASE_URL"
            )
        if isinstance(error, openai.APIStatusError):
            return self._by_status(error.status_code)
        if isinstance(error, openai.APIError):  # an error object inside a stream
            return LLMUnavailable(f"the language model at {where} broke off with an error", hint="see its log")
        return LLMBadReply(f"the endpoint at {where} does not speak the OpenAI format", hint="check the base URL")

    def _silent(self) -> LLMError:
        return LLMUnavailable(
            f"the language model at {self._settings.base_url} was silent for {self._settings.read_timeout_s:g} s",
            hint="raise QUAERE_LLM__READ_TIMEOUT_S, or use a faster model",
        )

    def _by_status(self, status: int) -> LLMError:
        where = self._settings.base_url
        if status == 429 or status >= 500:
            return LLMUnavailable(f"the language model at {where} answered HTTP {status}", hint="try again later")
        hints = {
            401: "check QUAERE_LLM__API_KEY",
            403: "check QUAERE_LLM__API_KEY and what it may use",
            404: f"check QUAERE_LLM__BASE_URL (it mostly ends in /v1) and the model's name, {self.model!r}",
        }
        hint = hints.get(status, "the prompt may be longer than the model's window: see the server's log")
        rejected = LLMRejected(f"the language model at {where} refused the request: HTTP {status}", hint=hint)
        rejected.status_of_endpoint = status
        return rejected

    def _cut(self, error: Exception | None) -> LLMError:
        if isinstance(error, (httpx2.TimeoutException, openai.APITimeoutError)):
            return self._silent()
        return LLMUnavailable(
            f"the connection to the language model at {self._settings.base_url} was lost while it wrote",
            hint="look at the server's log, then ask again; `--quote` answers without it",
        )

    def _limit(self, request: dict[str, Any]) -> int:
        return int(request["max_tokens"])

    def _key(self, request: dict[str, Any]) -> str:
        asked = json.dumps([self._settings.base_url, request], sort_keys=True, default=str)
        return hashlib.sha256(asked.encode()).hexdigest()

    def _cached(self, request: dict[str, Any]) -> Reply | None:
        stored = self._cache.get(self._key(request)) if self._cache is not None else None
        return Reply.from_cache(stored, self.model) if stored is not None else None

    def _keep(self, request: dict[str, Any], reply: Reply) -> None:
        if self._cache is not None:
            self._cache.put(self._key(request), self.model, reply.to_cache())


class _Collected:
    """A stream's pieces on their way to a Reply."""

    def __init__(self) -> None:
        self._splitter = ThinkSplitter()
        self._thinking = ""
        self._finish = ""
        self._usage: Usage | None = None

    @property
    def finished(self) -> bool:
        return bool(self._finish)

    def take(self, chunk: Any) -> str:
        """The text that this chunk certainly adds to the answer."""
        if chunk.usage is not None:
            self._usage = Usage(
                calls=1,
                prompt_tokens=chunk.usage.prompt_tokens or 0,
                completion_tokens=chunk.usage.completion_tokens or 0,
            )
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        self._finish = choice.finish_reason or self._finish
        delta = choice.delta
        self._thinking += getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None) or ""
        return self._splitter.feed(delta.content or "")

    def reply(self, model: str, messages: Sequence[Message]) -> Reply:
        thinking, text = self._splitter.finish()
        # An endpoint that reports no usage in streams: four characters a token is near for English.
        estimate = Usage(
            calls=1,
            prompt_tokens=sum(len(m.content) for m in messages) // 4,
            completion_tokens=len(text) // 4,
        )
        return Reply(text, (self._thinking + thinking).strip(), self._usage or estimate, model, self._finish)


def _retry_after(error: openai.OpenAIError) -> float | None:
    if not isinstance(error, openai.APIStatusError):
        return None
    try:
        return max(0.0, float(error.response.headers.get("retry-after", "")))
    except ValueError:
        return None
