"""What a site adds to its record of a paper: a line that a machine wrote, the account there."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    op.add_column("sighting", sa.Column("site_note", sa.Text()))


def downgrade() -> None:
    pass
