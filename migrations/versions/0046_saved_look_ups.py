"""What services were asked about papers that readers saved, and what they answered."""

import sqlalchemy as sa
from alembic import op

from monitor.store.engine.sql import Instant

revision = "0046"
down_revision = "0045"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "saved_look_up",
        sa.Column("paper_id", ID, nullable=False),
        sa.Column("service", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("asked_at", Instant()),
        sa.Column("due_at", Instant()),
        sa.Column("packed", sa.LargeBinary()),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_saved_look_up_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("paper_id", "service", name="pk_saved_look_up"),
        sqlite_with_rowid=False,
    )
    is_open = sa.text("due_at IS NOT NULL")
    op.create_index(
        "ix_saved_look_up_due_at",
        "saved_look_up",
        ["due_at", "service"],
        sqlite_where=is_open,
        postgresql_where=is_open,
    )


def downgrade() -> None:
    pass
