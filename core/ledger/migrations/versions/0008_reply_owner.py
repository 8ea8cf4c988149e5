"""Replies made for documents go with them."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "reply_owners",
        sa.Column("key", sa.String(64), sa.ForeignKey("replies.key", ondelete="CASCADE"), primary_key=True),
        sa.Column("document_id", sa.String(36), sa.ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    )
    op.create_index("ix_reply_owners_document_id", "reply_owners", ["document_id"])
