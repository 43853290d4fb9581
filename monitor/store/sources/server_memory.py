"""How long servers asked to wait, and where addresses moved, for all processes of a store."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from monitor.http.cache_headers import MOST
from monitor.http.server_memory import Move, Wait
from monitor.model import Clock
from monitor.store.engine import schema
from monitor.store.engine.database import Database, Transaction
from monitor.store.engine.inserts import insert_or_update
from monitor.store.engine.sql import index_value

_wait = schema.server_wait.c
_moved = schema.moved_address.c


class Servers:
    """The memory of all processes of a store (see `monitor.http.server_memory.Memory`)."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def wait(self, server: str) -> Wait | None:
        """Return how long a server asked to wait, for a day at most.

        More than that was stored while a clock was ahead.
        """
        now = self._clock.now()
        with self._database.reading() as tx:
            asked = sa.select(_wait.until, _wait.why).where(_wait.server == index_value(server))
            row = tx.execute(asked).first()
        if row is None or not now < row.until <= now + MOST:
            return None
        return Wait(row.until, row.until - now, row.why)

    def record_wait(self, server: str, left: timedelta, why: str) -> Wait:
        """Record how long a server asked to wait."""
        until = self._clock.now() + left
        row = {"server": index_value(server), "until": until, "why": why}
        with self._database.writing() as tx:
            insert_or_update(tx, schema.server_wait, [row])
        return Wait(until, left, why)

    def move(self, address: str) -> Move | None:
        """Return where an address permanently redirected to."""
        with self._database.reading() as tx:
            return _move(tx, address)

    def record_move(self, address: str, target: str) -> None:
        """Count a permanent redirect, from 1 again if it leads to another place."""
        with self._database.writing() as tx:
            known = _move(tx, address)
            if not target:
                tx.execute(
                    sa.delete(schema.moved_address).where(_moved.address == index_value(address))
                )
                return
            seen = known.seen + 1 if known and known.target == target else 1
            row = {"address": index_value(address), "place": target, "seen": seen}
            insert_or_update(tx, schema.moved_address, [row])


def forget_redirect(tx: Transaction, target: str) -> None:
    """Forget redirects to a place where nothing can be read: the old address is used again."""
    tx.execute(sa.delete(schema.moved_address).where(_moved.place == target))


def _move(tx: Transaction, address: str) -> Move | None:
    asked = sa.select(_moved.place, _moved.seen).where(_moved.address == index_value(address))
    row = tx.execute(asked).first()
    return Move(row.place, row.seen) if row else None
