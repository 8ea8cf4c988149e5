"""Kept replies say which prompt they answer, and since when they are kept."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("replies", sa.Column("prompt", sa.Text, nullable=False, server_default=""))
    op.add_column("replies", sa.Column("stored_at", sa.String(32), nullable=False, server_default=""))
