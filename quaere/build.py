"""The one composition root: settings in, application out."""

from __future__ import annotations

from agents.orchestrator import Orchestrator
from agents.quoter import Quoter
from agents.reflector import Reflector
from agents.retriever import Retriever
from agents.router import Router
from agents.writer import Writer
from core.ledger import Ledger
from core.llm import LLMs
from core.ports import Embedder
from core.settings import IngestSettings, Settings
from ingest.describe import Describer
from ingest.ocr import ScanReader, installed_engine
from ingest.pipeline import Ingestor
from ingest.summarise import Summariser
from quaere.app import App
from quaere.providers import embedder_of
from retrieval.bm25 import Bm25Index
from retrieval.dense_chroma import ChromaIndex
from retrieval.search import HybridSearch


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
    ingestor = Ingestor(
        ledger,
        embedder,
        (dense, bm25),
        folder / "files",
        settings.chunks,
        settings.ingest,
        settings.embedder.batch_size,
        _scans(settings.ingest),
    )
    search = HybridSearch(ledger, embedder, dense, bm25, settings.retrieval)
    llms = LLMs(settings.llm, ledger)
    writing, extracting = llms.of("write"), llms.of("extract")
    quoter = Quoter(ledger, embedder, bm25.idf)
    orchestrator = Orchestrator(
        Router(extracting),
        Retriever(search, settings.retrieval.top_k),
        quoter,
        Writer(writing, extracting or writing, ledger, quoter) if writing else None,
        Reflector(),
    )
    summariser = Summariser(ledger, extracting if settings.ingest.summaries == "llm" else None)
    seeing = llms.of("vision")
    describer = Describer(ledger, seeing) if seeing else None
    app = App(settings, ledger, embedder, ingestor, summariser, search, orchestrator, llms, describer)
    app.start()
    return app


def _scans(settings: IngestSettings) -> ScanReader | None:
    make = installed_engine() if settings.ocr else None
    return ScanReader(make, settings.max_ocr_pages) if make else None
