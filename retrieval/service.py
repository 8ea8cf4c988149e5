"""JSON over HTTP to a service of embeddings or of reranking: sent, tried again where that can help, or a typed error.

What a service says of itself is passed on shortened, on one line, and never with the key in it.
"""

from __future__ import annotations

import json
import time
from typing import Any, Literal

import httpx2

from core.errors import InvalidInput, ServiceBadReply, ServiceError, ServiceRejected, ServiceUnavailable
from core.llm.failures import KEY_HINT, RETRIED, Failed, is_address, is_key, place, wait_asked, words
from core.llm.pacing import Patience
from core.settings import Connection

MOST_BYTES = 256 * 2**20  # of a reply: 256 vectors of 4,096 dimensions are 25 MB
_FOREVER = float("inf")


class Service:
    """One service. Thread-safe; requests may run side by side. Raises InvalidInput for what could never work."""

    def __init__(self, settings: Connection, section: Literal["EMBEDDER", "RERANK"]) -> None:
        self._section = section
        self._settings = settings
        self._key = settings.api_key.get_secret_value().strip()
        self._check()
        self._where = f"the {'embedding' if section == 'EMBEDDER' else 'reranking'} service at {place(self.base_url)}"
        self._client = httpx2.Client(
            headers={"authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=httpx2.Timeout(settings.read_timeout_s, connect=settings.connect_timeout_s, pool=None),
            limits=httpx2.Limits(max_connections=None),
        )

    @property
    def base_url(self) -> str:
        return self._settings.base_url.rstrip("/")

    def post(self, path: str, body: dict[str, Any], *, within_s: float = _FOREVER) -> Any:
        """The JSON of a reply of status 200. Raises ServiceError, and TimeoutError when `within_s` is over."""
        end = time.monotonic() + within_s
        url = self.base_url if self.base_url.endswith(path) else self.base_url + path
        patience = Patience(self._settings)
        while True:
            try:
                return self._once(url, body, end)
            except Failed as failed:
                pause = patience.pause(failed)
                if pause is None:
                    raise failed.error from None
                if time.monotonic() + pause >= end:
                    raise TimeoutError from None
                time.sleep(pause)

    def bad(self, what: str) -> ServiceBadReply:
        """A reply that is no use, however often it is asked for."""
        return ServiceBadReply(
            f"{self._where} sent no usable reply: {what}",
            hint=f"check QUAERE_{self._section}__BASE_URL and the model that the service runs",
        )

    def _once(self, url: str, body: dict[str, Any], end: float) -> Any:
        status, headers, text = self._sent(url, body, end)
        if status != 200:
            raise self._refused(status, headers, text)
        try:
            return json.loads(text)
        except ValueError:
            what = "an HTML page" if text.lstrip().startswith("<") else "it is not JSON"
            raise Failed(self.bad(what)) from None

    def _sent(self, url: str, body: dict[str, Any], end: float) -> tuple[int, httpx2.Headers, str]:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        settings = self._settings
        read, connect = min(left, settings.read_timeout_s), min(left, settings.connect_timeout_s)
        timeout = httpx2.Timeout(read, connect=connect, pool=None)
        try:
            with self._client.stream("POST", url, json=body, timeout=timeout) as response:
                return response.status_code, response.headers, self._read(response, end)
        except httpx2.TimeoutException as error:
            if time.monotonic() >= end - 0.001:
                raise TimeoutError from None
            raise self._silent(isinstance(error, httpx2.ConnectTimeout)) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            lost = isinstance(error, httpx2.ReadError | httpx2.RemoteProtocolError | httpx2.WriteError)
            raise self._unreached("broke off its reply" if lost else "can't be reached") from None

    def _read(self, response: httpx2.Response, end: float) -> str:
        """The body, unless it takes longer than to `end` or has no end."""
        read = bytearray()
        for piece in response.iter_bytes():
            read += piece
            if time.monotonic() > end:
                raise TimeoutError
            if len(read) > MOST_BYTES:
                raise Failed(self.bad(f"it is longer than {MOST_BYTES // 2**20} MB"))
        return read.decode(errors="replace")

    def _refused(self, status: int, headers: httpx2.Headers, text: str) -> Failed:
        told = self._said(text)
        if status in RETRIED:
            hint = "it is overloaded or out of quota; try again later" if status == 429 else "look at its log"
            error: ServiceError = ServiceUnavailable(f"{self._where} answered HTTP {status}{told}", hint=hint)
            return Failed(error, retry=True, later=status == 429, wait_s=wait_asked(headers))
        rejected = ServiceRejected(f"{self._where} refused the request: HTTP {status}{told}", hint=self._hint(status))
        rejected.status_of_service = status
        rejected.told = told
        return Failed(rejected)

    def _hint(self, status: int) -> str:
        section = f"QUAERE_{self._section}"
        return {
            401: f"check {section}__API_KEY",
            403: f"check {section}__API_KEY and what it may use",
            404: f"check {section}__BASE_URL and {section}__MODEL",
            413: f"a text is too long for the model, or lower {section}__BATCH_SIZE",
        }.get(
            status, f"a text may be too long for the model, {section}__BATCH_SIZE too large, or a field unknown to it"
        )

    def _silent(self, connecting: bool) -> Failed:
        if connecting:
            return self._unreached("can't be reached")
        # Not tried again: it is busy, and the same once more would double its load.
        hint = f"raise QUAERE_{self._section}__READ_TIMEOUT_S, or lower QUAERE_{self._section}__BATCH_SIZE"
        return Failed(ServiceUnavailable(f"{self._where} was silent for too long", hint=hint))

    def _unreached(self, how: str) -> Failed:
        hint = f"is it running? check QUAERE_{self._section}__BASE_URL"
        return Failed(ServiceUnavailable(f"{self._where} {how}", hint=hint), retry=True)

    def _said(self, text: str) -> str:
        try:
            told = words(json.loads(text))
        except ValueError:
            told = words(text)
        if self._key:
            told = told.replace(self._key, "***")
        told = " ".join(told.split())[:300]
        return f": {told}" if told else ""

    def _check(self) -> None:
        section = f"QUAERE_{self._section}"
        if not is_address(self._settings.base_url):
            raise InvalidInput(f"{section}__BASE_URL is not an http or https URL", hint="e.g. http://127.0.0.1:8080")
        if not self._settings.model:
            raise InvalidInput(f"{section}__MODEL is not set", hint="the model's name, as the service has it")
        if not is_key(self._key):
            raise InvalidInput(f"{section}__API_KEY holds characters that no key has", hint=KEY_HINT)
