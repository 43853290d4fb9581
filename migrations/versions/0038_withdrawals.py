"""Which records mark a paper as withdrawn, and which of them a person declared to be mistaken."""

import sqlalchemy as sa
from alembic import op

from monitor.store.engine.sql import Instant

revision = "0038"
down_revision = "0037"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "withdrawal",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("raw_id", sa.Text(), nullable=False),
        sa.Column("paper_id", ID, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("undone_at", Instant()),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_withdrawal_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source", "raw_id", "paper_id", name="pk_withdrawal"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_withdrawal_paper_id", "withdrawal", ["paper_id"])


def downgrade() -> None:
    pass
