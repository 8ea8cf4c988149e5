"""What a library must keep to on every ledger; run on SQLite and on PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, inspect, text

from core.settings import Settings, load_settings
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.pdf"))


_WHEN = ("added_at", "stored_at")


def settings_for(folder: Path, url: str = "") -> Settings:
    return load_settings(library=folder, ledger_url=url)


def contents(app: App, settings: Settings) -> dict[str, Any]:
    """All that a library holds, apart from when it was added, by which jobs, and what was asked."""
    app._resolver.sync()  # names are resolved when the graph is next asked for
    url = settings.ledger_url.get_secret_value() or f"sqlite:///{settings.library / 'ledger.db'}"
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    held: dict[str, Any] = {}
    with engine.connect() as connection:
        for table in inspect(engine).get_table_names():
            if table not in ("traces", "jobs"):
                rows = connection.execute(text(f"SELECT * FROM {table}")).mappings()
                rows = [row for row in rows if (table, row.get("key")) != ("meta", "graph")]  # another one each time
                held[table] = sorted(repr({k: _plain(v) for k, v in row.items() if k not in _WHEN}) for row in rows)
    engine.dispose()
    stored = app._search.dense.stored(sorted(app._search.dense.ids))
    held["vectors"] = [(item, owner, vector.tobytes()) for item, (owner, vector) in sorted(stored.items())]
    held["bm25"] = sorted(app._search.bm25.ids)
    mentions = app._search.mentions._current()
    links = [mentions.links._to_names, mentions.links._to_chunks]
    held["mentions"] = (mentions.ids, mentions.weight, [(list(h._target), h._weight.tolist()) for h in links])
    for folder in ("files", "incoming"):
        held[folder] = sorted(file.name for file in (settings.library / folder).iterdir())
    return held


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value


async def removal_is_exact(tmp_path: Path, urls: tuple[str, str]) -> None:
    """`add A B; remove B` leaves exactly what `add A` alone leaves."""
    one = settings_for(tmp_path / "one", urls[0])
    both = settings_for(tmp_path / "both", urls[1])
    alone, app = build(one, HashEmbedder()), build(both, HashEmbedder())
    await alone.add_document(str(SAMPLES[0]))
    await app.add_document(str(SAMPLES[0]))
    other = await app.add_document(str(SAMPLES[1]))
    assert contents(app, both) != contents(alone, one)
    await app.remove_document(other.id)
    assert contents(app, both) == contents(alone, one)
    await app.aclose()
    await alone.aclose()
