"""How papers' identifiers are known: null, as for all that are stored already, is a field."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    for table in ("paper_key", "common_key"):
        op.add_column(table, sa.Column("claim", sa.Integer()))


def downgrade() -> None:
    for table in ("common_key", "paper_key"):
        op.drop_column(table, "claim")
