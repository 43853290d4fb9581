"""Readers' answers to papers, saved papers, and under which topic a paper was shown in full."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    for name, verdict in (
        ("judgement", [sa.Column("verdict", sa.Text(), nullable=False)]),
        ("saved_paper", []),
    ):
        op.create_table(
            name,
            sa.Column("subscription", sa.Text(), nullable=False),
            sa.Column("topic", sa.Text(), nullable=False),
            sa.Column(
                "paper_id",
                sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
                sa.ForeignKey("paper.id", ondelete="CASCADE", name=f"fk_{name}_paper_id"),
                nullable=False,
            ),
            sa.Column("who", sa.Text(), nullable=False),
            *verdict,
            sa.Column("at", sa.DateTime(timezone=True), nullable=False),
            sa.Column("how", sa.Text(), nullable=False),
            sa.PrimaryKeyConstraint("subscription", "topic", "paper_id", "who", name=f"pk_{name}"),
            sqlite_with_rowid=False,
        )
        op.create_index(f"ix_{name}_paper_id", name, ["paper_id"])
    op.add_column("digest_item", sa.Column("shown_under", sa.Text()))


def downgrade() -> None:
    pass
