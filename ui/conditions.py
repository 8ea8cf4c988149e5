"""What is typed on the command line about documents, as filters and metadata. Loads pydantic, so `--help` does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.errors import InvalidInput
from core.metadata import field_from_text, find_collection, parsed
from core.ports import Service
from core.types import DEFAULT_COLLECTION, Filter, Metadata


def filter_of(
    *,
    collection: str = "",
    tags: Sequence[str] | None = None,
    fields: Sequence[str] | None = None,
    language: str = "",
    published_from: str = "",
    published_to: str = "",
    as_of: str = "",
    include_expired: bool = False,
) -> Filter:
    """A field named several times may have any of the values. Raises InvalidInput."""
    wanted: dict[str, list[str]] = {}
    for text in fields or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InvalidInput(f"{text!r} is no field", hint="write NAME=VALUE, e.g. --field country=Spain")
        wanted.setdefault(name.strip(), []).append(value.strip())
    values = {"collection": collection, "tags": tuple(tags or ()), "fields": wanted, "language": language}
    days = {"published_from": published_from, "published_to": published_to, "as_of": as_of}
    return parsed(Filter, {**values, **days, "include_expired": include_expired})


async def metadata_of(
    service: Service,
    *,
    title: str | None = None,
    collection: str | None = None,
    tags: Sequence[str] | None = None,
    fields: Sequence[str] | None = None,
    language: str | None = None,
    published_at: str | None = None,
    valid_until: str | None = None,
    known_in: str = DEFAULT_COLLECTION,
) -> Metadata | None:
    """None where nothing was said; an empty text takes a value away. `known_in`: the collection where none is named.

    Raises InvalidInput.
    """
    said: dict[str, Any] = {"title": title, "collection": collection, "language": language}
    said |= {"published_at": published_at, "valid_until": valid_until}
    said = {name: value for name, value in said.items() if value is not None}
    if tags:
        said["tags"] = [tag for tag in tags if tag.strip()]
    if fields:
        declared = find_collection(collection or known_in, await service.collections())
        said["fields"] = dict(field_from_text(text, declared) for text in fields)
    return parsed(Metadata, said) if said else None
