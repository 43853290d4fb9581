"""What was read as news, apart from what was read for a library or reference list; asked works.

A library that becomes news is read from its start, as if for the first time.
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"

_collection = sa.table("collection", sa.column("source", sa.Text()))
_document = sa.table("document", sa.column("source", sa.Text()))
_dump = sa.table("dump", sa.column("source", sa.Text()), sa.column("as_news", sa.Boolean()))
_source = sa.table("source", sa.column("name", sa.Text()), sa.column("as_news", sa.Boolean()))
_sighting = sa.table("sighting", sa.column("source", sa.Text()), sa.column("announce", sa.Text()))


def upgrade() -> None:
    for table in ("source", "dump"):
        is_news = sa.Column("as_news", sa.Boolean(), nullable=False, server_default=sa.true())
        op.add_column(table, is_news)
    part_readings(op.get_bind())
    op.create_table(
        "asked_work",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("answered", sa.Boolean(), nullable=False),
        sa.Column("unanswered", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("source", "name", name="pk_asked_work"),
        sqlite_with_rowid=False,
    )


def part_readings(connection: sa.Connection) -> None:
    """Mark what was read of sources that are libraries or reference lists, perhaps after news."""
    collected = sa.select(_collection.c.source)
    # Lists have sightings, too, of papers that they filled in.
    brought = ~_sighting.c.announce.startswith("@filled ")
    was_news = sa.exists().where(_sighting.c.source == _source.c.name, brought)
    connection.execute(sa.delete(_document).where(_document.c.source.in_(collected)))
    dumps = sa.update(_dump).where(_dump.c.source.in_(collected))
    connection.execute(dumps.values(as_news=False))
    sources = sa.update(_source).where(_source.c.name.in_(collected), ~was_news)
    connection.execute(sources.values(as_news=False))


def downgrade() -> None:
    pass
