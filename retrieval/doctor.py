"""Whether the configured services of embeddings and of reranking do what is asked of them, and how fast.

Costs the embedder three requests, and the reranker 22 pairs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from core.errors import QuaereError
from core.llm.doctor import Check, EndpointReport, key_in_clear
from core.llm.failures import place
from core.settings import Connection, EmbedderSettings, RerankSettings
from retrieval.embed_http import HttpEmbedder
from retrieval.rerank_http import HttpReranker

_QUESTION = "How often was the tide gauge read?"
_ANSWER = "The tide gauge was read every ten minutes and its clock was set by radio once a day."
_OTHER = "Herons nest in tall trees near shallow water and lay three to five eggs in spring."
_USUAL = 20  # passages of a usual question that are reranked
_SLOW_QUESTION_S, _SLOW_RERANK_S = 1.0, 5.0


def examine_services(embedder: EmbedderSettings, rerank: RerankSettings) -> Iterator[EndpointReport]:
    """A report for each of the two that is reached over HTTP; none where neither is."""
    if embedder.provider == "http":
        yield _report("embed", embedder, lambda: _embeds(embedder))
    if rerank.provider == "http":
        yield _report("rerank", rerank, lambda: _reranks(rerank))


def _report(role: str, settings: Connection, work: Callable[[], Iterator[Check]]) -> EndpointReport:
    checks: list[Check] = []
    try:
        checks.extend(work())
    except QuaereError as error:
        checks.append(Check(what="answers", state="bad", found=error.message, advice=error.hint))
    else:
        if (secret := key_in_clear(settings)) is not None:
            checks.append(secret)
    return EndpointReport(roles=(role,), model=settings.model, where=place(settings.base_url), checks=tuple(checks))


def _embeds(settings: EmbedderSettings) -> Iterator[Check]:
    embedder = HttpEmbedder(settings)
    embedder.query("size")  # a service may load its model now
    start = time.perf_counter()
    asked = embedder.query(_QUESTION)
    seconds = time.perf_counter() - start
    slow = "a question waits for this: use a faster service" if seconds > _SLOW_QUESTION_S else ""
    yield _check("answers", f"{len(asked)} dimensions; a question takes {seconds * 1000:.0f} ms", slow)
    start = time.perf_counter()
    near, far = embedder.passages([_ANSWER, _OTHER]) @ asked
    pace = 2 / (time.perf_counter() - start)
    advice = "is it an embedding model? does it want QUAERE_EMBEDDER__QUERY_PREFIX and __PASSAGE_PREFIX?"
    found = f"a passage that answers {near:.2f}, another {far:.2f}; about {pace:.0f} passages/s"
    yield _check("similarity", found, "" if near > far else advice)


def _reranks(settings: RerankSettings) -> Iterator[Check]:
    reranker = HttpReranker(settings)
    other, answer = reranker.scores(_QUESTION, [_OTHER, _ANSWER]).scores
    yield _check("answers", f"the API of {'TEI' if reranker.api == 'tei' else 'Jina, Cohere and vLLM'}")
    found = f"a passage that answers {answer:.2f}, another {other:.2f}"
    advice = "" if answer > other else "is it a reranker? QUAERE_RERANK__MODEL names a cross-encoder"
    yield _check("order", found, advice)
    start = time.perf_counter()
    scores = np.concatenate(
        [
            reranker.scores(_QUESTION, [_ANSWER * 6] * min(reranker.batch_size, _USUAL - done)).scores
            for done in range(0, _USUAL, reranker.batch_size)
        ]
    )
    seconds = time.perf_counter() - start
    advice = "lower QUAERE_RERANK__MAX_TOKENS, or set QUAERE_RERANK__BUDGET_MS" if seconds > _SLOW_RERANK_S else ""
    yield _check("speed", f"{len(scores)} passages in {seconds * 1000:.0f} ms", advice)


def _check(what: str, found: str, advice: str = "") -> Check:
    return Check(what=what, state="look" if advice else "ok", found=found, advice=advice)
