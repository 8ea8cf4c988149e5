"""From a file to a document that can be asked: parse, chunk, embed, index; each step checkpointed in the ledger."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np

from core.errors import InvalidInput, LibraryError, NotFound
from core.formats import KINDS
from core.ledger import Ledger
from core.metadata import check_new, described
from core.ports import Embedder, Index, SparseVector, Vectors
from core.settings import ChunkSettings, IngestSettings
from core.text import embedding_text, text_hash
from core.types import (
    DEFAULT_COLLECTION,
    Collection,
    Document,
    DocumentFormat,
    DocumentStatus,
    Gap,
    JobRequest,
    Metadata,
)
from core.vectors import fingerprints, packed
from ingest.chunk import chunk_document
from ingest.formats.reader import ending_of, format_of
from ingest.ocr import ScanReader, without_engine
from ingest.pdf import ParsedDocument, no_text
from ingest.run import Run
from ingest.sandbox import parse_in_child

_log = logging.getLogger(__name__)
Summarise = Callable[[Document], Sequence[str]]
"""Stores a document's summaries and descriptions of its figures; what they had to do without, in words."""
_READ = ("title", "pages", "chunks", "tables", "figures", "gaps", "status")  # of a document, what its file says
READY = ("ready", "ready_with_gaps")
NOT_EMBEDDED = "a passage could not be embedded, and is found by its words only"
PROBE = "The tide rises twice a day."  # a text that no embedder has a reason to refuse


@dataclass(frozen=True)
class Added:
    document: Document
    outcome: Literal["added", "known", "replaced"]


