"""What topics are like, and the versions of the words by which they match."""

import sqlalchemy as sa
from alembic import op

from monitor.store.engine.sql import Instant

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    op.add_column("topic", sa.Column("made_from", sa.JSON()))
    op.create_table(
        "like_words",
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("made_from", sa.JSON(), nullable=False),
        sa.Column("words", sa.JSON(), nullable=False),
        sa.Column("bar", sa.Float(), nullable=False),
        sa.Column("examples", sa.Integer(), nullable=False),
        sa.Column("missing", sa.JSON(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("topic", "version", name="pk_like_words"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    pass
