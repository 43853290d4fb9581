"""Heartbeats: the last sign of life of processes."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_or_update


def beat(tx: Transaction, name: str, now: datetime) -> None:
    """Record a sign of life of `name`."""
    insert_or_update(tx, schema.heartbeat, [{"name": name, "at": now}])


def last_beat(tx: Transaction, name: str) -> datetime | None:
    """Return the last sign of life of `name`, None when there never was one."""
    beats = schema.heartbeat.c
    return tx.scalar(sa.select(beats.at).where(beats.name == name))


def signs(tx: Transaction, kind: str = "") -> dict[str, datetime]:
    """Return the last sign of life of each process (`KIND@MACHINE/PID`), or of those of a kind."""
    beats = schema.heartbeat.c
    named = beats.name.contains("@") if not kind else beats.name.startswith(f"{kind}@")
    rows = tx.execute(sa.select(beats.name, beats.at).where(named).order_by(beats.name))
    return {row.name: row.at for row in rows}


def forget(tx: Transaction, name: str) -> None:
    """Delete the heartbeat of `name`, which ended normally."""
    tx.execute(sa.delete(schema.heartbeat).where(schema.heartbeat.c.name == name))


def forget_old(tx: Transaction, before: datetime) -> None:
    """Delete the heartbeats of processes (`KIND@MACHINE/PID`) from before a time."""
    beats = schema.heartbeat.c
    old = (beats.name.contains("@"), beats.at < before)
    tx.execute(sa.delete(schema.heartbeat).where(*old))
