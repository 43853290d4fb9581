"""Making the tables of a new SQLite store: what its migrations would make, at once.

Alembic takes longer to import and to go through them than the tables take to make.
"""

from __future__ import annotations

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.database import Database

_SEARCH_INDEX = (
    "CREATE VIRTUAL TABLE paper_words USING fts5(words, content='', detail=none,"
    " columnsize=0, tokenize=\"ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'\")"
)
# As Alembic makes it: the migrations to come start from the version it names.
_version = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def create_tables(database: Database) -> None:
    """Make the tables of a new store in one transaction, if no other process just did.

    Raises StoreError.
    """
    with database.writing() as tx:
        if sa.inspect(tx).has_table("alembic_version"):
            return
        schema.metadata.create_all(tx, checkfirst=False)
        tx.exec_driver_sql(_SEARCH_INDEX)
        _version.create(tx, checkfirst=False)
        tx.execute(sa.insert(_version).values(version_num=schema.VERSION))
