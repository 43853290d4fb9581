"""An index that says by itself whether a source had a record just as before.

PostgreSQL keeps to its primary key: its servers have memory for the rows.
"""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_sighting_mark", "sighting", ["source", "raw_id", "mark", "paper_id"])


def downgrade() -> None:
    pass
