"""The reflector: scores each claim against its quotes, and does nothing else.

It never retrieves again: in the article this design follows, re-retrieval on a low score lowered accuracy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.terms import numbers, tokenise
from core.types import Citation, Claim, ClaimScore, Reflection

_NAME = re.compile(r"\b(?:[A-Z]{2,}[\w-]*|[A-Z][a-z]+[A-Z]\w*|\w+-\d[\w.]*)\b")
_NEGATION = re.compile(r"\b(no|not|never|neither|nor|none|without|cannot|\w+n't)\b|不|没有|아니|없", re.IGNORECASE)


class Reflector:
    def reflect(self, claims: Sequence[Claim], citations: Sequence[Citation]) -> Reflection:
        """Support 0 to 1 of each claim by the quotes it cites: words leniently, numbers and names strictly."""
        quotes = {citation.number: citation.quote for citation in citations}
        scores = tuple(_score(claim.text, " ".join(quotes[n] for n in claim.citations)) for claim in claims)
        mean = sum(score.support for score in scores) / len(scores) if scores else 0.0
        return Reflection(support=round(mean, 3), claims=scores)


def _score(claim: str, quote: str) -> ClaimScore:
    terms, known = set(tokenise(claim)), set(tokenise(quote))
    words = len(terms & known) / len(terms) if terms else 0.0
    missing = [n for n in numbers(claim) if n not in numbers(quote)]
    strange = [n for n in _NAME.findall(claim) if n.lower() not in quote.lower()]
    problems = [f"number {n} is not in the quotes" for n in missing]
    problems += [f"name {n} is not in the quotes" for n in strange]
    if bool(_NEGATION.search(claim)) != bool(_NEGATION.search(quote)):
        problems.append("one of claim and quotes is negated, the other is not")
        words *= 0.7
    support = words * 0.4 ** len(missing) * 0.6 ** len(strange)
    return ClaimScore(support=round(min(1.0, support), 3), problems=tuple(problems))
