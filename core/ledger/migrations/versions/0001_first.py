"""The first schema: documents, pages, chunks, embeddings, meta, replies, traces."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _owner() -> sa.Column[str]:
    return sa.Column(
        "document_id",
        sa.String(36),
        sa.ForeignKey("documents.id", ondelete="CASCADE"),
        nullable=False,
    )


def upgrade() -> None:
    op.create_table(
        "documents",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("chunks", sa.Integer, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("gaps", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("added_at", sa.String(32), nullable=False),
    )
    op.create_table(
        "pages",
        _owner(),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("width", sa.Float, nullable=False),
        sa.Column("height", sa.Float, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("boxes", sa.LargeBinary, nullable=False),
    )
    op.create_index("ux_pages_document_id_number", "pages", ["document_id", "number"], unique=True)
    op.create_table(
        "chunks",
        sa.Column("id", sa.String(36), primary_key=True),
        _owner(),
        sa.Column("parent_id", sa.String(36), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("section", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("spans", sa.Text, nullable=False),
        sa.Column("is_reference", sa.Boolean, nullable=False),
        sa.Column("embed_hash", sa.String(64), nullable=False),
    )
    op.create_index("ix_chunks_document_id", "chunks", ["document_id"])
    op.create_index("ix_chunks_embed_hash", "chunks", ["embed_hash"])
    op.create_table(
        "embeddings",
        sa.Column("fingerprint", sa.String(200), primary_key=True),
        sa.Column("text_hash", sa.String(64), primary_key=True),
        sa.Column("vector", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_embeddings_text_hash", "embeddings", ["text_hash"])
    op.create_table(
        "meta", sa.Column("key", sa.String(64), primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )
    op.create_table(
        "replies",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("reply", sa.Text, nullable=False),
    )
    op.create_table(
        "traces",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(36), nullable=False, unique=True),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
    )
