"""Collections, metadata and filters of the assembled application, on every channel."""

from __future__ import annotations

import asyncio
import itertools
import random
import shutil
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidInput, NotFound, NothingIngested
from core.types import Collection, Document, FieldSpec, Filter, Metadata, SearchResult
from quaere.app import App
from quaere.build import build
from retrieval import dense_chroma
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import contents, settings_for

COUNT = 16
TODAY = date.today()
PAST, FUTURE = date(2020, 1, 1), date(TODAY.year + 5, 1, 1)
ADMISSIONS = Collection(
    name="admissions",
    review_undated=True,
    fields=(
        FieldSpec(name="country", required=True),
        FieldSpec(name="degree", many=True),
        FieldSpec(name="intake", type="number"),
    ),
)
NOTES = Collection(name="notes", fields=(FieldSpec(name="country"), FieldSpec(name="draft", type="boolean")))
WORDS = "tower harbour gull lantern river glacier meadow orchard violin copper".split()


def make_files(folder: Path, count: int) -> list[tuple[Path, Metadata]]:
    """The same word, water, in each of them, so that each fits the same question."""
    dice, made = random.Random(7), []
    folder.mkdir(exist_ok=True)
    for number in range(count):
        word = WORDS[number % len(WORDS)]
        file = folder / f"{word}{number}.md"
        file.write_text(
            f"# The {word} {number}\n\nThe {word} of town {number} stands in the water since 1{number:03}.\n"
        )
        said: dict[str, Any] = {"collection": dice.choice(["default", "admissions", "notes"])}
        said["tags"] = tuple(dice.sample(["red", "blue", "green"], dice.randint(0, 2)))
        said["language"] = dice.choice(["", "en", "de"])
        said["published_at"] = dice.choice([None, date(2019, 1, 1), date(2019, 6, 1)])
        drawn = dice.choice([None, None, PAST, FUTURE])
        said["valid_until"] = PAST if number in (0, 1) else drawn
        country = dice.choice(["Spain", "Peru"])
        if said["collection"] == "admissions":
            degrees = dice.choice([("master",), ("master", "bachelor"), ()])
            said["fields"] = {"country": country, "degree": degrees, "intake": dice.choice([2026.0, 2027.0])}
        if said["collection"] == "notes":
            said["fields"] = {"country": country, "draft": dice.choice([True, False])}
        made.append((file, Metadata(**said)))
    return made


