"""The key that signs links, where the configuration names none: made once, and kept."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from monitor.model import Clock
from monitor.store import schema
from monitor.store.database import Database
from monitor.store.inserts import insert_new

_BYTES = 32


def load(database: Database) -> str:
    """Return the key of a store, "" where none was made."""
    with database.reading() as tx:
        return tx.scalar(sa.select(schema.signing_key.c.key)) or ""


def make(database: Database, clock: Clock) -> str:
    """Return the key of a store, and make it where there is none; all processes get the same."""
    row = {"id": 1, "key": secrets.token_hex(_BYTES), "made_at": clock.now()}
    with database.writing() as tx:
        insert_new(tx, schema.signing_key, [row])
    return load(database)
