"""What resolution in a ledger does on any database. A test module subclasses this and gives `ledger_url`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from sqlalchemy import select

from core.errors import InvalidInput, NotFound
from core.graph import MergeRule, Triple
from core.ledger import Ledger
from core.ledger import schema as t
from core.ledger.entities import EntityLedger, Verdict
from core.ledger.triples import Extraction
from core.types import Chunk
from graph.resolve.service import Resolver
from tests.support.ledger_contract import a_document

Row = tuple[str, str, str]  # subject, object, quote


def put(ledger: Ledger, letter: str, rows: Sequence[Row], text: str = "", **changes: object) -> None:
    """A document of one chunk with these triples."""
    document = a_document(letter, **changes)
    chunk = Chunk(
        id=f"{letter * 8}-chunk",
        document_id=document.id,
        parent_id="",
        position=0,
        section="",
        text=text or "x",
        spans=(),
        is_reference=False,
    )
    ledger.store_parse(document, [], [chunk], {})
    triples = tuple(
        Triple(
            id=f"{letter}-{number}",
            document_id=document.id,
            chunk_id=chunk.id,
            subject=subject,
            relation="RELATED_TO",
            wording="is near",
            object=other,
            quote=quote,
            spans=(),
        )
        for number, (subject, other, quote) in enumerate(rows)
    )
    ledger.triples.store(chunk, Extraction("rules", triples=triples))


def some(letter: str, count: int = 12) -> list[Row]:
    """Triples between names that are often alike, of a document that is always the same."""
    chance = random.Random(letter)
    words = "GPT-3 GPT-4 gpt-4 M1 MiniMax-M1 Adam LLM GPUs GPU Mercury".split()
    words += ["Adam optimizer", "large language model", "Schrödinger equation", "Schroedinger equation"]
    return [(chance.choice(words), chance.choice(words), "One is near the other.") for _ in range(count)]


class EntitiesContract:
    @pytest.fixture
    def ledger(self, ledger_url: str) -> Iterator[Ledger]:
        ledger = Ledger.open(ledger_url)
        yield ledger
        ledger.close()

    @pytest.fixture
    def resolver(self, ledger: Ledger) -> Resolver:
        return Resolver(ledger.entity_ledger())

    @staticmethod
    def stored(ledger: Ledger) -> list[list[tuple[object, ...]]]:
        with ledger._engine.connect() as connection:
            tables = (t.entities, t.entity_names, t.merge_verdicts)
            return [sorted(tuple(row) for row in connection.execute(select(table))) for table in tables]

    def test_it_resolves_once_and_then_only_when_something_changed(self, ledger: Ledger, resolver: Resolver) -> None:
        assert resolver.sync() and not resolver.sync()
        put(ledger, "a", [("M1", "MiniMax-M1", "")])
        assert resolver.sync() and not resolver.sync()
        assert not Resolver(ledger.entity_ledger()).sync(), "another start finds it done"
        [(name, entity)] = [(merge.name, merge.entity) for merge in resolver.merges()]
        assert (name, entity) == ("M1", "MiniMax-M1")

    def test_a_document_that_is_not_ready_names_nothing(self, ledger: Ledger, resolver: Resolver) -> None:
        put(ledger, "a", [("M1", "MiniMax-M1", "")], status="processing")
        resolver.sync()
        assert self.stored(ledger) == [[], [], []]

    def test_the_text_defines_an_acronym(self, ledger: Ledger, resolver: Resolver) -> None:
        put(ledger, "a", [("LA", "Lightning Attention", "")], text="We use Lightning Attention (LA).")
        [merge] = resolver.merges()
        assert (merge.name, merge.into, merge.tier) == ("Lightning Attention", "LA", "same")
        assert merge.reason == "the text defines LA as Lightning Attention"

    @pytest.mark.parametrize("order", ["abcd", "dcba", "bdac"])
    def test_the_order_of_adding_leaves_no_mark(self, ledger: Ledger, resolver: Resolver, order: str) -> None:
        for letter in order:
            put(ledger, letter, some(letter))
            resolver.sync()
        found = self.stored(ledger)
        for letter in "abcd":
            ledger.delete_document(a_document(letter).id)
        for letter in "abcd":
            put(ledger, letter, some(letter))
        resolver.sync()
        assert self.stored(ledger) == found

    def test_what_came_and_went_leaves_no_mark(self, ledger: Ledger, resolver: Resolver) -> None:
        put(ledger, "a", some("a"))
        put(ledger, "b", some("b"))
        resolver.sync()
        before = self.stored(ledger)
        put(ledger, "c", [*some("c"), ("Apple M1", "M1", "")])
        resolver.sync()
        assert self.stored(ledger) != before
        ledger.delete_document(a_document("c").id)
        assert resolver.sync()
        assert self.stored(ledger) == before

    def test_rules_outlive_documents(self, ledger: Ledger, resolver: Resolver) -> None:
        put(ledger, "a", [("GPT-3", "GPT-4", "")])
        assert resolver.put_rule("gpt-4", "GPT-3", "force") == MergeRule(first="GPT-3", second="GPT-4", kind="force")
        assert [merge.tier for merge in resolver.merges()] == ["forced"]
        ledger.delete_document(a_document("a").id)
        assert resolver.merges() == [] and len(resolver.rules()) == 1
        put(ledger, "a", [("GPT-3", "GPT-4", "")])
        assert [merge.tier for merge in resolver.merges()] == ["forced"]
        resolver.forget_rule("GPT-4", "GPT-3")
        assert resolver.merges() == [] == resolver.rules()
        with pytest.raises(NotFound, match="no rule"):
            resolver.forget_rule("GPT-4", "GPT-3")

    def test_separating_undoes_and_merging_again_takes_its_place(self, ledger: Ledger, resolver: Resolver) -> None:
        put(ledger, "a", [("M1", "MiniMax-M1", "")])
        resolver.put_rule("M1", "MiniMax-M1", "forbid")
        assert resolver.merges() == []
        resolver.put_rule("M1", "MiniMax-M1", "force")
        assert [rule.kind for rule in resolver.rules()] == ["force"] and len(resolver.merges()) == 1

    def test_a_contradiction_is_refused_and_nothing_is_kept(self, ledger: Ledger, resolver: Resolver) -> None:
        put(ledger, "a", [("A1", "B2", ""), ("C3", "C3", "")])
        resolver.put_rule("A1", "B2", "force")
        resolver.put_rule("B2", "C3", "force")
        with pytest.raises(InvalidInput, match="A1 = B2 = C3"):
            resolver.put_rule("C3", "A1", "forbid")
        assert len(resolver.rules()) == 2

    def test_a_name_that_no_document_has_is_refused_with_what_it_may_mean(
        self, ledger: Ledger, resolver: Resolver
    ) -> None:
        put(ledger, "a", [("MiniMax-M1", "GPU", "")])
        with pytest.raises(NotFound) as caught:
            resolver.put_rule("MiniMax-M2", "GPU", "force")
        assert "MiniMax-M1" in caught.value.hint

    def test_a_verdict_goes_with_the_last_document_that_has_the_name(self, ledger: Ledger, resolver: Resolver) -> None:
        put(ledger, "a", [("sparse attention layer", "sparse attention kernel", "")])
        entities = ledger.entity_ledger()
        entities.put_verdict(Verdict("sparse attention kernel", "sparse attention layer", False, "", "m"))
        resolver.sync()
        assert len(entities.verdicts()) == 1
        ledger.delete_document(a_document("a").id)
        resolver.sync()
        assert entities.verdicts() == [] and not resolver.sync()

    def test_merges_are_filtered(self, ledger: Ledger, resolver: Resolver) -> None:
        put(ledger, "a", [("M1", "MiniMax-M1", ""), ("Adam", "Adam optimizer", "")])
        assert [merge.name for merge in resolver.merges(query="MINI")] == ["M1"]
        assert [merge.name for merge in resolver.merges(entity="MiniMax-M1")] == ["M1", "MiniMax-M1"]
        assert len(resolver.merges(limit=1)) == 1
        [merge] = resolver.merges(query="m1")
        assert merge.documents == (a_document("a").id,)

    def test_its_reads_hold_what_is_there(self, ledger: Ledger) -> None:
        put(ledger, "a", [("M1", "GPU", "A long sentence on M1."), ("M1", "GPU", "M1 runs.")], text="a (b)")
        entities: EntityLedger = ledger.entity_ledger()
        assert entities.seen({"M1"})["M1"].quote == "M1 runs."
        assert list(entities.texts()) == [(a_document("a").id, "a (b)")]
        assert [row.subject for row in entities.said()] == ["M1", "M1"]
