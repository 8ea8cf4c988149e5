from __future__ import annotations

from pydantic import BaseModel, Field

from core.llm import LLM, Delta, Message, Reply
from core.types import Usage
from tests.unit.llm.conftest import Play

__all__ = ["ASK", "ONE_CALL", "Loose", "Person", "Play", "read"]

ASK = [Message("user", "Who?")]
ONE_CALL = Usage(calls=1, prompt_tokens=7, completion_tokens=3)


class Person(BaseModel):
    name: str
    age: int = Field(default=0, ge=0)


class Loose(BaseModel):
    note: str = ""


async def read(llm: LLM) -> tuple[list[str], Reply]:
    """The pieces of a stream, and its reply."""
    pieces = [piece async for piece in llm.stream(ASK)]
    assert isinstance(pieces[-1], Reply)
    return [piece.text for piece in pieces[:-1] if isinstance(piece, Delta)], pieces[-1]
