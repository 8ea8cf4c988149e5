"""Metadata of documents against what their collection declares, and filters against what there is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from core.errors import InvalidInput
from core.types import Collection, Document, FieldSpec, FieldValue, FieldValues, Filter, Metadata

M = TypeVar("M", bound=BaseModel)
Wanted = dict[str, dict[str, frozenset[FieldValue]]]
_KINDS = {"text": "text", "number": "a number", "date": "a day (YYYY-MM-DD)", "boolean": "true or false"}
_WORDS = {"true": True, "yes": True, "false": False, "no": False}


def plain_error(error: ValidationError) -> str:
    """'published_at: 2024-13-01 is no day' of the first thing that is wrong."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    said = first["msg"].removeprefix("Value error, ")
    return f"{where}: {said}" if where else said


def parsed(model: type[M], values: object) -> M:
    """The model of these values. Raises InvalidInput with the field and what is wrong with it."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InvalidInput(plain_error(error)) from None


def find_collection(name: str, collections: Sequence[Collection]) -> Collection:
    """Raises InvalidInput with those that there are."""
    for collection in collections:
        if collection.name == name:
            return collection
    known = ", ".join(collection.name for collection in collections)
    raise InvalidInput(f"there is no collection {name!r}; known: {known}", hint="see `quaere collection list`")


def check_declaration(collection: Collection) -> Collection:
    """With its allowed values in the one form that values are compared in. Raises InvalidInput."""
    specs = []
    for spec in collection.fields:
        if spec.allowed and spec.type == "boolean":
            raise InvalidInput(
                f"field {spec.name}: true and false are all that a boolean can be, allowed can't narrow it"
            )
        values = [show(value_of(spec.model_copy(update={"allowed": ()}), said, lenient=True)) for said in spec.allowed]
        specs.append(spec.model_copy(update={"allowed": tuple(dict.fromkeys(values))}))
    return collection.model_copy(update={"fields": tuple(specs)})


def value_of(spec: FieldSpec, value: object, *, lenient: bool = False) -> FieldValue:
    """One value in its one form. `lenient` reads numbers and booleans out of text. Raises InvalidInput."""
    found = _typed(spec, value, lenient)
    if found is None:
        raise InvalidInput(f"field {spec.name!r}: {value!r} is not {_KINDS[spec.type]}")
    if spec.allowed and show(found) not in spec.allowed:
        raise InvalidInput(f"field {spec.name!r}: {show(found)!r} is not allowed; allowed: {', '.join(spec.allowed)}")
    return found


def _typed(spec: FieldSpec, value: object, lenient: bool) -> FieldValue | None:
    if isinstance(value, str):
        text = value.strip()
        if spec.type == "text":
            return text or None
        if spec.type == "date":
            return _day(text)
        if not lenient:
            return None
        return _WORDS.get(text.lower()) if spec.type == "boolean" else _number(text)
    if isinstance(value, bool):
        return value if spec.type == "boolean" else None
    if isinstance(value, int | float):
        number = _number(value) if spec.type == "number" else None
        # A filter may say 2026 where the values are texts, e.g. an intake.
        return show(float(value)) if number is None and lenient and spec.type == "text" else number
    return None


def _day(text: str) -> str | None:
    try:
        return text if date.fromisoformat(text).isoformat() == text else None
    except ValueError:
        return None


def _number(value: str | float) -> float | None:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def show(value: FieldValue) -> str:
    """As a person writes it: true, 2026, Spain."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return value


def check_fields(fields: Mapping[str, FieldValues | None], collection: Collection) -> dict[str, FieldValues]:
    """Those that have a value, each of its type. Raises InvalidInput: unknown, wrong type, not allowed, missing."""
    checked: dict[str, FieldValues] = {}
    for name, value in fields.items():
        spec = collection.field(name)
        if spec is None:
            known = ", ".join(field.name for field in collection.fields) or "no fields"
            raise InvalidInput(f"unknown field {name!r}; collection {collection.name} has {known}")
        if value is None:
            continue
        if isinstance(value, tuple) and not spec.many:
            raise InvalidInput(f"field {name!r}: a list, where collection {collection.name} takes one value")
        if isinstance(value, tuple) or spec.many:
            several = value if isinstance(value, tuple) else (value,)
            checked |= {name: found} if (found := tuple(dict.fromkeys(value_of(spec, v) for v in several))) else {}
        else:
            checked[name] = value_of(spec, value)
    for spec in collection.fields:
        if spec.required and spec.name not in checked:
            raise InvalidInput(f"field {spec.name!r} is missing; collection {collection.name} requires it")
    return checked