async def library(folder: Path, files: list[tuple[Path, Metadata]], log: Path | None = None) -> App:
    app = build(settings_for(folder), HashEmbedder(log=log))
    for collection in (ADMISSIONS, NOTES):
        await app.create_collection(collection)
    for file, said in files:
        await app.add_document(str(file), name=file.name, metadata=said)
    return app


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of all the files, made once; each test works on a copy."""
    folder = tmp_path_factory.mktemp("made")

    async def make() -> None:
        await (await library(folder / "library", make_files(folder / "files", COUNT))).aclose()

    asyncio.run(make())
    return folder / "library"


@pytest.fixture
async def app(tmp_path: Path, made: Path) -> AsyncIterator[App]:
    shutil.copytree(made, tmp_path / "library")
    opened = build(settings_for(tmp_path / "library"), HashEmbedder())
    yield opened
    await opened.aclose()


def fits(document: Document, filters: Filter) -> bool:
    """What a filter means, written a second time and plainly."""
    own = {name: set(v) if isinstance(v, tuple) else {v} for name, v in document.fields.items()}
    wanted = {name: set(v) if isinstance(v, tuple) else {v} for name, v in filters.fields.items()}
    published = document.published_at
    return (
        filters.collection in ("", document.collection)
        and (not filters.documents or document.name in filters.documents)
        and (not filters.tags or bool(set(filters.tags) & set(document.tags)))
        and filters.language in ("", document.language)
        and (filters.published_from is None or (published is not None and published >= filters.published_from))
        and (filters.published_to is None or (published is not None and published <= filters.published_to))
        and all(values & own.get(name, set()) for name, values in wanted.items())
        and (filters.include_expired or not document.expired(filters.as_of or TODAY))
    )


FILTERS = [
    Filter(),
    Filter(include_expired=True),
    Filter(as_of=date(2019, 12, 31)),
    Filter(collection="admissions"),
    Filter(collection="default", tags=("red",)),
    Filter(tags=("red", "blue"), include_expired=True),
    Filter(language="de"),
    Filter(published_from=date(2019, 2, 1)),
    Filter(published_to=date(2019, 1, 1), include_expired=True),
    Filter(fields={"country": "Spain"}),
    Filter(fields={"country": ("Spain", "Peru"), "intake": 2026.0}),
    Filter(collection="admissions", fields={"degree": "bachelor"}, include_expired=True),
    Filter(fields={"draft": False}),
    Filter(documents=("tower0.md", "gull2.md", "gull12.md"), include_expired=True),
    Filter(collection="notes", tags=("green",), language="en", fields={"draft": True, "country": "Peru"}),
]


def found(result: SearchResult) -> set[str]:
    return {passage.document for passage in result.passages}


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("channels", [("dense",), ("bm25",), ()])
async def test_each_channel_keeps_to_each_filter(
    app: App, channels: tuple[str, ...], many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`many`: as in a library whose chunks are too many to be compared one by one, with small lists of ids."""
    if many:
        monkeypatch.setattr(dense_chroma, "IN_MEMORY", -1)
        monkeypatch.setattr(dense_chroma, "EXACT_CHUNKS", 0)
        monkeypatch.setattr(dense_chroma, "IN_LIST", 3)
    documents = await app.list_documents()
    for filters in FILTERS:
        result = await app.search_passages("water", top_k=50, channels=channels, filters=filters)
        assert found(result) == {d.name for d in documents if fits(d, filters)}, filters
        shown = {d.name for d in await app.list_documents(filters)}
        assert shown == {d.name for d in documents if fits(d, filters)}


async def test_a_filtered_search_is_that_of_a_library_of_these_documents_alone(tmp_path: Path, app: App) -> None:
    files = make_files(tmp_path / "files", COUNT)
    documents = {d.name: d for d in await app.list_documents()}
    for number, filters in enumerate(FILTERS[3:5]):
        some = [(file, said) for file, said in files if fits(documents[file.name], filters)]
        alone = await library(tmp_path / f"alone{number}", some)
        for query, channels in itertools.product(("water", "the tower of town 10"), (("dense",), ("bm25",), ())):
            options: dict[str, Any] = {"top_k": 50, "channels": channels}
            one = await app.search_passages(query, filters=filters, **options)
            other = await alone.search_passages(query, filters=Filter(include_expired=True), **options)
            assert {p.chunk_id for p in one.passages} == {p.chunk_id for p in other.passages}
        await alone.aclose()


async def test_answers_and_overviews_keep_to_the_filter(app: App) -> None:
    documents = {d.name: d for d in await app.list_documents()}
    for question in ("What stands in the water?", "Give an overview of these documents"):
        for filters in FILTERS[3:13]:
            answer = await app.ask(question, filters=filters)
            cited = [*answer.citations, *answer.nearest]
            assert cited and all(fits(documents[entry.document], filters) for entry in cited), (question, filters)


async def test_the_trace_says_how_many_expired_were_left_out(app: App) -> None:
    gone = sum(d.expired(TODAY) for d in await app.list_documents())
    assert gone > 1
    answer = await app.ask("What stands in the water?")
    step = next(step for step in answer.trace if step.stage == "retriever")
    assert step.details["expired"] == gone and f"{gone} expired documents left out" in step.summary
    result = await app.search_passages("water")
    assert result.trace[0].details["expired"] == gone and "left out" in result.trace[0].summary
    assert "expired" not in (await app.search_passages("water", filters=Filter(include_expired=True))).trace[0].details


