"""Vectors of papers and of topics that are like a text, and papers just below the bar."""

import sqlalchemy as sa
from alembic import op

from monitor.store.engine.sql import Instant

revision = "0048"
down_revision = "0047"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("match", sa.Column("added_by", sa.Text()))
    op.create_table(
        "near_match",
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("paper_id", ID, nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("decided", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["paper_id", "revision"],
            ["change.paper_id", "change.revision"],
            name="fk_near_match_change",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("topic", "paper_id", "revision", name="pk_near_match"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_near_match_paper_id", "near_match", ["paper_id", "revision"])
    op.create_table(
        "embedding",
        sa.Column("paper_id", ID, nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("asked_at", Instant()),
        sa.Column("due_at", Instant()),
        sa.Column("vector", sa.LargeBinary()),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_embedding_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("paper_id", "model", name="pk_embedding"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_embedding_due_at",
        "embedding",
        ["due_at"],
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_table(
        "topic_embedding",
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.Text(), nullable=False),
        sa.Column("vector", sa.LargeBinary()),
        sa.Column("due_at", Instant()),
        sa.Column("compared_with", sa.JSON(), nullable=False),
        sa.Column("least", sa.Float()),
        sa.PrimaryKeyConstraint("topic", "model", name="pk_topic_embedding"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    pass
