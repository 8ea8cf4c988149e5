"""A small labelled set: what each sentence states, by hand. Rules may miss some of it, and must add nothing to it."""

from __future__ import annotations

import pytest

from core.types import Chunk, Span
from graph.extraction.extract_rules import extract, read_all, worth_reading
from graph.extraction.phrases import Vocabulary, vocabulary_of

Fact = tuple[str, str, str]

# Sentences of our own, with all that they state in the vocabulary's relations; '?' in front: known to be missed.
LABELLED: list[tuple[str, list[Fact]]] = [
    ("TideNet-2 uses WaveEncoder and GaugeFormer.",
     [("TideNet-2", "USES", "WaveEncoder"), ("TideNet-2", "USES", "GaugeFormer")]),
    ("In our tests, the TideNet-2 model significantly outperforms both SeaCast and HarborNet on all gauges.",
     [("TideNet-2", "OUTPERFORMS", "SeaCast"), ("TideNet-2", "OUTPERFORMS", "HarborNet")]),
    ("SeaCast is outperformed by TideNet-2.", [("TideNet-2", "OUTPERFORMS", "SeaCast")]),
    ("TideNet-2 was trained on the HarbourLog dataset and evaluated on GaugeBench.",
     [("TideNet-2", "TRAINED_ON", "HarbourLog"), ("TideNet-2", "EVALUATED_ON", "GaugeBench")]),
    ("TideNet-2, which is based on WaveEncoder, surpasses SeaCast.",
     [("TideNet-2", "BASED_ON", "WaveEncoder"), ("?TideNet-2", "OUTPERFORMS", "SeaCast")]),
    ("Recurrent tide models such as SeaCast, HarborNet and GaugeFormer need long records.",
     [("SeaCast", "IS_A", "Recurrent tide models"), ("HarborNet", "IS_A", "Recurrent tide models"),
      ("GaugeFormer", "IS_A", "Recurrent tide models")]),
    ("We compare with SeaCast, a recurrent tide model of the Oslo Institute.",
     [("SeaCast", "IS_A", "recurrent tide model")]),
    ("We train with Mean Level Adjustment (MLA) in all runs.", [("MLA", "SAME_AS", "Mean Level Adjustment")]),
    ("TideNet-2 has 45 million parameters.", [("TideNet-2", "HAS_PROPERTY", "45 million parameters")]),
    ("TideNet-2 supports a record length of 90 days.", [("TideNet-2", "HAS_PROPERTY", "record length of 90 days")]),
    ("Mira Halvorsen was born in Bergen.", [("Mira Halvorsen", "BORN_IN", "Bergen")]),
    ("Mira Halvorsen (4 May 1901 – 2 June 1977) was a Norwegian hydrographer.",
     [("Mira Halvorsen", "BORN_IN", "4 May 1901"), ("Mira Halvorsen", "DIED_IN", "2 June 1977"),
      ("Mira Halvorsen", "IS_A", "Norwegian hydrographer")]),
    ("Jonas Halvorsen (born 12 July 1931 in Tromsø) is a Norwegian painter who lives in Oslo.",
     [("Jonas Halvorsen", "BORN_IN", "12 July 1931"), ("Jonas Halvorsen", "BORN_IN", "Tromsø"),
      ("Jonas Halvorsen", "IS_A", "Norwegian painter"), ("Jonas Halvorsen", "LOCATED_IN", "Oslo")]),
    ("Jonas Halvorsen is the son of Mira Halvorsen.", [("Mira Halvorsen", "PARENT_OF", "Jonas Halvorsen")]),
    ("Mira Halvorsen, the mother of Jonas Halvorsen, measured the harbour.",
     [("Mira Halvorsen", "PARENT_OF", "Jonas Halvorsen")]),
    ("Mira Halvorsen married Ole Strand in 1925.", [("Mira Halvorsen", "SPOUSE_OF", "Ole Strand")]),
    ("Winter of the Gulls is a 1954 drama film directed by Ole Strand and written by Kari Vik.",
     [("Winter of the Gulls", "IS_A", "drama film"), ("Winter of the Gulls", "DIRECTED_BY", "Ole Strand"),
      ("Winter of the Gulls", "AUTHORED_BY", "Kari Vik")]),
    ("Fjellstad College is located in Bergen.", [("Fjellstad College", "LOCATED_IN", "Bergen")]),
    ("Kari Vik graduated from Fjellstad College.", [("Kari Vik", "AFFILIATED_WITH", "Fjellstad College")]),
    ("TideNet-2 基于 WaveEncoder，并且优于其他方法。", [("TideNet-2", "BASED_ON", "WaveEncoder")]),
    # What names nothing, is denied, or is not plainly about what stands before it.
    ("It uses WaveEncoder.", []),
    ("Our method outperforms SeaCast.", []),
    ("The model is trained on HarbourLog.", []),
    ("TideNet-2 does not use WaveEncoder.", []),
    ("TideNet-2 doesn't outperform SeaCast.", []),
    ("TideNet-2 never uses WaveEncoder.", []),
    ("Models trained on HarbourLog outperform SeaCast.", []),
    ("Training with HarbourLog improves the results.", []),
    ("Figure 2 shows the results of all models in the summer.", []),
    ("The gauge of the harbour was read at noon, and again at midnight.", []),
    ("A new TideNet variant uses WaveEncoder.", []),
]  # fmt: skip


