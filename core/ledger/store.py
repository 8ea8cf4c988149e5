"""Reads and writes of the ledger. Synchronous and thread-safe; each method is one transaction."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Table,
    and_,
    delete,
    false,
    func,
    insert,
    select,
    true,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from core.errors import InvalidInput, NotFound
from core.ledger import schema as t
from core.ledger.audit import Audit
from core.ledger.engine import open_engine
from core.ledger.entities import EntityLedger
from core.ledger.graph import GraphLedger, touch
from core.ledger.rows import (
    chunk_of,
    chunk_row,
    collection_of,
    collection_row,
    document_of,
    document_row,
    figure_of,
    figure_row,
    job_of,
    job_row,
    page_of,
    page_row,
    request_of,
    summary_of,
    summary_row,
    table_of,
    table_row,
)
from core.ledger.triples import Triples
from core.metadata import find_collection, has_fields, wanted_fields
from core.ports import HOW_ASKED, Vectors
from core.types import (
    DEFAULT_COLLECTION,
    Chunk,
    Collection,
    Document,
    Figure,
    Filter,
    Job,
    JobRequest,
    KeptReplies,
    Page,
    Selection,
    Summary,
)
from core.types import Table as DocumentTable

# Rows that go with their document, and when it is parsed anew.
_OWNED = (t.pages, t.chunks, t.summaries, t.tables, t.figures, t.triples, t.extractions)
READY = ("ready", "ready_with_gaps")
KEPT_TRACES = 1000
KEPT_JOBS = 1000
_UNFINISHED = ("queued", "running")
_MANY = 500  # parameters in one IN list, below every engine's limit


class Kin(NamedTuple):
    """Of a child: its parent, and whether it is from the list of references."""

    parent_id: str
    is_reference: bool


class Ledger:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, url: str) -> Ledger:
        """The ledger at an SQLAlchemy URL, migrated to this version. Raises InvalidInput, LibraryError."""
        return cls(open_engine(url))

    def close(self) -> None:
        self._engine.dispose()

    def audit(self) -> Audit:
        return Audit(self._engine)

    def entity_ledger(self) -> EntityLedger:
        return EntityLedger(self._engine)

    @property
    def graph(self) -> GraphLedger:
        return GraphLedger(self._engine)

    @property
    def triples(self) -> Triples:
        return Triples(self._engine)

    @property
    def dialect(self) -> str:
        return self._engine.dialect.name

    # documents

    def documents(self) -> list[Document]:
        """All, in the order they were added."""
        return self._documents(true())

    def documents_by_id(self, ids: Iterable[str]) -> dict[str, Document]:
        """Ids that are not there are left out."""
        parts = _parts(sorted(set(ids)))
        return {document.id: document for part in parts for document in self._documents(t.documents.c.id.in_(part))}

    def document(self, reference: str) -> Document:
        """By id, by an id's first 8 or more characters, or by display name. Raises NotFound, InvalidInput."""
        c = t.documents.c
        matches = self._documents(c.id == reference)
        if not matches and len(reference) >= 8:
            matches = self._documents(c.id.startswith(reference, autoescape=True))
        matches = matches or self._documents(c.name == reference)
        if not matches:
            raise NotFound(f"no document {reference!r} in the library; {self._names()}", hint="see `quaere list`")
        if len(matches) > 1:
            ids = ", ".join(d.id[:8] for d in matches)
            raise InvalidInput(f"{reference!r} names {len(matches)} documents", hint=f"use an id: {ids}")
        return matches[0]

    def _documents(self, wanted: ColumnElement[bool]) -> list[Document]:
        query = _described().where(wanted).order_by(t.documents.c.added_at, t.documents.c.id)
        return [document_of(row) for row in self._rows(query)]

    def _names(self) -> str:
        query = select(t.documents.c.name).order_by(t.documents.c.added_at, t.documents.c.id).limit(11)
        names = [row["name"] for row in self._rows(query)]
        there = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        return f"there is: {there}" if names else "it is empty"

    def count_named(self, name: str, collection: str) -> int:
        """Documents of that display name in that collection."""
        wanted = (t.documents.c.name == name) & (t.documents.c.collection == collection)
        return int(self._scalar(select(func.count()).select_from(t.documents).where(wanted)))

    def find_by_sha256(self, sha256: str) -> Document | None:
        found = self._documents(t.documents.c.sha256 == sha256)
        return found[0] if found else None

    def put_document(self, document: Document) -> None:
        with self._engine.begin() as connection:
            self._put_document(connection, document)

    def store_parse(
        self,
        document: Document,
        pages: Sequence[Page],
        chunks: Sequence[Chunk],
        embed_hashes: Mapping[str, str],
        tables: Sequence[DocumentTable] = (),
        figures: Sequence[Figure] = (),
    ) -> None:
        """Put the document with all that was read in it in place of what it had. `embed_hashes` by child chunk id."""
        with self._engine.begin() as connection:
            before = self._hashes(connection, document.id)
            self._put_document(connection, document)
            touch(connection)
            row = update(t.documents).where(t.documents.c.id == document.id)
            connection.execute(row.values(embedded_title=document.title))
            for table in _OWNED:
                connection.execute(delete(table).where(table.c.document_id == document.id))
            if pages:
                connection.execute(insert(t.pages), [page_row(document.id, page) for page in pages])
            if chunks:
                connection.execute(insert(t.chunks), [chunk_row(c, embed_hashes.get(c.id, "")) for c in chunks])
            if tables:
                rows = [table_row(document.id, number, table) for number, table in enumerate(tables, 1)]
                connection.execute(insert(t.tables), rows)
            if figures:
                rows = [figure_row(document.id, number, figure) for number, figure in enumerate(figures, 1)]
                connection.execute(insert(t.figures), rows)
            self._drop_unused(connection, before)

    def delete_document(self, document_id: str) -> None:
        """The document with all that belongs to it, and each embedding that no remaining chunk uses.

        Replies of language models may hold its words: those made for it alone go, and so does every reply to a
        question, for what a question was given is not kept.
        """
        with self._engine.begin() as connection:
            self._delete_document(connection, document_id)

    def publish(self, document: Document, source: str = "", gives_way: Sequence[str] = ()) -> None:
        """Put the document, remember that it was read from `source`, and delete those that give way: all or nothing."""
        with self._engine.begin() as connection:
            self._put_document(connection, document)
            if source:
                connection.execute(delete(t.sources).where(t.sources.c.path_hash == _hashed(source)))
                connection.execute(insert(t.sources).values(path_hash=_hashed(source), document_id=document.id))
            for other in gives_way:
                self._delete_document(connection, other)

    def _delete_document(self, connection: Connection, document_id: str) -> None:
        its_own = self._hashes(connection, document_id)
        for table in (*_OWNED, t.sources):
            connection.execute(delete(table).where(table.c.document_id == document_id))
        connection.execute(delete(t.reply_owners).where(t.reply_owners.c.document_id == document_id))
        connection.execute(delete(t.replies).where(_holds_text()))
        connection.execute(delete(t.documents).where(t.documents.c.id == document_id))
        self._drop_unused(connection, its_own)

    @staticmethod
    def _hashes(connection: Connection, document_id: str) -> Sequence[str]:
        query = select(t.chunks.c.embed_hash).where(t.chunks.c.document_id == document_id).distinct()
        return connection.execute(query).scalars().all()

    @staticmethod
    def _drop_unused(connection: Connection, hashes: Sequence[str]) -> None:
        """Of these embeddings those that no chunk has: a look at all of them would make each removal dearer."""
        for part in _parts(hashes):
            used = select(t.chunks.c.embed_hash).where(t.chunks.c.embed_hash.in_(part))
            unused = t.embeddings.c.text_hash.in_(part), t.embeddings.c.text_hash.not_in(used)
            connection.execute(delete(t.embeddings).where(*unused))

    def read_from(self, source: str) -> tuple[Document, int] | None:
        """The document that was read from that path, and from how many paths it was read in all."""
        query = (
            _described()
            .join(t.sources, t.sources.c.document_id == t.documents.c.id)
            .where(t.sources.c.path_hash == _hashed(source))
        )
        rows = self._rows(query)
        if not rows:
            return None
        paths = select(func.count()).where(t.sources.c.document_id == rows[0]["id"])
        return document_of(rows[0]), int(self._scalar(paths))

    def drop_hashes(self, document: Document, hashes: Sequence[str]) -> None:
        """Put the document, of whose chunks those with such a text are not to be embedded any more."""
        with self._engine.begin() as connection:
            self._put_document(connection, document)
            for part in _parts(hashes):
                own = (t.chunks.c.document_id == document.id) & t.chunks.c.embed_hash.in_(part)
                connection.execute(update(t.chunks).where(own).values(embed_hash=""))

    def _put_document(self, connection: Connection, document: Document) -> None:
        row = document_row(document)
        changed = connection.execute(update(t.documents).where(t.documents.c.id == document.id).values(row))
        if changed.rowcount == 0:
            connection.execute(insert(t.documents).values(row))

    def embedded_title(self, document_id: str) -> str:
        """The title that the document had when it was parsed: the one its chunks are embedded with."""
        return str(self._scalar(select(t.documents.c.embedded_title).where(t.documents.c.id == document_id)) or "")

    # collections and filters

    def collections(self) -> list[Collection]:
        """By name, 'default' first."""
        found = [collection_of(row) for row in self._rows(select(t.collections).order_by(t.collections.c.name))]
        return sorted(found, key=lambda collection: collection.name != DEFAULT_COLLECTION)

    def collection(self, name: str) -> Collection:
        """Raises InvalidInput with the names that there are."""
        return find_collection(name, self.collections())

    def put_collection(self, collection: Collection) -> None:
        self._upsert(t.collections, [collection_row(collection)], ("name",))

    def delete_collection(self, name: str) -> None:
        """Raises InvalidInput while it has documents."""
        with self._engine.begin() as connection:
            query = select(func.count()).select_from(t.documents).where(t.documents.c.collection == name)
            if count := connection.execute(query).scalar():
                raise InvalidInput(
                    f"collection {name} has {count} documents",
                    hint="remove them, or `quaere edit … --collection` first",
                )
            connection.execute(delete(t.collections).where(t.collections.c.name == name))

    def select(self, filters: Filter, today: date) -> Selection:
        """The documents that fit, those that are expired left out unless they are asked for.

        Raises InvalidInput (an unknown collection, field or value), NotFound (a document).
        """
        wanted = wanted_fields(filters, self.collections())
        named = self._named(filters.documents)
        day = (filters.as_of or today).isoformat()
        candidates = _candidates(filters)
        if named is not None and len(named) <= _MANY:
            candidates = candidates.where(t.documents.c.id.in_(named))
        rows = [row for row in self._rows(candidates) if _fits(row, filters, named, wanted)]
        expired = [] if filters.include_expired else [row for row in rows if (row["valid_until"] or day) < day]
        gone = {row["id"] for row in expired}
        open_to_all = filters == Filter(include_expired=filters.include_expired, as_of=filters.as_of)
        everything = open_to_all and not expired
        return Selection(
            documents=None if everything else tuple(row["id"] for row in rows if row["id"] not in gone),
            chosen=bool(filters.documents),
            expired=tuple(f"{row['name']} (valid until {row['valid_until']})" for row in expired),
        )

    def _named(self, references: Sequence[str]) -> frozenset[str] | None:
        return frozenset(self.document(reference).id for reference in references) if references else None

    # pages and chunks

    def page(self, document_id: str, number: int) -> Page:
        query = select(t.pages).where(t.pages.c.document_id == document_id, t.pages.c.number == number)
        rows = self._rows(query) if number < 2**31 else []  # the drivers refuse a number that is beyond the column
        if not rows:
            count = self._scalar(select(func.count()).where(t.pages.c.document_id == document_id))
            raise NotFound(f"there is no page {number}", hint=f"the document has pages 1 to {count}")
        return page_of(rows[0])

    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """In the order of `ids`; ids that are not there are left out."""
        found: dict[str, Chunk] = {}
        for part in _parts(ids):
            rows = self._rows(select(t.chunks).where(t.chunks.c.id.in_(part)))
            found |= {row["id"]: chunk_of(row) for row in rows}
        return [found[item] for item in ids if item in found]

    def chunks_of(self, document_id: str) -> list[Chunk]:
        """Parents first, then children, each in the order of the text."""
        query = select(t.chunks).where(t.chunks.c.document_id == document_id)
        found = [chunk_of(row) for row in self._rows(query)]
        return sorted(found, key=lambda chunk: (chunk.parent_id != "", chunk.position))

    def kin(self, ids: Sequence[str]) -> dict[str, Kin]:
        """What a ranking needs of children, without their text: ten times as fast as the chunks themselves."""
        found: dict[str, Kin] = {}
        for part in _parts(ids):
            query = select(t.chunks.c.id, t.chunks.c.parent_id, t.chunks.c.is_reference).where(t.chunks.c.id.in_(part))
            found |= {row["id"]: Kin(row["parent_id"], row["is_reference"]) for row in self._rows(query)}
        return found

    def parents_near(self, places: Sequence[tuple[str, int]], distance: int) -> list[Chunk]:
        """Parents within `distance` positions of those at (document id, position), themselves among them."""
        near = {(document, at + step) for document, at in places for step in range(-distance, distance + 1)}
        query = select(t.chunks.c.id, t.chunks.c.document_id, t.chunks.c.position).where(
            t.chunks.c.parent_id == "",
            t.chunks.c.document_id.in_({document for document, _ in near}),
            t.chunks.c.position.in_({at for _, at in near}),
        )
        return self.chunks([row["id"] for row in self._rows(query) if (row["document_id"], row["position"]) in near])

    def embed_hashes(self, ids: Sequence[str]) -> dict[str, str]:
        """By chunk id, of those of these chunks that are embedded."""
        found: dict[str, str] = {}
        for part in _parts(ids):
            query = select(t.chunks.c.id, t.chunks.c.embed_hash).where(t.chunks.c.id.in_(part))
            found |= {row["id"]: row["embed_hash"] for row in self._rows(query) if row["embed_hash"]}
        return found

    def children_and_hashes(self, document_id: str) -> list[tuple[Chunk, str]]:
        """A document's children with the hash of the text that is embedded, in the order of the text."""
        query = select(t.chunks).where(t.chunks.c.document_id == document_id, t.chunks.c.parent_id != "")
        rows = self._rows(query.order_by(t.chunks.c.position))
        return [(chunk_of(row), row["embed_hash"]) for row in rows]

    def children(self, document_ids: Sequence[str] | None = None) -> list[Chunk]:
        """Children of the documents that are ready (None: of all), document by document, in the order of the text."""
        query = (
            select(t.chunks)
            .join(t.documents, t.documents.c.id == t.chunks.c.document_id)
            .where(t.documents.c.status.in_(READY), t.chunks.c.parent_id != "")
            .order_by(t.documents.c.added_at, t.documents.c.id, t.chunks.c.position)
        )
        wanted = None if document_ids is None else set(document_ids)
        return [chunk_of(row) for row in self._rows(query) if wanted is None or row["document_id"] in wanted]

    def indexed_children(self, document_id: str = "") -> dict[str, tuple[str, str]]:
        """(document id, embed hash) by chunk id: every child of every document that is ready, or of that one."""
        query = (
            select(t.chunks.c.id, t.chunks.c.document_id, t.chunks.c.embed_hash)
            .join(t.documents, t.documents.c.id == t.chunks.c.document_id)
            .where(t.documents.c.status.in_(READY), t.chunks.c.parent_id != "")
        )
        if document_id:
            query = query.where(t.chunks.c.document_id == document_id)
        return {row["id"]: (row["document_id"], row["embed_hash"]) for row in self._rows(query)}

    # tables and figures

    def tables_of(self, document_id: str, page: int | None = None) -> list[DocumentTable]:
        """In the order of the text; with `page` those that have rows there."""
        query = select(t.tables).where(t.tables.c.document_id == document_id)
        if page is not None:
            query = query.where(t.tables.c.page <= page, page <= t.tables.c.last_page)
        found = [table_of(row) for row in self._rows(query.order_by(t.tables.c.number))]
        return [table for table in found if page is None or table.rows_on(page)]

    def figures_of(self, document_id: str, *, pictures: bool = True) -> list[Figure]:
        """In the order of the text; without `pictures` their PNGs are left in the database."""
        columns = [column for column in t.figures.columns if pictures or column.name != "png"]
        query = select(*columns).where(t.figures.c.document_id == document_id)
        return [figure_of(row) for row in self._rows(query.order_by(t.figures.c.number))]

    def figure(self, document_id: str, number: int) -> Figure:
        """By its place in the document, from 1. Raises NotFound."""
        query = select(t.figures).where(t.figures.c.document_id == document_id, t.figures.c.number == number)
        rows = self._rows(query) if number < 2**31 else []
        if not rows:
            count = self._scalar(select(func.count()).where(t.figures.c.document_id == document_id))
            hint = f"the document has figures 1 to {count}" if count else "the document has no figures with a caption"
            raise NotFound(f"there is no figure {number}", hint=hint)
        return figure_of(rows[0])

    def store_description(self, document_id: str, number: int, text: str, chunk: Chunk, embed_hash: str) -> None:
        """What a vision model says of that figure, and the chunk by which it is found."""
        mine = (t.figures.c.document_id == document_id) & (t.figures.c.number == number)
        with self._engine.begin() as connection:
            connection.execute(update(t.figures).where(mine).values(description=text))
            former = connection.execute(select(t.chunks.c.embed_hash).where(t.chunks.c.id == chunk.id)).scalars().all()
            connection.execute(delete(t.chunks).where(t.chunks.c.id == chunk.id))
            connection.execute(insert(t.chunks).values(chunk_row(chunk, embed_hash)))
            self._drop_unused(connection, former)

    def embedded_children(self, document_ids: Sequence[str]) -> dict[str, str]:
        """Embed hash by chunk id: every embedded child of those of these documents that are ready."""
        found: dict[str, str] = {}
        for part in _parts(document_ids):
            query = (
                select(t.chunks.c.id, t.chunks.c.embed_hash)
                .join(t.documents, t.documents.c.id == t.chunks.c.document_id)
                .where(t.documents.c.status.in_(READY), t.chunks.c.embed_hash != "", t.documents.c.id.in_(part))
            )
            found |= {row["id"]: row["embed_hash"] for row in self._rows(query)}
        return found

    def chunk_counts(self) -> dict[str, int]:
        """Number of children by document id, of the documents that are ready."""
        query = select(t.documents.c.id, t.documents.c.chunks).where(t.documents.c.status.in_(READY))
        return {row["id"]: row["chunks"] for row in self._rows(query)}

    # summaries

    def store_summaries(self, document_id: str, summaries: Sequence[Summary]) -> None:
        """In place of those the document had."""
        with self._engine.begin() as connection:
            connection.execute(delete(t.summaries).where(t.summaries.c.document_id == document_id))
            rows = [summary_row(document_id, position, summary) for position, summary in enumerate(summaries)]
            if rows:
                connection.execute(insert(t.summaries), rows)

    def summaries_of(self, document_id: str) -> list[Summary]:
        """The document's own first, then its sections', in the order of the text."""
        query = select(t.summaries).where(t.summaries.c.document_id == document_id)
        return [summary_of(row) for row in self._rows(query.order_by(t.summaries.c.position))]

    # embeddings

    def missing_embeddings(self, fingerprints: Sequence[str], hashes: Sequence[str]) -> list[str]:
        """Those of `hashes` that not every one of these has embedded, in their order, none twice."""
        known: Counter[str] = Counter()
        for part in _parts(hashes):
            query = select(t.embeddings.c.text_hash).where(
                t.embeddings.c.fingerprint.in_(fingerprints), t.embeddings.c.text_hash.in_(part)
            )
            known.update(row["text_hash"] for row in self._rows(query))
        return [item for item in dict.fromkeys(hashes) if known[item] < len(fingerprints)]

    def store_embeddings(self, fingerprint: str, vectors: Mapping[str, Vectors]) -> None:
        rows = [
            {"fingerprint": fingerprint, "text_hash": key, "vector": np.asarray(row, dtype=np.float32).tobytes()}
            for key, row in vectors.items()
        ]
        self._upsert(t.embeddings, rows, ("fingerprint", "text_hash"))

    def load_embeddings(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, Vectors]:
        """(dim,) float32 by hash; what is not there is left out."""
        found: dict[str, Vectors] = {}
        for part in _parts(hashes):
            query = select(t.embeddings.c.text_hash, t.embeddings.c.vector).where(
                t.embeddings.c.fingerprint == fingerprint, t.embeddings.c.text_hash.in_(part)
            )
            found |= {row["text_hash"]: np.frombuffer(row["vector"], dtype=np.float32) for row in self._rows(query)}
        return found

    def embedding_count(self, fingerprint: str) -> int:
        query = select(func.count()).select_from(t.embeddings).where(t.embeddings.c.fingerprint == fingerprint)
        return int(self._scalar(query))

    # jobs

    def add_job(self, job: Job, request: JobRequest) -> None:
        with self._engine.begin() as connection:
            connection.execute(
                insert(t.jobs).values(job_row(job) | {"request": request.model_dump_json(exclude_unset=True)})
            )

    def put_job(self, job: Job, request: JobRequest | None = None) -> None:
        """In place of what was known of it; finished ones beyond the newest KEPT_JOBS go."""
        row = job_row(job) | ({"request": request.model_dump_json(exclude_unset=True)} if request else {})
        finished = t.jobs.c.state.not_in(_UNFINISHED)
        with self._engine.begin() as connection:
            connection.execute(update(t.jobs).where(t.jobs.c.id == job.id).values(row))
            if job.finished:
                kept = select(t.jobs.c.number).where(finished).order_by(t.jobs.c.number.desc()).limit(KEPT_JOBS)
                connection.execute(delete(t.jobs).where(finished, t.jobs.c.number.not_in(kept)))

    def jobs(self) -> list[Job]:
        """The newest first."""
        return [job_of(row) for row in self._rows(select(t.jobs).order_by(t.jobs.c.number.desc()))]

    def job(self, reference: str) -> Job:
        """By id, or by an id's first 8 or more characters. Raises NotFound."""
        by_id = t.jobs.c.id.startswith(reference, autoescape=True) & (t.jobs.c.id != reference)
        exact = self._rows(select(t.jobs).where(t.jobs.c.id == reference))
        rows = exact or (self._rows(select(t.jobs).where(by_id)) if len(reference) >= 8 else [])
        if len(rows) != 1:
            what = f"{reference!r} is the start of {len(rows)} jobs" if rows else f"no job {reference!r}"
            raise NotFound(what, hint="see `quaere jobs`")
        return job_of(rows[0])

    def job_request(self, job_id: str) -> JobRequest:
        return request_of(self._rows(select(t.jobs.c.request).where(t.jobs.c.id == job_id))[0])

    def unfinished_jobs(self) -> list[tuple[Job, JobRequest]]:
        """In the order in which they are to be done; what was interrupted while it ran is still 'running'."""
        rows = self._rows(select(t.jobs).where(t.jobs.c.state.in_(_UNFINISHED)).order_by(t.jobs.c.number))
        return [(job_of(row), request_of(row)) for row in rows]

    def job_files(self) -> set[str]:
        """Names of the copies that jobs still need."""
        return {request_of(row).file for row in self._rows(select(t.jobs.c.request))}

    # small things by key

    def meta(self, key: str) -> str | None:
        return self._text(select(t.meta.c.value).where(t.meta.c.key == key))

    def set_meta(self, key: str, value: str) -> None:
        self._upsert(t.meta, [{"key": key, "value": value}], ("key",))

    def get(self, key: str) -> str | None:
        """A language model's reply (core.ports.ReplyCache)."""
        return self._text(select(t.replies.c.reply).where(t.replies.c.key == key))

    def put(self, key: str, model: str, reply: str, prompt: str = "") -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = {"key": key, "model": model, "reply": reply, "prompt": prompt, "stored_at": now}
        self._upsert(t.replies, [row], ("key",))

    def own(self, key: str, document_id: str) -> None:
        """That reply was made for that document too. Where the document is gone by now, a reply that is of no other
        goes after it."""
        owners = t.reply_owners.c
        there = select(t.documents.c.id).where(t.documents.c.id == document_id)
        with self._engine.begin() as connection:
            own = (owners.key == key) & (owners.document_id == document_id)
            connection.execute(delete(t.reply_owners).where(own))  # takes SQLite's write lock
            if connection.execute(there.with_for_update(read=True, key_share=True)).first() is not None:
                connection.execute(insert(t.reply_owners).values(key=key, document_id=document_id))
            else:
                unowned = t.replies.c.key.not_in(select(owners.key))
                connection.execute(delete(t.replies).where(t.replies.c.key == key, unowned))

    def kept_replies(self) -> list[KeptReplies]:
        """What is kept of each model and prompt."""
        c = t.replies.c
        columns = (c.model, c.prompt, func.count(), func.sum(func.length(c.reply)), func.max(c.stored_at))
        labelled = [column.label(name) for column, name in zip(columns, KeptReplies.model_fields, strict=True)]
        query = select(*labelled).group_by(c.model, c.prompt).order_by(c.model, c.prompt)
        return [KeptReplies(**row) for row in self._rows(query)]

    def clear_replies(self, model: str = "") -> int:
        """Forget the replies of that model, or all; how many they were."""
        query = delete(t.replies).where(t.replies.c.model == model) if model else delete(t.replies)
        with self._engine.begin() as connection:
            return connection.execute(query).rowcount

    def save_trace(self, trace_id: str, question: str, payload: str) -> None:
        """Keep a trace; the oldest beyond KEPT_TRACES go."""
        with self._engine.begin() as connection:
            connection.execute(insert(t.traces).values(id=trace_id, question=question, payload=payload))
            newest = select(func.max(t.traces.c.number)).scalar_subquery()
            connection.execute(delete(t.traces).where(t.traces.c.number <= newest - KEPT_TRACES))

    def trace(self, trace_id: str) -> str:
        """Its JSON, by id or an id's beginning, the newest where several fit. Raises NotFound."""
        query = select(t.traces.c.payload).where(t.traces.c.id.startswith(trace_id, autoescape=True))
        found = self._scalar(query.order_by(t.traces.c.number.desc()).limit(1)) if trace_id else None
        if found is None:
            raise NotFound(f"no trace {trace_id!r}", hint=f"the newest {KEPT_TRACES} are kept")
        return str(found)

    # plumbing

    def _rows(self, query: Any) -> list[dict[str, Any]]:
        with self._engine.connect() as connection:
            result = connection.execute(query)
            names = tuple(result.keys())
            # A third faster than by mappings().
            return [dict(zip(names, row, strict=True)) for row in result]

    def _scalar(self, query: Any) -> Any:
        with self._engine.connect() as connection:
            return connection.execute(query).scalar()

    def _text(self, query: Any) -> str | None:
        value = self._scalar(query)
        return None if value is None else str(value)

    def _upsert(self, table: Table, rows: Sequence[dict[str, Any]], key: tuple[str, ...]) -> None:
        if not rows:
            return
        dialect = sqlite if self.dialect == "sqlite" else postgresql
        statement = dialect.insert(table)
        values = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in key}
        with self._engine.begin() as connection:
            resolved = (
                statement.on_conflict_do_update(index_elements=list(key), set_=values)
                if values
                else statement.on_conflict_do_nothing(index_elements=list(key))
            )
            connection.execute(resolved, list(rows))


