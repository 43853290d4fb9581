"""What is remembered of a source between two readings."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("run", sa.Column("fresh", sa.Integer(), server_default="0", nullable=False))
    op.create_index("ix_run_source_started_at", "run", ["source", "started_at"])
    op.create_table(
        "source_day",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("asked", sa.Integer(), nullable=False),
        sa.Column("offered", sa.Boolean(), nullable=False),
        sa.Column("fresh", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("source", "day", name="pk_source_day"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "source_state",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("whole_at", INSTANT, nullable=True),
        sa.Column("lifetime", sa.Integer(), nullable=False),
        sa.Column("waits_until", INSTANT, nullable=True),
        sa.Column("waits_for", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("source", name="pk_source_state"),
    )
    op.create_table(
        "server_wait",
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("until", INSTANT, nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("server", name="pk_server_wait"),
    )
    op.create_table(
        "moved_address",
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("seen", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("address", name="pk_moved_address"),
    )
    op.add_column("run", sa.Column("set_aside", sa.JSON(none_as_null=True), nullable=True))
    op.create_table(
        "dump",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified", sa.BigInteger(), nullable=True),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("start", sa.Text(), nullable=False),
        sa.Column("ended", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("source", "name", name="pk_dump"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("dump")
    op.drop_column("run", "set_aside")
    op.drop_table("moved_address")
    op.drop_table("server_wait")
    op.drop_table("source_state")
    op.drop_table("source_day")
    op.drop_index("ix_run_source_started_at", table_name="run")
    op.drop_column("run", "fresh")
