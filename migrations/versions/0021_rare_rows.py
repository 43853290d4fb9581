"""Indexes of rare rows: changes that are not new papers, and papers whose text was removed."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    for name, table, columns, where in (
        ("ix_change_kind", "change", ["kind", "paper_id"], "kind <> 'new'"),
        ("ix_paper_purged", "paper", ["id"], "purged_at IS NOT NULL"),
    ):
        rare = sa.text(where)
        op.create_index(name, table, columns, sqlite_where=rare, postgresql_where=rare)


def downgrade() -> None:
    pass
