"""Questions whose answer lies several steps from what they name, over a library of short texts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.ports import Walked
from eval.many import parsing_here
from graph.mentions.index import MentionIndex
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import settings_for

TEXTS = {
    "Night Tide (film)": "Night Tide is a film of 1971 that was directed by Ada Holm.",
    "Ada Holm": "Ada Holm (born in Velmar) made several films. Her father was Carl Holm.",
    "Carl Holm": "Carl Holm built ships, and died in Port Assen.",
    "Port Assen": "Port Assen is a town with a harbour.",
    "Day Tide (film)": "Day Tide is a film of 1972 that was directed by Erik Brandt.",
    "Erik Brandt": "Erik Brandt, a director, was born in Oslo.",
    "Directors": "Many directors were born in some town, and their fathers died in another one.",
}


class Shelf:
    def __init__(self, folder: Path) -> None:
        self.app: App = build(settings_for(folder / "library"), HashEmbedder())
        self._folder = folder

    async def add(self, *titles: str) -> None:
        for title in titles:
            file = self._folder / f"{title}.html"
            file.write_text(f"<!doctype html><title>{title}</title><p>{TEXTS[title]}</p>")
            with parsing_here():
                await self.app.add_document(str(file))

    @property
    def mentions(self) -> MentionIndex:
        index = self.app._search.mentions
        assert isinstance(index, MentionIndex)
        return index

    def titles(self, walked: Walked) -> list[str]:
        owners = {c.id: c.document_id for c in self.app._ledger.chunks([item for item, _ in walked.ranking])}
        titles = {d.id: d.title for d in self.app._ledger.documents()}
        return [titles[owners[item]] for item, _ in walked.ranking]


@pytest.fixture
async def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path)
    yield shelf
    await shelf.app.aclose()


async def test_what_lies_three_steps_away_is_found_and_what_is_not_connected_is_not(shelf: Shelf) -> None:
    await shelf.add(*TEXTS)
    found = shelf.mentions.search("Where did the father of the director of Night Tide die?", [], 40)
    assert shelf.titles(found) == ["Night Tide (film)", "Ada Holm", "Carl Holm", "Port Assen"]
    assert sum(share for _, share in found.ranking) == pytest.approx(1)
    assert 1 < found.spread < 4
    assert found.known == len(TEXTS)


async def test_a_name_may_be_asked_for_in_small_letters(shelf: Shelf) -> None:
    await shelf.add(*TEXTS)
    assert shelf.titles(shelf.mentions.search("who made night tide?", [], 40))[0] == "Night Tide (film)"


async def test_where_nothing_is_named_it_begins_with_what_others_found(shelf: Shelf) -> None:
    await shelf.add(*TEXTS)
    assert shelf.mentions.search("where did he die?", [], 40) == Walked([])
    erik = next(c.id for c in shelf.app._ledger.chunks(sorted(shelf.mentions.ids)) if "Oslo" in c.text)
    found = shelf.mentions.search("where did he die?", [(erik, 1.0)], 40)
    assert shelf.titles(found) == ["Erik Brandt", "Day Tide (film)"]


async def test_a_walk_keeps_to_the_documents_that_are_searched(shelf: Shelf) -> None:
    await shelf.add(*TEXTS)
    ids = {d.title: d.id for d in shelf.app._ledger.documents()}
    chosen = [ids[title] for title in ("Night Tide (film)", "Carl Holm", "Port Assen")]
    found = shelf.mentions.search("Who is the father of the director of Night Tide?", [], 40, chosen)
    assert shelf.titles(found) == ["Night Tide (film)"]  # Ada Holm, between it and the others, is left out
    assert shelf.mentions.search("Night Tide?", [], 40, ["not there"]).ranking == []


async def test_a_document_that_is_removed_leaves_nothing_and_one_that_comes_is_linked_both_ways(shelf: Shelf) -> None:
    await shelf.add("Night Tide (film)", "Carl Holm", "Directors")
    question = "Who is the father of the director of Night Tide?"
    assert "Carl Holm" not in shelf.titles(shelf.mentions.search(question, [], 40))
    await shelf.add("Ada Holm")
    assert "Carl Holm" in shelf.titles(shelf.mentions.search(question, [], 40))
    await shelf.app.remove_document("Ada Holm.html")
    assert "Carl Holm" not in shelf.titles(shelf.mentions.search(question, [], 40))


async def test_a_question_may_hold_words_that_a_document_brings_while_it_is_asked(shelf: Shelf) -> None:
    await shelf.add("Night Tide (film)")
    before = shelf.mentions._current()
    await shelf.add("Port Assen")
    assert before.asked("Night Tide, harbour, Port Assen")  # the words of the second are not in what was put together


async def test_the_passages_of_several_steps_come_first_and_say_by_which_channel(shelf: Shelf) -> None:
    await shelf.add(*TEXTS)
    found = await shelf.app.search_passages(
        "Where did the father of the director of Night Tide die?", top_k=5, channels=["mentions"]
    )
    assert [passage.title for passage in found.passages][:3] == ["Night Tide (film)", "Ada Holm", "Carl Holm"]
    assert {hit.channel for hit in found.passages[2].channels} == {"mentions"}


def test_an_empty_library_has_nothing_to_walk(tmp_path: Path) -> None:
    app = build(settings_for(tmp_path / "library"), HashEmbedder())
    assert app._search.mentions is not None
    assert app._search.mentions.search("Night Tide", [], 5) == Walked([])
