"""The router: what kind of question this is, and what it asks for once its follow-up words are resolved."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from core.errors import LLMBudget
from core.llm import LLM, Message
from core.prompts import Part, prompt
from core.spending import current
from core.terms import tokenise
from core.types import Document, Route, RouteKind, Turn

_CHAT = re.compile(
    r"^\W*(hi|hello|hey|good (morning|afternoon|evening)|thanks?( you)?|thank you( very much)?|bye|"
    r"who are you|what can you do|help|你好|谢谢|您好|안녕(하세요)?|감사합니다|hallo|danke|bonjour|merci)\W*$",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"\b(summar(y|ies|i[sz]e[ds]?)|overview|tl;?dr|main (ideas?|points?|contributions?|findings?|results?)|"
    r"key (ideas?|points?|contributions?|findings?|takeaways?)|"
    r"what (is|are|does) (this|the|these|those|each)( \w+){0,3} (papers?|documents?|articles?|reports?)( all)? "
    r"(about|say|cover|discuss))\b|总结|概括|概述|主要(内容|贡献|观点|结论)|요약|주요 (내용|기여)",
    re.IGNORECASE,
)
_RELATION = re.compile(
    r"\b(relat(ed|ion|ions|ionship)|connect(ed|ion)|in common|depends? on|derived from|built (on|upon)|based on|"
    r"compared? (to|with|against)|difference between|trained on|evaluated on|which \w+ (uses?|builds?|cites?)|"
    r"(which|what) [^?]{0,60}\boutperform(s|ed)?|who (wrote|built|made|trained|le(d|ads))|"
    r"who (develop|creat|found|invent|propos|introduc|direct|design|releas|publish)e?[sd]|"
    r"(develop|creat|found|invent|propos|introduc|direct)ed by wh(om|at|ich))\b|"
    r"关系|区别|相比|관계|차이",
    re.IGNORECASE,
)
_GENERIC = frozenset(
    tokenise("paper document article report study work author text library please briefly short give write tell me all")
)
_FOLLOW_UP = re.compile(
    r"\b(it|its|they|them|their|this|that|these|those|he|she|his|her|there|the (same|former|latter|other))\b|"
    r"^\W*(and|but|so|why|how about|what about|how come|which one)\b|它|他们|那个|这个|그것|그건|이것",
    re.IGNORECASE,
)


class Router:
    """Rules decide. The language model is asked for one thing only: to make a follow-up self-contained."""

    def __init__(self, llm: LLM | None) -> None:
        self._llm = llm

    async def route(
        self, question: str, history: Sequence[Turn], library: Sequence[Document], limit_to: Sequence[str]
    ) -> Route:
        """`limit_to` are the document ids a person chose; empty searches all."""
        kind, reason = _kind(question, library)
        decided_by: Literal["rules", "llm"] = "rules"
        full = question
        if kind != "chat" and history and _needs_history(question):
            full, decided_by = await self._standalone(question, history)
            reason += "; a follow-up, made self-contained"
        documents = tuple(limit_to)
        if kind == "summary" and not documents:
            documents = _named(full, library)
        return Route(
            kind=kind,
            question=full,
            documents=documents,
            decided_by=decided_by,
            reason=reason,
        )

    async def _standalone(self, question: str, history: Sequence[Turn]) -> tuple[str, Literal["rules", "llm"]]:
        if self._llm is not None:
            turns = [Part(f"{turn.role}: {turn.content[:1000]}\n", age, "turn") for age, turn in _aged(history)]
            asked = Message("user", prompt("standalone", history=turns, question=question))
            try:
                reply = await self._llm.complete([asked], max_tokens=300)
                return reply.text.strip() or question, "llm"
            except LLMBudget as error:
                current().note(f"{error.message}: the follow-up was made self-contained by rules")
        before = [turn.content for turn in history if turn.role == "user"]
        return (f"{before[-1]} {question}" if before else question), "rules"


def _aged(history: Sequence[Turn], turns: int = 6) -> list[tuple[int, Turn]]:
    """The last turns with their age, the newest 1: the oldest is the first that a small window has no room for."""
    last = history[-turns:]
    return [(len(last) - at, turn) for at, turn in enumerate(last)]


def _kind(question: str, library: Sequence[Document]) -> tuple[RouteKind, str]:
    if _CHAT.match(question):
        return "chat", "a greeting or thanks"
    if _SUMMARY.search(question) and _is_overview(question, library):
        return "summary", "asks for an overview"
    if _RELATION.search(question):
        return "relation", "asks how things relate"
    return "fact", "asks for a fact"


def _is_overview(question: str, library: Sequence[Document]) -> bool:
    """Whether it names hardly anything but documents: "summarise the three yardsticks of …" asks for facts."""
    rest = set(tokenise(_SUMMARY.sub(" ", question))) - _GENERIC
    named = {term for document in library for term in tokenise(f"{document.title} {document.name}")}
    return len(rest - named) <= (6 if any("\u3040" <= term[0] <= "\ud7af" for term in rest) else 2)


def _needs_history(question: str) -> bool:
    return bool(_FOLLOW_UP.search(question)) or len(tokenise(question)) < 3


def _named(question: str, library: Sequence[Document]) -> tuple[str, ...]:
    """Documents that the question names: by a term of title or file name that no other document shares, else by
    terms of the file name."""
    asked = set(tokenise(question))
    stems = {document.id: set(tokenise(document.name.rsplit(".", 1)[0])) for document in library}
    terms = {document.id: stems[document.id] | set(tokenise(document.title)) for document in library}
    shared = Counter(term for words in terms.values() for term in words)
    alone = tuple(d.id for d in library if any(shared[term] == 1 for term in asked & terms[d.id]))
    return alone or tuple(d.id for d in library if asked & stems[d.id])
