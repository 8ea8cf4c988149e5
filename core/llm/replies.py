"""What an endpoint sends, read leniently, put together into a Reply or a failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from core.errors import LLMBadReply, LLMError, LLMFiltered, LLMTruncated
from core.llm.failures import WINDOW_HINT, Failed, Failures
from core.llm.thinking import ThinkSplitter
from core.llm.tokens import estimate
from core.llm.window import tokens_of
from core.prompts import Part
from core.types import Usage

Price = Callable[[int, int], float]  # of so many tokens of prompt and completion


@dataclass(frozen=True)
class Delta:
    """A piece of the answer's text as it is written, thinking left out."""

    text: str


@dataclass(frozen=True)
class Reply:
    """`text` is the answer without thinking; a reply from the cache has no tokens in its usage.

    `left_out` are the parts of the prompt that its model's window had no room for.
    """

    text: str
    thinking: str
    usage: Usage
    model: str
    finish_reason: str
    cached: bool = False
    left_out: tuple[Part, ...] = ()

    def with_usage(self, usage: Usage) -> Reply:
        return replace(self, usage=usage)

    def to_cache(self) -> str:
        return json.dumps({"text": self.text, "finish_reason": self.finish_reason}, ensure_ascii=False)

    @classmethod
    def from_cache(cls, stored: str, model: str) -> Reply | None:
        """None for what an older or newer version stored otherwise: it is asked again."""
        try:
            kept = _Stored.model_validate_json(stored)
        except ValidationError:
            return None
        return cls(kept.text, "", Usage(cached_calls=1), model, kept.finish_reason, cached=True)


class _Stored(BaseModel):
    text: str = Field(min_length=1)
    finish_reason: str = ""


class _Content(BaseModel):
    """A whole message, or a delta of one."""

    content: str | None = None
    reasoning_content: str | None = None  # DeepSeek, vLLM, llama.cpp
    reasoning: str | None = None  # OpenRouter, newer vLLM
    refusal: str | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _join(cls, value: object) -> object:
        """Some endpoints send a list of parts; those that are no text (Mistral's thinking) are left out."""
        if not isinstance(value, list):
            return value
        texts = (part.get("text") for part in value if isinstance(part, dict) and part.get("type") == "text")
        return "".join(text for text in texts if isinstance(text, str))


class _Choice(BaseModel):
    message: _Content | None = None
    delta: _Content | None = None
    finish_reason: str | None = None


class _Tokens(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None  # OpenRouter, in its credits


class Body(BaseModel):
    """A chat completion, or a chunk of one: only what is used, everything optional."""

    choices: list[_Choice] | None = None
    usage: _Tokens | None = None
    error: object = None


class Assembly:
    """A reply's bodies, one or many, on their way to a Reply."""

    def __init__(
        self, failures: Failures, request: dict[str, Any], price: Price, *, hold: bool, streamed: bool
    ) -> None:
        self._failures = failures
        self._model: str = request["model"]
        self._limit: int = request["max_tokens"]
        self._asked: list[dict[str, Any]] = request["messages"]
        self._price = price
        self.streamed = streamed
        self._splitter = ThinkSplitter(hold=hold)
        self._written: list[str] = []
        self._reasoning: list[str] = []
        self._refusal = ""
        self._finish = ""
        self._counts: _Tokens | None = None
        self._bodies = 0
        self._chosen = False
        self._answered = False

    @property
    def unopened(self) -> bool:
        return self._splitter.unopened

    def add(self, body: Body) -> str:
        """The text that this certainly adds to the answer. Raises Failed for an error object."""
        self._bodies += 1
        if body.error:
            raise self._failures.of_object(body.error)
        if body.usage is not None:
            self._counts = body.usage
        if not body.choices:
            return ""
        self._chosen = True
        choice = body.choices[0]
        self._finish = choice.finish_reason or self._finish
        content = choice.delta or choice.message or _Content()
        self._reasoning.append(content.reasoning_content or content.reasoning or "")
        self._refusal += content.refusal or ""
        self._written.append(content.content or "")
        return self._splitter.feed(content.content or "")

    def finish(self) -> tuple[str, Reply]:
        """(the rest of the text, the reply). Raises Failed for what is no answer."""
        thinking, text = self._splitter.finish()
        if self.streamed and not self._finish and (self._chosen or not self._bodies):
            # A stream that just ends was cut, by a proxy or a dying server: half an answer is none.
            raise self._failures.cut() if self._bodies else self._failures.wordless()
        if not self._chosen:
            raise self._failures.garbled("it has no choices")
        thinking = "".join([*self._reasoning, thinking]).strip()
        reply = Reply(text.rstrip(), thinking, self.usage, self._model, self._finish)
        if (error := self._not_an_answer(reply)) is not None:
            raise Failed(error, usage=self.usage)
        self._answered = True
        return self._splitter.rest, replace(reply, usage=self.usage)

    @property
    def usage(self) -> Usage:
        """Of this call so far, as reported, else estimated; a failed call until `finish` has given a reply."""
        counts = self._counts or _Tokens()
        reported = counts.prompt_tokens is not None and counts.completion_tokens is not None
        prompt_tokens, completion_tokens = counts.prompt_tokens, counts.completion_tokens
        if prompt_tokens is None:
            prompt_tokens = sum(map(tokens_of, self._asked))
        if completion_tokens is None:
            written = "".join([*self._reasoning, *self._written])
            completion_tokens = estimate(written) if written else 0
        cost = self._price(prompt_tokens, completion_tokens) if counts.cost is None else counts.cost
        return Usage(
            calls=1,
            failed_calls=0 if self._answered else 1,
            estimated_calls=0 if reported else 1,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cost=cost,
        )

    def _not_an_answer(self, reply: Reply) -> LLMError | None:
        if reply.finish_reason == "length":
            where = "while it was still thinking" if reply.thinking and not reply.text else "in the middle"
            told = self._counts.completion_tokens if self._counts else None
            full = told is not None and told < self._limit  # the window ended it, not max_tokens
            cut = LLMTruncated(
                f"{self._model} was cut off {where}, at {told if full else self._limit} tokens",
                hint=WINDOW_HINT
                if full
                else "raise QUAERE_LLM__MAX_TOKENS, or switch thinking off with QUAERE_LLM__EXTRA_BODY",
            )
            cut.text = reply.text
            return cut
        if reply.finish_reason == "content_filter" or (self._refusal and not reply.text):
            return LLMFiltered(f"the content filter of {self._model} withheld the reply", hint="ask in other words")
        if not reply.text:
            return LLMBadReply(
                f"{self._model} sent an empty reply{', only thinking' if reply.thinking else ''}",
                hint="ask again; a reasoning model may need its thinking switched off",
            )
        return None
