"""The fields that reference lists filled in, which were part of how a paper was announced."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    op.add_column("sighting", sa.Column("filled", sa.Text()))
    # '@filled link, date' becomes '["link","date"]'.
    op.execute(
        """UPDATE sighting SET announce = '',
        filled = '["' || replace(substr(announce, 9), ', ', '","') || '"]'
        WHERE substr(announce, 1, 8) = '@filled '"""
    )


def downgrade() -> None:
    pass
