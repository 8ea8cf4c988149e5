"""The rewriter: what a language model makes of a question so that more is found by it.

HyDE (Gao et al., ACL 2023) searches for a passage that would answer it; its translation reaches what BM25 can't find
in another language's words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from core.errors import LLMError
from core.llm import LLM, Message
from core.prompts import Part, prompt
from core.spending import current
from core.terms import tokenise
from core.types import Document
from retrieval.search import Rewritten

_FOREIGN = 0.5  # share of the question's terms in the library below which it is translated
_TITLES = 8


class Rewriter:
    def __init__(self, llm: LLM, *, hyde: bool, translate: bool, known: Callable[[str], bool]) -> None:
        """`known`: whether any passage of the library holds an index term."""
        self._llm = llm
        self._hyde = hyde
        self._translate = translate
        self._known = known

    async def rewrite(self, question: str, library: Sequence[Document]) -> Rewritten:
        """One call for each that is switched on, both at once. Where one fails the question is searched for as it is,
        and the trace says so."""
        hypothetical, translation = await asyncio.gather(
            self._ask("hyde", question, library) if self._hyde else _nothing(),
            self._ask("translate", question, library) if self._translate and self._foreign(question) else _nothing(),
        )
        return Rewritten(hypothetical, translation if translation != question else "")

    def _foreign(self, question: str) -> bool:
        terms = set(tokenise(question))
        return sum(map(self._known, terms)) < _FOREIGN * len(terms)

    async def _ask(self, name: str, question: str, library: Sequence[Document]) -> str:
        titles = [Part(f"{d.title}\n", rank, "title") for rank, d in enumerate(library[:_TITLES], 1)]
        asked = Message("user", prompt(name, titles=titles, question=question))
        try:
            return (await self._llm.complete([asked], max_tokens=300)).text.strip()
        except LLMError as error:
            current().note(f"{name}: {error.message}; the question is searched for as it is")
            return ""


async def _nothing() -> str:
    return ""
