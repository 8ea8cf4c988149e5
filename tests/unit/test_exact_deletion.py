"""index(A + B) - B == index(A), and the order of adding is of no account: over all tables, vectors, BM25 and files."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eval.many import parsing_here
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import contents, settings_for

# Few, so that they are often the same, within a document and between two.
PARAGRAPHS = [
    "The harbour was measured in 1907 by two surveyors.",
    "The tides rise four metres above the mark in March.",
    "潮汐在三月升高四米。",
    "- a list\n- of two",
    "| year | metres |\n|---|---|\n| 1907 | 4 |\n| 1908 | 5 |",
    "TideNet-2 uses WaveEncoder and outperforms SeaCast in every harbour of the coast.",
    "Mira Halvorsen (4 May 1901 – 2 June 1977) was a Norwegian hydrographer who lived in Bergen.",
    "…",
    "See [1] for the readings at noon, which agree within a centimetre.",
]
documents = st.lists(st.sampled_from([*PARAGRAPHS, "# Tides", "## Method", "## References"]), min_size=1, max_size=8)
libraries = st.lists(documents, min_size=1, max_size=4)
quick = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


class Shelf:
    """A library in a folder, to which texts are added under one name or several."""

    def __init__(self, folder: Path) -> None:
        self.settings = settings_for(folder / "library")
        self.app: App = build(self.settings, HashEmbedder())
        self._files = folder / "files"
        self._count = 0

    async def add(self, parts: list[str], name: str = "") -> str:
        """The document's id; its file is a new one each time, whose name need not be."""
        self._count += 1
        file = self._files / str(self._count) / (name or f"{abs(hash(tuple(parts)))}.md")
        file.parent.mkdir(parents=True)
        file.write_text("The tides at the harbour, and how they were read.\n\n" + "\n\n".join(parts))
        return (await self.app.add_document(str(file))).id

    def held(self) -> dict[str, Any]:
        held = contents(self.app, self.settings)
        # The files lie in folders of their own, and the paths they were read from are kept as hashes.
        held["sources"] = sorted(row.partition("'document_id'")[2] for row in held["sources"])
        return held


def run(check: Any) -> None:
    async def within() -> None:
        with tempfile.TemporaryDirectory() as folder, parsing_here():
            shelves = [Shelf(Path(folder, name)) for name in ("one", "two")]
            await check(*shelves)
            for shelf in shelves:
                assert (await shelf.app.check()).findings == ()
                await shelf.app.aclose()

    asyncio.run(within())


@quick
@given(kept=libraries, gone=libraries, same_name=st.booleans(), again=st.booleans())
def test_deletion_is_exact(kept: list[list[str]], gone: list[list[str]], same_name: bool, again: bool) -> None:
    name = "paper.md" if same_name else ""
    gone = [parts for parts in gone if parts not in kept]

    async def check(both: Shelf, alone: Shelf) -> None:
        for parts in kept:
            await alone.add(parts, name)
            await both.add(parts, name)
        for _ in range(2 if again else 1):  # what was removed may come back, and go
            added = dict.fromkeys([await both.add(parts, name) for parts in gone])
            for document in added:
                await both.app.remove_document(document)
            assert both.held() == alone.held()

    run(check)


@quick
@given(library=libraries, data=st.data())
def test_the_order_of_adding_is_of_no_account(library: list[list[str]], data: st.DataObject) -> None:
    other = data.draw(st.permutations(library))

    async def check(one: Shelf, two: Shelf) -> None:
        for parts in library:
            await one.add(parts, "paper.md")
        for parts in other:
            await two.add(parts, "paper.md")
        assert one.held() == two.held()
        query = "tides measured at noon 潮汐"
        found = [(p.chunk_id, p.score) for p in (await one.app.search_passages(query, channels=["bm25"])).passages]
        again = [(p.chunk_id, p.score) for p in (await two.app.search_passages(query, channels=["bm25"])).passages]
        assert found == again

    run(check)
