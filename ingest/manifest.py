"""Manifests (JSONL: a document a line, with what is said of it) and the files in which collections are declared.

Everything is checked before anything is handed on, so that a manifest with one bad line adds nothing.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import InvalidInput, NotFound
from core.formats import KINDS, SUFFIXES
from core.metadata import check_declaration, check_new, find_collection, parsed
from core.types import DEFAULT_COLLECTION, Collection, Metadata

MAX_BYTES = 100_000_000
SHOWN = 20  # errors in one message
_GENERAL = ("title", "collection", "tags", "language", "published_at", "valid_until")


@dataclass(frozen=True)
class Entry:
    path: Path
    metadata: Metadata


class _Duplicate(ValueError):
    pass


def read_manifest(file: Path, collections: Sequence[Collection]) -> tuple[Entry, ...]:
    """Its documents, in the order of the lines. What a line leaves out, but for the title, is set to nothing: a
    manifest says all that there is to say.

    Raises NotFound, and InvalidInput that names line and field of each error.
    """
    folder = file.resolve().parent
    entries: list[Entry] = []
    problems: list[str] = []
    lines: dict[Path, int] = {}
    for number, line in _lines(file):
        try:
            entry = _entry(line, folder, collections)
            if (first := lines.setdefault(entry.path, number)) != number:
                raise InvalidInput(f"path {entry.path.name!r} stands on line {first} already")
            entries.append(entry)
        except InvalidInput as error:
            problems.append(f"line {number}: {error.message}")
    if problems:
        more = f"\n… and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise InvalidInput(
            "\n".join(problems[:SHOWN]) + more, hint=f"nothing was added; mend {file.name} and try again"
        )
    if not entries:
        raise InvalidInput(f"{file.name} names no document", hint='a line is e.g. {"path": "a.pdf", "tags": ["new"]}')
    return tuple(entries)


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    text = _text(file)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def _text(file: Path) -> str:
    if not file.exists():
        raise NotFound(f"no such file: {file}")
    if not file.is_file() or file.stat().st_size > MAX_BYTES:
        raise InvalidInput(f"{file.name} is no file of at most {MAX_BYTES // 1_000_000} MB")
    try:
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file.name} is not UTF-8 (byte {error.start})") from None


def _entry(line: str, folder: Path, collections: Sequence[Collection]) -> Entry:
    values = _object(line)
    if "path" not in values:
        raise InvalidInput("path is missing")
    path = _inside(values.pop("path"), folder)
    general: dict[str, Any] = {"collection": DEFAULT_COLLECTION, "tags": [], "language": ""}
    general |= {"published_at": None, "valid_until": None}
    general |= {name: values.pop(name) for name in _GENERAL if name in values}
    general = {name: value for name, value in general.items() if value is not None or name.endswith(("_at", "_until"))}
    for name in ("published_at", "valid_until"):
        if general[name] == "":
            raise InvalidInput(f"{name}: '' is no day: write YYYY-MM-DD, or leave it out")
    metadata = parsed(Metadata, {"collection": DEFAULT_COLLECTION, **general, "fields": values})
    check_new(metadata, find_collection(metadata.collection, collections))
    return Entry(path, metadata)


def _object(line: str) -> dict[str, Any]:
    try:
        values = json.loads(line, object_pairs_hook=_once, parse_constant=_no_constant)
    except _Duplicate as error:
        raise InvalidInput(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"no JSON: {error}") from None
    if not isinstance(values, dict):
        raise InvalidInput("no JSON object")
    return values


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Duplicate(f"{next(n for n in names if names.count(n) > 1)!r} stands twice")
    return values


def _no_constant(name: str) -> Any:
    raise _Duplicate(f"{name} is no number")


def _inside(said: object, folder: Path) -> Path:
    """The file of that path below the manifest's folder, links followed."""
    if not isinstance(said, str) or not said.strip() or "\x00" in said:
        raise InvalidInput(f"path: {said!r} is no path")
    try:
        path = (folder / said).resolve()
        there, is_file = path.exists(), path.is_file()
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"path: {said!r} can't be used: {error}") from None
    if Path(said).is_absolute() or not path.is_relative_to(folder):
        raise InvalidInput(f"path: {said!r} leaves the manifest's folder")
    if not there:
        raise InvalidInput(f"path: there is no file {said!r}")
    if not is_file or path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"path: {said!r} is no {KINDS} file")
    return path


def read_declaration(name: str, file: Path) -> Collection:
    """A collection from TOML or JSON: `fields` by name, or a list with names; `title`, `review_undated`.

    Raises NotFound, InvalidInput.
    """
    text = _text(file)
    try:
        values = tomllib.loads(text) if file.suffix.lower() == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file.name} can't be read: {error}", hint="TOML (.toml) or JSON") from None
    if not isinstance(values, dict):
        raise InvalidInput(f"{file.name} holds no table", hint="e.g. [fields.country], with type, allowed, required")
    fields = values.get("fields", [])
    if isinstance(fields, dict):
        fields = [{"name": key, **spec} if isinstance(spec, dict) else spec for key, spec in fields.items()]
    return check_declaration(parsed(Collection, values | {"name": name, "fields": fields}))
