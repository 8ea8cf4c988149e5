"""What went wrong on the way to a language model, as an error of ours, and whether and when to try again.

A server's own words are passed on shortened, on one line, and never with the key in them: proxies echo it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from core.errors import LLMBadReply, LLMNotConfigured, LLMRejected, LLMTooLong, LLMUnavailable, QuaereError
from core.settings import Endpoint
from core.types import Usage

if TYPE_CHECKING:
    import openai

RETRIED = frozenset({429, 500, 502, 503, 504})
_TOO_LONG = re.compile(r"context|too (long|large|many tokens)|exceed|maximum.{0,20}(length|tokens)", re.IGNORECASE)
_WINDOW = re.compile(r"(?:context|window|n_ctx)[^.\d]{0,60}?(\d{3,8})", re.IGNORECASE)
KEY_HINT = "copy it again: a dash or quote may have been changed, or a line end taken along"
WINDOW_HINT = (
    "the prompt is longer than the model's window: set QUAERE_LLM__CONTEXT_WINDOW to it, or give the model more"
)


class Failed(Exception):
    """One request that failed. Never leaves the client: `error` is what a caller sees.

    `wait_s` is the pause the server asked for, None when it asked for none; `later`: it is well, but busy (429);
    `wordless`: a stream with nothing in it, not even an error; `taken`: the request was
    sent and may be billed, though nothing was answered; `usage` is what a reply cost that is no use.
    """

    def __init__(
        self,
        error: QuaereError,
        *,
        retry: bool = False,
        later: bool = False,
        wordless: bool = False,
        taken: bool = False,
        wait_s: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.retry = retry
        self.later = later
        self.wordless = wordless
        self.taken = taken
        self.wait_s = wait_s
        self.usage = usage or Usage()


class Failures:
    """Makes the errors of one endpoint."""

    def __init__(self, settings: Endpoint) -> None:
        self._model = settings.model
        self._key = settings.api_key.get_secret_value().strip()
        self._place = place(settings.base_url)
        self._where = f"the language model at {self._place}"

    def of(self, error: openai.OpenAIError) -> Failed:
        import openai

        if isinstance(error, openai.APITimeoutError):
            return self._unreached() if isinstance(error.__cause__, httpx2.ConnectTimeout) else self.silent()
        if isinstance(error, openai.APIConnectionError):
            # Something listened, and went away before it had answered.
            lost = isinstance(error.__cause__, httpx2.ReadError | httpx2.RemoteProtocolError)
            return self.cut() if lost else self._unreached()
        if isinstance(error, openai.APIStatusError):
            headers = error.response.headers
            return self.of_status(error.status_code, words(error.body) or words(error.response.text), headers)
        if isinstance(error, openai.APIError):  # an error object inside a stream
            return self.of_object(error.body)
        return self.garbled("it broke the protocol")

    def of_status(self, status: int, told: str, headers: Mapping[str, str] | None = None) -> Failed:
        said = self._said(told)
        if status == 500 and "response_format" in told:
            status = 400  # llama-cpp-python refuses a JSON schema so
        if status in RETRIED:
            wait_s = wait_asked(headers or {})
            hint = "it is overloaded or out of quota; try again later" if status == 429 else "look at the server's log"
            if wait_s:
                hint += f"; it asks to wait {wait_s:.0f} s"
            error = LLMUnavailable(f"{self._where} answered HTTP {status}{said}", hint=hint)
            return Failed(error, retry=True, later=status == 429, wait_s=wait_s)
        message = f"{self._where} refused the request: HTTP {status}{said}"
        rejected = LLMRejected(message, hint=self._hint(status))
        if status == 413 or (status in (400, 422) and _TOO_LONG.search(told)):
            rejected = LLMTooLong(message, hint=WINDOW_HINT)
            rejected.window = window_told(told)
        rejected.status_of_endpoint = status
        return Failed(rejected)

    def of_object(self, told: object) -> Failed:
        """An error object where an answer was due, under status 200 or inside a stream."""
        code = told.get("code") if isinstance(told, dict) else None
        if isinstance(code, str) and code.isdecimal():
            code = int(code)
        if isinstance(code, int) and 400 <= code < 600:
            return self.of_status(code, words(told))
        error = LLMBadReply(f"{self._where} sent an error{self._said(words(told))}", hint="look at the server's log")
        return Failed(error)

    def silent(self) -> Failed:
        # Not tried again: the model is busy, and the same prompt once more would double its load.
        hint = "raise QUAERE_LLM__READ_TIMEOUT_S, or use a faster model"
        return Failed(LLMUnavailable(f"{self._where} was silent for too long", hint=hint), taken=True)

    def wordless(self) -> Failed:
        """A stream that ended before it began. Asked without streaming, the endpoint may say why."""
        error = LLMUnavailable(f"{self._where} sent an empty stream", hint="look at the server's log")
        return Failed(error, retry=True, wordless=True)

    def _unreached(self) -> Failed:
        hint = "start the server, or check QUAERE_LLM__BASE_URL"
        return Failed(LLMUnavailable(f"no language model answers at {self._place}", hint=hint), retry=True)

    def cut(self) -> Failed:
        error = LLMUnavailable(
            f"the connection to {self._where} was lost while it wrote",
            hint="look at the server's log, then ask again; `--quote` answers without it",
        )
        return Failed(error, retry=True, taken=True)

    def garbled(self, what: str) -> Failed:
        hint = "check that QUAERE_LLM__BASE_URL is an OpenAI-compatible API; it mostly ends in /v1"
        return Failed(LLMBadReply(f"{self._where} sent no chat reply: {what}", hint=hint))

    def _hint(self, status: int) -> str:
        return {
            401: "check QUAERE_LLM__API_KEY",
            403: "check QUAERE_LLM__API_KEY and what it may use",
            404: f"check QUAERE_LLM__BASE_URL (it mostly ends in /v1) and the model's name, {self._model!r}",
        }.get(status, "the endpoint does not take what was sent: see QUAERE_LLM__EXTRA_BODY and the server's log")

    def _said(self, told: str) -> str:
        if self._key:
            told = told.replace(self._key, "***")
        told = " ".join(told.split())[:300]
        return f": {told}" if told else ""


def words(told: object) -> str:
    """The message in an error's body, of the shapes that servers use; '' for none or an HTML page."""
    if isinstance(told, dict):
        inner = next((told[key] for key in ("message", "error", "detail", "msg") if told.get(key)), "")
        return words(inner)
    if isinstance(told, list):
        return "; ".join(filter(None, map(words, told)))
    text = told if isinstance(told, str) else ""
    return "" if text.lstrip().startswith("<") else text


