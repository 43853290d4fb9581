"""When a service last answered about a work of a library."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    op.add_column("asked_work", sa.Column("answered_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    pass
