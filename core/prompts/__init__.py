"""Prompts, one Markdown file each, read as they are; `$name` is filled in."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


@cache
def _text(name: str) -> str:
    return (files("core.prompts") / f"{name}.md").read_text(encoding="utf-8")


def prompt(name: str, **values: str) -> str:
    """The prompt of that name with its `$` fields filled; KeyError when one is missing."""
    return Template(_text(name)).substitute(values).strip()
