"""A question that asks for several things, taken apart: each part finds its own passage.

As one question its parts compete: the passages of the one that is asked about in more words fill all places.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from core.terms import tokenise

_ASKING = (
    r"(?:(?:in|by|on|at|to|for|from|of|with|over) (?:what|which|whom)|how (?:many|much|long|large|often|far|fast|big|"
    r"deep|high|old)|how|what|which|who|whom|whose|where|when|why)\b"
)
_ENGLISH = re.compile(rf"[,;]?\s+(?:and|or|but)\s+(?={_ASKING})|[?？]\s*(?=\S)", re.IGNORECASE)
_CJK = re.compile(r"[，,；;]\s*(?=[^，,；;]{0,14}(?:什么|多少|哪|几|如何|怎么|为什么|何时))|[?？]\s*(?=\S)")
# What points to the rest of the question can't be searched for without it.
_POINTING = re.compile(
    r"\b(it|its|they|them|their|that|this|these|those|there|one|ones|he|she|his|her|same|former|latter)\b|[它其该]",
    re.I,
)
_TERMS = 3  # known to the library, which a part needs in order to be searched for
_HAN = re.compile("[\u3400-\u9fff]")


def parts_of(question: str, known: Callable[[str], bool], most: int) -> tuple[str, ...]:
    """The parts that can be understood alone, at most `most`; none of a question that asks for one thing.

    `known`: whether the library holds an index term.
    """
    split = (_CJK if _HAN.search(question) else _ENGLISH).split(question)
    found = [part.strip(" ?？,，;；") for part in split if part.strip()]
    if len(found) < 2:
        return ()
    return tuple(part for part in found if _stands_alone(part, known))[:most]


def _stands_alone(part: str, known: Callable[[str], bool]) -> bool:
    return not _POINTING.search(part) and sum(map(known, set(tokenise(part)))) >= _TERMS
