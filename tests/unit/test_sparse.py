"""The learned sparse index, over a ledger and a scripted encoder whose terms are a text's words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from core.errors import InvalidInput
from core.ports import SparseVector, Vectors
from core.vectors import is_sparse, packed, unpacked
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES, contents, settings_for

WORDS = 250_000  # as many as bge-m3's vocabulary


class Words(HashEmbedder):
    """Dense by hashed words, sparse by counts of words."""

    def __init__(self) -> None:
        super().__init__()
        self.sparse = Counted(self)  # type: ignore[assignment]


class Counted:
    fingerprint = "counted words"

    def __init__(self, dense: HashEmbedder) -> None:
        self._dense = dense

    def query(self, text: str) -> SparseVector:
        words = [crc32(word.encode()) % WORDS for word in text.lower().split()]
        indices, counts = np.unique(np.array(words, dtype=np.int32), return_counts=True)
        return indices, counts.astype(np.float32)

    def passages(self, texts: Sequence[str]) -> list[SparseVector]:
        return [self.query(text) for text in texts]

    def both(self, texts: Sequence[str]) -> tuple[Vectors, list[SparseVector]]:
        return self._dense.passages(texts), self.passages(texts)


async def library(folder: Path, *files: str) -> App:
    app = build(settings_for(folder), Words())
    for number, text in enumerate(files):
        path = folder / f"{number}.md"
        path.write_text(f"# File {number}\n\n{text}\n")
        await app.add_document(str(path))
    return app


BIRDS = "The gulls of the northern pier breed late because the spring is cold there and food is scarce."
SHIPS = "Container ships wait outside the harbour until a berth is free, which takes nine hours on average."


async def test_it_is_a_channel_whose_ranks_a_passage_shows(tmp_path: Path) -> None:
    app = await library(tmp_path, BIRDS, SHIPS)
    found = await app.search_passages("container ships wait", channels=["sparse"], explain=True)
    assert found.passages[0].document == "1.md"
    assert [hit.channel for hit in found.passages[0].channels] == ["sparse"]
    assert found.candidates[0].passage == 1 and found.candidates[0].channels[0].rank == 1
    every = await app.search_passages("container ships wait")
    assert {hit.channel for hit in every.passages[0].channels} >= {"dense", "bm25", "sparse"}
    only = await app.search_passages("container ships wait", channels=["sparse"], documents=["0.md"])
    assert {passage.document for passage in only.passages} <= {"0.md"}
    await app.aclose()


async def test_scores_are_dot_products_best_first(tmp_path: Path) -> None:
    app = await library(tmp_path, BIRDS, SHIPS, f"{SHIPS} {BIRDS}")
    index, encoder = app._search.sparse, Counted(HashEmbedder())
    assert index is not None and len(index) == len(index.ids) >= 3
    found = index.search("ships and gulls wait", 2)
    chunks = app._ledger.chunks([item for item, _ in index.search("ships and gulls wait", 50)])
    titles = {d.id: d.title for d in app._ledger.documents()}

    def dot(text: str) -> float:
        asked, held = dict(zip(*encoder.query("ships and gulls wait"), strict=True)), encoder.query(text)
        return float(sum(asked.get(term, 0) * weight for term, weight in zip(*held, strict=True)))

    scores = sorted((dot(f"{titles[c.document_id]} {c.section} {c.text}") for c in chunks), reverse=True)
    assert [score for _, score in found] == pytest.approx(scores[:2], rel=1e-3)
    await app.aclose()


async def test_it_follows_documents_that_come_and_go(tmp_path: Path) -> None:
    app = await library(tmp_path / "one", BIRDS, SHIPS, f"Once more: {SHIPS}")
    index = app._search.sparse
    assert index is not None
    before = index.ids
    await app.remove_document("0.md")
    assert index.ids < before and (await app.search_passages("gulls breed", channels=["sparse"])).passages == ()
    again = sorted(index.search("container ships", 10))
    index.rebuild()
    assert sorted(index.search("container ships", 10)) == again
    assert (await app.check()).findings == ()
    await app.aclose()


async def test_removed_is_as_if_never_added(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "both"), settings_for(tmp_path / "alone")
    both, alone = (build(each, Words()) for each in settings)
    for sample in SAMPLES[:2]:
        await both.add_document(str(sample))
    await alone.add_document(str(SAMPLES[0]))
    await both.remove_document(SAMPLES[1].name)
    assert contents(both, settings[0]) == contents(alone, settings[1])
    await both.aclose()
    await alone.aclose()


async def test_weights_that_are_missing_are_found_said_and_mended(tmp_path: Path) -> None:
    old = build(settings_for(tmp_path), HashEmbedder())
    path = tmp_path / "birds.md"
    path.write_text(f"# Birds\n\n{BIRDS}\n")
    await old.add_document(str(path))
    await old.aclose()
    app = build(settings_for(tmp_path), Words())  # the same dense vectors, and sparse ones beside them
    found = await app.search_passages("gulls")
    assert found.passages and "no sparse weights yet" in str(found.trace[0].details["notes"])
    report = await app.check(repair=True)
    assert {finding.kind for finding in report.findings} == {"embedding", "sparse"}
    assert all(finding.mended for finding in report.findings)
    assert (await app.search_passages("gulls", channels=["sparse"])).passages
    assert (await app.check()).findings == ()
    await app.aclose()


async def test_an_embedder_without_has_no_such_channel(tmp_path: Path) -> None:
    app = build(settings_for(tmp_path), HashEmbedder())
    path = tmp_path / "birds.md"
    path.write_text(f"# Birds\n\n{BIRDS}\n")
    await app.add_document(str(path))
    with pytest.raises(InvalidInput, match="no sparse weights"):
        await app.search_passages("gulls", channels=["sparse"])
    assert (await app.search_passages("gulls")).passages
    await app.aclose()


def test_a_row_of_the_ledger_gives_back_what_was_packed() -> None:
    indices, weights = np.array([0, 17, 249_999], np.int32), np.array([0.5, 2, 1e-4], np.float32)
    row = np.frombuffer(packed((indices, weights)).tobytes(), dtype=np.float32)
    assert unpacked(row)[0].tolist() == [0, 17, 249_999] and (unpacked(row)[1] == weights).all()
    assert is_sparse(row) and not is_sparse(row[:-1]) and not is_sparse(-row)
    assert is_sparse(packed((np.zeros(0, np.int32), np.zeros(0, np.float32))))