def check_dates(published_at: date | None, valid_until: date | None) -> None:
    if published_at and valid_until and valid_until < published_at:
        raise InvalidInput(f"valid_until {valid_until} is before published_at {published_at}")


def check_new(metadata: Metadata, collection: Collection) -> None:
    """Raises InvalidInput where a new document can't be described like that."""
    check_fields(metadata.fields, collection)
    check_dates(metadata.published_at, metadata.valid_until)


def described(document: Document, changes: Metadata, collection: Collection, *, merge: bool = False) -> Document:
    """The document with what `changes` sets; `merge` keeps the fields that it does not name. Raises InvalidInput."""
    said = changes.model_fields_set
    update: dict[str, Any] = {name: getattr(changes, name) for name in said - {"title", "fields"}}
    if title := " ".join(changes.title.split()):
        update["title"] = title
    fields: dict[str, FieldValues | None] = dict(document.fields)
    if "fields" in said:
        fields = {**(fields if merge else {}), **changes.fields}
    after = document.model_copy(update=update | {"fields": check_fields(fields, collection)})
    check_dates(after.published_at, after.valid_until)
    undated = after.published_at is None and after.valid_until is None
    return after.model_copy(update={"needs_review": collection.review_undated and undated})


def wanted_fields(filters: Filter, collections: Sequence[Collection]) -> Wanted:
    """By collection and field the values of which a document has to have one; collections that lack a field are left
    out. Raises InvalidInput for a collection, field or value that is not declared anywhere."""
    scope = [find_collection(filters.collection, collections)] if filters.collection else list(collections)
    wanted: Wanted = {}
    for name, value in filters.fields.items():
        _check_known(name, scope)
        several = value if isinstance(value, tuple) else (value,)
        wrong: InvalidInput | None = None
        fits = False
        for collection in scope:
            if (spec := collection.field(name)) is None:
                continue
            try:
                values = frozenset(value_of(spec, one, lenient=True) for one in several)
            except InvalidInput as error:
                wrong, values = error, frozenset()
            else:
                fits = True
            wanted.setdefault(collection.name, {})[name] = values
        if wrong and not fits:
            raise wrong
    return {name: fields for name, fields in wanted.items() if set(fields) == set(filters.fields)}


def _check_known(name: str, scope: Sequence[Collection]) -> None:
    known = dict.fromkeys(field.name for collection in scope for field in collection.fields)
    if name not in known:
        where = f"collection {scope[0].name} has" if len(scope) == 1 else "known:"
        raise InvalidInput(f"unknown field {name!r}; {where} {', '.join(known) or 'no fields'}")


def has_fields(fields: Mapping[str, FieldValues], wanted: Mapping[str, frozenset[FieldValue]]) -> bool:
    for name, values in wanted.items():
        own = fields.get(name, ())
        if values.isdisjoint(own if isinstance(own, tuple) else (own,)):
            return False
    return True


def field_from_text(text: str, collection: Collection) -> tuple[str, FieldValues | None]:
    """'country=Spain' as a person types it; 'country=' takes the field away, 'a,b' are two values of a field of many.

    Raises InvalidInput.
    """
    name, equals, said = text.partition("=")
    name, said = name.strip(), said.strip()
    if not equals or not name:
        raise InvalidInput(f"{text!r} is no field", hint="write NAME=VALUE, e.g. --field country=Spain")
    spec = collection.field(name)
    if spec is None:
        check_fields({name: said}, collection.model_copy(update={"fields": _optional(collection)}))
        raise AssertionError("an unknown field passed")
    if not said:
        return name, None
    if spec.many:
        return name, tuple(value_of(spec, part, lenient=True) for part in said.split(",") if part.strip())
    return name, value_of(spec, said, lenient=True)


def _optional(collection: Collection) -> tuple[FieldSpec, ...]:
    return tuple(spec.model_copy(update={"required": False}) for spec in collection.fields)