def window_told(told: str) -> int:
    """The window that a refusal names ("maximum context length is 4096 tokens"); 0 for none."""
    found = _WINDOW.search(told)
    return int(found.group(1)) if found else 0


def wait_asked(headers: Mapping[str, str]) -> float | None:
    """Seconds that `Retry-After` asks for, as a number or an HTTP date; None when it is absent or nonsense."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None


def place(base_url: str) -> str:
    """The URL without user, password and query, which may be secrets."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def check(settings: Endpoint) -> None:
    """Raises LLMNotConfigured for what could only fail later, and less clearly."""
    if not is_address(settings.base_url):
        hint = "set QUAERE_LLM__BASE_URL, e.g. http://127.0.0.1:8089/v1"
        raise LLMNotConfigured("the language model's base URL is not an http or https URL", hint=hint)
    if not settings.model:
        raise LLMNotConfigured("no language model is named", hint="set QUAERE_LLM__MODEL")
    if not is_key(settings.api_key.get_secret_value().strip()):
        raise LLMNotConfigured("QUAERE_LLM__API_KEY holds characters that no key has", hint=KEY_HINT)


def is_address(base_url: str) -> bool:
    try:
        parts = urlsplit(base_url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_key(key: str) -> bool:
    """Whether it can stand in a header; for another the HTTP library's own error would carry it."""
    return key.isascii() and key.isprintable()
