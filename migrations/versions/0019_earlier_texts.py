"""The last texts of a paper that was revised, to say what a revision changed."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_table(
        "earlier_text",
        sa.Column("paper_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("paper_id", "revision", name="pk_earlier_text"),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_earlier_text_paper_id", ondelete="CASCADE"
        ),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    pass
