"""Whether a library's parts agree: ledger, stored files, embeddings and indexes; and mending what does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from core.errors import LibraryError, QuaereError
from core.ledger import Ledger
from core.ports import Embedder
from core.text import embedding_text, text_hash
from core.types import CheckReport, Chunk, Document, Finding
from core.vectors import fingerprints, is_sparse
from ingest.pipeline import NOT_EMBEDDED, READY, Ingestor, Summarise
from ingest.run import Run
from ingest.summarise import can_be_summarised
from retrieval.bm25 import Bm25Index
from retrieval.dense_chroma import ChromaIndex
from retrieval.sparse import SparseIndex

Kind = Literal[
    "database",
    "rows",
    "stray",
    "file",
    "document",
    "unfinished",
    "embedder",
    "embedding",
    "summary",
    "vector",
    "bm25",
    "sparse",
]
_BATCH = 500
_WRONG = 1e-3  # of a stored vector's length, or of its distance from the ledger's; float32 errs by 1e-6
_REPAIR = "run `quaere check --repair`"
_DONE: dict[str, str] = {
    "rows": "removed",
    "stray": "deleted",
    "document": "read again from its stored file",
    "unfinished": "finished",
    "embedder": "embedded anew and rebuilt",
    "embedding": "embedded again",
    "summary": "summarised again",
    "vector": "rebuilt from the ledger",
    "bm25": "rebuilt from the ledger",
    "sparse": "rebuilt from the ledger",
}


@dataclass(frozen=True)
class _Problem:
    kind: Kind
    what: str
    advice: str = _REPAIR
    document: Document | None = None
    items: tuple[str, ...] = field(default=(), repr=False)  # hashes or file names, for the repair

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.document.id if self.document else ""

    def finding(self, mended: bool) -> Finding:
        done = _DONE.get(self.kind, "mended") if mended else self.advice
        return Finding(kind=self.kind, what=self.what, document=_name(self.document), done=done, mended=mended)


@dataclass(frozen=True)
class Checker:
    ledger: Ledger
    embedder: Embedder
    ingestor: Ingestor
    dense: ChromaIndex
    bm25: Bm25Index
    sparse: SparseIndex | None

    def check(self, repair: bool, summarise: Summarise) -> CheckReport:
        """Waits for a document that is being added, and lets none be added or removed meanwhile."""
        with self.ingestor.still():
            found = self._problems()
            if repair and found and not any(problem.kind == "database" for problem in found):
                left = self._mended(found, summarise)
            else:
                left = found
            return self._report(found, left, repair)

    def _report(self, found: Sequence[_Problem], left: Sequence[_Problem], repair: bool) -> CheckReport:
        keys = {problem.key for problem in left}
        mended = [problem.finding(True) for problem in found if problem.key not in keys]
        documents = self._readable()
        return CheckReport(
            documents=len(documents),
            chunks=sum(document.chunks for document in documents),
            vectors=len(self.dense),
            bm25_entries=len(self.bm25),
            repair=repair,
            findings=(*mended, *(problem.finding(False) for problem in left)),
        )

    def _readable(self) -> list[Document]:
        """None of a ledger whose damage lies where they are."""
        try:
            return self.ledger.documents()
        except LibraryError:
            return []

    # what is wrong

    def _problems(self) -> list[_Problem]:
        damage = self.ledger.audit().damage()
        if damage:
            advice = "restore the ledger from a backup, or make a new library and add the stored files to it"
            return [_Problem("database", f"the ledger's file is damaged: {damage[0]}", f"{advice}: {self._files}")]
        documents = self.ledger.documents()
        return [
            *self._rows(),
            *self._stored(documents),
            *self._whole(documents),
            *self._embedded(),
            *self._vectors(),
            *self._lexical(),
            *self._learned(),
        ]

    @property
    def _files(self) -> str:
        return str(self.ingestor.files)

    def _rows(self) -> Iterator[_Problem]:
        audit = self.ledger.audit()
        lost = [f"{count} in {table}" for table, count in audit.orphans().items()]
        if unused := audit.unused_embeddings():
            lost.append(f"{unused} embeddings of texts that no document has")
        if lost:
            yield _Problem("rows", f"rows that belong to nothing: {', '.join(lost)}")

    def _stored(self, documents: Sequence[Document]) -> Iterator[_Problem]:
        wanted = {self.ingestor.file_of(document).name for document in documents}
        stray = sorted(file.name for file in self.ingestor.files.iterdir() if file.name not in wanted)
        if stray:
            shown = ", ".join(stray[:3]) + (", …" if len(stray) > 3 else "")
            yield _Problem("stray", f"{len(stray)} stored files of no document: {shown}", items=tuple(stray))
        for document in documents:
            if wrong := self._wrong_file(document):
                yield _Problem("file", wrong, f"add {document.name} again", document)

    def _wrong_file(self, document: Document) -> str:
        return (
            ""
            if self.ingestor.holds_file(document)
            else (
                "its stored file is damaged"
                if self.ingestor.file_of(document).exists()
                else "its stored file is missing"
            )
        )

    def _whole(self, documents: Sequence[Document]) -> Iterator[_Problem]:
        audit = self.ledger.audit()
        pages, children, objects = audit.pages(), audit.children(), audit.objects()
        lost, summarised = audit.documents_without_a_parent(), audit.summarised()
        for document in documents:
            if document.status not in READY:
                advice = f"add it again, or {_REPAIR}"
                yield _Problem("unfinished", "was not added to its end", advice, document)
                continue
            wrong = _miscounted(document, pages.get(document.id, (0, 1, 0)), children.get(document.id, 0))
            if objects.get(document.id, (0, 0)) != (document.tables, document.figures):
                wrong.append("not all its tables and figures")
            if document.id in lost:
                wrong.append("passages without the text around them")
            if not wrong and self._changed(document):
                wrong.append("passages that are not what was embedded")
            if wrong:
                yield _Problem("document", ", ".join(wrong), _REPAIR, document)
            elif document.id not in summarised and can_be_summarised(self.ledger.chunks_of(document.id)):
                yield _Problem("summary", "has no summary", _REPAIR, document)

    def _changed(self, document: Document) -> bool:
        refused = any(gap.reason == NOT_EMBEDDED for gap in document.gaps)
        title = self.ledger.embedded_title(document.id)
        return any(
            kept != _hash(title, chunk) and not (refused and not kept)
            for chunk, kept in self.ledger.children_and_hashes(document.id)
        )

    def _embedded(self) -> Iterator[_Problem]:
        stored, wanted = self.ledger.meta("embedder"), self.embedder.fingerprint
        if stored != wanted:
            what = f"the library was embedded by {stored}, but {wanted} is configured"
            yield _Problem("embedder", what, "run `quaere reindex`, or set the former embedder again")
            return
        hashes = sorted({key for _, key in self.ledger.indexed_children().values() if key})
        missing = self.ledger.missing_embeddings(fingerprints(self.embedder), hashes)
        wrong = self._wrong_embeddings(hashes)
        if missing:
            yield _Problem("embedding", f"{len(missing)} texts have no embedding{self._and(wrong)}", items=tuple(wrong))
        elif wrong:
            what = f"{len(wrong)} embeddings are damaged, or differ from their vectors"
            yield _Problem("embedding", what, items=tuple(wrong))

    @staticmethod
    def _and(wrong: Sequence[str]) -> str:
        return f", and {len(wrong)} embeddings are damaged" if wrong else ""

    def _wrong_embeddings(self, hashes: Sequence[str]) -> list[str]:
        """Hashes whose embedding has no length of 1, another dimension, or another value than its vector has."""
        size = len(self.embedder.query("size"))
        wrong: set[str] = set()
        for batch in _batches(hashes):
            for key, vector in self.ledger.load_embeddings(self.embedder.fingerprint, batch).items():
                if len(vector) != size or not abs(float(np.linalg.norm(vector)) - 1) < _WRONG:
                    wrong.add(key)
            if self.embedder.sparse is not None:
                kept = self.ledger.load_embeddings(self.embedder.sparse.fingerprint, batch)
                wrong |= {key for key, row in kept.items() if not is_sparse(row)}
        rows = self.ledger.indexed_children()
        return sorted(wrong | {rows[item][1] for item in self._differing() if item in rows})

    def _differing(self) -> set[str]:
        """Ids of chunks whose vector is not the ledger's embedding; those that lack either are not among them."""
        rows = {item: row for item, row in self.ledger.indexed_children().items() if row[1]}
        differing: set[str] = set()
        try:
            for batch in _batches(sorted(rows)):
                held = self.dense.stored(batch)
                known = self.ledger.load_embeddings(self.embedder.fingerprint, [rows[item][1] for item in held])
                for item, (_, vector) in held.items():
                    kept = known.get(rows[item][1])
                    if kept is not None and (len(kept) != len(vector) or float(np.abs(kept - vector).max()) > _WRONG):
                        differing.add(item)
        except LibraryError:
            return set()  # said by _vectors
        return differing

    def _vectors(self) -> Iterator[_Problem]:
        if self.ledger.meta("embedder") != self.embedder.fingerprint:
            return
        try:
            wrong = self._wrong_vectors()
        except LibraryError as error:
            wrong = [f"the vectors can't be read: {error.message}"]
        if wrong:
            yield _Problem("vector", "; ".join(wrong))

    def _wrong_vectors(self) -> list[str]:
        rows = {item: row for item, row in self.ledger.indexed_children().items() if row[1]}
        have = self.dense.ids
        misplaced = 0
        for batch in _batches(sorted(have & set(rows))):
            misplaced += sum(owner != rows[item][0] for item, (owner, _) in self.dense.stored(batch).items())
        counts = {
            "passages have no vector": len(set(rows) - have),
            "vectors belong to no passage": len(have - set(rows)),
            "vectors name another document": misplaced,
            "vectors differ from their embeddings": len(self._differing()),
            "collections of vectors are another embedder's": self.dense.others(),
        }
        return [f"{count} {what}" for what, count in counts.items() if count]

    def _lexical(self) -> Iterator[_Problem]:
        wanted, have = set(self.ledger.indexed_children()), self.bm25.held
        counts = {"passages are not in BM25": len(wanted - have), "BM25 entries are of no passage": len(have - wanted)}
        wrong = [f"{count} {what}" for what, count in counts.items() if count]
        if wrong:
            yield _Problem("bm25", "; ".join(wrong))

    def _learned(self) -> Iterator[_Problem]:
        if self.sparse is None or self.ledger.meta("embedder") != self.embedder.fingerprint:
            return
        wanted = {item for item, (_, key) in self.ledger.indexed_children().items() if key}
        have = self.sparse.ids
        counts = {
            "passages are not in the sparse index": len(wanted - have),
            "entries of the sparse index are of no passage": len(have - wanted),
        }
        wrong = [f"{count} {what}" for what, count in counts.items() if count]
        if wrong:
            yield _Problem("sparse", "; ".join(wrong))

    # mending it

    def _mended(self, found: Sequence[_Problem], summarise: Summarise) -> list[_Problem]:
        """Mend in the order in which parts are made from each other, and look again."""
        failed: dict[tuple[str, str], str] = {}
        for kind in get_args(Kind):
            for problem in found:
                if problem.kind == kind:
                    try:
                        self._mend(problem, summarise)
                    except QuaereError as error:
                        failed[problem.key] = f"could not be mended: {error.message}"
        self.ingestor.embed_all(Run())
        if {problem.kind for problem in found} - {"rows", "stray", "file"}:
            self.dense.rebuild()
            self.bm25.rebuild()
            if self.sparse is not None:
                self.sparse.rebuild()
        return [self._with_reason(problem, failed) for problem in self._problems()]

    def _mend(self, problem: _Problem, summarise: Summarise) -> None:
        document = problem.document
        if problem.kind == "rows":
            self.ledger.audit().drop_orphans()
        elif problem.kind == "stray":
            for name in problem.items:
                (self.ingestor.files / name).unlink(missing_ok=True)
        elif problem.kind == "document" and document is not None:
            if not self.ingestor.holds_file(document):
                raise LibraryError(f"its stored file is missing or damaged: remove {document.name} and add it again")
            self.ingestor.read_again(document, summarise)
        elif problem.kind in ("unfinished", "summary") and document is not None:
            self.ingestor.finish(document, summarise)
        elif problem.kind == "embedding":
            self.ledger.audit().drop_embeddings(problem.items)
        elif problem.kind == "embedder":
            self.ingestor.embed_all(Run())
            self.dense.rebuild()
            self.ledger.set_meta("embedder", self.embedder.fingerprint)

    @staticmethod
    def _with_reason(problem: _Problem, failed: dict[tuple[str, str], str]) -> _Problem:
        reason = failed.get(problem.key)
        if reason is None:
            return problem
        return _Problem(problem.kind, problem.what, reason, problem.document)


def _hash(title: str, chunk: Chunk) -> str:
    return "" if chunk.is_reference else text_hash(embedding_text(title, chunk.section, chunk.searched))


def _miscounted(document: Document, pages: tuple[int, int, int], children: int) -> list[str]:
    wrong = []
    if pages != (document.pages, 1, document.pages):
        wrong.append(f"{pages[0]} of {document.pages} pages")
    if children != document.chunks:
        wrong.append(f"{children} of {document.chunks} passages")
    return wrong


def _name(document: Document | None) -> str:
    return f"{document.name} ({document.id[:8]})" if document else ""


def _batches(items: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]


__all__ = ["Checker"]
