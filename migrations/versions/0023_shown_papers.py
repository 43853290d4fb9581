"""An index of the papers that digests showed in full, by subscription and topic."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    shown = sa.text("shown_under IS NOT NULL")
    op.create_index(
        "ix_digest_item_shown",
        "digest_item",
        ["subscription", "shown_under", "digest_id"],
        sqlite_where=shown,
        postgresql_where=shown,
    )


def downgrade() -> None:
    pass
