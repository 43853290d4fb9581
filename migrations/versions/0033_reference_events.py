"""Changes of works in libraries, and the digests that report them."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _key_of(table: str, column: str, other: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}"
    return sa.ForeignKeyConstraint([column], [f"{other}.id"], name=name, ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "reference_event",
        sa.Column("id", ID, nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_reference_event"),
    )
    op.create_table(
        "reference_event_key",
        sa.Column("key", ID, autoincrement=False, nullable=False),
        sa.Column("event_id", ID, nullable=False),
        _key_of("reference_event_key", "event_id", "reference_event"),
        sa.PrimaryKeyConstraint("key", "event_id", name="pk_reference_event_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "digest_event",
        sa.Column("subscription", sa.Text(), nullable=False),
        sa.Column("event_id", ID, nullable=False),
        sa.Column("digest_id", ID, nullable=False),
        _key_of("digest_event", "event_id", "reference_event"),
        _key_of("digest_event", "digest_id", "digest"),
        sa.PrimaryKeyConstraint("subscription", "event_id", name="pk_digest_event"),
        sqlite_with_rowid=False,
    )
    for table, column in (
        ("reference_event_key", "event_id"),
        ("digest_event", "event_id"),
        ("digest_event", "digest_id"),
    ):
        op.create_index(f"ix_{table}_{column}", table, [column])


def downgrade() -> None:
    pass
