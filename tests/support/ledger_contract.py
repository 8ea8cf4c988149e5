"""What a ledger does on any database. A test module subclasses this and gives the fixture `ledger_url`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, inspect, text

from core.errors import InvalidInput, LibraryError, NotFound
from core.ledger import Ledger
from core.ledger.engine import MIGRATIONS
from core.ledger.schema import metadata
from core.types import (
    Cell,
    Chunk,
    Collection,
    Document,
    FieldSpec,
    Figure,
    Filter,
    Gap,
    Job,
    JobError,
    JobRequest,
    Metadata,
    Page,
    Selection,
    Span,
    Table,
    TableRow,
)
from tests.support.triples_contract import triples_come_back_and_are_replaced, triples_go_with_their_document

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
MODEL = "model@1/3"
Dump = dict[str, list[tuple[object, ...]]]


def a_document(letter: str, **changes: object) -> Document:
    values: dict[str, object] = {
        "id": f"{letter * 8}-0000-5000-8000-000000000000",
        "name": f"{letter}.pdf",
        "title": f"Paper {letter}",
        "sha256": letter * 64,
        "pages": 2,
        "chunks": 2,
        "status": "ready",
        "added_at": NOON,
    }
    return Document.model_validate(values | changes)


def a_job(number: int, **changes: object) -> Job:
    values = {"id": f"{number}" * 8 + "-0000", "name": f"{number}.pdf", "created_at": NOON, "updated_at": NOON}
    return Job.model_validate(values | changes)


def some_pages() -> list[Page]:
    boxes = ((0.0, 1.5, 2.25, 3.0), (2.25, 1.5, 4.0, 3.0))
    return [
        Page(number=1, width=612.0, height=792.0, text="ñ😀", boxes=boxes),
        Page(number=2, width=612.0, height=792.0, text="", boxes=()),
    ]


def some_chunks(document: Document, texts: tuple[str, ...] = ("one", "two")) -> list[Chunk]:
    """One parent, and a child for each text; given children first, so that order is the ledger's doing."""
    first = document.id[0]
    spans = (Span(page=1, start=0, end=2), Span(page=2, start=0, end=1))
    parent = Chunk(id=f"{first}-parent", document_id=document.id, position=0, text=" ".join(texts), spans=spans)
    children = [
        Chunk(
            id=f"{first}-child-{position}",
            document_id=document.id,
            parent_id=parent.id,
            position=position,
            section="1 Méthode › 1.1",
            text=words,
            spans=spans[:1],
            is_reference=position == 1,
            kind="table" if position == 0 else "text",
            indexed="Table 1 | Row: one" if position == 0 else "",
        )
        for position, words in enumerate(texts)
    ]
    return [*reversed(children), parent]


def some_tables() -> list[Table]:
    """Two, of which the first goes on over both pages."""
    box, span = (0.0, 1.5, 2.25, 3.0), Span(page=1, start=0, end=2)

    def row(page: int) -> TableRow:
        return TableRow(page=page, box=box, cells=(Cell(text="ñ", box=box, spans=(span,)),), spans=(span,))

    long = Table(page=1, boxes=((1, box), (2, box)), rows=(row(1), row(2)), caption="Table 1: é", caption_spans=(span,))
    return [long, Table(page=1, boxes=((1, box),), rows=(row(1),))]


def some_figures() -> list[Figure]:
    return [
        Figure(page=n, box=(1, 2, 3, 4), caption=f"图 {n}", png=png) for n, png in enumerate((b"\x89PNG\x00", b""), 1)
    ]


def add(ledger: Ledger, document: Document, texts: tuple[str, ...] = ("one", "two")) -> None:
    """Parse and embed: the hash of a text is `h-` and the text."""
    chunks = some_chunks(document, texts)
    hashes = {c.id: f"h-{c.text}" for c in chunks if c.parent_id}
    ledger.store_parse(document, some_pages(), chunks, hashes, some_tables(), some_figures())
    ledger.store_embeddings(MODEL, {f"h-{words}": np.full(3, len(words), np.float32) for words in texts})


