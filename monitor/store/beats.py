"""Heartbeats: when something that should go on was last seen to."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.columns import insert_or_update
from monitor.store.database import Transaction


def beat(tx: Transaction, name: str, now: datetime) -> None:
    """Record a sign of life of `name`."""
    insert_or_update(tx, schema.heartbeat, [{"name": name, "at": now}], ["at"])


def last_beat(tx: Transaction, name: str) -> datetime | None:
    """Return the last sign of life of `name`, None when there never was one."""
    beats = schema.heartbeat.c
    return tx.scalar(sa.select(beats.at).where(beats.name == name))
