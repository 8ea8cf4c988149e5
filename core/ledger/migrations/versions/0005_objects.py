"""Tables and figures of documents; what a chunk is of, and what is indexed in place of its text."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    for name in ("tables", "figures"):
        extra: list[sa.Column[Any]] = (
            [sa.Column("last_page", sa.Integer, nullable=False)]
            if name == "tables"
            else [
                sa.Column("description", sa.Text, nullable=False, server_default=""),
                sa.Column("png", sa.LargeBinary, nullable=False),
            ]
        )
        op.create_table(
            name,
            sa.Column("document_id", sa.String(36), sa.ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
            sa.Column("number", sa.Integer, nullable=False),
            sa.Column("page", sa.Integer, nullable=False),
            sa.Column("content", sa.Text, nullable=False),
            *extra,
        )
        op.create_index(f"ux_{name}_document_id_number", name, ["document_id", "number"], unique=True)
        op.add_column("documents", sa.Column(name, sa.Integer, nullable=False, server_default="0"))
    op.add_column("chunks", sa.Column("kind", sa.String(20), nullable=False, server_default="text"))
    op.add_column("chunks", sa.Column("indexed", sa.Text, nullable=False, server_default=""))
