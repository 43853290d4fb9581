"""The last refresh token of each mail account."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "oauth_token",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("refresh_token", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("account", name="pk_oauth_token"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    pass
