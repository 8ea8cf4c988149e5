"""`check` names each thing that is broken on purpose, and mends it to what a fresh library holds."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest

from core.settings import Settings
from core.types import CheckReport
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import contents, settings_for

NOTE = """# Tides of {0}

The harbour of {0} was measured in 1907 by two surveyors. Its tides rise four metres above the mark.

## Method

Each station of {0} was read at noon for thirty days. The readings of both surveyors agree within a centimetre.
"""


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[App]:
    app = build(settings_for(tmp_path / "library"), HashEmbedder())
    for name in ("Aden", "Brest"):
        (tmp_path / f"{name}.md").write_text(NOTE.format(name))
        await app.add_document(str(tmp_path / f"{name}.md"))
    yield app
    await app.aclose()


def sql(settings: Settings, *statements: str) -> None:
    """By a hand that keeps no rule: foreign keys are not looked at."""
    with sqlite3.connect(settings.library / "ledger.db") as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def stored(settings: Settings) -> Path:
    return sorted((settings.library / "files").iterdir())[0]


def _delete_rows(app: App, settings: Settings) -> None:
    app._search.dense._collection.delete(ids=sorted(app._search.dense.ids)[:2])


def _stray_row(app: App, settings: Settings) -> None:
    app._search.dense._collection.add(ids=["stray"], embeddings=[[0.125] * 64], metadatas=[{"document": "x"}])


def _turn_vector(app: App, settings: Settings) -> None:
    one = sorted(app._search.dense.ids)[0]
    app._search.dense._collection.update(ids=[one], embeddings=[[0.125] * 64])


def _rename_owner(app: App, settings: Settings) -> None:
    one = sorted(app._search.dense.ids)[0]
    app._search.dense._collection.update(ids=[one], metadatas=[{"document": "another"}])


def _other_collection(app: App, settings: Settings) -> None:
    app._search.dense._client.create_collection("chunks-old", embedding_function=None)


def _forget_words(app: App, settings: Settings) -> None:
    app._search.bm25._model.remove(sorted(app._search.bm25.ids)[0])


def _extra_words(app: App, settings: Settings) -> None:
    app._search.bm25._model.add("stray", "x", ["tides"])


def _drop_embedding(app: App, settings: Settings) -> None:
    sql(settings, "DELETE FROM embeddings WHERE text_hash = (SELECT min(text_hash) FROM embeddings)")


def _turn_embedding(app: App, settings: Settings) -> None:
    wrong = np.full(64, 0.125, dtype=np.float32).tobytes().hex()
    sql(settings, f"UPDATE embeddings SET vector = x'{wrong}'")


def _cut_embedding(app: App, settings: Settings) -> None:
    sql(settings, "UPDATE embeddings SET vector = substr(vector, 1, 20)")


def _stray_embedding(app: App, settings: Settings) -> None:
    sql(settings, "INSERT INTO embeddings VALUES ('hash/64', 'of nothing', x'00')")


def _stray_file(app: App, settings: Settings) -> None:
    (settings.library / "files" / "stray.md").write_text("nobody's")


def _delete_child(app: App, settings: Settings) -> None:
    sql(settings, "DELETE FROM chunks WHERE id = (SELECT min(id) FROM chunks WHERE parent_id <> '')")


def _delete_parent(app: App, settings: Settings) -> None:
    sql(settings, "DELETE FROM chunks WHERE id = (SELECT min(id) FROM chunks WHERE parent_id = '')")


def _change_text(app: App, settings: Settings) -> None:
    sql(settings, "UPDATE chunks SET text = 'changed' WHERE parent_id <> ''")


def _delete_page(app: App, settings: Settings) -> None:
    sql(settings, "DELETE FROM pages WHERE number = 1")


def _extra_page(app: App, settings: Settings) -> None:
    sql(settings, "UPDATE pages SET number = number + 7")


def _orphan_page(app: App, settings: Settings) -> None:
    sql(
        settings,
        "INSERT INTO pages (document_id, number, width, height, text, boxes) VALUES ('gone', 1, 0, 0, '', x'00')",
    )


def _orphan_summary(app: App, settings: Settings) -> None:
    sql(settings, "INSERT INTO summaries VALUES ('gone', 0, '', 'text', 'extraction', '[]')")


def _delete_summaries(app: App, settings: Settings) -> None:
    sql(settings, "DELETE FROM summaries")


def _unfinished(app: App, settings: Settings) -> None:
    sql(settings, "UPDATE documents SET status = 'processing'", "DELETE FROM summaries", "DELETE FROM embeddings")
    app._search.dense.sync()


BROKEN: list[tuple[Callable[[App, Settings], None], str, str]] = [
    (_delete_rows, "vector", "2 passages have no vector"),
    (_stray_row, "vector", "1 vectors belong to no passage"),
    (_turn_vector, "vector", "1 vectors differ"),
    (_rename_owner, "vector", "1 vectors name another document"),
    (_other_collection, "vector", "another embedder"),
    (_forget_words, "bm25", "1 passages are not in BM25"),
    (_extra_words, "bm25", "1 BM25 entries are of no passage"),
    (_drop_embedding, "embedding", "1 texts have no embedding"),
    (_turn_embedding, "embedding", "embeddings are damaged, or differ"),
    (_cut_embedding, "embedding", "embeddings are damaged"),
    (_stray_embedding, "rows", "1 embeddings of texts that no document has"),
    (_stray_file, "stray", "1 stored files of no document: stray.md"),
    (_delete_child, "document", "0 of 1 passages"),
    (_delete_parent, "document", "passages without the text around them"),
    (_change_text, "document", "passages that are not what was embedded"),
    (_delete_page, "document", "pages"),
    (_extra_page, "document", "pages"),
    (_orphan_page, "rows", "1 in pages"),
    (_orphan_summary, "rows", "1 in summaries"),
    (_delete_summaries, "summary", "has no summary"),
    (_unfinished, "unfinished", "was not added to its end"),
]


async def test_a_whole_library_has_no_findings(library: App) -> None:
    report = await library.check()
    assert report.findings == () and report.documents == 2 and report.vectors == report.chunks > 0
    assert (await library.check(repair=True)).findings == ()


@pytest.mark.parametrize(("damage", "kind", "words"), BROKEN, ids=[entry[0].__name__.strip("_") for entry in BROKEN])
async def test_what_is_broken_is_named_and_mended(
    library: App, tmp_path: Path, damage: Callable[[App, Settings], None], kind: str, words: str
) -> None:
    settings = settings_for(tmp_path / "library")
    fresh = contents(library, settings)
    damage(library, settings)
    broken = contents(library, settings)
    said = await library.check()
    assert any(finding.kind == kind and words in finding.what for finding in said.left), said
    assert contents(library, settings) == broken  # looking changes nothing
    mended = await library.check(repair=True)
    assert mended.left == () and any(f.kind == kind and f.mended and f.done for f in mended.findings)
    assert contents(library, settings) == fresh
    assert (await library.check()).findings == ()


@pytest.mark.parametrize("damage", [lambda f: f.unlink(), lambda f: f.write_bytes(f.read_bytes()[:-1] + b"?")])
async def test_a_stored_file_that_is_lost_or_damaged_comes_back_by_adding_it_again(
    library: App, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    settings = settings_for(tmp_path / "library")
    fresh = contents(library, settings)
    damage(stored(settings))
    said = await library.check(repair=True)
    assert _left(said) == [("file", False)] and "again" in said.left[0].done
    for name in ("Aden", "Brest"):
        await library.add_document(str(tmp_path / f"{name}.md"))
    assert (await library.check()).findings == () and contents(library, settings) == fresh


async def test_a_document_that_lost_both_text_and_file_says_so(library: App, tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "library")
    _delete_page(library, settings)
    for file in (settings.library / "files").iterdir():
        file.write_bytes(b"damaged")
    report = await library.check(repair=True)
    assert {kind for kind, _ in _left(report)} == {"file", "document"}
    assert all("remove" in f.done and "again" in f.done for f in report.left if f.kind == "document")


async def test_a_damaged_database_is_said_to_be(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "library")
    app = build(settings, HashEmbedder())
    (tmp_path / "a.md").write_text(NOTE.format("Aden") * 40)
    await app.add_document(str(tmp_path / "a.md"))
    sql(settings, "PRAGMA wal_checkpoint(TRUNCATE)")
    file = settings.library / "ledger.db"
    held = bytearray(file.read_bytes())
    start = len(held) // 2 // 4096 * 4096
    held[start : start + 8192] = b"\xff" * 8192
    file.write_bytes(held)
    app._ledger._engine.dispose()
    report = await app.check(repair=True)
    assert _left(report)[0] == ("database", False) and "backup" in report.left[0].done
    await app.aclose()


def _left(report: CheckReport) -> list[tuple[str, bool]]:
    return [(finding.kind, finding.mended) for finding in report.left]
