"""Summaries of documents and of their sections."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "summaries",
        sa.Column("document_id", sa.String(36), sa.ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("section", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("written_by", sa.String(20), nullable=False),
        sa.Column("spans", sa.Text, nullable=False),
    )
    op.create_index("ux_summaries_document_id_position", "summaries", ["document_id", "position"], unique=True)
