import pytest

from core.terms import tokenise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ResNet-152", ["resnet152", "resnet", "152"]),
        ("BM25", ["bm25"]),
        ("section 4.1.2", ["section", "4.1.2", "4", "1", "2"]),
        ("GPT-3.5", ["gpt3.5", "gpt", "3", "5"]),
        ("d_ff", ["dff", "d", "ff"]),
        ("p<0.05", ["p", "0.05"]),
        ("p < .05", ["p", "0.05"]),
        ("1.5e-4", ["1.5e-4"]),
        ("10⁻⁴ and 10²", ["10", "4", "10", "2"]),
        ("CO₂", ["co2"]),
        ("F1@10", ["f1@10", "f1", "10"]),
        ("10-12", ["10-12", "10", "12"]),
        ("10,000, 1,2", ["10000", "1", "2"]),
        ("Models are trained", ["model", "train"]),
        ("the model's", ["model"]),
        ("e.g. the U.S., i.i.d.", ["us", "iid"]),
        ("Schrödinger's naïve résumé", ["schroding", "naiv", "resum"]),
        ("β2, 3 μm, λόγος", ["beta2", "beta", "2", "3", "μm", "λόγος"]),
        ("故乡", ["故乡"]),
        ("思故乡", ["思故", "故乡"]),
        ("月", ["月"]),
        ("用BM25检索", ["用", "bm25", "检索"]),
        ("人々の値は", ["人々", "々の", "の値", "値は", "値"]),
        ("ニューラル・ネット", ["ニュ", "ュー", "ーラ", "ラル", "ルネ", "ネッ", "ット"]),
        ("학습률은", ["학습", "습률", "률은"]),
        ("값은", ["값은", "값"]),
        ("BM25는", ["bm25"]),
        ("", []),
        ("?! …", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert tokenise(text) == expected


def test_a_question_and_its_passage_share_terms() -> None:
    assert set(tokenise("training datasets")) <= set(tokenise("It was trained on two dataset parts, the training"))


def test_full_width_forms_are_folded() -> None:
    assert tokenise("ＢＭ２５ １２．５") == ["bm25", "12.5"]


@pytest.mark.parametrize(
    "forms",
    [
        ("ResNet-152", "ResNet152", "resnet_152"),
        ("top-5", "top5", "Top‑5"),  # the last with a hyphen that doesn't break
        ("k-NN", "kNN", "k-NNs"),
        ("fine-tuned", "finetuning", "Fine–tuning"),
        ("LSTMs", "LSTM", "lstms", "LSTM's"),
        ("GPUs", "GPU"),
        ("GPUs", "gpus"),
        ("T5s", "T5"),
        ("β1", "beta1", "beta_1"),
        ("Ångström", "angstrom"),
        ("값을", "값이", "값", "값에서"),
        ("値は", "値を", "値"),
        ("ニューラル・ネットワーク", "ﾆｭｰﾗﾙﾈｯﾄﾜｰｸ"),
    ],
)
def test_forms_of_one_name_share_its_whole(forms: tuple[str, ...]) -> None:
    """Not only a part such as a number."""
    shared = set.intersection(*(set(tokenise(form)) for form in forms))
    assert any(not term.isdigit() and term not in ("top", "k", "nn") for term in shared)


def test_what_another_thing_is_called_has_no_term_in_common() -> None:
    for one, other in [("GPT-3", "BERT-4"), ("0.05", "0.5"), ("10²", "102"), ("Is", "I"), ("1,2", "12"), ("α", "a")]:
        assert not set(tokenise(one)) & set(tokenise(other)), (one, other)
