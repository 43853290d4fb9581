"""Libraries and reference lists: works that are known from there, and are no news by it."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "collection",
        sa.Column("id", ID, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("source", "document", "content")),
        sa.Column("reading", sa.Integer(), nullable=False),
        sa.Column("dictionary", sa.LargeBinary()),
        sa.Column("filled_to", ID),
        sa.PrimaryKeyConstraint("id", name="pk_collection"),
        sa.UniqueConstraint("source", "document", name="uq_collection_source"),
    )
    op.create_table(
        "collection_entry",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("collection_id", ID, nullable=False),
        sa.Column("name", sa.BigInteger(), nullable=False),
        sa.Column("record_hash", sa.BigInteger(), nullable=False),
        sa.Column("reading", sa.Integer(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.Column("missing_since", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collection.id"],
            name="fk_collection_entry_collection_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_collection_entry"),
    )
    op.create_index(
        "ix_collection_entry_name", "collection_entry", ["collection_id", "name"], unique=True
    )
    op.create_index(
        "ix_collection_entry_missing",
        "collection_entry",
        ["collection_id", "missing_since"],
        sqlite_where=sa.text("missing_since IS NOT NULL"),
        postgresql_where=sa.text("missing_since IS NOT NULL"),
    )
    op.create_table(
        "collection_key",
        *(
            sa.Column(name, ID, autoincrement=False, nullable=False)
            for name in ("key", "collection_id", "entry_id")
        ),
        sa.PrimaryKeyConstraint("key", "collection_id", "entry_id", name="pk_collection_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "collection_new_key",
        *(sa.Column(name, ID, nullable=False) for name in ("key", "collection_id", "entry_id")),
    )


def downgrade() -> None:
    pass
