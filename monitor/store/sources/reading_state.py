"""The state of sources and servers between readings: how far they were read, and how long to wait.

A source's state belongs to one address, with its kind; another address has no state.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

import sqlalchemy as sa
from msgspec import structs

from monitor.clocks import Clock
from monitor.http.cache_headers import MOST
from monitor.http.server_memory import Memory, Move, Wait
from monitor.model import Dump, DumpCursor
from monitor.setting_types import Variables
from monitor.store.engine import schema
from monitor.store.engine.database import Database, Transaction
from monitor.store.engine.sql import fetch_one, index_value, insert_or_update

# In `waits_for`: an operator asked at `waits_until` for a reading before its time.
READ_NOW = "read now"


@dataclass(frozen=True, slots=True)
class SourceState:
    """`whole_at` is when a document was last read completely, valid for its `lifetime`.

    Until `waits_until` its server is not asked, for the reason in `waits_for`.
    """

    address: str
    whole_at: datetime | None = None
    lifetime: timedelta = timedelta(0)
    waits_until: datetime | None = None
    waits_for: str = ""


def source_state(tx: Transaction, source: str, address: str) -> SourceState:
    row = tx.execute(sa.select(schema.source_state).filter_by(source=source, place=address)).first()
    if row is None:
        return SourceState(address)
    lifetime = timedelta(seconds=row.lifetime)
    return SourceState(address, row.whole_at, lifetime, row.waits_until, row.waits_for)


def read_whole(
    tx: Transaction, source: str, address: str, now: datetime, lifetime: timedelta
) -> None:
    """Record that a document was read completely, in the transaction that stored its papers."""
    _save(tx, source, SourceState(address, now, lifetime))


def must_wait(tx: Transaction, source: str, address: str, until: datetime, why: str) -> None:
    """Record that a source is not to be read before a time."""
    known = source_state(tx, source, address)
    _save(tx, source, replace(known, waits_until=until, waits_for=why))


def _save(tx: Transaction, source: str, state: SourceState) -> None:
    row = asdict(state) | {"source": source, "lifetime": int(state.lifetime.total_seconds())}
    row["place"] = row.pop("address")
    insert_or_update(tx, schema.source_state, [row])


@dataclass(frozen=True, slots=True)
class DumpState:
    """A dump as it was last read, how far, and whether that was its end."""

    name: str
    size: int
    modified: int | None
    cursor: DumpCursor
    is_finished: bool

    def is_read(self, dump: Dump) -> bool:
        """Return whether a dump is unchanged and was read to its end."""
        same = (self.name, self.size, self.modified) == (dump.name, dump.size, dump.modified)
        return self.is_finished and same and dump.modified is not None


def dump_states(tx: Transaction, source: str, *, as_news: bool) -> list[DumpState]:
    """Return the dumps of a source that were read, completely or partly, as news or not."""
    read = sa.select(schema.dump).filter_by(source=source, as_news=as_news)
    rows = tx.execute(read.order_by("name"))
    return [
        DumpState(name, size, modified, DumpCursor(*cursor), is_finished)
        for _, name, size, modified, *cursor, is_finished, _, _ in rows
    ]


def read_to(
    tx: Transaction,
    source: str,
    dump: Dump,
    cursor: DumpCursor,
    is_finished: bool,
    now: datetime,
    *,
    as_news: bool,
) -> None:
    """Record how far a dump was read, in the transaction that wrote its papers."""
    row = {"source": source, "name": dump.name, "size": dump.size, "modified": dump.modified}
    row |= asdict(cursor) | {"ended": is_finished, "at": now, "as_news": as_news}
    insert_or_update(tx, schema.dump, [row])


def of_document(tx: Transaction, source: str, content_hash: str) -> tuple[int, bool] | None:
    """Return how many papers of a document are stored and if these are all, None if it is new."""
    document = sa.select(schema.document).filter_by(source=source, content_hash=content_hash)
    row = tx.execute(document).first()
    return (row.offset, row.finished) if row else None


def set_document(
    tx: Transaction,
    source: str,
    content_hash: str,
    name: str,
    offset: int,
    finished: bool,
    now: datetime,
) -> None:
    """Record how many papers are stored, in the transaction that wrote them."""
    key = {"source": source, "content_hash": content_hash}
    row = key | {"name": name, "offset": offset, "finished": finished, "at": now}
    insert_or_update(tx, schema.document, [row])


class Servers(Memory):
    """The memory of all processes of a store."""

    def __init__(self, database: Database, clock: Clock, variables: Variables) -> None:
        """Addresses are stored with the names of variables in them, not with their values."""
        self._database = database
        self._clock = clock
        self._variables = variables

    def wait(self, server: str) -> Wait | None:
        # A wait of more than a day was stored while a clock was ahead.
        now = self._clock.now()
        with self._database.reading() as tx:
            asked = sa.select(schema.server_wait).filter_by(server=index_value(server))
            row = tx.execute(asked).first()
        if row is None or not now < row.until <= now + MOST:
            return None
        return Wait(row.until, row.until - now, row.why)

    def record_wait(self, server: str, left: timedelta, why: str) -> Wait:
        until = self._clock.now() + left
        row = {"server": index_value(server), "until": until, "why": why}
        with self._database.writing() as tx:
            insert_or_update(tx, schema.server_wait, [row])
        return Wait(until, left, why)

    def move(self, address: str) -> Move | None:
        with self._database.reading() as tx:
            move = _move(tx, self._variables.hide(address))
        if move is None:
            return None
        # A target may name any variable, but gets only what the first server knows.
        return structs.replace(move, target=self._variables.within(address).reveal(move.target))

    def record_move(self, address: str, target: str) -> None:
        """Count a permanent redirect, from 1 again if it leads to another place."""
        address = self._variables.hide(address)
        target = self._variables.hide(target)
        with self._database.writing() as tx:
            known = _move(tx, address)
            if not target:
                moved = sa.delete(schema.moved_address)
                tx.execute(moved.filter_by(address=index_value(address)))
                return
            seen = known.seen + 1 if known and known.target == target else 1
            row = {"address": index_value(address), "place": target, "seen": seen}
            insert_or_update(tx, schema.moved_address, [row])


def forget_redirect(tx: Transaction, target: str) -> None:
    """Forget redirects to a place where nothing can be read: the old address is used again."""
    tx.execute(sa.delete(schema.moved_address).filter_by(place=target))


def _move(tx: Transaction, address: str) -> Move | None:
    moved = schema.moved_address.c
    columns = sa.select(moved.place.label("target"), moved.seen)
    return fetch_one(tx, columns.filter_by(address=index_value(address)), Move)
