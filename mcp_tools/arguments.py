"""What the tools' parameters have in common: forms that clients send, limits, descriptions."""

from __future__ import annotations

import json
from typing import Annotated, Any

import mcp_types
from fastmcp import Context
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from core.ports import OnEvent
from core.types import Event, Filter

MAX_QUESTION_CHARS = 4000
READ_ONLY = mcp_types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def as_list(value: object) -> object:
    """A list as clients send it: a list, a list as JSON text, null for none, or one bare name."""
    if value is None:
        return ()
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            pass  # a name may begin with a bracket
    return [value] if value.strip() else ()


def as_filter(value: object) -> object:
    """Conditions as clients send them: an object, an object as JSON text, null or nothing for none."""
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"no JSON object: {error}") from error
    if not value:
        return {}
    if not isinstance(value, dict):
        return value
    lists = {name: as_list(value[name]) for name in ("documents", "tags") if name in value}
    fields = value.get("fields")
    if isinstance(fields, str):
        lists["fields"] = as_filter(fields)
    return {name: said for name, said in {**value, **lists}.items() if said is not None}


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


Asked = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARS), AfterValidator(_not_blank)]
Documents = Annotated[
    tuple[str, ...],
    BeforeValidator(as_list),
    Field(max_length=1000, description="Limit to these documents, by id or name. Empty: the whole library."),
]
Filters = Annotated[
    Filter,
    BeforeValidator(as_filter),
    Field(
        description="Conditions on the documents, all of which have to hold, e.g. "
        '{"collection": "admissions", "tags": ["new"], "fields": {"country": ["Spain", "Peru"]}}. The resource '
        "quaere://collections lists collections with their fields. Expired documents are left out unless "
        "include_expired is true."
    ),
]
NO_FILTER = Filter()
DocumentRef = Annotated[str, Field(min_length=1, max_length=1000, description="The document's id or its name.")]


def schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(mode="serialization")


def reporter(context: Context) -> OnEvent:
    """Sends each event as the message of a progress notification, numbered from 1."""
    sent = 0

    async def report(event: Event) -> None:
        nonlocal sent
        sent += 1
        await context.report_progress(sent, message=event.model_dump_json(exclude_defaults=True))

    return report
