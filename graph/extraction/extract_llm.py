"""Triples by a language model: a passage and a vocabulary in, relations with a quote each out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from core.graph import Triple
from core.ledger.triples import Extraction, Outcome
from core.llm import LLM, Message
from core.llm.json_reply import instruction
from core.llm.tokens import estimate
from core.prompts import Part, Prompt, prompt
from core.text import sentences
from core.types import Chunk
from graph.extraction.naming import name_key
from graph.extraction.stated import Stated, Statements, checked, uncited
from graph.relations import KINDS

MAX_TOKENS = 1024  # of one reply: ten relations with their quotes take about 700
_ORDERS = ("from the first to the last", "from the last to the first")
_TEMPERATURES = (0.0, 0.4)
# Tokens of a reply for each token of a passage, measured on the MiniMax paper (eval/results/graph_minimax.json).
_REPLY_PER_TOKEN = 1.2
_RELATIONS = ", ".join(kind.name for kind in KINDS)


class LLMReader:
    """`passes` 2: a second reading in another order; what both find has confidence 1, what one finds 0.5."""

    def __init__(self, llm: LLM, passes: int) -> None:
        self._llm = llm
        self.passes = passes
        self.name = f"{llm.model} {_asked('', 0)}" + (f" x{passes}" if passes > 1 else "")

    async def read(self, chunk: Chunk) -> Extraction:
        """One call a pass, kept as a reply. Raises LLMError; a reply that was cut gives what was whole of it."""
        readings: list[dict[tuple[str, str, str], Triple]] = []
        dropped: Counter[str] = Counter()
        outcome: Outcome = "ok"
        for number in range(self.passes):
            said, cut = await self._said(chunk, number)
            outcome = "truncated" if cut else outcome
            readings.append(_kept(said, chunk, dropped))
        return Extraction(self.name, outcome, _agreed(readings), dict(dropped))

    async def _said(self, chunk: Chunk, number: int) -> tuple[Sequence[Stated], bool]:
        value, reply = await self._llm.structured(
            [Message("user", _asked(chunk.text, number))],
            Statements,
            max_tokens=MAX_TOKENS,
            temperature=_TEMPERATURES[number],
            keep_cut=True,
        )
        return value.triples, reply.finish_reason == "length"

    def tokens(self, chunks: Sequence[Chunk]) -> tuple[int, int]:
        """About how many tokens of prompts and of replies these passages take."""
        asked = instruction(Statements) if self._llm.mode != "json_schema" else ""
        prompts = sum(estimate(_asked(chunk.text, n).text + asked) for chunk in chunks for n in range(self.passes))
        replies = sum(min(MAX_TOKENS, int(estimate(chunk.text) * _REPLY_PER_TOKEN)) for chunk in chunks)
        return prompts, replies * self.passes


def _asked(text: str, number: int) -> Prompt:
    """Where the passage does not fit the model's window, its last sentences go first."""
    said = [" ".join(uncited(text)[start:end].split()) for start, end in sentences(text)]
    parts = [Part(sentence + "\n", n, "sentence") for n, sentence in enumerate(said, 1)]
    return prompt("triples", relations=_RELATIONS, order=_ORDERS[number], passage=parts)


def _kept(said: Sequence[Stated], chunk: Chunk, dropped: Counter[str]) -> dict[tuple[str, str, str], Triple]:
    """By subject, relation and object; what is dropped is counted by reason."""
    kept: dict[tuple[str, str, str], Triple] = {}
    for stated in said:
        triple = checked(stated, chunk)
        if isinstance(triple, str):
            dropped[triple] += 1
            continue
        key = name_key(triple.subject), triple.relation, name_key(triple.object)
        if key in kept:
            dropped["said twice"] += 1
        else:
            kept[key] = triple
    return kept


def _agreed(readings: Sequence[dict[tuple[str, str, str], Triple]]) -> tuple[Triple, ...]:
    """The triples of all readings, the first to say one being kept, with the share of readings that say it."""
    found: dict[tuple[str, str, str], Triple] = {}
    for reading in readings:
        for key, triple in reading.items():
            found.setdefault(key, triple)
    by_id: dict[str, Triple] = {}
    for key, triple in found.items():
        share = sum(key in reading for reading in readings) / len(readings)
        by_id.setdefault(triple.id, triple.model_copy(update={"confidence": share}))
    return tuple(by_id.values())
