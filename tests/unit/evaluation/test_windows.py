"""The plain search that the library is measured against."""

from eval.questions import Question
from eval.windows import WINDOW, PlainSearch, plain_rates, windows
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES


def test_windows_cover_each_page_and_are_found_by_their_words() -> None:
    found = windows(SAMPLES[:1])
    assert {window.page for window in found} == set(range(1, max(window.page for window in found) + 1))
    assert all(0 < len(window.text) <= WINDOW for window in found)
    middle = found[len(found) // 2]
    words = middle.text[100:300]
    search = PlainSearch(found, HashEmbedder())
    assert middle in search.search(words)
    asked = [
        Question.model_validate(
            {
                "id": name,
                "question": words,
                "type": "fact",
                "lang": "en",
                "evidence": [{"doc": SAMPLES[0].name, "page": page, "quote": quote}],
            }
        )
        for name, page, quote in (("a", middle.page, middle.text[100:160]), ("b", 99, "words that stand on no page"))
    ]
    rates = plain_rates(asked, search)
    assert (rates["page_hit_at_5"], rates["quote_hit_at_5"]) == (0.5, 0.5)
