"""What an endpoint sent, as a Reply or a typed error; and a reply's JSON as a model."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import json_repair
from pydantic import BaseModel

from core.errors import LLMBadReply, LLMFiltered, LLMTruncated
from core.thinking import split
from core.types import Usage

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Reply:
    """`text` is the answer without thinking; a reply from the cache has no tokens in its usage."""

    text: str
    thinking: str
    usage: Usage
    model: str
    finish_reason: str
    cached: bool = False

    def with_usage(self, usage: Usage) -> Reply:
        return replace(self, usage=usage)

    def to_cache(self) -> str:
        return json.dumps({"text": self.text, "finish_reason": self.finish_reason}, ensure_ascii=False)

    @classmethod
    def from_cache(cls, stored: str, model: str) -> Reply:
        kept = json.loads(stored)
        return cls(kept["text"], "", Usage(cached_calls=1), model, kept["finish_reason"], cached=True)


def reply_of(completion: Any, model: str) -> Reply:
    """A chat completion as a Reply. Raises LLMBadReply for what is none (HTML, no choices, an error object)."""
    choices = getattr(completion, "choices", None)
    if not choices:
        error = getattr(completion, "error", None)
        told = f": {str(error)[:200]}" if error else ""
        raise LLMBadReply(
            f"{model} sent no choices{told}", hint="check that the base URL is an OpenAI-compatible API, mostly …/v1"
        )
    message, used = choices[0].message, completion.usage
    thinking, text = split((message.content if message else None) or "")
    more = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None) or ""
    usage = Usage(
        calls=1,
        prompt_tokens=(used.prompt_tokens or 0) if used else 0,
        completion_tokens=(used.completion_tokens or 0) if used else 0,
    )
    return Reply(text, f"{more}{thinking}".strip(), usage, model, choices[0].finish_reason or "")


def checked(reply: Reply, limit: int) -> Reply:
    """The reply, if it is one. Raises LLMTruncated, LLMFiltered, LLMBadReply (empty)."""
    if reply.finish_reason == "length":
        where = "while it was still thinking" if reply.thinking and not reply.text else "in the middle"
        raise LLMTruncated(
            f"{reply.model} was cut off {where}, at {limit} tokens",
            hint="raise QUAERE_LLM__MAX_TOKENS, or switch thinking off with QUAERE_LLM__EXTRA_BODY",
        )
    if reply.finish_reason == "content_filter":
        raise LLMFiltered(f"the content filter of {reply.model} withheld the reply", hint="ask in other words")
    if not reply.text:
        raise LLMBadReply(
            f"{reply.model} sent an empty reply{', only thinking' if reply.thinking else ''}",
            hint="ask again; a reasoning model may need its thinking switched off",
        )
    return reply


def schema_format(mode: str, model: type[BaseModel]) -> dict[str, Any]:
    if mode == "json_schema":
        schema = {"name": model.__name__, "schema": model.model_json_schema()}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    return {"response_format": {"type": "json_object"}} if mode == "json_object" else {}


def as_model(text: str, model: type[M]) -> M:
    """The JSON in a reply, validated; fences, prose, trailing commas and a wrapping key or list are mended.

    Raises ValueError where there is no JSON, and pydantic's ValidationError.
    """
    value = json_repair.loads(_json_part(text))
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    if isinstance(value, str):
        value = json_repair.loads(value)
    if not isinstance(value, dict):
        raise ValueError("there is no JSON object in the reply")
    if len(value) == 1 and not set(value) & set(model.model_fields):
        inner = next(iter(value.values()))
        value = inner if isinstance(inner, dict) else value
    return model.model_validate(value)


def _json_part(text: str) -> str:
    if "```" in text:
        inside = text.split("```")[1]
        return inside.removeprefix("json").strip()
    start = min((i for i in (text.find("{"), text.find("[")) if i >= 0), default=-1)
    if start < 0:
        raise ValueError("there is no JSON in the reply")
    return text[start:]
