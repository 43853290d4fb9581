"""What is remembered of a source between two readings."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


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


def downgrade() -> None:
    op.drop_table("source_day")
    op.drop_index("ix_run_source_started_at", table_name="run")
    op.drop_column("run", "fresh")
