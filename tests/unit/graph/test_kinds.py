"""What a document says that its names stand for."""

from __future__ import annotations

import pytest

from core.types import Chunk, Span
from graph.extraction.extract_rules import read_all, words_of
from graph.extraction.kinds import type_of

TEXT = (
    "We train on the Atlas corpus, and later on the Atlas benchmark too. The GPT-4 model is large, and so is the R-CNN "
    "network. We took it from the optimizer Adam. HeronNet, a recurrent model of the bay, is small. LongTide (Tern et "
    "al., 2024), a challenging benchmark, is used. Egret-2 is the first dense model of its kind. The SFT corpus is "
    "ours. Most English models fail. An Osprey model was made. The Heron model zoo is closed. The use of Ibis is a "
    "task of its own. The Gull data set is small. On the Kite dataset and with the Kite model we see this."
)


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("Atlas", "benchmark"),  # a corpus once and a benchmark once: data in either case
        ("Gull", "dataset"),
        ("open data sets", "dataset"),
        ("GPT-4", "model"),
        ("R-CNN", "model"),
        ("Adam", "method"),
        ("HeronNet", "model"),
        ("LongTide", "benchmark"),
        ("Egret-2", "model"),
        ("Harbour Institute", "organisation"),
        ("University of Oslo", "organisation"),
        ("Kettle Lake", "place"),
        ("recurrent tide models", "model"),
        ("mean absolute error", "metric"),
        ("absolute error of 3.6 cm", "metric"),
        ("models of the bay with a gate", "model"),
        ("GaugeBench", "benchmark"),
        ("SFT", ""),  # once only: the corpus for it, perhaps
        ("English", ""),
        ("Osprey", ""),  # made of it, perhaps
        ("Heron", ""),
        ("Ibis", ""),
        ("Kite", ""),  # a dataset and a model
        ("dataset", ""),
        ("", ""),
    ],
)
def test_a_name_has_the_type_that_its_document_says(name: str, type_: str) -> None:
    assert type_of(name, words_of([TEXT]).types) == type_


def test_people_have_no_type() -> None:
    text = (
        "Mira Halvorsen is a Norwegian composer. The painter Kari Vik is a film and stage director. Ole Strand is a "
        "film, radio and stage actor."
    )
    assert words_of([text]).types == {}
    chunk = Chunk(id="c", document_id="d", position=0, text=text, spans=(Span(page=1, start=0, end=len(text)),))
    assert {triple.subject_type for triple in read_all([chunk])} == {""}