def chunk(text: str) -> Chunk:
    span = Span(page=1, start=0, end=len(text))
    return Chunk(id="c", document_id="d", position=0, text=text, spans=(span,))


def found(text: str, vocabulary: Vocabulary | None = None) -> list[Fact]:
    extraction = extract(chunk(text), vocabulary or Vocabulary())
    return [(t.subject, t.relation, t.object) for t in extraction.triples]


@pytest.mark.parametrize(("sentence", "facts"), LABELLED, ids=[sentence[:50] for sentence, _ in LABELLED])
def test_a_sentence_gives_what_it_states_and_nothing_else(sentence: str, facts: list[Fact]) -> None:
    stated = {(subject.lstrip("?"), relation, target) for subject, relation, target in facts}
    must = {fact for fact in facts if not fact[0].startswith("?")}
    got = found(sentence)
    assert set(got) <= stated
    assert must <= set(got)
    assert len(got) == len(set(got))


def test_the_quote_is_the_sentence_with_its_place() -> None:
    text = "The harbour is old.\nTideNet-2 uses WaveEncoder in all its layers. It was built in spring."
    (triple,) = extract(chunk(text), Vocabulary()).triples
    assert triple.quote == "TideNet-2 uses WaveEncoder in all its layers."
    assert [text[span.start : span.end] for span in triple.spans] == [triple.quote]
    assert triple.wording == "uses" and triple.extracted_by == "rules"
    assert triple.subject in triple.quote and triple.object in triple.quote
    assert 0 < triple.confidence <= 1


def test_both_ends_have_the_type_that_the_document_says() -> None:
    text = "TideNet-2 was trained on the HarbourLog dataset. TideNet-2 is a model. TideNet-2 also uses WaveEncoder."
    found = [(t.subject_type, t.object_type) for t in read_all([chunk(text)]) if t.relation in ("TRAINED_ON", "USES")]
    assert found == [("model", "dataset"), ("model", "")]
    kinds = read_all([chunk("Large tide models such as SeaCast and GaugeFormer need long records.")])
    assert [(t.subject, t.subject_type) for t in kinds] == [("SeaCast", "model"), ("GaugeFormer", "model")]


def test_citations_in_brackets_stand_in_no_one_s_way() -> None:
    text = "TideNet-2 (Halvorsen et al., 2021) uses WaveEncoder [4, 7] and GaugeFormer (Vik, 2019)."
    assert found(text) == [("TideNet-2", "USES", "WaveEncoder"), ("TideNet-2", "USES", "GaugeFormer")]


def test_phrases_that_come_back_in_a_document_are_terms_of_it() -> None:
    texts = ["TideNet-2 uses tidal attention in each layer.", "The tidal attention of a layer looks at all gauges."]
    assert found(texts[0], vocabulary_of(texts)) == [("TideNet-2", "USES", "tidal attention")]
    assert found(texts[0]) == []


def test_headings_tables_and_numbers_are_not_read() -> None:
    assert not worth_reading(chunk("4.2 Results\n12.4 13.1 9.8\nTideNet-2 SeaCast\n86.0\n65.0"))
    assert worth_reading(chunk("4.2 Results\nTideNet-2 is the best of all models here."))


def test_reading_twice_gives_equal_triples() -> None:
    chunks = [chunk(" ".join(sentence for sentence, _ in LABELLED))]
    assert read_all(chunks) == read_all(chunks)
    assert len(read_all(chunks)) > 15


@pytest.mark.parametrize(
    "text", ["", ".", "(" * 3000 + ".", "A, " * 400 + "uses B.", "is a " * 300 + ".", "\x00 💥 ﷽ ."]
)
def test_no_text_is_too_odd_to_read(text: str) -> None:
    assert isinstance(found(text), list)
