"""Tier 3: names that are alike but not enough, shown to a language model pair by pair. Its word is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from core.errors import LLMBadReply, LLMError, LLMTruncated
from core.ledger.entities import Seen, Verdict
from core.llm import LLM, Message
from core.prompts import prompt
from core.spending import current
from graph.resolve.resolution import Undecided

_REPLY_TOKENS = 120
_SENTENCE = 400  # characters of the sentence that is shown of a name
_AT_ONCE = 16


class SameThing(BaseModel):
    """The reply."""

    same: bool
    reason: str = Field(default="", max_length=1000)


class Asker:
    """One call a pair, of some 400 tokens."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    @property
    def model(self) -> str:
        return self._llm.model

    async def verdicts(self, pairs: Sequence[Undecided], seen: Mapping[str, Seen]) -> list[Verdict]:
        """Of those pairs that an answer came for, in their order. A pair whose reply can't be used stays undecided;
        where the model can't be had at all no more is asked, and the account notes why."""
        found: list[Verdict] = []
        for start in range(0, len(pairs), _AT_ONCE):
            asked = [self._verdict(pair, seen) for pair in pairs[start : start + _AT_ONCE]]
            answers = await asyncio.gather(*asked, return_exceptions=True)
            failures = [answer for answer in answers if isinstance(answer, BaseException)]
            found += [answer for answer in answers if isinstance(answer, Verdict)]
            for failure in failures:
                if not isinstance(failure, LLMError):
                    raise failure
            if failures:
                current().note(f"{len(pairs) - len(found)} pairs of names stay apart unasked: {failures[0]}")
                break
        return found

    async def _verdict(self, pair: Undecided, seen: Mapping[str, Seen]) -> Verdict | None:
        lines = [*_lines("first", pair.first, seen), *_lines("second", pair.second, seen)]
        asked = Message("user", prompt("same_thing", names="".join(lines)))
        try:
            reply, _ = await self._llm.structured([asked], SameThing, max_tokens=_REPLY_TOKENS)
        except (LLMBadReply, LLMTruncated):
            return None
        reason = " ".join(reply.reason.split())[:200]
        return Verdict(pair.first, pair.second, reply.same, reason, self._llm.model)


def _lines(which: str, name: str, seen: Mapping[str, Seen]) -> list[str]:
    known = seen.get(name, Seen("", ""))
    said = " ".join(known.quote.split())[:_SENTENCE]
    return [f"{which}: {' '.join(name.split())}\n", f"type: {known.type}\n", f"sentence: {said}\n"]
