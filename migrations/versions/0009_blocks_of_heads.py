"""Titles with a subtitle are found by the title alone, those that are stored, too."""

import sqlalchemy as sa
from alembic import op

from monitor.identity.blocking import add_head_block

revision = "0009"
down_revision = "0007"

BATCH = 10_000

paper = sa.table("paper", sa.column("id", sa.BigInteger), sa.column("title", sa.Text))
block = sa.table("block", sa.column("key", sa.BigInteger), sa.column("paper_id", sa.BigInteger))


def upgrade() -> None:
    """Add the missing block to papers that have blocks; older ones get all before a reading."""
    connection = op.get_bind()
    insert = sa.text("INSERT INTO block (key, paper_id) VALUES (:key, :id) ON CONFLICT DO NOTHING")
    done = connection.scalar(sa.select(sa.func.min(block.c.paper_id)))
    while done is not None:
        batch = sa.select(paper).where(paper.c.id >= done).order_by(paper.c.id).limit(BATCH)
        rows = connection.execute(batch).all()
        added = [
            {"key": key, "id": row.id} for row in rows for key in add_head_block((), row.title)
        ]
        if added:
            connection.execute(insert, added)
        done = rows[-1].id + 1 if rows else None


def downgrade() -> None:
    pass
