from agents.reflector import Reflector
from core.types import Citation, Claim, Span


def support(claim: str, quote: str) -> tuple[float, tuple[str, ...]]:
    citation = Citation(
        number=1, document_id="d", document="d.pdf", title="D", page=1, quote=quote,
        spans=(Span(page=1, start=0, end=len(quote)),),
    )  # fmt: skip
    result = Reflector().reflect([Claim(text=claim, citations=(1,))], [citation])
    return result.support, result.claims[0].problems


def test_a_quotation_is_fully_supported() -> None:
    assert support("It ran for 12 hours on eight P100 GPUs.", "It ran for 12 hours on eight P100 GPUs.") == (1.0, ())


def test_another_number_is_a_problem() -> None:
    score, problems = support("It ran for 13 hours.", "It ran for 12 hours.")
    assert score < 0.5 and problems == ("number 13 is not in the quotes",)


def test_another_name_is_a_problem() -> None:
    score, problems = support("GPT-4 won the contest.", "GPT-3 won the contest.")
    assert score < 0.5 and any("GPT-4" in problem for problem in problems)


def test_a_lost_negation_is_a_problem() -> None:
    score, problems = support("The model converges.", "The model does not converge.")
    assert score < 0.8 and len(problems) == 1


def test_other_words_count_a_little() -> None:
    assert 0.2 < support("The network was trained quickly.", "Training the network took an hour.")[0] < 1


def test_no_claims_score_zero() -> None:
    assert Reflector().reflect([], []).support == 0.0
