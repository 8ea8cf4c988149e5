"""Language models behind any OpenAI-compatible API: `complete`, `stream`, `structured`."""

from core.llm.client import LLM
from core.llm.replies import Delta, Reply
from core.llm.roles import LLMs
from core.llm.window import Message

__all__ = ["LLM", "Delta", "LLMs", "Message", "Reply"]
