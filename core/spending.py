"""What one question or one job may spend on language models, and what it has spent.

An account is opened around the work (`with account(limits) as spent:`) and found by every call inside it, whichever
stage makes the call. Accounts nest: what is spent in a stage is spent by its question too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from core.errors import LLMBudget
from core.settings import Limits
from core.types import Usage

_HINT = "raise QUAERE_BUDGET__QUESTION__{0} (or QUAERE_BUDGET__JOB__{0}); 0 is no limit"


class Account:
    """Use it in one event loop; `account` makes one."""

    def __init__(self, limits: Limits, parent: Account | None) -> None:
        self.usage = Usage()
        self.notes: list[str] = []  # what a call did without, for the trace
        self._limits = limits
        self._parent = parent
        self._end = time.monotonic() + limits.seconds if limits.seconds else float("inf")
        self._calls = self._tokens = 0  # reserved by calls that are under way
        self._money = 0.0

    def charge(self, usage: Usage) -> None:
        for each in self._line():
            each.usage = each.usage + usage

    def note(self, words: str) -> None:
        for each in self._line():
            if words not in each.notes:
                each.notes.append(words)

    @contextmanager
    def reserved(self, tokens: int, money: float) -> Iterator[None]:
        """Hold back what a call may cost at most, while it runs. Raises LLMBudget where too little is left."""
        line = list(self._line())
        for each in line:
            each._check(tokens, money)
        for each in line:
            each._calls, each._tokens, each._money = each._calls + 1, each._tokens + tokens, each._money + money
        try:
            yield
        finally:
            for each in line:
                each._calls, each._tokens, each._money = each._calls - 1, each._tokens - tokens, each._money - money

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[None]:
        """Raises LLMBudget when the seconds run out inside."""
        nearest = min(self._line(), key=lambda each: each._end)
        left = nearest._end - time.monotonic()
        try:
            async with asyncio.timeout(None if left == float("inf") else left):
                yield
        except TimeoutError:
            raise _spent(f"{nearest._limits.seconds:g} seconds", "SECONDS") from None

    def _line(self) -> Iterator[Account]:
        each: Account | None = self
        while each is not None:
            yield each
            each = each._parent

    def _check(self, tokens: int, money: float) -> None:
        limits, usage = self._limits, self.usage
        if time.monotonic() >= self._end:
            raise _spent(f"{limits.seconds:g} seconds", "SECONDS")
        if limits.calls and usage.calls + self._calls >= limits.calls:
            raise _spent(f"{limits.calls} calls", "CALLS")
        used = usage.prompt_tokens + usage.completion_tokens + self._tokens
        if limits.tokens and used + tokens > limits.tokens:
            raise _spent(f"{limits.tokens} tokens", "TOKENS", f": {used} are used, the next call may take {tokens}")
        if limits.money and usage.cost + self._money + money > limits.money:
            used_money = usage.cost + self._money
            raise _spent(f"{limits.money:g}", "MONEY", f": {used_money:g} is spent, the next call may cost {money:g}")


_CURRENT: ContextVar[Account | None] = ContextVar("account", default=None)


def current() -> Account:
    """The innermost open account; outside of any, one without limits that nobody reads."""
    return _CURRENT.get() or Account(Limits(), None)


@contextmanager
def account(limits: Limits | None = None) -> Iterator[Account]:
    """An account for the work inside, within the one that is open already; without limits it only counts."""
    opened = Account(limits or Limits(), _CURRENT.get())
    token = _CURRENT.set(opened)
    try:
        yield opened
    finally:
        _CURRENT.reset(token)


def _spent(limit: str, setting: str, more: str = "") -> LLMBudget:
    return LLMBudget(f"the budget of {limit} ran out{more}", hint=_HINT.format(setting))
