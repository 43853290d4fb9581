"""Which variables of addresses are hidden in the rows of each source."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    op.create_table(
        "hidden_variable",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("source", "mark", name="pk_hidden_variable"),
    )


def downgrade() -> None:
    pass
