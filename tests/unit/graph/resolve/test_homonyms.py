"""One name in several documents."""

from __future__ import annotations

from tests.support.names import Outcome, resolved, said

PERSON = "Person"


def two(name: str, first: tuple[str, ...] = (), second: tuple[str, ...] = ()) -> Outcome:
    """(type, neighbour, quote) in d1 and in d2."""
    return resolved((name, "d1", *first), (name, "d2", *second))


def joined(name: str, first: tuple[str, ...] = (), second: tuple[str, ...] = ()) -> bool:
    return two(name, first, second).one(name, name, "d1", "d2")


def test_two_people_of_one_name_until_something_joins_them() -> None:
    assert not joined("Owen Reed", (PERSON, "MIT"), (PERSON, "Oxford"))
    assert joined("Owen Reed", (PERSON, "MIT"), (PERSON, "MIT"))
    assert not joined("Owen Reed", (PERSON, "paper"), (PERSON, "paper"))


def test_a_third_document_joins_people_that_it_knows_both() -> None:
    rows = [("Owen Reed", "d1", PERSON, "MIT"), ("Owen Reed", "d2", PERSON, "Oxford")]
    rows += [("Owen Reed", "d3", PERSON, "MIT"), ("Owen Reed", "d3", PERSON, "Oxford")]
    assert len(resolved(*rows[:2]).clusters) == 4  # with the two places
    assert resolved(*rows).one("Owen Reed", "Owen Reed", "d1", "d2")


def test_types_that_clash_keep_apart() -> None:
    assert not joined("Mercury", ("Planet",), ("Element",))
    assert not joined("Washington", (PERSON,), ("Place",))
    assert joined("Heron", ("Model",), ("Method",)) and joined("Heron", ("Model",), ("",))


def test_sentences_that_have_nothing_in_common_keep_a_plain_name_apart() -> None:
    planet = ("", "thing", "Mercury orbits the Sun in 88 days on an eccentric path")
    metal = ("", "thing", "Mercury is a toxic metal that boils at 357 degrees")
    assert not joined("Mercury", planet, metal)
    assert joined("Mercury", planet, ("", "thing", "Of all that orbits the Sun, Mercury has the most eccentric path"))
    assert joined("Mercury-7", planet, metal), "a name with a number is one thing"


def test_a_brief_name_needs_agreement() -> None:
    assert not joined("LA")
    assert joined("LA", ("", "Lightning Attention"), ("", "Lightning Attention"))


def test_acronyms_that_texts_define_differently() -> None:
    texts = [("d1", "Lightning Attention (LA)"), ("d2", "a trip to Los Angeles (LA)")]
    apart = resolved(("LA", "d1"), ("LA", "d2"), texts=texts)
    assert not apart.one("LA", "LA", "d1", "d2")
    alike = resolved(("LA", "d1"), ("LA", "d2"), texts=[("d1", texts[0][1]), ("d2", "lightning attention (LA)")])
    assert alike.one("LA", "LA", "d1", "d2")


def test_homonyms_have_ids_of_their_own_and_say_why_they_are_apart() -> None:
    found = two("Owen Reed", (PERSON, "MIT"), (PERSON, "Oxford"))
    owners = [found.owner["Owen Reed", document] for document in ("d1", "d2")]
    assert owners[0].entity_id != owners[1].entity_id
    assert all(owner.reason.startswith("kept apart from 1 of that name") for owner in owners)


def test_the_id_of_what_has_a_name_for_itself_depends_on_the_name_alone() -> None:
    alone = resolved(said("Heron-3", "d1"))
    other = resolved(said("Heron-3", "d9"), said("Kite-2", "d9"))
    assert alone.owner["Heron-3", "d1"].entity_id == other.owner["Heron-3", "d9"].entity_id
