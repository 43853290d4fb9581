"""The items of a digest are found by its subscription: their own index took a tenth of a store."""

from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.drop_index("ix_digest_item_digest_id", table_name="digest_item")


def downgrade() -> None:
    pass
