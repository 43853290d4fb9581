"""When each subscription has to be looked at again: a tick reads an index, not every one."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("subscription", sa.Column("next_due_at", sa.DateTime(timezone=True)))
    op.create_index("ix_subscription_next_due_at", "subscription", ["next_due_at"])


def downgrade() -> None:
    pass
