"""One endpoint on the wire: requests sent over the `openai` SDK, tried again where that can help, taken apart.

Every attempt is reserved in the account before it is sent, and charged to it unless it was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from json import JSONDecodeError
from typing import Any

import httpx2
import openai
from openai import AsyncOpenAI
from pydantic import ValidationError

from core.llm.dialect import Dialect
from core.llm.failures import Failed, Failures, words
from core.llm.pacing import Gate, Patience
from core.llm.replies import Assembly, Body, Delta, Reply
from core.settings import Endpoint as EndpointSettings
from core.spending import current


class Wire:
    """Requests to one endpoint and model; a request is the SDK's arguments. Raises Failed."""

    def __init__(self, settings: EndpointSettings, failures: Failures, gate: Gate) -> None:
        self._settings = settings
        self._failures = failures
        self._gate = gate
        self._dialect = Dialect()
        self._unopened = False  # the last reply's thinking began without a tag
        self.sdk = AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key.get_secret_value().strip() or "none",
            max_retries=0,  # retried here, where Retry-After and the stream's beginning are known
            timeout=httpx2.Timeout(settings.read_timeout_s, connect=settings.connect_timeout_s, pool=None),
        )
        # The SDK takes these from OPENAI_ORG_ID and OPENAI_PROJECT_ID; they are no business of another endpoint.
        self.sdk.organization = self.sdk.project = None

    async def whole(self, request: dict[str, Any], prompt_tokens: int) -> Reply:
        """One reply, tried again as the settings say. `prompt_tokens` is an upper estimate."""
        patience = Patience(self._settings)
        while True:
            try:
                return await self._once(request, prompt_tokens)
            except Failed as failed:
                await self.rest(patience, failed)

    async def _once(self, request: dict[str, Any], prompt_tokens: int) -> Reply:
        async with self._attempt(request, prompt_tokens):
            assembly = self._assembly(request, streamed=False)
            response = await self._post(request, assembly)
            try:
                assembly.add(self._body(response.text))
                return self._ended(assembly)[1]
            finally:
                current().charge(assembly.usage)

    async def pieces(self, request: dict[str, Any], prompt_tokens: int) -> AsyncGenerator[Delta | Reply, None]:
        """One attempt at a stream."""
        asked = request | {"stream": True, "stream_options": {"include_usage": True}}
        async with self._attempt(request, prompt_tokens):
            assembly = self._assembly(request, streamed=True)
            response = await self._post(asked, assembly)
            kind = response.headers.get("content-type", "")
            assembly.streamed = streamed = "json" not in kind and "html" not in kind
            try:
                async with aclosing(self._bodies(response, streamed)) as bodies:
                    async for body in bodies:
                        if text := assembly.add(body):
                            yield Delta(text)
                rest, reply = self._ended(assembly)
            finally:
                current().charge(assembly.usage)
        if rest:
            yield Delta(rest)
        yield reply

    async def rest(self, patience: Patience, failed: Failed) -> None:
        """Wait before the next attempt; raises `failed` where there is none."""
        pause = patience.pause(failed)
        if pause is None:
            raise failed
        if failed.wait_s:
            self._gate.shut(failed.wait_s)  # it was said to one, and holds for all
        await asyncio.sleep(pause)

    @asynccontextmanager
    async def _attempt(self, request: dict[str, Any], prompt_tokens: int) -> AsyncIterator[None]:
        most = int(request["max_tokens"])
        async with self._gate.slot():
            with current().reserved(prompt_tokens + most, self._price(prompt_tokens, most)):
                yield

    def _price(self, prompt_tokens: int, completion_tokens: int) -> float:
        settings = self._settings
        return (prompt_tokens * settings.prompt_price + completion_tokens * settings.completion_price) / 1e6

    async def _bodies(self, response: Any, streamed: bool) -> AsyncGenerator[Body, None]:
        begun = not streamed
        try:
            if not streamed:  # an endpoint that does not stream answers all at once, or it is none
                yield self._body((await response.http_response.aread()).decode(errors="replace"))
                return
            async for chunk in response.parse():
                begun = True
                yield self._body(chunk.to_json())
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
                raise self._failures.silent() from None
            raise (self._failures.cut() if begun else self._failures.wordless()) from None
        except openai.OpenAIError as error:
            raise self._failures.of(error) from None
        except JSONDecodeError:
            raise self._failures.garbled("a piece of its stream is not JSON") from None
        finally:
            await response.http_response.aclose()  # the server stops generating

    async def _post(self, request: dict[str, Any], assembly: Assembly) -> Any:
        """The SDK's raw response, of status 200.

        A request that was sent and never answered, by silence or since the caller left, is charged as estimated: it
        may have been read and billed.
        """
        try:
            return await self._posted(request)
        except asyncio.CancelledError:
            current().charge(assembly.usage)
            raise
        except Failed as failed:
            if failed.taken:
                current().charge(assembly.usage)
            raise

    async def _posted(self, request: dict[str, Any]) -> Any:
        while True:
            sent = self._dialect.translate(request)
            try:
                return await self.sdk.chat.completions.with_raw_response.create(**sent)
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
        return Assembly(self._failures, request, self._price, hold=self._unopened, streamed=streamed)

    def _ended(self, assembly: Assembly) -> tuple[str, Reply]:
        rest, reply = assembly.finish()
        self._unopened = assembly.unopened
        return rest, reply
