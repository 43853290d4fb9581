"""What belongs to a paper: links to its code and project page, as JSON, and upvotes."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("paper", sa.Column("links", sa.Text))
    op.add_column("paper", sa.Column("upvotes", sa.Integer))


def downgrade() -> None:
    pass
