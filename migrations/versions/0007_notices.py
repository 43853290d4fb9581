"""Types of papers, what notices are about, and identifiers that prove nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0005"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("paper", sa.Column("type", sa.Text(), nullable=True))
    _names("common_key")
    _names("about", sa.Column("kind", sa.Text(), nullable=True))


def _names(table: str, *more: sa.Column) -> None:
    """Make a table of identifiers, each of any number of papers."""
    op.create_table(
        table,
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("paper_id", ID, nullable=False),
        *more,
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name=f"fk_{table}_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("scheme", "value", "paper_id", name=f"pk_{table}"),
        sqlite_with_rowid=False,
    )
    op.create_index(f"ix_{table}_paper_id", table, ["paper_id"])


def downgrade() -> None:
    pass
