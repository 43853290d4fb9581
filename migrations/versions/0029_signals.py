"""Votes and lists of papers that grew, for the topics that ask for them."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.add_column("paper", sa.Column("relisted_at", sa.DateTime(timezone=True)))
    filled = sa.text("relisted_at IS NOT NULL")
    op.create_index(
        "ix_paper_relisted",
        "paper",
        ["relisted_at"],
        sqlite_where=filled,
        postgresql_where=filled,
    )
    op.add_column("match", sa.Column("grown_at", sa.DateTime(timezone=True)))
    op.create_table(
        "grown",
        sa.Column("paper_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("votes", sa.Integer(), nullable=False),
        sa.Column("lists", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_grown_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("paper_id", name="pk_grown"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    pass
