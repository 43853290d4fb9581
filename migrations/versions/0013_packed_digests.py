"""Digests and their bodies are compressed; those from before stay as they are."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("digest", sa.Column("packed", sa.LargeBinary()))
    op.add_column("rendered", sa.Column("packed", sa.LargeBinary()))


def downgrade() -> None:
    pass
