import pytest

from core.terms import tokenise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ResNet-152", ["resnet-152", "resnet", "152"]),
        ("section 4.1.2", ["section", "4.1.2", "4", "1", "2"]),
        ("Models are trained", ["model", "train"]),
        ("故乡", ["故乡"]),
        ("思故乡", ["思故", "故乡"]),
        ("月", ["月"]),
        ("用BM25检索", ["用", "bm25", "检索"]),
        ("", []),
        ("?! …", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert tokenise(text) == expected


def test_a_question_and_its_passage_share_terms() -> None:
    assert set(tokenise("training datasets")) <= set(tokenise("It was trained on two dataset parts, the training"))


def test_full_width_forms_are_folded() -> None:
    assert tokenise("ＢＭ２５") == ["bm25"]
