"""Prompts, one Markdown file each, read as they are; `$name` is filled in.

A filled prompt is a row of parts. What the file says and plain values are always kept; a value given as parts can be
shortened, highest rank first, when the whole does not fit a model's window.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FIELD = re.compile(r"\$([a-z_]+)")


@dataclass(frozen=True)
class Part:
    """A piece of a prompt. Rank 0 is always kept; of the others the highest goes first. `label` is for the trace."""

    text: str
    rank: int = 0
    label: str = ""


@dataclass(frozen=True)
class Prompt:
    """A filled prompt; `version` is a hash of its file."""

    name: str
    version: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


@cache
def _file(name: str) -> tuple[str, str]:
    text = (files("core.prompts") / f"{name}.md").read_text(encoding="utf-8").strip()
    return text, hashlib.sha256(text.encode()).hexdigest()[:8]


def prompt(name: str, **values: str | Sequence[Part]) -> Prompt:
    """The prompt of that name with its fields filled; KeyError when one is missing.

    Values are data: a tag of the prompt's own, such as `</passages>`, is made harmless inside them.
    """
    text, version = _file(name)
    fields = list(dict.fromkeys(_FIELD.findall(text)))
    tag = re.compile(rf"<(?=/?({'|'.join(fields)})\b)", re.IGNORECASE)
    parts: list[Part] = []
    end = 0
    for field in _FIELD.finditer(text):
        value = values[field.group(1)]
        parts.append(Part(text[end : field.start()]))
        given = [Part(value)] if isinstance(value, str) else value
        parts += [Part(tag.sub("‹", part.text), part.rank, part.label) for part in given]
        end = field.end()
    return Prompt(name, version, (*parts, Part(text[end:])))