def _described() -> Any:
    """Each document with what its collection says of undated ones."""
    review = func.coalesce(t.collections.c.review_undated, false()).label("review_undated")
    return select(t.documents, review).outerjoin(t.collections, t.collections.c.name == t.documents.c.collection)


def _candidates(filters: Filter) -> Any:
    """What the database itself can tell apart."""
    c = t.documents.c
    query = select(c.id, c.name, c.collection, c.tags, c.fields, c.valid_until).order_by(c.added_at, c.id)
    if filters.collection:
        query = query.where(c.collection == filters.collection)
    if filters.language:
        query = query.where(c.language == filters.language)
    if filters.published_from:
        query = query.where(c.published_at >= filters.published_from.isoformat())
    if filters.published_to:
        query = query.where(c.published_at <= filters.published_to.isoformat())
    return query


def _fits(row: Mapping[str, Any], filters: Filter, named: frozenset[str] | None, wanted: Mapping[str, Any]) -> bool:
    if named is not None and row["id"] not in named:
        return False
    if filters.tags and set(filters.tags).isdisjoint(json.loads(row["tags"])):
        return False
    if not filters.fields:
        return True
    return row["collection"] in wanted and has_fields(_fields(row["fields"]), wanted[row["collection"]])


def _fields(text: str) -> dict[str, Any]:
    """Lists as tuples, whole numbers as they were stored: 2026.0."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in json.loads(text).items()}


def _hashed(path: str) -> str:
    return hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()


def _holds_text() -> ColumnElement[bool]:
    """Replies of no document, those apart that say how an endpoint is to be asked."""
    owned = select(t.reply_owners.c.key)
    return and_(t.replies.c.key.not_in(owned), t.replies.c.prompt != HOW_ASKED)


def _parts(items: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), _MANY):
        yield items[start : start + _MANY]
