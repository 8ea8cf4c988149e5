"""Files other than PDF, and pages read by OCR: a document's format, a page's anchors."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("documents", sa.Column("format", sa.String(20), nullable=False, server_default="pdf"))
    op.add_column("pages", sa.Column("anchors", sa.Text, nullable=False, server_default="[]"))
    op.add_column("pages", sa.Column("ocr", sa.Boolean, nullable=False, server_default=sa.false()))
