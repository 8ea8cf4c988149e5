"""The ledger's tables as they are now; core/ledger/migrations says how they came to be."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    false,
)

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s", "fk": "fk_%(table_name)s_%(column_0_name)s"}
)


def _owner() -> Column[str]:
    return Column("document_id", String(36), ForeignKey("documents.id", ondelete="CASCADE"), nullable=False)


documents = Table(
    "documents",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("format", String(20), nullable=False, server_default="pdf"),
    Column("pages", Integer, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("tables", Integer, nullable=False, server_default="0"),
    Column("figures", Integer, nullable=False, server_default="0"),
    Column("status", String(20), nullable=False),
    Column("gaps", Text, nullable=False),  # JSON
    Column("error", Text, nullable=False),
    Column("added_at", String(32), nullable=False),  # ISO 8601, UTC
    Column("embedded_title", Text, nullable=False, server_default=""),  # what its chunks were embedded with
    Column("collection", String(64), nullable=False, server_default="default"),
    Column("tags", Text, nullable=False, server_default="[]"),  # JSON
    Column("language", String(40), nullable=False, server_default=""),
    Column("published_at", String(10), nullable=True),  # ISO day
    Column("valid_until", String(10), nullable=True),  # ISO day
    Column("fields", Text, nullable=False, server_default="{}"),  # JSON
)
Index("ix_documents_collection", documents.c.collection)
Index("ix_documents_valid_until", documents.c.valid_until)

collections = Table(
    "collections",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("title", Text, nullable=False),
    Column("fields", Text, nullable=False),  # JSON
    Column("review_undated", Boolean, nullable=False),
)

pages = Table(
    "pages",
    metadata,
    _owner(),
    Column("number", Integer, nullable=False),
    Column("width", Float, nullable=False),
    Column("height", Float, nullable=False),
    Column("text", Text, nullable=False),
    Column("boxes", LargeBinary, nullable=False),  # zlib of float32, four a character
    Column("anchors", Text, nullable=False, server_default="[]"),  # JSON: [[start, name], …]
    Column("ocr", Boolean, nullable=False, server_default=false()),
)
Index("ux_pages_document_id_number", pages.c.document_id, pages.c.number, unique=True)

chunks = Table(
    "chunks",
    metadata,
    Column("id", String(36), primary_key=True),
    _owner(),
    Column("parent_id", String(36), nullable=False),  # empty for a parent
    Column("position", Integer, nullable=False),
    Column("section", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("spans", Text, nullable=False),  # JSON
    Column("is_reference", Boolean, nullable=False),
    Column("embed_hash", String(64), nullable=False),  # empty for a parent
    Column("kind", String(20), nullable=False, server_default="text"),
    Column("indexed", Text, nullable=False, server_default=""),
)
Index("ix_chunks_document_id", chunks.c.document_id)
Index("ix_chunks_embed_hash", chunks.c.embed_hash)

tables = Table(
    "tables",
    metadata,
    _owner(),
    Column("number", Integer, nullable=False),  # from 1, in the order of the text
    Column("page", Integer, nullable=False),
    Column("last_page", Integer, nullable=False),
    Column("content", Text, nullable=False),  # JSON
)
Index("ux_tables_document_id_number", tables.c.document_id, tables.c.number, unique=True)

figures = Table(
    "figures",
    metadata,
    _owner(),
    Column("number", Integer, nullable=False),  # from 1, in the order of the text
    Column("page", Integer, nullable=False),
    Column("content", Text, nullable=False),  # JSON
    Column("description", Text, nullable=False, server_default=""),
    Column("png", LargeBinary, nullable=False),  # here and not in a file, so that it goes with its document
)
Index("ux_figures_document_id_number", figures.c.document_id, figures.c.number, unique=True)

summaries = Table(
    "summaries",
    metadata,
    _owner(),
    Column("position", Integer, nullable=False),  # 0 is the document's own, where it has one
    Column("section", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("written_by", String(20), nullable=False),
    Column("spans", Text, nullable=False),  # JSON
)
Index("ux_summaries_document_id_position", summaries.c.document_id, summaries.c.position, unique=True)

embeddings = Table(
    "embeddings",
    metadata,
    Column("fingerprint", String(200), primary_key=True),
    Column("text_hash", String(64), primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # float32
)
Index("ix_embeddings_text_hash", embeddings.c.text_hash)

# The path that a document was read from, so that a changed file replaces it; as a hash, for a path may be long.
sources = Table("sources", metadata, Column("path_hash", String(64), primary_key=True), _owner())
Index("ix_sources_document_id", sources.c.document_id)

jobs = Table(
    "jobs",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),  # the order of the queue
    Column("id", String(36), nullable=False, unique=True),
    Column("kind", String(20), nullable=False),
    Column("name", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("stage", String(20), nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("document_id", String(36), nullable=False),  # empty until it is done
    Column("outcome", String(20), nullable=False),
    Column("error", Text, nullable=False),  # JSON; empty where there is none
    Column("request", Text, nullable=False),  # JSON
    Column("created_at", String(32), nullable=False),  # ISO 8601, UTC
    Column("updated_at", String(32), nullable=False),
)
Index("ix_jobs_state", jobs.c.state)

meta = Table("meta", metadata, Column("key", String(64), primary_key=True), Column("value", Text, nullable=False))

replies = Table(
    "replies",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("model", Text, nullable=False),
    Column("reply", Text, nullable=False),
    Column("prompt", Text, nullable=False, server_default=""),  # name and version of what was answered
    Column("stored_at", String(32), nullable=False, server_default=""),  # ISO 8601, UTC
)

# Documents that a reply was made for; one without any answers a question.
reply_owners = Table(
    "reply_owners",
    metadata,
    Column("key", String(64), ForeignKey("replies.key", ondelete="CASCADE"), primary_key=True),
    Column("document_id", String(36), ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
)
Index("ix_reply_owners_document_id", reply_owners.c.document_id)

triples = Table(
    "triples",
    metadata,
    Column("id", String(36), primary_key=True),
    _owner(),
    Column("chunk_id", String(36), nullable=False),
    Column("subject", Text, nullable=False),
    Column("subject_type", String(40), nullable=False),
    Column("relation", String(40), nullable=False),
    Column("wording", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("object_type", String(40), nullable=False),
    Column("quote", Text, nullable=False),
    Column("spans", Text, nullable=False),  # JSON
    Column("confidence", Float, nullable=False),
    Column("extracted_by", String(20), nullable=False),
    Column("is_citation", Boolean, nullable=False),
)
Index("ix_triples_document_id", triples.c.document_id)
Index("ix_triples_chunk_id", triples.c.chunk_id)

# Which chunks were read for triples, by what, and what was dropped of what it gave.
extractions = Table(
    "extractions",
    metadata,
    Column("chunk_id", String(36), primary_key=True),
    _owner(),
    Column("extractor", Text, nullable=False),
    Column("outcome", String(20), nullable=False),
    Column("dropped", Text, nullable=False),  # JSON: how many by reason
)
Index("ix_extractions_document_id", extractions.c.document_id)

# A projection of the triples, kept because it takes seconds to compute.
entities = Table(
    "entities",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", Text, nullable=False),
    Column("type", String(40), nullable=False),
)

# To which entity a name of a document's triples belongs, and why.
entity_names = Table(
    "entity_names",
    metadata,
    Column("name", Text, primary_key=True),
    Column("document_id", String(36), primary_key=True),
    Column("entity_id", String(36), nullable=False),
    Column("into", Text, nullable=False),
    Column("tier", String(20), nullable=False),
    Column("score", Float, nullable=False),
    Column("reason", Text, nullable=False),
)
Index("ix_entity_names_entity_id", entity_names.c.entity_id)

# What people decided: of no document, and so there for good.
merge_rules = Table(
    "merge_rules",
    metadata,
    Column("first", Text, primary_key=True),
    Column("second", Text, primary_key=True),
    Column("kind", String(10), nullable=False),
    Column("made_at", String(32), nullable=False),  # ISO 8601, UTC
)

# What a language model said of two names; it goes when no document has them any more.
merge_verdicts = Table(
    "merge_verdicts",
    metadata,
    Column("first", Text, primary_key=True),
    Column("second", Text, primary_key=True),
    Column("same", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("model", Text, nullable=False),
)

traces = Table(
    "traces",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("question", Text, nullable=False),
    Column("payload", Text, nullable=False),
)
