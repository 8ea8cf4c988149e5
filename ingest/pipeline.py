"""From a file to a document that can be asked: parse, chunk, embed, index; each step checkpointed in the ledger."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.errors import InvalidInput, LibraryError, NotFound
from core.formats import KINDS
from core.ledger import Ledger
from core.metadata import check_new, described
from core.ports import Embedder, Index
from core.settings import ChunkSettings, IngestSettings
from core.text import clean, embedding_text, text_hash
from core.types import DEFAULT_COLLECTION, Collection, Document, DocumentFormat, Event, Gap, Metadata
from ingest.chunk import chunk_document
from ingest.formats.reader import ending_of, format_of
from ingest.ocr import ScanReader, without_engine
from ingest.pdf import ParsedDocument, no_text
from ingest.sandbox import parse_in_child

Tell = Callable[[Event], None]
Summarise = Callable[[Document], Sequence[str]]
"""Stores a document's summaries; what they had to do without, in words."""
_READ = ("title", "pages", "chunks", "tables", "figures", "gaps", "status")  # of a document, what its file says
READY = ("ready", "ready_with_gaps")


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
        self._lock = threading.RLock()
        self._behind: set[str] = set()  # documents whose indexes are not known to be up to date
        self.files.mkdir(parents=True, exist_ok=True)

    def add(
        self, path: Path, name: str, tell: Tell, summarise: Summarise, metadata: Metadata | None = None
    ) -> Document:
        """The document of that file; the same bytes again return the document that is there, described anew where
        `metadata` sets something, which embeds nothing.

        Raises NotFound, InvalidInput (limits, no regular file, metadata that its collection does not take),
        DocumentRefused and its kinds: then nothing is stored.
        """
        said = metadata or Metadata()
        size = self._checked_size(path)
        with self._lock:
            sha256 = _sha256(path, size)
            known = self.ledger.find_by_sha256(sha256)
            if known is None:
                check_new(said, self.ledger.collection(said.collection))
            elif said.model_fields_set:
                known = self._redescribed(known, said, merge=False)
            if known is not None and known.status in READY:
                if not self.holds_file(known):
                    self._keep(path, self.file_of(known))
                self._sync()
                tell(Event(kind="ingest", document=known.name, step="done", done=1, total=1))
                return known
            name = clean(name or path.name).replace("\n", " ").strip()[:200] or "document"
            document = known or self._parsed(path, name, sha256, tell, said)
            self._embed(document, tell)
            return self._publish(self._summarised(document, tell, summarise), tell)

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
        name = changes.collection if "collection" in changes.model_fields_set else document.collection
        after = described(document, changes, self.ledger.collection(name), merge=merge)
        if after == document:
            return document
        self.ledger.put_document(after)
        if after.title != document.title:
            self._sync(after)  # of what is said of a document, the indexes hold only its title
        return after

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

    def embed_all(self, tell: Tell) -> None:
        """Embed whatever the configured embedder has not embedded yet, of every document."""
        with self._lock:
            for document in self.ledger.documents():
                if document.status in READY:
                    self._embed(document, tell)

    def file_of(self, document: Document) -> Path:
        return self.files / f"{document.sha256}{ending_of(document.format)}"

    def holds_file(self, document: Document) -> bool:
        """Whether its stored file is there, byte for byte what was added."""
        file = self.file_of(document)
        return file.is_file() and _sha256(file, file.stat().st_size) == document.sha256

    @contextmanager
    def still(self) -> Iterator[None]:
        """While nothing is added or removed by another thread."""
        with self._lock:
            yield

    def read_again(self, document: Document, summarise: Summarise) -> Document:
        """Parse a document's stored file anew, in place of what the ledger has of it."""
        with self._lock:
            said = Metadata.model_validate(document.model_dump(include=set(Metadata.model_fields)))
            parsed = self._parsed(self.file_of(document), document.name, document.sha256, _untold, said)
            made = {name: getattr(parsed, name) for name in _READ}
            return self.finish(document.model_copy(update=made), summarise)

    def finish(self, document: Document, summarise: Summarise) -> Document:
        """Embed, summarise and publish a document that the ledger has parsed, as far as that is not done."""
        with self._lock:
            self._embed(document, _untold)
            return self._publish(self._summarised(document, _untold, summarise), _untold)

    def sweep(self) -> None:
        """Delete stored files that no document names: left by a kill between two steps."""
        known = {document.sha256 for document in self.ledger.documents()}
        for file in self.files.iterdir():
            if file.stem not in known:
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

    def _parsed(self, path: Path, name: str, sha256: str, tell: Tell, said: Metadata) -> Document:
        def on_page(done: int, total: int) -> None:
            tell(Event(kind="ingest", document=name, step="parse", done=done, total=total))

        kind = format_of(path, name)
        parsed = parse_in_child(path, kind, self.limits, on_page=on_page, need_text=kind != "pdf")
        if kind == "pdf":
            parsed = self._with_scans(path, parsed, name, tell)
        document_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"sha256:{sha256}"))
        parents, children = chunk_document(
            document_id, sha256, parsed, self.chunks.child_chars, self.chunks.parent_chars
        )
        document = _document(document_id, name, sha256, kind, parsed, len(children))
        document = described(document, said, self.ledger.collection(said.collection))
        self._keep(path, self.file_of(document))
        # References are found by their words alone: as vectors they crowd content out, and cost a fifth of the time.
        embedded = [child for child in children if not child.is_reference]
        hashes = {c.id: text_hash(embedding_text(document.title, c.section, c.searched)) for c in embedded}
        self.ledger.store_parse(document, parsed.pages, [*parents, *children], hashes, parsed.tables, parsed.figures)
        return document

    def _with_scans(self, path: Path, parsed: ParsedDocument, name: str, tell: Tell) -> ParsedDocument:
        """Its scanned pages read, where they can be. Raises NoText where no page has text in the end."""

        def on_scan(done: int, total: int) -> None:
            tell(Event(kind="ingest", document=name, step="ocr", done=done, total=total))

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
            raise LibraryError(
                f"{path.name} could not be copied into the library: {error.strerror}",
                hint="check the disk's free space and the library folder's permissions",
            ) from error

    def _embed(self, document: Document, tell: Tell) -> None:
        todo = self._unembedded(document)
        # By length: texts of one length waste nothing on padding.
        todo.sort(key=lambda item: len(item[1]))
        for start in range(0, len(todo), self.batch_size):
            batch = todo[start : start + self.batch_size]
            vectors = self.embedder.passages([text for _, text in batch])
            self.ledger.store_embeddings(
                self.embedder.fingerprint, {key: row for (key, _), row in zip(batch, vectors, strict=True)}
            )
            tell(Event(kind="ingest", document=document.name, step="embed", done=start + len(batch), total=len(todo)))

    def _unembedded(self, document: Document) -> list[tuple[str, str]]:
        rows = self.ledger.children_and_hashes(document.id)
        title = self.ledger.embedded_title(document.id)
        texts = {key: embedding_text(title, chunk.section, chunk.searched) for chunk, key in rows if key}
        return [(key, texts[key]) for key in self.ledger.missing_embeddings(self.embedder.fingerprint, list(texts))]

    def _summarised(self, document: Document, tell: Tell, summarise: Summarise) -> Document:
        if self.ledger.summaries_of(document.id):
            return document
        tell(Event(kind="ingest", document=document.name, step="summarise"))
        without = tuple(Gap(page=0, reason=words) for words in summarise(document))
        return document.model_copy(update={"gaps": (*document.gaps, *without)})

    def _publish(self, document: Document, tell: Tell) -> Document:
        ready = document.model_copy(update={"status": "ready_with_gaps" if document.gaps else "ready"})
        tell(Event(kind="ingest", document=ready.name, step="index"))
        self.ledger.put_document(ready)
        self._sync(ready)
        tell(Event(kind="ingest", document=ready.name, step="done", done=1, total=1))
        return ready

    def _sync(self, document: Document | None = None) -> None:
        """That document's indexes, and those that an earlier failure, such as a full disk, left behind."""
        if document is not None:
            self._behind.add(document.id)
        for item in sorted(self._behind):
            for index in self.indexes:
                index.sync(item)
            self._behind.discard(item)


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


def _untold(_: Event) -> None:
    pass


def _sha256(path: Path, size: int) -> str:
    if size == 0:
        return hashlib.sha256(b"").hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
