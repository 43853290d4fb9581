"""Who is sent nothing more, by the reader's or the operator's wish."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "suppression",
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("subscription", sa.Text(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True)),
        sa.Column("how", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("address", "subscription", name="pk_suppression"),
        sqlite_with_rowid=False,
    )
    op.add_column("delivery", sa.Column("withheld_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    pass
