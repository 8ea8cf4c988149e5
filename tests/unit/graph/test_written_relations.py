"""A question of relation with a scripted model: it points at a subgraph, picks evidence, and writes from both."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.settings import load_settings
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.scripted_endpoint import LLMServer, Request, Scripted, answer, refusal, streamed

TEXT = """# HeronNet

HeronNet was developed by the Harbour Institute. HeronNet was trained on the Atlas corpus. Its weather is mild.
"""
QUESTION = "How is HeronNet related to the Atlas corpus?"


class Model:
    """Answers each prompt by what it asks for; `cypher` is what it writes as a query. Keeps the prompts."""

    def __init__(self) -> None:
        self.cypher = "MATCH (a {name: 'HeronNet'})-[r]-(b {name: 'Atlas'}) RETURN type(r)"
        self.reply = "HeronNet was trained on the Atlas corpus [1]."
        self.prompts: list[str] = []

    def __call__(self, request: Request) -> Scripted:
        prompt = request.body["messages"][0]["content"]
        self.prompts.append(prompt)
        if "numbered sentences" in prompt:
            return answer('{"sentences": [1]}')
        if "numbered quotes" in prompt:
            return streamed(self.reply)
        return answer(self.cypher) if self.cypher else refusal(400, "no")


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def app(tmp_path: Path, model: Model) -> AsyncIterator[App]:
    with LLMServer(model) as server:
        endpoint = {"base_url": server.url, "model": "m", "backoff_s": 0, "max_retries": 0, "context_window": 8192}
        app = build(load_settings(library=tmp_path / "library", llm=endpoint), HashEmbedder())
        (tmp_path / "heron.md").write_text(TEXT, "utf-8")
        await app.add_document(str(tmp_path / "heron.md"))
        yield app
        await app.aclose()


async def test_the_writer_sees_the_relations_with_the_numbers_of_their_quotes(app: App, model: Model) -> None:
    answered = await app.ask(QUESTION)
    written = model.prompts[-1]
    relations = written.rpartition("<relations>")[2].partition("</relations>")[0]
    assert "HeronNet —[TRAINED_ON: was trained on]→ Atlas [1]" in relations
    assert "[1] HeronNet was trained on the Atlas corpus." in written.rpartition("<quotes>")[2]
    assert answered.written_by == "llm" and answered.citations[0].quote == "HeronNet was trained on the Atlas corpus."
    graph = next(step for step in answered.trace if step.stage == "graph")
    assert graph.details["asked by"] == "cypher" and graph.degraded == "" and graph.details["calls"] == 1


async def test_a_model_whose_query_fails_leaves_the_reading_to_rules(app: App, model: Model) -> None:
    model.cypher = ""
    answered = await app.ask(QUESTION)
    graph = next(step for step in answered.trace if step.stage == "graph")
    assert graph.details["asked by"] == "rules" and graph.details["rows"] == 1
    assert "read by rules" in json.dumps(graph.model_dump())
    assert answered.citations[0].quote == "HeronNet was trained on the Atlas corpus."


async def test_to_quote_is_to_ask_no_model(app: App, model: Model) -> None:
    answered = await app.ask(QUESTION, policy="quote")
    assert model.prompts == [] and answered.written_by == "quotation"
    assert answered.citations[0].quote == "HeronNet was trained on the Atlas corpus."


PLAIN = "Who developed HeronNet?"


async def test_of_a_question_that_rules_read_whole_no_model_is_asked_for_a_query(app: App, model: Model) -> None:
    model.reply = "The Harbour Institute developed it [1]."
    answered = await app.ask(PLAIN)
    assert [prompt for prompt in model.prompts if "Cypher" in prompt] == [] and len(model.prompts) == 2
    graph = next(step for step in answered.trace if step.stage == "graph")
    assert graph.details["asked by"] == "rules" and "calls" not in graph.details
    assert answered.text == "The Harbour Institute developed it. [1]" and answered.written_by == "llm"
    assert (await app.query_graph(PLAIN)).exact and len(model.prompts) == 2
    assert not (await app.query_graph(QUESTION)).exact and len(model.prompts) == 3


async def test_where_the_graph_answers_all_that_is_asked_the_sentence_that_states_it_is_the_answer(
    app: App, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    note.write_text("# Note\n\nThe bay asks for years who has developed it. HeronNet is liked at the bay.\n", "utf-8")
    await app.add_document(str(note))
    answered = await app.ask(PLAIN, policy="quote")
    assert [claim.text for claim in answered.claims] == ["HeronNet was developed by the Harbour Institute."]


async def test_where_the_graph_has_nothing_of_it_the_model_is_asked(app: App, model: Model) -> None:
    found = await app.query_graph("What does HeronNet use?")
    assert [prompt for prompt in model.prompts if "Cypher" in prompt] and not found.exact


async def test_a_model_that_finds_nothing_is_not_believed_where_the_graph_answers_all_that_is_asked(
    app: App, model: Model
) -> None:
    model.reply = "NOT FOUND"
    answered = await app.ask(PLAIN)
    assert answered.written_by == "quotation" and not answered.partial
    assert answered.citations[0].quote == "HeronNet was developed by the Harbour Institute."
    assert answered.trace[-2].degraded.startswith("the model found no answer, but the knowledge graph has one")


async def test_a_query_that_writes_is_refused_and_another_way_in_is_taken(app: App, model: Model) -> None:
    model.cypher = "MATCH (n) DETACH DELETE n"
    found = await app.query_graph(QUESTION)
    assert found.asked_by in ("slots", "rules") and found.rows and "Cypher" in found.note
    assert len([prompt for prompt in model.prompts if "Cypher" in prompt]) == 2  # once more, with what was wrong


@pytest.mark.parametrize("copied", ["The city of Oslo paid for Trial A [1].", "412 patients took part [1]."])
async def test_what_a_model_copies_from_the_prompts_example_is_no_claim(app: App, model: Model, copied: str) -> None:
    model.reply = f"ANSWER: {copied} HeronNet was trained on the Atlas corpus [1].\nANSWER: {copied}"
    answered = await app.ask(QUESTION)
    assert [claim.text for claim in answered.claims] == ["HeronNet was trained on the Atlas corpus."]
    reasoner = next(step for step in answered.trace if step.stage == "reasoner")
    assert reasoner.details["dropped"] == 2


async def test_marks_alone_and_relations_as_they_were_given_are_no_claims(app: App, model: Model) -> None:
    model.reply = "HeronNet was trained on the Atlas corpus [1]. [1]. [1]. HeronNet —[TRAINED_ON]→ Atlas [1]"
    answered = await app.ask(QUESTION)
    assert answered.text == "HeronNet was trained on the Atlas corpus. [1]"


async def test_where_none_of_a_models_sentences_can_be_kept_it_quotes(app: App, model: Model) -> None:
    model.reply = "ANSWER: The city of Oslo paid for Trial A [1]."
    answered = await app.ask(QUESTION)
    assert answered.written_by == "quotation" and not answered.partial
    assert answered.citations[0].quote == "HeronNet was trained on the Atlas corpus."
    assert "rests on a quote" in answered.trace[-2].degraded
    model.reply = "NOT FOUND"
    assert (await app.ask(f"{QUESTION} Say it.")).written_by == "none"


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("HeronNet 与 Atlas 语料库有什么关系？", "它用这个语料库训练 [1]。"),
        (
            "Welches Korpus hat HeronNet im Training gesehen?",
            "Im Training gesehen: dieses [1].",
        ),
        (QUESTION, "Yes [1]."),
    ],
)
async def test_a_claim_in_the_questions_language_is_kept(app: App, model: Model, question: str, reply: str) -> None:
    model.reply = reply
    answered = await app.ask(question)
    assert len(answered.claims) == 1 and answered.written_by == "llm"
