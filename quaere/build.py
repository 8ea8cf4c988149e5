"""The one composition root: settings in, application out."""

from __future__ import annotations

from agents.graph_retriever import GraphRetriever
from agents.orchestrator import Orchestrator
from agents.quoter import Quoter
from agents.reflector import Reflector
from agents.retriever import Retriever
from agents.rewriter import Rewriter
from agents.router import Router
from agents.writer import Writer
from core.errors import InvalidInput
from core.ledger import Ledger
from core.llm import LLM, LLMs
from core.ports import Embedder
from core.settings import IngestSettings, RetrievalSettings, Settings
from graph.extraction.build import GraphBuilder
from graph.mentions.index import MentionIndex
from graph.resolve.asking import Asker
from graph.resolve.service import Resolver
from ingest.describe import Describer
from ingest.ocr import ScanReader, installed_engine
from ingest.pipeline import Ingestor
from ingest.summarise import Summariser
from quaere.app import App
from quaere.graph import KnowledgeGraph
from quaere.providers import embedder_of, reranking_of
from retrieval.bm25 import Bm25Index
from retrieval.dense_chroma import ChromaIndex
from retrieval.search import HybridSearch
from retrieval.sparse import SparseIndex


def build(settings: Settings, embedder: Embedder | None = None) -> App:
    """The application over `settings.library`, which no other process may have open (see mcp_tools.library).

    Opens the ledger (migrating it), loads the embedder and brings every projection up to date; about 2 s.
    Raises LibraryError, InvalidInput.
    """
    folder = settings.library
    folder.mkdir(parents=True, exist_ok=True)
    ledger = Ledger.open(settings.ledger_url.get_secret_value() or f"sqlite:///{folder / 'ledger.db'}")
    embedder = embedder or embedder_of(settings.embedder)
    dense, bm25 = ChromaIndex(folder / "chroma", ledger, embedder), Bm25Index(ledger)
    sparse = SparseIndex(ledger, embedder.sparse) if embedder.sparse else None
    mentions = MentionIndex(ledger)
    ingestor = Ingestor(
        ledger,
        embedder,
        (dense, bm25, mentions, *([] if sparse is None else [sparse])),
        folder / "files",
        settings.chunks,
        settings.ingest,
        settings.embedder.batch_size,
        _scans(settings.ingest),
    )
    llms = LLMs(settings.llm, ledger)
    writing, extracting = llms.of("write"), llms.of("extract")
    reranking = reranking_of(settings.rerank, writing)
    search = HybridSearch(ledger, embedder, dense, bm25, sparse, settings.retrieval, reranking, mentions)
    rewriter = _rewriter(settings.retrieval, extracting or writing, bm25)
    quoter = Quoter(ledger, embedder, bm25.idf)
    asker = Asker(extracting) if extracting else None
    resolver = Resolver(ledger.entity_ledger(), asker, settings.graph.llm_pairs)
    graph = KnowledgeGraph(settings.graph, ledger, resolver, extracting or writing)
    orchestrator = Orchestrator(
        Router(extracting),
        Retriever(search, settings.retrieval.top_k, rewriter),
        quoter,
        Writer(writing, extracting or writing, ledger, quoter) if writing else None,
        Reflector(),
        GraphRetriever(graph, ledger, settings.graph.limit),
    )
    summariser = Summariser(ledger, extracting if settings.ingest.summaries == "llm" else None)
    seeing = llms.of("vision")
    describer = Describer(ledger, seeing) if seeing else None
    builder = GraphBuilder(ledger, extracting, settings.llm.of("extract"), settings.graph, settings.budget.job)
    app = App(
        settings,
        ledger,
        embedder,
        ingestor,
        summariser,
        search,
        orchestrator,
        llms,
        rewriter,
        describer,
        builder,
        graph,
    )
    app.start()
    return app


def _rewriter(settings: RetrievalSettings, llm: LLM | None, bm25: Bm25Index) -> Rewriter | None:
    if not (settings.hyde or settings.translate):
        return None
    if llm is None:
        raise InvalidInput(
            "hyde and translate need a language model", hint="set QUAERE_LLM__BASE_URL and QUAERE_LLM__MODEL"
        )
    return Rewriter(llm, hyde=settings.hyde, translate=settings.translate, known=bm25.knows)


def _scans(settings: IngestSettings) -> ScanReader | None:
    make = installed_engine() if settings.ocr else None
    return ScanReader(make, settings.max_ocr_pages) if make else None
