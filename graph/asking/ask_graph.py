"""From a question to what is looked for in the graph: a model's Cypher, else its filled slots, else rules.

A model only points at a subgraph: what it writes is read into a Pattern (graph/cypher) and goes no further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from core.errors import InvalidInput, LLMBadReply, LLMError, LLMTruncated
from core.llm import LLM, Message
from core.prompts import Part, Prompt, prompt
from graph.asking.ask_rules import RuleReader
from graph.asking.ask_slots import Slots, pattern_from
from graph.asking.names import Linked, NameIndex, shown_names
from graph.cypher.parser import read_cypher
from graph.folding import fold
from graph.patterns.canonical import pattern_of
from graph.patterns.conditions import TRUE, Condition, Conj, Disj, Test, both, conjuncts, either
from graph.patterns.globs import matches_glob
from graph.patterns.pattern import Pattern
from graph.relations import KINDS

_MOST_TOKENS = 400  # of a query or of filled slots


@dataclass(frozen=True)
class Asked:
    """`patterns` go from the most exact to the widest: the first that finds anything answers. None: nothing that the
    question names is in the graph."""

    patterns: tuple[Pattern, ...]
    asked_by: Literal["cypher", "slots", "rules", ""]
    notes: tuple[str, ...] = ()

    @property
    def pattern(self) -> Pattern | None:
        return self.patterns[0] if self.patterns else None


class GraphAsker:
    """Reads questions for one state of the graph. Without a model by rules alone, which costs no call."""

    def __init__(self, llm: LLM | None, index: NameIndex, *, hops: int = 3) -> None:
        self._llm = llm
        self._index = index
        self._hops = hops
        self._rules = RuleReader(index, hops)

    def by_rules(self, question: str) -> Asked | None:
        """Just what is asked, of a question of which rules read every word; None of others. Costs no call."""
        return Asked(self._read_by_rules(question)[:1], "rules") if self._rules.reads_all(question) else None

    async def ask(self, question: str) -> Asked:
        """At most four calls: Cypher, and once more with the parser's words; slots, which may be asked for twice.

        What a way failed of is in `notes`; a model that fails never raises.
        """
        rules = self._read_by_rules(question)
        if self._llm is None:
            return Asked(rules, "rules" if rules else "")
        notes: list[str] = []
        linked = self._index.linked(question)
        try:
            found = await self._by_cypher(self._llm, question, linked, notes)
            if found is not None:
                return Asked(_distinct(self._open(found), without_types(found), *rules), "cypher", tuple(notes))
            found = await self._by_slots(self._llm, question, linked, notes)
            if found is not None:
                return Asked(_distinct(self._open(found), *rules), "slots", tuple(notes))
        except LLMError as error:
            notes.append(f"{error.message}: the question was read by rules")
        return Asked(rules, "rules" if rules else "", tuple(notes))

    def _read_by_rules(self, question: str) -> tuple[Pattern, ...]:
        return _distinct(*map(self._open, self._rules.read(question)))

    def _open(self, pattern: Pattern) -> Pattern:
        """Where the graph does not know of everything what it is, what is asked for may be of no type."""
        return pattern if self._index.all_typed else or_untyped(pattern)

    async def _by_cypher(self, llm: LLM, question: str, linked: tuple[Linked, ...], notes: list[str]) -> Pattern | None:
        asked = [Message("user", self._prompt("cypher", question, linked, types=_lines(self._index.types[:20])))]
        for last in (False, True):
            try:
                text = (await llm.complete(asked, max_tokens=_MOST_TOKENS)).text
            except (LLMBadReply, LLMTruncated) as error:
                notes.append(f"Cypher: {error.message}")
                return None
            try:
                return self._read(text)
            except InvalidInput as error:
                wrong = error
            if not last:
                again = f"{wrong.message}\n{wrong.hint}\nWrite the query again, and nothing else."
                asked += [Message("assistant", text), Message("user", again)]
        notes.append(f"Cypher: {wrong.message}")
        return None

    def _read(self, text: str) -> Pattern:
        """The pattern, if what it names is in the graph. Raises InvalidInput."""
        pattern = read_cypher(text, hops=self._hops)
        missing = [name for name in _pinned(pattern) if not self._is_there(name)]
        if missing:
            values = ", ".join(str(value)[:60] for test in missing for value in test.values)
            raise InvalidInput(f"the graph has no entity named {values}", hint="use the exact names from <names>")
        return pattern

    def _is_there(self, test: Test) -> bool:
        values = [str(value) for value in test.values]
        match test.operator:
            case "in":
                return any(value in self._index for value in values)
            case "contains":
                return any(value in name for name in self._index.names() for value in values)
            case "starts":
                return any(name.startswith(tuple(values)) for name in self._index.names())
            case "ends":
                return any(name.endswith(tuple(values)) for name in self._index.names())
            case _:
                return any(matches_glob(value, name) for name in self._index.names() for value in values)

    async def _by_slots(self, llm: LLM, question: str, linked: tuple[Linked, ...], notes: list[str]) -> Pattern | None:
        asked = [Message("user", self._prompt("slots", question, linked))]
        try:
            slots, _ = await llm.structured(asked, Slots, max_tokens=_MOST_TOKENS)
            return pattern_from(slots, self._index, self._hops)
        except (LLMBadReply, LLMTruncated) as error:
            notes.append(f"slots: {error.message}")
        except ValueError as error:
            notes.append(f"slots: {error}")
        return None

    def _prompt(self, name: str, question: str, linked: tuple[Linked, ...], **more: str) -> Prompt:
        held = set(self._index.relations)
        known = [f"{kind.name}: {kind.description}\n" for kind in KINDS if kind.name in held or not held]
        names = [Part(f"{each}\n", rank, "name") for rank, each in enumerate(self._shown(linked), 1)]
        return prompt(name, relations="".join(known), names=names, question=question, **more)

    def _shown(self, linked: tuple[Linked, ...]) -> Iterator[str]:
        """As the graph writes them."""
        for name in shown_names(self._index, linked):
            for entity in self._index.entities(name)[:1]:
                yield next((each for each in (entity.name, *entity.aliases) if fold(each) == name), entity.name)


def without_types(pattern: Pattern) -> Pattern:
    """Without conditions on types, which extraction words in its own way, where something else is said too."""
    anchored = any(each.anchors for each in pattern.alternatives)
    return _with_types(pattern, lambda _: TRUE) if anchored else pattern


def or_untyped(pattern: Pattern) -> Pattern:
    """With what has no type beside what has the one that is asked for."""
    return _with_types(pattern, lambda term: either((term, Test(term.variable, "type", "missing"))))


def _with_types(pattern: Pattern, change: Callable[[Test], Condition]) -> Pattern:
    """With other conditions in place of those on types that all have to hold."""

    def changed(term: Condition) -> Condition:
        return change(term) if isinstance(term, Test) and term.property == "type" else term

    alternatives = [
        [replace(part, where=both(map(changed, conjuncts(part.where)))) for part in each.parts]
        for each in pattern.alternatives
    ]
    return pattern_of(alternatives, pattern.notes)


def _distinct(*patterns: Pattern) -> tuple[Pattern, ...]:
    return tuple(dict.fromkeys(patterns))


def _lines(items: tuple[str, ...]) -> str:
    return "".join(f"{item}\n" for item in items)


def _pinned(pattern: Pattern) -> Iterator[Test]:
    """Names that a match needs."""
    for alternative in pattern.alternatives:
        for part in alternative.parts:
            for term in conjuncts(part.where) if not part.optional else ():
                yield from _needed(term)


def _needed(condition: Condition) -> Iterator[Test]:
    if isinstance(condition, Test) and condition.property == "name" and condition.operator != "missing":
        yield condition
    elif isinstance(condition, Disj):  # one of them is enough
        inside = [test for term in condition.terms for test in _needed(term)]
        operators = {test.operator for test in inside}
        if len(inside) == len(condition.terms) and len(operators) == 1:
            yield Test("", "name", operators.pop(), tuple(value for test in inside for value in test.values))
    elif isinstance(condition, Conj):
        for term in condition.terms:
            yield from _needed(term)
