"""The language-model client: any OpenAI-compatible endpoint, over the `openai` SDK.

What comes back is an answer or a typed error; nothing above this package looks at think blocks, finish reasons or
status codes. Replies are kept by a hash of all that was asked: the same call again costs nothing. That holds at any
temperature, so a caller who wants several samples of one prompt takes a client without a cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from core.errors import LLMBadReply, LLMRejected, LLMTooLong, LLMTruncated
from core.llm.failures import Failed, Failures, check
from core.llm.json_reply import MODES, as_model, ask_for_json, instruction, whole_items
from core.llm.kept import KeptReplies
from core.llm.pacing import Gate, Patience
from core.llm.replies import Delta, Reply
from core.llm.tokens import estimate
from core.llm.window import ASSUMED, Fitted, Message, Models, counted, fit, size_of
from core.ports import ReplyCache
from core.prompts import Prompt
from core.settings import Endpoint
from core.spending import current
from core.types import Usage

M = TypeVar("M", bound=BaseModel)
_SMALL = 1024  # tokens of prompt and reply together that any model's window takes: it is not asked for
_LARGER = 4  # times the tokens, for a reply that was cut off
_LARGER_LEAST = 2048


@dataclass(frozen=True)
class _Call:
    """One call, fitted: `request` is the SDK's arguments; `asked` those that it is kept by, which do not depend on
    whether the window was known yet."""

    request: dict[str, Any]
    asked: dict[str, Any]
    fitted: Fitted
    prompts: list[str]


class LLM:
    """One endpoint and model. Calls raise LLMError's kinds, with the key in none of them.

    At most `max_concurrency` requests run at once, of all clients that share a `gate`; a stream counts until it is
    read to its end or closed, so don't call the model again inside a loop over `stream`. What is spent is charged to
    the open account (core.spending), whose limits hold. Belongs to one event loop. Raises LLMNotConfigured.
    """

    def __init__(self, settings: Endpoint, cache: ReplyCache | None = None, gate: Gate | None = None) -> None:
        from core.llm.transport import Wire  # half a second of start, for those who have a language model

        check(settings)
        self._settings = settings
        self._kept = KeptReplies(settings, cache)
        self._wire = Wire(settings, Failures(settings), gate or Gate(settings.max_concurrency))
        self.models = Models(self._wire.sdk, settings.model)
        self._window: int | None = None
        self._asking = asyncio.Lock()
        self._mode: int | None = None  # index into MODES: the first that this endpoint was found to take

    @property
    def model(self) -> str:
        return self._settings.model

    @property
    def mode(self) -> str:
        """How this endpoint was last asked for JSON."""
        return MODES[self._mode or 0]

    async def aclose(self) -> None:
        await self._wire.sdk.close()

    async def window(self) -> int:
        """Tokens of the context window: as the endpoint tells or a setting says, the smaller where both do."""
        async with self._asking:
            if self._window is None:
                told, said = await self.models.window(), self._settings.context_window
                self._window = min(filter(None, (told, said)), default=ASSUMED)
            return self._window

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, temperature: float | None = None
    ) -> Reply:
        """The whole reply; from the cache, with no tokens used, where the same was asked before.

        The prompt is fitted to the window first: parts of the highest rank go, and the trace says how many.
        """
        async with current().in_time():
            try:
                return await self._complete(messages, max_tokens, temperature)
            except Failed as failed:
                raise failed.error from None

    async def _complete(self, messages: Sequence[Message], max_tokens: int | None, temperature: float | None) -> Reply:
        call = await self._call(messages, max_tokens, temperature)
        key = self._kept.key(call.asked, call.prompts)
        async with self._kept.alone(key) as known:
            if known is not None:
                return self._known(known, call)
            try:
                reply = await self._answered(call)
            except Failed as failed:
                if not self._learned_window(failed, call):
                    raise
            else:
                await self._kept.keep(key, reply, call.prompts)
                return replace(reply, left_out=call.fitted.left_out)
        return await self._complete(messages, max_tokens, temperature)

    async def stream(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, temperature: float | None = None
    ) -> AsyncGenerator[Delta | Reply, None]:
        """Deltas as the text is written, then the Reply, whose text is authoritative.

        They differ by blanks at the end, and where a model's thinking only ends with a tag, the first time that this
        client sees it. A failure is tried again only before the first Delta: afterwards its error is raised, and
        what came is no answer.
        """
        account = current()
        async with aclosing(self._stream(messages, max_tokens, temperature)) as pieces:
            while True:
                try:
                    async with account.in_time():
                        piece = await anext(pieces, None)
                except Failed as failed:
                    raise failed.error from None
                if piece is None:
                    return
                yield piece

    async def _stream(
        self, messages: Sequence[Message], max_tokens: int | None, temperature: float | None
    ) -> AsyncGenerator[Delta | Reply, None]:
        call = await self._call(messages, max_tokens, temperature)
        key = self._kept.key(call.asked, call.prompts)
        async with self._kept.alone(key) as known:
            if known is not None:
                yield Delta(known.text)
                yield self._known(known, call)
                return
            patience, begun, larger = Patience(self._settings), False, False
            while True:
                try:
                    async with aclosing(self._wire.pieces(call.request, call.fitted.tokens)) as pieces:
                        async for piece in pieces:
                            begun = True
                            if isinstance(piece, Reply):
                                await self._kept.keep(key, piece, call.prompts)
                                piece = replace(piece, left_out=call.fitted.left_out)
                            yield piece
                    return
                except Failed as error:
                    failed = error
                if begun:
                    raise failed
                if failed.wordless:  # llama-cpp-python sends nothing when a prompt is too long for it
                    try:
                        reply = await self._answered(call)
                    except Failed as error:
                        failed = error
                    else:
                        await self._kept.keep(key, reply, call.prompts)
                        yield Delta(reply.text)
                        yield replace(reply, left_out=call.fitted.left_out)
                        return
                if self._learned_window(failed, call):
                    call = await self._call(messages, max_tokens, temperature)
                elif not larger and (again := await self._with_more_tokens(call, failed)) is not None:
                    call, larger = again, True
                else:
                    await self._wire.rest(patience, failed)

    async def structured(
        self,
        messages: Sequence[Message],
        model: type[M],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        keep_cut: bool = False,
    ) -> tuple[M, Reply]:
        """A reply that validates as `model`, asked for by schema, by JSON mode or by prompt, as the endpoint takes it.

        What does not validate is asked for once more with the validator's words; then LLMBadReply. A reply that is
        cut off is asked for once more with more tokens; then LLMTruncated, or with `keep_cut` the items of its lists
        that were whole, under finish_reason 'length'. Only what is whole and validates is kept in the cache.
        """
        async with current().in_time():
            try:
                return await self._structured(messages, model, max_tokens, temperature, keep_cut)
            except Failed as failed:
                raise failed.error from None

    async def _structured(
        self,
        messages: Sequence[Message],
        model: type[M],
        max_tokens: int | None,
        temperature: float | None,
        keep_cut: bool,
    ) -> tuple[M, Reply]:
        if self._mode is None:
            self._mode = await self._kept.mode()
        call = await self._call(messages, max_tokens, temperature, spare=estimate(instruction(model)))
        key = self._kept.key(call.asked | {"schema": model.model_json_schema()}, call.prompts)
        async with self._kept.alone(key) as known:
            if known is not None:
                try:
                    return as_model(known.text, model), self._known(known, call)
                except ValueError:
                    pass  # the model's own validators changed: ask again
            try:
                value, reply = await self._asked_twice(call, model)
            except Failed as failed:
                if keep_cut and isinstance(failed.error, LLMTruncated):
                    cut = whole_items(failed.error.text, model)
                    if cut is not None:
                        current().note(f"a reply of {self.model} was cut off: what was whole of it is used")
                        kept = Reply(failed.error.text, "", failed.usage, self.model, "length")
                        return cut, replace(kept, left_out=call.fitted.left_out)
                if not self._learned_window(failed, call):
                    raise
            else:
                await self._kept.keep(key, reply, call.prompts)
                return value, replace(reply, left_out=call.fitted.left_out)
        return await self._structured(messages, model, max_tokens, temperature, keep_cut)

    async def _asked_twice(self, call: _Call, model: type[M]) -> tuple[M, Reply]:
        first = await self._in_some_mode(call, model)
        try:
            return as_model(first.text, model), first
        except ValueError as error:
            complaint = f"That was not the JSON asked for: {error}\n{instruction(model)}"
        self._unusable()
        said = [{"role": "assistant", "content": first.text[:4000]}, {"role": "user", "content": complaint}]
        again = call.request | {"messages": [*call.request["messages"], *said]}
        more = sum(estimate(message["content"]) for message in said)
        longer = replace(call, request=again, fitted=replace(call.fitted, tokens=call.fitted.tokens + more))
        second = await self._in_some_mode(longer, model)
        try:
            return as_model(second.text, model), second.with_usage(first.usage + second.usage)
        except ValueError as error:
            self._unusable()
            raise Failed(
                LLMBadReply(
                    f"{self.model} did not give the JSON that was asked for: {str(error)[:200]}",
                    hint="use a larger model, or one that supports JSON schemas",
                )
            ) from None

    async def _in_some_mode(self, call: _Call, model: type[BaseModel]) -> Reply:
        first = self._mode or 0
        for index in range(first, len(MODES)):
            asked = replace(call, request=ask_for_json(call.request, MODES[index], model))
            try:
                reply = await self._answered(asked, any_cut=True)
            except Failed as failed:
                status = failed.error.status_of_endpoint if isinstance(failed.error, LLMRejected) else 0
                long = isinstance(failed.error, LLMTooLong)
                if status not in (400, 422) or long or index == len(MODES) - 1:
                    raise
            else:
                # Kept only now: a prompt that is refused in every mode says nothing about them.
                if index > (self._mode or 0):
                    self._mode = index
                    await self._kept.keep_mode(index)
                return reply
        raise AssertionError("unreachable")

    async def _answered(self, call: _Call, any_cut: bool = False) -> Reply:
        """One reply; with more tokens, once, where they ran out while the model was thinking (`any_cut`: at all)."""
        try:
            return await self._wire.whole(call.request, call.fitted.tokens)
        except Failed as failed:
            again = await self._with_more_tokens(call, failed, any_cut)
            if again is None:
                raise
            first = failed.usage
        reply = await self._wire.whole(again.request, again.fitted.tokens)
        return reply.with_usage(first + reply.usage)

    async def _with_more_tokens(self, call: _Call, failed: Failed, any_cut: bool = False) -> _Call | None:
        error = failed.error
        if not isinstance(error, LLMTruncated) or (error.text and not any_cut):
            return None
        had = int(call.request["max_tokens"])
        more = min(max(had * _LARGER, _LARGER_LEAST), await self.window() - call.fitted.tokens)
        return replace(call, request=call.request | {"max_tokens": more}) if more > had else None

    async def _call(
        self, messages: Sequence[Message], max_tokens: int | None, temperature: float | None, spare: int = 0
    ) -> _Call:
        """The messages fitted to the window, with room for the reply and `spare` tokens."""
        settings = self._settings
        asked = most = settings.max_tokens if max_tokens is None else max_tokens
        whole = size_of(messages) + spare
        limit = whole
        if self._window is not None or whole + most > _SMALL:
            window = await self.window()
            most = min(most, window // 2)
            limit = window - most
        fitted = fit(messages, limit - spare)
        if fitted.left_out:
            left = ", ".join(counted(fitted.left_out))
            current().note(f"{left} left out: the prompt is longer than the window of {self.model}")
        request = {
            "model": settings.model,
            "messages": list(fitted.messages),
            "max_tokens": most,
            "temperature": settings.temperature if temperature is None else temperature,
            "extra_body": dict(settings.extra_body),
        }
        prompts = [str(message.content) for message in messages if isinstance(message.content, Prompt)]
        fitted = replace(fitted, tokens=fitted.tokens + spare)
        return _Call(request, request | {"max_tokens": asked}, fitted, prompts)

    def _learned_window(self, failed: Failed, call: _Call) -> bool:
        """Whether a refusal told of a smaller window than was thought, so that another fitting differs."""
        error = failed.error
        if not isinstance(error, LLMTooLong):
            return False
        asked = call.fitted.tokens + int(call.request["max_tokens"])
        smaller = error.window if 0 < error.window < (self._window or ASSUMED) else 0
        if not smaller or asked <= smaller:
            return False
        self._window = smaller
        return True

    def _known(self, reply: Reply, call: _Call) -> Reply:
        current().charge(reply.usage)
        return replace(reply, left_out=call.fitted.left_out)

    def _unusable(self) -> None:
        current().charge(Usage(failed_calls=1))
