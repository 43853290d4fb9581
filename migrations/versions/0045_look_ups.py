"""What services were asked about papers, and what became of it."""

import sqlalchemy as sa
from alembic import op

from monitor.store.engine.sql import Instant

revision = "0045"
down_revision = "0044"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "look_up",
        sa.Column("paper_id", ID, nullable=False),
        sa.Column("service", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("asked_at", Instant()),
        sa.Column("due_at", Instant()),
        sa.Column("packed", sa.LargeBinary()),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_look_up_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("paper_id", "service", name="pk_look_up"),
        sqlite_with_rowid=False,
    )
    is_open = sa.text("due_at IS NOT NULL")
    op.create_index(
        "ix_look_up_due_at",
        "look_up",
        ["due_at", "service"],
        sqlite_where=is_open,
        postgresql_where=is_open,
    )
    op.create_table(
        "look_up_service",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("spent", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("failing_since", Instant()),
        sa.Column("rests_until", Instant()),
        sa.PrimaryKeyConstraint("name", name="pk_look_up_service"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    pass
