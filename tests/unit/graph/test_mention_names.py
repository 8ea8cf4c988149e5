import pytest

from graph.mentions.names import acronyms, capitalised, headings, short_forms, usable
from graph.mentions.tokens import key


@pytest.mark.parametrize(
    ("title", "short"),
    [
        ("Billy Elliot (film)", "Billy Elliot"),
        ("HeronNet: forecasting tides with few stations", "HeronNet"),
        ("John Ernest, Duke of Saxe-Eisenach", "John Ernest"),
        ("潮汐预报：一种方法", "潮汐预报"),
    ],
)
def test_a_title_is_known_by_its_short_form_too(title: str, short: str) -> None:
    assert short_forms(title) == [title, short]


def test_words_that_begin_sentences_numbers_and_letters_are_no_names() -> None:
    assert [name for name in ("Her", "The", "1984", "X", "", "…", "On the") if usable(name)] == []
    assert short_forms("Her (film)") == ["Her (film)"]


def test_headings_lose_their_numbers() -> None:
    assert headings("3 Method › 3.2.1 Lightning Attention › A Proofs") == ["Method", "Lightning Attention", "Proofs"]


def test_capitalised_names_and_identifiers_are_found_whole() -> None:
    text = "In 2019 the Bank of England used bge-m3 and HeronNet. However, nothing of Adam Smith's was read by GPT-4o."
    assert list(capitalised(text)) == ["Bank of England", "bge-m3", "HeronNet", "Adam Smith", "GPT-4o"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a mixture of experts (MoE) layer", [("MoE", "mixture of experts")]),
        ("We use Low-Rank Adaptation (LoRA) here.", [("LoRA", "Low-Rank Adaptation")]),
        ("large language models (LLMs) answer", [("LLM", "large language models")]),
        ("as in the paper (see Table 2) and (A)", []),
        ("the speed (GPU) was low", []),
        ("(CPU)", []),
    ],
)
def test_an_acronym_is_taken_where_its_letters_stand_in_the_words_before_it(
    text: str, found: list[tuple[str, str]]
) -> None:
    assert list(acronyms(text)) == found


def test_names_are_compared_without_case_accents_width_and_hyphens() -> None:
    assert key("Abdul-Aziz") == key("ABDUL AZIZ") == ("abdul", "aziz")
    assert key("Schrödinger") == key("Schrodinger")
    assert key("ＭｉｎｉＭａｘ") == ("minimax",)
    assert key("潮汐") == ("潮", "汐")
