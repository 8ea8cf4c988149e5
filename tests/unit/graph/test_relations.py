import pytest

from graph.relations import BY_NAME, KINDS, RELATED_TO, is_citation, is_denied, is_symmetric, normalise


@pytest.mark.parametrize(
    ("wording", "relation", "inverted"),
    [
        ("was trained on", "TRAINED_ON", False),
        ("was jointly trained from scratch on", "TRAINED_ON", False),
        ("TRAINED_ON", "TRAINED_ON", False),
        ("trained-on", "TRAINED_ON", False),
        ("isTrainedOn", "TRAINED_ON", False),
        ("is used to train", "TRAINED_ON", True),
        ("outperforms", "OUTPERFORMS", False),
        ("significantly outperformed", "OUTPERFORMS", False),
        ("is outperformed by", "OUTPERFORMS", True),
        ("lags behind", "OUTPERFORMS", True),
        ("using", "USES", False),
        ("is used by", "USES", True),
        ("is a", "IS_A", False),
        ("are", "IS_A", False),
        ("was born in", "BORN_IN", False),
        ("is the son of", "PARENT_OF", True),
        ("father of", "PARENT_OF", False),
        ("consists of", "PART_OF", True),
        ("was directed by", "DIRECTED_BY", False),
        ("wrote", "AUTHORED_BY", True),
        ("was proposed by", "PROPOSES", True),
        ("gehört zu", "PART_OF", False),
        ("basiert auf", "BASED_ON", False),
        ("基于", "BASED_ON", False),
        ("优于", "OUTPERFORMS", False),
        ("사용한다", "USES", False),
        ("cites", "CITES", False),
    ],
)
def test_wordings_are_put_under_a_relation(wording: str, relation: str, inverted: bool) -> None:
    assert normalise(wording) == (relation, inverted)


@pytest.mark.parametrize("wording", ["does not use", "is not based on", "never outperforms", "不使用", "isn't a"])
def test_what_is_denied_is_no_relation_of_that_kind(wording: str) -> None:
    assert is_denied(wording)
    assert normalise(wording) == (RELATED_TO, False)


@pytest.mark.parametrize("wording", ["", "   ", "frobnicates", "_", "💥", "a\x00b", "x" * 10_000])
def test_what_is_unknown_is_related_to(wording: str) -> None:
    assert normalise(wording) == (RELATED_TO, False)


def test_every_wording_of_the_vocabulary_means_its_own_relation() -> None:
    wrong = []
    for kind in KINDS:
        wrong += [(kind.name, w, normalise(w)) for w in kind.wordings if normalise(w) != (kind.name, False)]
        wrong += [(kind.name, w, normalise(w)) for w in kind.inverse if normalise(w) != (kind.name, True)]
    assert wrong == []


def test_every_name_means_itself_in_any_form() -> None:
    for name in BY_NAME:
        assert normalise(name) == (name, False)
        assert normalise(name.lower().replace("_", " ")) == (name, False)


def test_citations_and_symmetric_relations_are_marked() -> None:
    assert {kind.name for kind in KINDS if is_citation(kind.name)} == {"CITES", "PUBLISHED_IN"}
    assert is_symmetric("SPOUSE_OF")
    assert not is_symmetric("USES")
    assert not is_citation("no such relation")
