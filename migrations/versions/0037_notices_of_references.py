"""Entries of libraries to look up stored notices for, and notices that records of papers name."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "named_notice",
        sa.Column("paper_id", ID, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("source", "name")),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_named_notice_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("paper_id", "source", "name", name="pk_named_notice"),
        sqlite_with_rowid=False,
    )
    op.add_column("collection_entry", sa.Column("since", INSTANT))
    op.create_table(
        "unchecked_entry",
        sa.Column("entry_id", ID, nullable=False),
        sa.Column("only_recent", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["entry_id"],
            ["collection_entry.id"],
            name="fk_unchecked_entry_entry_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("entry_id", name="pk_unchecked_entry"),
        sqlite_with_rowid=False,
    )
    # Reference lists, which are long, have a dictionary.
    op.execute(
        "INSERT INTO unchecked_entry (entry_id, only_recent) SELECT collection_entry.id, true "
        "FROM collection_entry JOIN collection ON collection.id = collection_id "
        "WHERE dictionary IS NULL ORDER BY collection_entry.id"
    )


def downgrade() -> None:
    pass