@dataclass
class Ingestor:
    """One document at a time. Killed at any moment, the same call continues where the ledger's checkpoint stands."""

    ledger: Ledger
    embedder: Embedder
    indexes: Sequence[Index]
    files: Path
    chunks: ChunkSettings
    limits: IngestSettings
    batch_size: int
    scans: ScanReader | None = None  # what reads scanned pages, where it is installed and wanted

    def __post_init__(self) -> None:
        self._adding = threading.RLock()  # held from a document's file to its end; taken before the other
        self._lock = threading.RLock()  # of what changes which documents are ready
        self._behind: set[str] = set()  # documents whose indexes are not known to be up to date
        self.incoming = self.files.parent / "incoming"
        for folder in (self.files, self.incoming):
            folder.mkdir(parents=True, exist_ok=True)

    def take(self, path: Path, file: str) -> str:
        """Copy that file into the library under that name, to be added later; the copy's SHA-256.

        Raises NotFound, InvalidInput (limits, no regular file), LibraryError (the disk).
        """
        self._checked_size(path)
        copied = self.incoming / file
        self._keep(path, copied)
        return _sha256(copied, copied.stat().st_size)

    def add(self, path: Path, name: str, request: JobRequest, run: Run, summarise: Summarise) -> Added:
        """The document of that file, ready; the same bytes again return the document that is there.

        Described anew where the request's metadata sets something, which embeds nothing.

        Raises DocumentRefused and its kinds, InvalidInput: then nothing is stored. Stopped, and all else: then what
        was stored is continued by the next call, or taken away by `discard`.
        """
        with self._adding:
            known, said = self.ledger.find_by_sha256(request.sha256), self._said(request)
            if known is None:
                check_new(said, self.ledger.collection(said.collection))
            elif request.metadata is not None and request.metadata.model_fields_set:
                known = self._redescribed(known, request.metadata, merge=False)
            if known is not None and known.status in READY:
                if path.is_file() and not self.holds_file(known):
                    self._keep(path, self.file_of(known))
                return self._publish(known, request, run, "known")
            if known is None and not path.is_file():
                raise NotFound(f"the library's copy of {name} is gone", hint="add the file again")
            document = known or self._parsed(path, name, request.sha256, run, said)
            return self._finished(document, request, run, summarise)

    def check(self, request: JobRequest) -> None:
        """Raises InvalidInput where its metadata is none that its collection takes."""
        known = self.ledger.find_by_sha256(request.sha256)
        if known is None:
            said = self._said(request)
            check_new(said, self.ledger.collection(said.collection))
        elif request.metadata is not None:
            self._once_described(known, request.metadata, merge=False)

    def _said(self, request: JobRequest) -> Metadata:
        """What is said of the document; an older version, where there is one, says what the request leaves open."""
        said = request.metadata or Metadata()
        before = self.ledger.read_from(request.source) if request.source and request.replace == "path" else None
        if before is None:
            return said
        left_open = {"collection", "tags", "language", "fields"} - said.model_fields_set
        if "collection" not in left_open and said.collection != before[0].collection:
            left_open -= {"fields"}  # another collection declares others
        kept = {name: getattr(before[0], name) for name in left_open}
        return Metadata.model_validate(said.model_dump(exclude_unset=True) | kept)

    def _finished(self, document: Document, request: JobRequest, run: Run, summarise: Summarise) -> Added:
        document = self._summarised(self._embed(document, run), run, summarise)
        if document.figures:  # their descriptions are chunks too
            children = len(self.ledger.children_and_hashes(document.id))
            document = self._embed(document.model_copy(update={"chunks": children}), run)
        return self._publish(document, request, run, "added")

    def discard(self, sha256: str) -> None:
        """Take away what an ingestion that never came to its end stored of that file; what is ready stays."""
        known = self.ledger.find_by_sha256(sha256)
        if known is None:
            for file in self.files.glob(f"{sha256}.*"):
                file.unlink()
        elif known.status not in READY:
            self.remove(known)

    def fail(self, sha256: str, reason: str) -> None:
        """Let the document of that file, where some of it is stored, say why it is not ready."""
        known = self.ledger.find_by_sha256(sha256)
        if known is not None and known.status not in READY:
            with self._lock:
                failed = self._as_described(known).model_copy(update={"status": "failed", "error": reason})
                self.ledger.put_document(failed)

    def remove(self, document: Document) -> None:
        """The ledger first, then its projections, then the file: what a kill leaves is mended at the next start."""
        with self._lock:
            self.ledger.delete_document(document.id)
            self._sync(document)
            self.file_of(document).unlink(missing_ok=True)

    def edit(self, document: Document, changes: Metadata) -> Document:
        """Describe it anew: what is not set stays, and so do fields that are not named. Nothing is embedded.

        Raises InvalidInput: then nothing is stored.
        """
        with self._lock:
            return self._redescribed(self.ledger.document(document.id), changes, merge=True)

    def _redescribed(self, document: Document, changes: Metadata, *, merge: bool) -> Document:
        after = self._once_described(document, changes, merge=merge)
        if after == document:
            return document
        self.ledger.put_document(after)
        if after.title != document.title:
            self._sync(after)  # of what is said of a document, the indexes hold only its title
        return after

    def _once_described(self, document: Document, changes: Metadata, *, merge: bool) -> Document:
        name = changes.collection if "collection" in changes.model_fields_set else document.collection
        return described(document, changes, self.ledger.collection(name), merge=merge)

    def declare(self, collection: Collection) -> None:
        """Put it in place of the one of that name. Raises InvalidInput where a document of it would not fit."""
        with self._lock:
            for document in self.ledger.documents():
                if document.collection == collection.name:
                    try:
                        described(document, Metadata(), collection)
                    except InvalidInput as error:
                        raise InvalidInput(f"{document.name} does not fit: {error.message}") from error
            self.ledger.put_collection(collection)

    def undeclare(self, name: str) -> None:
        """Raises InvalidInput while it has documents."""
        if name == DEFAULT_COLLECTION:
            raise InvalidInput(f"the collection {name} is always there")
        with self._lock:
            self.ledger.delete_collection(name)

    def embed_all(self, run: Run) -> None:
        """Embed whatever the configured embedder has not embedded yet, of every document."""
        for document in self.ledger.documents():
            if document.status in READY:
                self._embed(document, run)

    def file_of(self, document: Document) -> Path:
        return self.files / f"{document.sha256}{ending_of(document.format)}"

    def holds_file(self, document: Document) -> bool:
        """Whether its stored file is there, byte for byte what was added."""
        file = self.file_of(document)
        return file.is_file() and _sha256(file, file.stat().st_size) == document.sha256

    @contextmanager
    def still(self) -> Iterator[None]:
        """While nothing is added or removed by another thread."""
        with self._adding, self._lock:
            yield

    def read_again(self, document: Document, summarise: Summarise) -> Document:
        """Parse a document's stored file anew, in place of what the ledger has of it."""
        with self._adding:
            said = Metadata.model_validate(document.model_dump(include=set(Metadata.model_fields)))
            parsed = self._parsed(self.file_of(document), document.name, document.sha256, Run(), said)
            made = {name: getattr(parsed, name) for name in _READ}
            return self.finish(document.model_copy(update=made), summarise)

    def finish(self, document: Document, summarise: Summarise) -> Document:
        """Embed, summarise and publish a document that the ledger has parsed, as far as that is not done."""
        with self._adding:
            return self._finished(document, JobRequest(sha256=document.sha256), Run(), summarise).document

    def sweep(self) -> None:
        """Delete stored files that no document and no job names: left by a kill between two steps."""
        known, needed = {document.sha256 for document in self.ledger.documents()}, self.ledger.job_files()
        for file in self.files.iterdir():
            if file.stem not in known:
                file.unlink()
        for file in self.incoming.iterdir():
            if file.name not in needed:
                file.unlink()

    def _checked_size(self, path: Path) -> int:
        if not path.exists():
            raise NotFound(f"no such file: {path}")
        if not path.is_file():
            raise InvalidInput(f"not a file: {path}", hint=f"give a {KINDS} file, or a folder of them to `quaere add`")
        size = path.stat().st_size
        if size > self.limits.max_file_mb * 1_000_000:
            raise InvalidInput(
                f"{path.name} has {size / 1e6:.0f} MB, more than the {self.limits.max_file_mb} MB allowed",
                hint="raise QUAERE_INGEST__MAX_FILE_MB",
            )
        return size

    def _parsed(self, path: Path, name: str, sha256: str, run: Run, said: Metadata) -> Document:
        kind = format_of(path, name)
        parsed = parse_in_child(
            path,
            kind,
            self.limits,
            on_page=lambda done, total: run.step("parse", done, total),
            need_text=kind != "pdf",
            stopped=run.stopped,
        )
        if kind == "pdf":
            parsed = self._with_scans(path, parsed, name, run)
        document_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"sha256:{sha256}"))
        parents, children = chunk_document(
            document_id, sha256, parsed, self.chunks.child_chars, self.chunks.parent_chars
        )
        document = _document(document_id, name, sha256, kind, parsed, len(children))
        document = described(document, said, self.ledger.collection(said.collection))
        run.check()
        self._keep(path, self.file_of(document))
        # References are found by their words alone: as vectors they crowd content out, and cost a fifth of the time.
        embedded = [child for child in children if not child.is_reference]
        hashes = {c.id: text_hash(embedding_text(document.title, c.section, c.searched)) for c in embedded}
        self.ledger.store_parse(document, parsed.pages, [*parents, *children], hashes, parsed.tables, parsed.figures)
        return document

    def _with_scans(self, path: Path, parsed: ParsedDocument, name: str, run: Run) -> ParsedDocument:
        """Its scanned pages read, where they can be. Raises NoText where no page has text in the end."""

        def on_scan(done: int, total: int) -> None:
            run.step("ocr", done, total)

        parsed = self.scans.read(path, parsed, on_scan) if self.scans else without_engine(parsed)
        if not any(page.text for page in parsed.pages):
            raise no_text(name, parsed.gaps)
        return parsed

    def _keep(self, path: Path, target: Path) -> None:
        partial = target.with_suffix(".partial")
        try:
            shutil.copyfile(path, partial)
            os.replace(partial, target)
        except OSError as error:
            partial.unlink(missing_ok=True)
            if error.filename == str(path) and error.filename2 is None:  # both are named where the copy broke off
                raise InvalidInput(f"{path.name} can't be read: {error.strerror}") from error
            raise LibraryError(
                f"{path.name} could not be copied into the library: {error.strerror}",
                hint="check the disk's free space and the library folder's permissions",
            ) from error

    def _embed(self, document: Document, run: Run) -> Document:
        """A text that can't be embedded is a gap of the document, and is found by its words only."""
        todo = self._unembedded(document)
        # By length: texts of one length waste nothing on padding.
        todo.sort(key=lambda item: len(item[1]))
        for start in range(0, len(todo), self.batch_size):
            batch = todo[start : start + self.batch_size]
            run.step("embed", start, len(todo))
            bad = self._store(batch)
            if bad:
                document = self._without(document, bad)
            run.step("embed", start + len(batch), len(todo))
        return document

    def _store(self, batch: Sequence[tuple[str, str]]) -> list[str]:
        """Embed texts by their keys, and keep it; the keys of those that can't be embedded.

        Raises where the embedder embeds nothing at all.
        """
        try:
            dense, sparse = self._embedded([text for _, text in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is, it may be the fault of one text
            if len(batch) == 1:
                _log.warning("a text of %d characters could not be embedded: %r", len(batch[0][1]), error)
                self._embedded([PROBE])  # raises where the embedder is at fault
                return [batch[0][0]]
            return [key for item in batch for key in self._store([item])]
        keys = [key for key, _ in batch]
        if self.embedder.sparse is not None:
            rows = dict(zip(keys, map(packed, sparse), strict=True))
            self.ledger.store_embeddings(self.embedder.sparse.fingerprint, rows)
        self.ledger.store_embeddings(self.embedder.fingerprint, dict(zip(keys, dense, strict=True)))
        return []

    def _embedded(self, texts: Sequence[str]) -> tuple[Vectors, list[SparseVector]]:
        encoder = self.embedder.sparse
        dense, sparse = encoder.both(texts) if encoder else (self.embedder.passages(texts), [])
        if not np.isfinite(dense).all() or not all(np.isfinite(weights).all() for _, weights in sparse):
            raise ValueError("the embedder made a vector that is no number")
        return dense, sparse

    def _without(self, document: Document, hashes: Sequence[str]) -> Document:
        bad = [chunk for chunk, key in self.ledger.children_and_hashes(document.id) if key in hashes]
        gaps = tuple(Gap(page=chunk.page, reason=NOT_EMBEDDED) for chunk in bad)
        document = document.model_copy(update={"gaps": (*document.gaps, *gaps)})
        if document.status in READY:
            document = document.model_copy(update={"status": "ready_with_gaps"})
        with self._lock:
            self.ledger.drop_hashes(self._as_described(document), hashes)
        return document

    def _as_described(self, document: Document) -> Document:
        """With what was said of it meanwhile."""
        now = self.ledger.find_by_sha256(document.sha256) or document
        return document.model_copy(update={name: getattr(now, name) for name in Metadata.model_fields})

    def _unembedded(self, document: Document) -> list[tuple[str, str]]:
        rows = self.ledger.children_and_hashes(document.id)
        title = self.ledger.embedded_title(document.id)
        texts = {key: embedding_text(title, chunk.section, chunk.searched) for chunk, key in rows if key}
        return [(key, texts[key]) for key in self.ledger.missing_embeddings(fingerprints(self.embedder), list(texts))]

    def _summarised(self, document: Document, run: Run, summarise: Summarise) -> Document:
        if self.ledger.summaries_of(document.id):
            return document
        run.step("summarise")
        without = tuple(Gap(page=0, reason=words) for words in summarise(document))
        return document.model_copy(update={"gaps": (*document.gaps, *without)})

    def _publish(self, document: Document, request: JobRequest, run: Run, outcome: Literal["added", "known"]) -> Added:
        """From here on it can't be stopped: the document gets ready and what gives way to it goes, in one step."""
        status: DocumentStatus = "ready_with_gaps" if document.gaps else "ready"
        run.step("index")
        with self._lock:
            ready = self._as_described(document).model_copy(update={"status": status, "error": ""})
            old = self._giving_way(ready, request)
            self.ledger.publish(ready, request.source, [gone.id for gone in old])
            self._behind |= {gone.id for gone in old}
            self._sync(ready)
            for gone in old:
                self.file_of(gone).unlink(missing_ok=True)
        return Added(ready, "replaced" if old else outcome)

    def _giving_way(self, document: Document, request: JobRequest) -> list[Document]:
        if request.replace == "name":
            named = [d for d in self.ledger.documents() if _stands_for(d, document)]
            return named if len(named) == 1 else []
        before = self.ledger.read_from(request.source) if request.source and request.replace == "path" else None
        if before is None or before[0].id == document.id:
            return []
        old, paths = before
        return [old] if paths == 1 else []  # the same file lies at another path too

    def _sync(self, document: Document | None = None) -> None:
        """That document's indexes, and those that an earlier failure, such as a full disk, left behind."""
        if document is not None:
            self._behind.add(document.id)
        for item in sorted(self._behind):
            for index in self.indexes:
                index.sync(item)
            self._behind.discard(item)


def _stands_for(other: Document, document: Document) -> bool:
    same = (other.name, other.collection) == (document.name, document.collection)
    return same and other.id != document.id


def _document(
    document_id: str, name: str, sha256: str, kind: DocumentFormat, parsed: ParsedDocument, children: int
) -> Document:
    return Document(
        id=document_id,
        name=name,
        title=parsed.title or name,
        sha256=sha256,
        format=kind,
        pages=len(parsed.pages),
        chunks=children,
        tables=len(parsed.tables),
        figures=len(parsed.figures),
        status="processing",
        gaps=parsed.gaps,
        added_at=datetime.now(UTC),
    )


def _sha256(path: Path, size: int) -> str:
    if size == 0:
        return hashlib.sha256(b"").hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
