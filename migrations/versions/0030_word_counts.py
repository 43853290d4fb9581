"""In how many of the papers that a topic matched each word is; compose counts them."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_table(
        "word_counts",
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("topic", name="pk_word_counts"),
    )


def downgrade() -> None:
    pass