def dump(url: str) -> Dump:
    """Every row of every table, sorted; without the graph's stamp, which is another one after each change."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        tables = {t.name: [tuple(row) for row in connection.execute(t.select())] for t in metadata.sorted_tables}
    engine.dispose()
    tables["meta"] = [row for row in tables["meta"] if row[0] != "graph"]
    return {name: sorted(rows, key=repr) for name, rows in tables.items()}


class LedgerContract:
    @pytest.fixture
    def ledger(self, ledger_url: str) -> Iterator[Ledger]:
        ledger = Ledger.open(ledger_url)
        yield ledger
        ledger.close()

    # opening

    def test_migrations_from_empty_make_the_schema_of_the_code(self, ledger: Ledger, ledger_url: str) -> None:
        engine = create_engine(ledger_url.replace("postgresql://", "postgresql+psycopg://"))
        found = inspect(engine)
        assert set(found.get_table_names()) == {*metadata.tables, "alembic_version"}
        for name, table in metadata.tables.items():
            columns = {column["name"]: column["nullable"] for column in found.get_columns(name)}
            assert columns == {column.name: bool(column.nullable) for column in table.columns}, name
            indexes = {index["name"] for index in found.get_indexes(name) if not index.get("duplicates_constraint")}
            assert indexes == {index.name for index in table.indexes}, name
        engine.dispose()

    def test_reopening_keeps_everything(self, ledger: Ledger, ledger_url: str) -> None:
        add(ledger, a_document("a"))
        before = dump(ledger_url)
        ledger.close()
        again = Ledger.open(ledger_url)
        assert again.document("a.pdf") == a_document("a")
        again.close()
        assert dump(ledger_url) == before

    def test_a_newer_database_is_refused(self, ledger: Ledger, ledger_url: str) -> None:
        engine = create_engine(ledger_url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = 'ffff'"))
        engine.dispose()
        with pytest.raises(LibraryError, match="newer") as caught:
            Ledger.open(ledger_url)
        assert caught.value.hint

    def test_several_may_open_an_empty_database_at_once(self, ledger_url: str) -> None:
        errors: list[Exception] = []

        def open_and_close() -> None:
            try:
                Ledger.open(ledger_url).close()
            except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
                errors.append(error)

        threads = [threading.Thread(target=open_and_close, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        assert not errors and not any(thread.is_alive() for thread in threads)

    # documents

    def test_a_document_comes_back_whole_and_is_updated(self, ledger: Ledger) -> None:
        gaps = (Gap(page=2, reason="no text: “scan”"), Gap(page=0, reason=""))
        ledger.put_document(a_document("a", status="processing"))
        changed = a_document("a", status="ready_with_gaps", gaps=gaps, error="é")
        ledger.put_document(changed)
        assert ledger.documents() == [changed]
        assert ledger.find_by_sha256("a" * 64) == changed
        assert ledger.find_by_sha256("b" * 64) is None

    def test_added_at_is_utc_whatever_zone_it_was_given_in(self, ledger: Ledger) -> None:
        local = NOON.astimezone(timezone(timedelta(hours=9)))
        ledger.put_document(a_document("a", added_at=local))
        added_at = ledger.document("a.pdf").added_at
        assert added_at == NOON and added_at.utcoffset() == timedelta(0)

    def test_documents_are_in_the_order_they_were_added(self, ledger: Ledger) -> None:
        east = timezone(timedelta(hours=9))
        times = {
            "c": NOON,
            "b": NOON + timedelta(microseconds=1),
            "a": (NOON + timedelta(seconds=1)).astimezone(timezone.min),
            "d": (NOON + timedelta(seconds=2)).astimezone(east),
            "f": NOON + timedelta(seconds=3),
            "e": NOON + timedelta(seconds=3),
        }
        for letter, added_at in times.items():
            ledger.put_document(a_document(letter, added_at=added_at))
        assert [d.name[0] for d in ledger.documents()] == ["c", "b", "a", "d", "e", "f"]

    @pytest.mark.parametrize("reference", ["a" * 8, "a" * 8 + "-0000", a_document("a").id, "a.pdf"])
    def test_a_document_is_found_by_id_start_of_id_and_name(self, ledger: Ledger, reference: str) -> None:
        ledger.put_document(a_document("a"))
        ledger.put_document(a_document("b"))
        assert ledger.document(reference).id == a_document("a").id

    @pytest.mark.parametrize("reference", ["a" * 7, "A.PDF", "", "%", "a%"])
    def test_no_such_document_says_what_there_is(self, ledger: Ledger, reference: str) -> None:
        ledger.put_document(a_document("a"))
        with pytest.raises(NotFound, match=r"a\.pdf") as caught:
            ledger.document(reference)
        assert "quaere list" in caught.value.hint

    def test_an_ambiguous_reference_is_refused(self, ledger: Ledger) -> None:
        ledger.put_document(a_document("a", name="same.pdf"))
        ledger.put_document(a_document("b", name="same.pdf"))
        ledger.put_document(a_document("c", id="aaaaaaaa-1111-5000-8000-000000000000"))
        for reference in ("same.pdf", "aaaaaaaa"):
            with pytest.raises(InvalidInput, match="2 documents"):
                ledger.document(reference)

    # pages and chunks

    def test_pages_come_back_with_their_boxes(self, ledger: Ledger) -> None:
        add(ledger, a_document("a"))
        assert [ledger.page(a_document("a").id, number) for number in (1, 2)] == some_pages()

    def test_no_such_page_says_how_many_there_are(self, ledger: Ledger) -> None:
        add(ledger, a_document("a"))
        for number in (0, 3, 10**20):
            with pytest.raises(NotFound) as caught:
                ledger.page(a_document("a").id, number)
            assert "1 to 2" in caught.value.message + caught.value.hint

    def test_chunks_come_back_whole(self, ledger: Ledger) -> None:
        document = a_document("a")
        add(ledger, document)
        second, first, parent = some_chunks(document)
        assert ledger.chunks_of(document.id) == [parent, first, second]
        assert ledger.chunks([second.id, "missing", parent.id]) == [second, parent]
        assert ledger.children_and_hashes(document.id) == [(first, "h-one"), (second, "h-two")]

    def test_tables_and_figures_come_back_whole(self, ledger: Ledger) -> None:
        document = a_document("a")
        add(ledger, document)
        tables, figures = some_tables(), some_figures()
        assert ledger.tables_of(document.id) == tables and ledger.tables_of(document.id, 2) == tables[:1]
        assert ledger.figures_of(document.id) == figures and ledger.figure(document.id, 2) == figures[1]
        assert [figure.png for figure in ledger.figures_of(document.id, pictures=False)] == [b"", b""]
        for number in (0, 3, 10**20):
            with pytest.raises(NotFound) as caught:
                ledger.figure(document.id, number)
            assert "1 to 2" in caught.value.hint

    def test_a_description_stands_with_its_figure_and_in_a_chunk(self, ledger: Ledger) -> None:
        document = a_document("a")
        add(ledger, document)
        parent = ledger.chunks_of(document.id)[0]
        chunk = parent.model_copy(update={"id": "d", "parent_id": parent.id, "position": 2, "kind": "description"})
        for words in ("A bar chart.", "A bar chart of two birds."):
            told = chunk.model_copy(update={"indexed": words})
            ledger.store_description(document.id, 1, words, told, f"h-{words}")
            assert ledger.figure(document.id, 1).description == words
            assert ledger.children_and_hashes(document.id)[2:] == [(told, f"h-{words}")]

    def test_a_new_parse_replaces_the_old(self, ledger: Ledger, ledger_url: str) -> None:
        document = a_document("a")
        add(ledger, document)
        once = dump(ledger_url)
        ledger.store_parse(document, some_pages()[:1], [], {})
        assert ledger.chunks_of(document.id) == []
        with pytest.raises(NotFound):
            ledger.page(document.id, 2)
        add(ledger, document)
        assert dump(ledger_url) == once

    def test_a_parse_that_fails_changes_nothing(self, ledger: Ledger, ledger_url: str) -> None:
        document = a_document("a")
        add(ledger, document)
        before = dump(ledger_url)
        twice = some_chunks(document)[:1] * 2
        with pytest.raises(Exception, match=r"(?i)unique"):
            ledger.store_parse(a_document("a", title="new"), [], twice, {})
        assert dump(ledger_url) == before

    def test_only_children_of_ready_documents_are_indexed(self, ledger: Ledger) -> None:
        for letter, status in zip("abcd", ("ready_with_gaps", "ready", "processing", "failed"), strict=True):
            add(ledger, a_document(letter, status=status))
        a, b = a_document("a").id, a_document("b").id
        assert [c.id for c in ledger.children()] == ["a-child-0", "a-child-1", "b-child-0", "b-child-1"]
        assert [c.id for c in ledger.children([b, a_document("c").id])] == ["b-child-0", "b-child-1"]
        assert ledger.children([]) == []
        assert ledger.indexed_children() == {
            f"{i[0]}-child-{n}": (i, f"h-{words}") for i in (a, b) for n, words in enumerate(("one", "two"))
        }

    def test_ids_beyond_the_parameters_of_one_statement(self, ledger: Ledger) -> None:
        document = a_document("a")
        texts = tuple(f"text {n}" for n in range(1201))
        add(ledger, document, texts)
        ids = [f"a-child-{n}" for n in reversed(range(1201))]
        assert [c.id for c in ledger.chunks(ids)] == ids
        hashes = [f"h-{words}" for words in texts]
        assert ledger.missing_embeddings([MODEL], [*hashes, "new"]) == ["new"]
        assert set(ledger.load_embeddings(MODEL, hashes)) == set(hashes)

    # embeddings

    def test_missing_embeddings_keep_order_and_come_once(self, ledger: Ledger) -> None:
        ledger.store_embeddings(MODEL, {"known": np.ones(3, np.float32)})
        assert ledger.missing_embeddings([MODEL], ["z", "known", "a", "z"]) == ["z", "a"]
        assert ledger.missing_embeddings(["other"], ["known"]) == ["known"]
        assert ledger.missing_embeddings([MODEL], []) == []
        assert ledger.missing_embeddings([MODEL, "other"], ["known", "a"]) == ["known", "a"]

    def test_embeddings_come_back_bit_for_bit_and_may_be_stored_twice(self, ledger: Ledger) -> None:
        vector = np.array([0.1, -1e-38, np.pi], np.float32)
        for _ in range(2):
            ledger.store_embeddings(MODEL, {"h": vector, "g": vector[::-1]})
        ledger.store_embeddings(MODEL, {})
        found = ledger.load_embeddings(MODEL, ["h", "g", "missing"])
        assert set(found) == {"h", "g"} and found["h"].dtype == np.float32
        assert found["h"].tobytes() == vector.tobytes() and np.array_equal(found["g"], vector[::-1])
        assert (ledger.embedding_count(MODEL), ledger.embedding_count("other")) == (2, 0)

    # deletion

    def test_deletion_is_exact(self, ledger: Ledger, ledger_url: str) -> None:
        """A + B - B == A, in every table; "two" is in both, and stays."""
        add(ledger, a_document("a"), ("one", "two"))
        before = dump(ledger_url)
        add(ledger, a_document("b"), ("two", "three"))
        ledger.store_embeddings("other", {"h-three": np.ones(3, np.float32)})
        ledger.delete_document(a_document("b").id)
        assert dump(ledger_url) == before

    def test_deletion_takes_what_an_earlier_parse_left(self, ledger: Ledger, ledger_url: str) -> None:
        add(ledger, a_document("a"))
        before = dump(ledger_url)
        add(ledger, a_document("b"), ("an older text",))
        add(ledger, a_document("b"), ("three",))
        ledger.delete_document(a_document("b").id)
        assert dump(ledger_url) == before

    def test_deleting_what_is_not_there_changes_nothing(self, ledger: Ledger, ledger_url: str) -> None:
        add(ledger, a_document("a"))
        before = dump(ledger_url)
        ledger.delete_document("missing")
        assert dump(ledger_url) == before

    # jobs and sources

    def test_jobs_come_back_whole_and_in_order(self, ledger: Ledger) -> None:
        requests = [
            JobRequest(source="/a/ñ.pdf", sha256="a" * 64, file="1.pdf", metadata=Metadata(tags=("x",))),
            JobRequest(sha256="b" * 64, replace="name"),
        ]
        for number, request in enumerate(requests):
            ledger.add_job(a_job(number), request)
        assert [job.id for job in ledger.jobs()] == [a_job(1).id, a_job(0).id]
        assert ledger.unfinished_jobs() == [(a_job(0), requests[0]), (a_job(1), requests[1])]
        kept = ledger.job_request(a_job(0).id).metadata
        assert kept is not None and kept.model_fields_set == {"tags"}
        error = JobError(code="no_text", message="“é”", hint="h")
        failed = a_job(0, state="failed", stage="parse", done=3, total=9, error=error)
        ledger.put_job(failed, requests[0].model_copy(update={"file": ""}))
        assert ledger.job(failed.id) == ledger.job(failed.id[:8]) == failed
        assert ledger.job_files() == {""} and [job.id for job, _ in ledger.unfinished_jobs()] == [a_job(1).id]
        for reference in ("", "%", failed.id[:7], "________", "none"):
            with pytest.raises(NotFound):
                ledger.job(reference)

    def test_the_newest_finished_jobs_are_kept(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("core.ledger.store.KEPT_JOBS", 2)
        for number in range(5):
            ledger.add_job(a_job(number), JobRequest(sha256="a" * 64))
        for number in range(1, 5):
            ledger.put_job(a_job(number, state="done"))
        assert [job.id[0] for job in ledger.jobs()] == ["4", "3", "0"]

    def test_a_document_gives_way_in_one_step(self, ledger: Ledger, ledger_url: str) -> None:
        new, path = a_document("b"), "/papers/" + "x" * 4000
        add(ledger, new, ("two", "three"))
        ledger.publish(new, path)
        alone = dump(ledger_url)
        ledger.delete_document(new.id)
        add(ledger, a_document("a"), ("one", "two"))
        ledger.publish(a_document("a"), path)
        assert ledger.read_from(path) == (a_document("a"), 1)
        add(ledger, new, ("two", "three"))
        ledger.publish(new, path, [a_document("a").id])
        assert dump(ledger_url) == alone and ledger.read_from("/other") is None
        ledger.publish(new, "/other")
        assert ledger.read_from(path) == (new, 2)

    # collections and filters

    def test_collections_and_what_is_said_of_documents_come_back(self, ledger: Ledger) -> None:
        fields = (FieldSpec(name="país", allowed=("Perú",), required=True), FieldSpec(name="n", type="number"))
        notes = Collection(name="notes", title="ñ", fields=fields, review_undated=True)
        ledger.put_collection(notes.model_copy(update={"fields": ()}))
        ledger.put_collection(notes)
        assert ledger.collections() == [Collection(name="default"), notes]
        said = {"collection": "notes", "tags": ("ñ", "x"), "language": "es", "fields": {"país": "Perú", "n": 2.0}}
        dated = a_document("a", **said, published_at="2024-02-29", valid_until="2025-01-01")
        undated = a_document("b", collection="notes", fields={"n": (1.0, 2.0), "b": True})
        ledger.put_document(dated)
        ledger.put_document(undated)
        assert ledger.documents() == [dated, undated.model_copy(update={"needs_review": True})]
        with pytest.raises(InvalidInput, match="2 documents"):
            ledger.delete_collection("notes")
        with pytest.raises(InvalidInput, match="default, notes"):
            ledger.collection("note")
        for document in (dated, undated):
            ledger.delete_document(document.id)
        ledger.delete_collection("notes")
        assert ledger.collections() == [Collection(name="default")]

    def test_filters_select_documents(self, ledger: Ledger) -> None:
        ledger.put_collection(Collection(name="notes", fields=(FieldSpec(name="n", type="number"),)))
        today = date(2025, 1, 1)
        assert ledger.select(Filter(), today) == Selection()
        a = a_document("a", collection="notes", fields={"n": 2.0}, tags=("x",), valid_until="2024-12-31")
        b = a_document("b", collection="notes", fields={"n": 3.0}, published_at="2024-06-01", valid_until="2025-01-01")
        c = a_document("c", tags=("x", "y"), language="de")
        for document in (a, b, c):
            ledger.put_document(document)
        ids = {letter: a_document(letter).id for letter in "abc"}
        for filters, wanted in (
            (Filter(), "bc"),
            (Filter(as_of=date(2024, 12, 31), tags=("x",)), "ac"),
            (Filter(tags=("y", "z")), "c"),
            (Filter(collection="notes"), "b"),
            (Filter(collection="notes", include_expired=True), "ab"),
            (Filter(fields={"n": (2, 3)}, include_expired=True), "ab"),
            (Filter(fields={"n": 4}), ""),
            (Filter(language="de"), "c"),
            (Filter(published_from=date(2024, 6, 1), published_to=date(2024, 6, 1)), "b"),
            (Filter(documents=("a.pdf", ids["c"][:8]), include_expired=True), "ac"),
        ):
            assert ledger.select(filters, today).documents == tuple(ids[letter] for letter in wanted), filters
        assert ledger.select(Filter(), today).expired == ("a.pdf (valid until 2024-12-31)",)
        assert ledger.select(Filter(include_expired=True), today).documents is None

    def test_a_title_given_later_leaves_the_embedded_one(self, ledger: Ledger) -> None:
        add(ledger, a_document("a"))
        ledger.put_document(a_document("a", title="new"))
        assert (ledger.document("a.pdf").title, ledger.embedded_title(a_document("a").id)) == ("new", "Paper a")

    # small things by key

    def test_meta_and_replies(self, ledger: Ledger) -> None:
        assert ledger.meta("k") is None and ledger.get("k") is None
        for value in ("one", "zwei ✓"):
            ledger.set_meta("k", value)
            ledger.put("k", "model", value)
            assert ledger.meta("k") == value and ledger.get("k") == value

    def test_triples_come_back_and_are_replaced(self, ledger: Ledger) -> None:
        parents = []
        for letter in "ab":
            document = a_document(letter)
            ledger.store_parse(document, some_pages(), some_chunks(document), {})
            parents += ledger.triples.readable([document.id])
        ledger.put_document(a_document("c", status="processing"))
        assert [chunk.id for chunk in ledger.triples.readable()] == ["a-parent", "b-parent"]
        triples_come_back_and_are_replaced(ledger, *parents)

    def test_triples_go_with_their_document(self, ledger: Ledger) -> None:
        document = a_document("a")
        ledger.store_parse(document, some_pages(), some_chunks(document), {})
        (parent,) = ledger.triples.readable()
        triples_go_with_their_document(ledger, document, parent)

    def test_a_reply_for_a_document_that_is_gone_goes_too(self, ledger: Ledger) -> None:
        document = a_document("a")
        ledger.put_document(document)
        for key in ("shared", "own"):
            ledger.put(key, "m", "{}")
        ledger.own("shared", document.id)
        for key in ("shared", "own"):
            ledger.own(key, a_document("b").id)
        assert (ledger.get("shared"), ledger.get("own")) == ("{}", None)
        ledger.delete_document(document.id)
        assert ledger.get("shared") is None

    def test_kept_replies_are_listed_and_cleared(self, ledger: Ledger) -> None:
        for key, model, prompt in (("1", "a", "write@1"), ("2", "a", "write@1"), ("3", "a", ""), ("4", "b", "write@1")):
            ledger.put(key, model, "four", prompt)
        ledger.put("1", "a", "four more", "write@1")
        kept = {(entry.model, entry.prompt): (entry.replies, entry.characters) for entry in ledger.kept_replies()}
        assert kept == {("a", ""): (1, 4), ("a", "write@1"): (2, 13), ("b", "write@1"): (1, 4)}
        assert all(entry.newest >= "2026" for entry in ledger.kept_replies())
        assert (ledger.clear_replies("a"), ledger.clear_replies("a"), ledger.clear_replies()) == (3, 0, 1)
        assert ledger.kept_replies() == [] and ledger.get("1") is None

    def test_a_ledger_of_the_first_version_is_brought_up_to_date(self, ledger_url: str) -> None:
        engine = create_engine(ledger_url.replace("postgresql://", "postgresql+psycopg://"))
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "0001")
            connection.execute(text("INSERT INTO replies (key, model, reply) VALUES ('k', 'm', 'kept')"))
        engine.dispose()
        ledger = Ledger.open(ledger_url)
        assert ledger.get("k") == "kept"
        assert [(entry.prompt, entry.newest) for entry in ledger.kept_replies()] == [("", "")]
        ledger.close()

    def test_traces(self, ledger: Ledger) -> None:
        ledger.save_trace("abcd-1", "q?", '{"n": 1}')
        ledger.save_trace("bbbb-2", "q?", '{"n": 2}')
        assert ledger.trace("abcd-1") == ledger.trace("abc") == '{"n": 1}'
        for reference in ("", "%", "____", "c"):
            with pytest.raises(NotFound):
                ledger.trace(reference)

    def test_the_newest_traces_are_kept(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("core.ledger.store.KEPT_TRACES", 3)
        for number in range(5):
            ledger.save_trace(f"trace-{number}", "q?", str(number))
        assert [ledger.trace(f"trace-{number}") for number in (2, 3, 4)] == ["2", "3", "4"]
        for number in (0, 1):
            with pytest.raises(NotFound):
                ledger.trace(f"trace-{number}")

    # threads

    def test_threads_write_and_read_at_once(self, ledger: Ledger) -> None:
        errors: list[Exception] = []

        def work(letter: str) -> None:
            try:
                for _ in range(5):
                    add(ledger, a_document(letter), (f"only {letter}",))
                    assert len(ledger.chunks_of(a_document(letter).id)) == 2
            except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
                errors.append(error)

        threads = [threading.Thread(target=work, args=(letter,)) for letter in "abcdef"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert not errors
        assert len(ledger.documents()) == 6
