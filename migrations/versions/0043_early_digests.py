"""Digests that were asked for between two slots, and hold none."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    op.add_column("digest", sa.Column("early", sa.Boolean()))


def downgrade() -> None:
    pass
