"""A reply's JSON as a model: asked for in the way that the endpoint takes, mended, validated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import json_repair
from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)
# `json_object_schema` is what llama-cpp-python, Together and Fireworks take: JSON mode with a schema beside it.
Mode = Literal["json_schema", "json_object_schema", "json_object", "prompt"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object_schema", "json_object", "prompt")
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)


def ask_for_json(request: dict[str, Any], mode: Mode, model: type[BaseModel]) -> dict[str, Any]:
    """The chat request, asking for JSON in that way. Only `json_schema` leaves the prompt as it is."""
    if mode == "json_schema":
        name = re.sub(r"\W", "_", model.__name__)[:64]
        schema = {"name": name, "schema": model.model_json_schema()}
        return request | {"response_format": {"type": "json_schema", "json_schema": schema}}
    # Into the last message: many templates take a system message only at the beginning.
    *before, last = request["messages"]
    said, words = last["content"], instruction(model)
    content = f"{said}\n\n{words}" if isinstance(said, str) else [*said, {"type": "text", "text": words}]
    asked = request | {"messages": [*before, last | {"content": content}]}
    if mode == "prompt":
        return asked
    schema = {"schema": model.model_json_schema()} if mode == "json_object_schema" else {}
    return asked | {"response_format": {"type": "json_object", **schema}}


def instruction(model: type[BaseModel]) -> str:
    """The words that ask for it. A small model given the schema alone sends the schema back (qwen-0.5b, measured)."""
    schema = json.dumps(model.model_json_schema(), ensure_ascii=False)
    keys = f" Its keys: {', '.join(sorted(_names(model)))}." if _names(model) else ""
    return f"Answer with JSON and nothing else.{keys}\nIts schema: {schema}\nGive the JSON itself, not the schema."


def as_model(text: str, model: type[M]) -> M:
    """The JSON in a reply, validated: as it stands, out of fences or prose, then mended, in this order.

    Raises ValueError whose text tells the model what was wrong (pydantic's ValidationError is one).
    """
    wrong: ValueError = ValueError("there is no JSON in the reply")
    for read in (json.loads, json_repair.loads):
        for candidate in _candidates(text):
            try:
                return _validated(_unwrapped(read(candidate), model), model)
            except ValidationError as error:
                wrong = ValueError(_complaint(error))
            except json.JSONDecodeError:
                continue  # the words of a parser help no one: it is mended next
            except ValueError as error:
                wrong = error
    raise wrong


def whole_items(text: str, model: type[M]) -> M | None:
    """Of JSON that was cut off, what was whole: the last item of the list that was being written is left out.

    None where nothing validates.
    """
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0:
        return None
    for end in reversed([found.start() for found in re.finditer(r",|\[", text[start:])]):
        cut = text[start : start + end + (1 if text[start + end] == "[" else 0)]
        try:
            return _validated(_unwrapped(json_repair.loads(cut), model), model)
        except ValueError:
            continue
    return None


def _candidates(text: str) -> Iterator[str]:
    """The whole text, its fenced blocks (the last first: an answer comes after its drafts), first to last bracket."""
    text = text.strip()
    if text[:1] in ("{", "[", '"'):
        yield text
    yield from reversed([block.strip() for block in _FENCE.findall(text)])
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start > 0:
        end = max(text.rfind("}"), text.rfind("]"))
        yield text[start : end + 1] if end > start else text[start:]


def _unwrapped(value: object, model: type[BaseModel]) -> object:
    """Out of a list of one, or of a key that the schema does not know: small models add both."""
    value = _parsed(value) if isinstance(value, str) else value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and _names(model):
        value = value[0]
    if isinstance(value, dict) and len(value) == 1 and not set(value) & _names(model):
        inner = next(iter(value.values()))
        value = _parsed(inner) if isinstance(inner, str) else inner if isinstance(inner, dict) else value
    return value


def _parsed(text: str) -> object:
    """JSON that was sent as a string."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _validated(value: object, model: type[M]) -> M:
    # Where every field has a default, anything at all would validate, as an empty value: that is no answer.
    if isinstance(value, dict) and value and _names(model) and not set(value) & _names(model):
        raise ValueError(f"the JSON has none of the keys {sorted(_names(model))}")
    return model.model_validate(value)


def _names(model: type[BaseModel]) -> set[str]:
    """The keys that a JSON object of this model may have, aliases among them; none for a root model."""
    return set(model.model_json_schema().get("properties", {}))


def _complaint(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, item['loc'])) or 'the JSON'}: {item['msg']}" for item in found[:8])
