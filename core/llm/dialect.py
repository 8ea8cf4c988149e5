"""What one endpoint takes, learned from its refusals and kept as long as the client lives."""

from __future__ import annotations

import re
from typing import Any

# A prompt that is too long is refused in words that name max_tokens too: only these words mean the parameter itself.
_UNKNOWN = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|extra|unexpected|not (permitted|allowed)|instead", re.IGNORECASE
)


class Dialect:
    def __init__(self) -> None:
        self._refused: set[str] = set()

    def translate(self, request: dict[str, Any]) -> dict[str, Any]:
        """The request without what was refused; `max_tokens` under the name that newer OpenAI models want."""
        taken = {name: value for name, value in request.items() if name not in self._refused}
        if "max_tokens" in self._refused and "max_completion_tokens" not in self._refused:
            taken["max_completion_tokens"] = request["max_tokens"]
        return taken

    def learn(self, told: str, sent: dict[str, Any]) -> bool:
        """True when the refusal names an optional parameter that was sent, so that another try differs."""
        if not _UNKNOWN.search(told):
            return False
        optional = {"stream_options", "temperature", "max_completion_tokens"}
        if "max_completion_tokens" in told:
            optional = {"max_tokens"} if "max_tokens" in sent else optional
        named = {name for name in optional if name in sent and name in told}
        self._refused |= named
        return bool(named)
