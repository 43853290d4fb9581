"""Signs of life: the store takes a write, and the service has ticked lately.

Asked every minute by a container's health check, so it imports little.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from monitor.errors import StoreError
from monitor.store import beats
from monitor.store.database import Database

SERVICE = "serve"
ALIVE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: `message` says how it is, or what to do."""

    name: str
    ok: bool
    message: str


def vital_signs(database: Database) -> list[Check]:
    """Say whether the store takes a write and the service has ticked lately."""
    return [store(database, whole=False), service(database, expected=True)]


def service(database: Database, *, expected: bool) -> Check:
    with database.reading() as tx:
        last = beats.last_beat(tx, SERVICE)
    if last is None:
        return Check("service", not expected, "it has never run on this store: paper-monitor serve")
    alive = datetime.now(UTC) - last < ALIVE
    return Check("service", alive, f"last sign of life {last:%Y-%m-%d %H:%M:%S} UTC")


def store(database: Database, *, whole: bool) -> Check:
    try:
        database.probe()
        if whole:
            database.check()
    except StoreError as fault:
        return Check("store", False, str(fault))
    return Check("store", True, "it is whole and takes a write" if whole else "it takes a write")
