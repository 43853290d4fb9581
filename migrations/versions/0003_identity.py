"""What two records being one work rests on."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

INSTANT = sa.DateTime(timezone=True)
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "block",
        sa.Column("key", ID, autoincrement=False, nullable=False),
        sa.Column("paper_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_block_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", "paper_id", name="pk_block"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_block_paper_id", "block", ["paper_id"])
    op.create_table(
        "joined",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("paper_id", ID, nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_joined_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_joined"),
    )
    op.create_index("ix_joined_paper_id", "joined", ["paper_id"])
    op.create_table(
        "ruling",
        sa.Column("one", sa.Text(), nullable=False),
        sa.Column("other", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("one", "other", name="pk_ruling"),
    )
    op.create_index("ix_ruling_other", "ruling", ["other"])
    op.add_column("paper", sa.Column("purged_at", INSTANT, nullable=True))
    op.add_column("sighting", sa.Column("why", sa.Text(), nullable=True))
    op.add_column("sighting", sa.Column("past", sa.Text(), nullable=True))
    op.add_column("sighting", sa.Column("mark", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    pass