async def test_an_expired_document_that_is_named_is_said_to_be_expired(app: App) -> None:
    expired = next(d for d in await app.list_documents() if d.expired(TODAY))
    fresh = next(d for d in await app.list_documents() if not d.expired(TODAY))
    for call in (app.ask, app.search_passages):
        with pytest.raises(NothingIngested, match=rf"{expired.name} \(valid until 2020-01-01\) is expired"):
            await call("What stands in the water?", documents=[expired.name])
    assert found(await app.search_passages("water", documents=[expired.id, fresh.name])) == {fresh.name}
    for filters in (Filter(include_expired=True), Filter(as_of=PAST)):
        assert found(await app.search_passages("water", documents=[expired.name], filters=filters)) == {expired.name}


async def test_documents_and_filters_both_hold(app: App) -> None:
    admitted = next(d for d in await app.list_documents(Filter(collection="admissions")))
    wanted = Filter(collection="notes")
    assert found(await app.search_passages("water", documents=[admitted.name], filters=wanted)) == set()
    result = await app.search_passages("water", documents=[admitted.name], filters=Filter(documents=("tower0.md",)))
    assert found(result) <= {admitted.name} & {"tower0.md"}


async def test_nothing_fits(app: App) -> None:
    nothing = Filter(tags=("purple",))
    result = await app.search_passages("water", filters=nothing)
    assert result.passages == () and "no document fits" in result.trace[0].summary
    for question in ("What stands in the water?", "Give an overview of these documents"):
        with pytest.raises(NothingIngested, match="no document fits"):
            await app.ask(question, filters=nothing)


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        (Filter(collection="admission"), "no collection 'admission'; known: default, admissions, notes"),
        (Filter(fields={"contry": "Spain"}), "unknown field 'contry'; known: country, degree, intake, draft"),
        (Filter(collection="notes", fields={"intake": 1.0}), "collection notes has country, draft"),
        (Filter(collection="default", fields={"country": "x"}), "collection default has no fields"),
        (Filter(fields={"intake": "soon"}), "'soon' is not a number"),
        (Filter(fields={"draft": "perhaps"}), "'perhaps' is not true or false"),
    ],
)
async def test_unknown_conditions_are_refused_with_the_known_ones(app: App, filters: Filter, says: str) -> None:
    for call in (app.ask, app.search_passages):
        with pytest.raises(InvalidInput) as caught:
            await call("water?", filters=filters)
        assert says in caught.value.message
    with pytest.raises(InvalidInput):
        await app.list_documents(filters)


async def test_text_stands_for_numbers_and_booleans_in_a_filter(app: App) -> None:
    for said, meant in (({"intake": "2026"}, {"intake": 2026.0}), ({"draft": "TRUE"}, {"draft": True})):
        one = await app.list_documents(Filter(fields=said))
        assert one and one == await app.list_documents(Filter(fields=meant))


def test_a_reversed_range_is_refused() -> None:
    with pytest.raises(ValueError, match="is after"):
        Filter(published_from=date(2020, 1, 2), published_to=date(2020, 1, 1))


REFUSED = [
    Metadata(collection="nowhere"),
    Metadata(collection="admissions"),
    Metadata(collection="admissions", fields={"country": "Spain", "contry": "x"}),
    Metadata(collection="admissions", fields={"country": "Spain", "intake": "2026"}),
    Metadata(published_at=date(2024, 1, 2), valid_until=date(2024, 1, 1)),
]


@pytest.mark.parametrize("said", REFUSED)
async def test_what_is_refused_writes_nothing(tmp_path: Path, said: Metadata) -> None:
    (file, _), (other, _) = make_files(tmp_path / "files", 2)
    settings = settings_for(tmp_path / "library")
    app = await library(tmp_path / "library", [(file, Metadata())])
    before = contents(app, settings)
    for path in (file, other):
        with pytest.raises(InvalidInput):
            await app.add_document(str(path), metadata=said)
    with pytest.raises(InvalidInput):
        await app.edit_document(file.name, said)
    assert contents(app, settings) == before
    await app.aclose()


