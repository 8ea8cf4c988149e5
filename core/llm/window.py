"""A model's context window: how large it is, and how a prompt is made to fit.

Where an endpoint tells it: `/models` (vLLM, OpenRouter, Groq, LM Studio, Together), `/props` (llama.cpp), `/api/ps`
(Ollama, for the model that is loaded).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from core.errors import LLMTooLong
from core.llm.tokens import estimate
from core.prompts import Part, Prompt

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ASSUMED = 8192  # where neither the endpoint nor a setting says it
_MARGIN = 1.12  # the estimate may be a tenth under the real count
IMAGE = 1_000  # tokens of a picture, about: endpoints count by their own rules, most from 300 to 1,500
_PER_MESSAGE, _PER_PROMPT = 8, 32  # a chat template's own tokens: roles, and a default system message
_TOLD_AS = (
    "max_model_len",
    "loaded_context_length",
    "n_ctx",
    "context_length",
    "context_window",
    "max_context_length",
    "context_size",
)
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str | Prompt
    images: tuple[bytes, ...] = ()  # PNGs, behind the text

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.content.parts if isinstance(self.content, Prompt) else (Part(self.content),)


@dataclass(frozen=True)
class Fitted:
    """Messages as they are sent; `tokens` is an upper estimate of theirs; `left_out` in the order of the prompt."""

    messages: tuple[dict[str, Any], ...]
    tokens: int
    left_out: tuple[Part, ...] = ()


def fit(messages: Sequence[Message], limit: int) -> Fitted:
    """The messages in at most `limit` tokens: the parts of the highest rank go first, of one rank the last first.

    Raises LLMTooLong when what may not be left out is longer.
    """
    parts = [part for message in messages for part in message.parts]
    sizes = [estimate(part.text) for part in parts]
    total = sum(sizes)
    room = (limit - _overhead(messages)) / _MARGIN
    gone: set[int] = set()
    for index in sorted(range(len(parts)), key=lambda index: (-parts[index].rank, -index)):
        if total <= room + 1 or not parts[index].rank:
            break
        gone.add(index)
        total -= sizes[index]
    if total > room + 1:  # rounding
        raise LLMTooLong(
            f"the prompt needs about {_upper(total, messages)} tokens at least, and the model's window leaves {limit}",
            hint="shorten the question, or use a model with a larger window (QUAERE_LLM__CONTEXT_WINDOW)",
        )
    kept = iter([index not in gone for index in range(len(parts))])
    texts = ["".join(part.text for part in message.parts if next(kept)) for message in messages]
    sent = tuple({"role": m.role, "content": _content(text, m.images)} for m, text in zip(messages, texts, strict=True))
    return Fitted(sent, _upper(total, messages), tuple(parts[index] for index in sorted(gone)))


def size_of(messages: Sequence[Message]) -> int:
    """An upper estimate of the tokens of all parts."""
    return _upper(sum(estimate(part.text) for message in messages for part in message.parts), messages)


def _upper(tokens: int, messages: Sequence[Message]) -> int:
    return round(tokens * _MARGIN) + _overhead(messages)


def _overhead(messages: Sequence[Message]) -> int:
    return _PER_PROMPT + sum(_PER_MESSAGE + IMAGE * len(message.images) for message in messages)


def _content(text: str, images: Sequence[bytes]) -> str | list[dict[str, Any]]:
    if not images:
        return _sendable(text)
    urls = [f"data:image/png;base64,{base64.b64encode(image).decode()}" for image in images]
    return [
        {"type": "text", "text": _sendable(text)},
        *({"type": "image_url", "image_url": {"url": url}} for url in urls),
    ]


def tokens_of(message: dict[str, Any]) -> int:
    """An estimate for a message as it is sent."""
    content = message["content"]
    if isinstance(content, str):
        return estimate(content)
    return sum(estimate(part["text"]) if part["type"] == "text" else IMAGE for part in content)


def _sendable(text: str) -> str:
    """Half a surrogate pair, which JSON lets a caller send, can't be written as UTF-8."""
    return text.encode(errors="replace").decode()


class _Entry(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: str = ""
    name: str = ""


class _Listing(BaseModel):
    data: list[_Entry] = []
    models: list[_Entry] = []


class Models:
    """What an endpoint says of its models. Every question to it is free and none may fail the caller."""

    def __init__(self, client: AsyncOpenAI, model: str) -> None:
        self._client = client.with_options(timeout=_PATIENCE_S, max_retries=0)
        self._model = model

    async def listed(self) -> list[str] | None:
        """Names of the models; None where the endpoint has no list."""
        listing = _parsed(await self._get(self._url(f"{self._path}/models")))
        return None if listing is None else [entry.id or entry.name for entry in (*listing.data, *listing.models)]

    async def window(self) -> int | None:
        """Tokens of the model's context window; None where the endpoint does not tell it."""
        listing = _parsed(await self._get(self._url(f"{self._path}/models")))
        if listing is not None and (told := self._of(listing.data)) is not None:
            return told
        root = self._path.removesuffix("/v1")
        props = await self._get(self._url(f"{root}/props"))
        if (told := _number((props or {}).get("default_generation_settings"))) is not None:
            return told
        running = _parsed(await self._get(self._url(f"{root}/api/ps")))
        return None if running is None else self._of(running.models)

    def _of(self, entries: Sequence[_Entry]) -> int | None:
        mine = [entry for entry in entries if self._model in (entry.id, entry.name)]
        for entry in mine or (entries if len(entries) == 1 else []):
            fields = entry.model_dump()
            if (told := _number(fields) or _number(fields.get("meta"))) is not None:
                return told
        return None

    @property
    def _path(self) -> str:
        return self._client.base_url.path.rstrip("/")

    def _url(self, path: str) -> str:
        return str(self._client.base_url.copy_with(path=path, query=None))

    async def _get(self, url: str) -> dict[str, Any] | None:
        import openai

        try:
            response = await self._client.get(url, cast_to=object)
            return _OBJECT.validate_python(response)
        except (openai.OpenAIError, ValidationError, ValueError):
            return None  # no such path, or not JSON: an endpoint need not tell


_OBJECT = TypeAdapter(dict[str, Any])


def _parsed(found: dict[str, Any] | None) -> _Listing | None:
    try:
        return None if found is None else _Listing.model_validate(found)
    except ValidationError:
        return None


def _number(fields: object) -> int | None:
    if not isinstance(fields, dict):
        return None
    told = next((fields[key] for key in _TOLD_AS if isinstance(fields.get(key), int)), None)
    return told if told and told > 0 else None


def counted(parts: Sequence[Part]) -> Iterator[str]:
    """The labels of parts, with their number: `3 passages`."""
    labels = [part.label or "part" for part in parts]
    for label in dict.fromkeys(labels):
        n = labels.count(label)
        yield f"{n} {label}{'s' if n > 1 else ''}"
