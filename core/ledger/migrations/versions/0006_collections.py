"""Collections, and what is said of a document: tags, language, dates, fields."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    collections = op.create_table(
        "collections",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("fields", sa.Text, nullable=False),
        sa.Column("review_undated", sa.Boolean, nullable=False),
    )
    op.bulk_insert(collections, [{"name": "default", "title": "", "fields": "[]", "review_undated": False}])
    op.add_column("documents", sa.Column("embedded_title", sa.Text, nullable=False, server_default=""))
    op.execute("UPDATE documents SET embedded_title = title")
    op.add_column("documents", sa.Column("collection", sa.String(64), nullable=False, server_default="default"))
    op.add_column("documents", sa.Column("tags", sa.Text, nullable=False, server_default="[]"))
    op.add_column("documents", sa.Column("language", sa.String(40), nullable=False, server_default=""))
    op.add_column("documents", sa.Column("published_at", sa.String(10), nullable=True))
    op.add_column("documents", sa.Column("valid_until", sa.String(10), nullable=True))
    op.add_column("documents", sa.Column("fields", sa.Text, nullable=False, server_default="{}"))
    op.create_index("ix_documents_collection", "documents", ["collection"])
    op.create_index("ix_documents_valid_until", "documents", ["valid_until"])
