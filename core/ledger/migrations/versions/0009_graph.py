"""Triples, what was read for them, entities and how names came to them."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    def owner() -> sa.Column[str]:
        return sa.Column(
            "document_id", sa.String(36), sa.ForeignKey("documents.id", ondelete="CASCADE"), nullable=False
        )

    op.create_table(
        "triples",
        sa.Column("id", sa.String(36), primary_key=True),
        owner(),
        sa.Column("chunk_id", sa.String(36), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("subject_type", sa.String(40), nullable=False),
        sa.Column("relation", sa.String(40), nullable=False),
        sa.Column("wording", sa.Text, nullable=False),
        sa.Column("object", sa.Text, nullable=False),
        sa.Column("object_type", sa.String(40), nullable=False),
        sa.Column("quote", sa.Text, nullable=False),
        sa.Column("spans", sa.Text, nullable=False),
        sa.Column("confidence", sa.Float, nullable=False),
        sa.Column("extracted_by", sa.String(20), nullable=False),
        sa.Column("is_citation", sa.Boolean, nullable=False),
    )
    op.create_index("ix_triples_document_id", "triples", ["document_id"])
    op.create_index("ix_triples_chunk_id", "triples", ["chunk_id"])
    op.create_table(
        "extractions",
        sa.Column("chunk_id", sa.String(36), primary_key=True),
        owner(),
        sa.Column("extractor", sa.Text, nullable=False),
        sa.Column("outcome", sa.String(20), nullable=False),
        sa.Column("dropped", sa.Text, nullable=False),
    )
    op.create_index("ix_extractions_document_id", "extractions", ["document_id"])
    op.create_table(
        "entities",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("type", sa.String(40), nullable=False),
    )
    op.create_table(
        "entity_names",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("document_id", sa.String(36), primary_key=True),
        sa.Column("entity_id", sa.String(36), nullable=False),
        sa.Column("into", sa.Text, nullable=False),
        sa.Column("tier", sa.String(20), nullable=False),
        sa.Column("score", sa.Float, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    op.create_index("ix_entity_names_entity_id", "entity_names", ["entity_id"])
    op.create_table(
        "merge_rules",
        sa.Column("first", sa.Text, primary_key=True),
        sa.Column("second", sa.Text, primary_key=True),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("made_at", sa.String(32), nullable=False),
    )
    op.create_table(
        "merge_verdicts",
        sa.Column("first", sa.Text, primary_key=True),
        sa.Column("second", sa.Text, primary_key=True),
        sa.Column("same", sa.Boolean, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
    )
