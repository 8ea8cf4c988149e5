from datetime import UTC, datetime

import pytest

from agents.router import Router
from core.types import Document, Turn


def document(name: str, title: str) -> Document:
    return Document(
        id=name, name=name, title=title, sha256=name, pages=1, status="ready", added_at=datetime(2026, 1, 1, tzinfo=UTC)
    )


LIBRARY = [document("a.pdf", "Deep Residual Learning"), document("b.pdf", "Attention Is All You Need")]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Hello!", "chat"),
        ("thank you", "chat"),
        ("谢谢", "chat"),
        ("Hello, how many layers does it have?", "fact"),
        ("Summarise the attention paper", "summary"),
        ("What is this paper about?", "summary"),
        ("What are the main contributions?", "summary"),
        ("这篇论文的主要内容是什么？", "summary"),
        ("How is ResNet related to VGG?", "relation"),
        ("Which model was trained on ImageNet?", "relation"),
        ("Who developed AlphaNet?", "relation"),
        ("Which company was it created by, and which paper was it introduced by whom?", "relation"),
        ("Which models does MiniMax-M1 outperform?", "relation"),
        ("By how many points does it outperform the second best?", "fact"),
        ("Who found that deeper nets are harder to train?", "fact"),
        ("How many layers does ResNet-152 have?", "fact"),
    ],
)
async def test_kinds(question: str, kind: str) -> None:
    route = await Router(None).route(question, [], LIBRARY, [])
    assert route.kind == kind


async def test_an_overview_is_limited_to_the_paper_it_names() -> None:
    route = await Router(None).route("Summarise the residual learning paper", [], LIBRARY, [])
    assert route.documents == ("a.pdf",)


async def test_an_overview_of_everything_is_not_limited() -> None:
    route = await Router(None).route("Give me an overview", [], LIBRARY, [])
    assert route.documents == ()


async def test_a_follow_up_takes_the_question_before_it_along() -> None:
    history = [Turn(role="user", content="What is ResNet?"), Turn(role="assistant", content="A network [1].")]
    route = await Router(None).route("How deep is it?", history, LIBRARY, [])
    assert route.question == "What is ResNet? How deep is it?"


async def test_a_whole_question_is_left_as_it_is() -> None:
    history = [Turn(role="user", content="What is ResNet?")]
    question = "How many attention heads has the base Transformer model?"
    route = await Router(None).route(question, history, LIBRARY, [])
    assert route.question == question
