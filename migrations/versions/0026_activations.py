"""Which configurations were in use, in turn: two that take turns on one store are noticed."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.create_table(
        "activation",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("config_hash", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("process", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_activation"),
    )


def downgrade() -> None:
    pass
