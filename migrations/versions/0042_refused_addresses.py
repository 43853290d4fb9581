"""When a server said that an address does not exist, and its words where that stopped it."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    op.add_column("delivery", sa.Column("address_refused_at", sa.DateTime(timezone=True)))
    refused = sa.text("address_refused_at IS NOT NULL")
    op.create_index(
        "ix_delivery_address_refused",
        "delivery",
        ["address_refused_at"],
        sqlite_where=refused,
        postgresql_where=refused,
    )
    op.add_column("suppression", sa.Column("reason", sa.Text()))


def downgrade() -> None:
    pass
