"""Rated papers that are not stored: examples for the order of digests."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "example",
        sa.Column("id", ID, nullable=False),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("subscription", "topic", "who", "verdict")
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("how", "title", "abstract")),
        sa.PrimaryKeyConstraint("id", name="pk_example"),
    )
    op.create_index("ix_example_subscription", "example", ["subscription"])
    op.create_table(
        "example_key",
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("example_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["example_id"], ["example.id"], name="fk_example_key_example_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("scheme", "value", "example_id", name="pk_example_key"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_example_key_example_id", "example_key", ["example_id"])


def downgrade() -> None:
    pass
