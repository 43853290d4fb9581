"""The institutions of a paper's authors."""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    op.add_column("paper", sa.Column("affiliations", sa.Text()))


def downgrade() -> None:
    pass
