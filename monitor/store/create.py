"""Creating the tables of a new SQLite store, the same ones that the migrations make.

It needs no Alembic, which takes much longer to import than the tables take to create.
"""

from __future__ import annotations

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.database import Database

_SEARCH_INDEX = (
    "CREATE VIRTUAL TABLE paper_words USING fts5(words, content='', detail=none,"
    " columnsize=0, tokenize=\"ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'\")"
)
# Alembic's own table: later migrations start from the version in it.
_version = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def create_tables(database: Database) -> None:
    """Create the tables of a new store in one transaction, unless another process just did.

    Raises StoreError.
    """
    with database.writing() as tx:
        if sa.inspect(tx).has_table("alembic_version"):
            return
        schema.metadata.create_all(tx, checkfirst=False)
        tx.exec_driver_sql(_SEARCH_INDEX)
        _version.create(tx, checkfirst=False)
        tx.execute(sa.insert(_version).values(version_num=schema.VERSION))