async def test_changed_metadata_embeds_nothing_and_the_same_file_is_one_document(tmp_path: Path) -> None:
    log = tmp_path / "embedded"
    file = make_files(tmp_path / "files", 1)[0][0]
    app = await library(tmp_path / "library", [(file, Metadata(title="First"))], log)
    size = log.stat().st_size
    before = (await app.list_documents())[0]
    said = Metadata(title="Lighthouses", collection="notes", tags=("x",), fields={"country": "Peru", "draft": True})
    again = await app.add_document(str(file), metadata=said)
    assert (again.id, again.title, again.tags, again.collection) == (before.id, "Lighthouses", ("x",), "notes")
    assert await app.list_documents() == [again]
    assert await app.add_document(str(file)) == again
    edited = await app.edit_document(file.name, Metadata(fields={"draft": None}, valid_until=FUTURE))
    assert edited.fields == {"country": "Peru"} and edited.tags == ("x",) and edited.valid_until == FUTURE
    cleared = await app.edit_document(file.name, Metadata(valid_until=None, tags=()))
    assert (cleared.valid_until, cleared.tags) == (None, ())
    assert log.stat().st_size == size
    await app.reindex()
    assert log.stat().st_size == size
    await app.aclose()


async def test_a_new_title_is_found_by_its_words_at_once_and_after_a_restart(tmp_path: Path) -> None:
    files = make_files(tmp_path / "files", 3)
    app = await library(tmp_path / "library", [(file, Metadata()) for file, _ in files])
    assert (await app.search_passages("zeppelin", channels=["bm25"])).passages == ()
    await app.edit_document(files[1][0].name, Metadata(title="The zeppelin"))
    first = await app.search_passages("zeppelin", channels=["bm25"])
    assert found(first) == {files[1][0].name} and first.passages[0].title == "The zeppelin"
    await app.aclose()
    app = build(settings_for(tmp_path / "library"), HashEmbedder())
    assert (await app.search_passages("zeppelin", channels=["bm25"])).passages == first.passages
    await app.aclose()


async def test_undated_documents_need_review_where_their_collection_asks_for_it(tmp_path: Path) -> None:
    file = make_files(tmp_path / "files", 1)[0][0]
    said = Metadata(collection="admissions", fields={"country": "Spain"})
    app = await library(tmp_path / "library", [(file, said)])
    assert [d.needs_review for d in await app.list_documents()] == [True]
    assert not (await app.edit_document(file.name, Metadata(published_at=PAST))).needs_review
    assert (await app.edit_document(file.name, Metadata(published_at=None))).needs_review
    await app.create_collection(ADMISSIONS.model_copy(update={"review_undated": False}), replace=True)
    assert [d.needs_review for d in await app.list_documents()] == [False]
    await app.aclose()


async def test_collections_are_declared_changed_and_removed(app: App) -> None:
    assert [c.name for c in await app.collections()] == ["default", "admissions", "notes"]
    with pytest.raises(InvalidInput, match="already"):
        await app.create_collection(NOTES)
    narrow = NOTES.model_copy(update={"fields": (FieldSpec(name="country", allowed=("Spain",)),)})
    with pytest.raises(InvalidInput, match="does not fit"):
        await app.create_collection(narrow, replace=True)
    with pytest.raises(InvalidInput, match=r"has \d+ documents"):
        await app.remove_collection("notes")
    for document in await app.list_documents(Filter(collection="notes", include_expired=True)):
        await app.remove_document(document.id)
    assert (await app.remove_collection("notes")).name == "notes"
    for name in ("notes", "default"):
        with pytest.raises(InvalidInput):
            await app.remove_collection(name)
    with pytest.raises(NotFound):
        await app.edit_document("none.md", Metadata(tags=("x",)))
