"""Processes of a store: their last signs of life, and the configurations that they used in turn."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import insert_or_update

_beat = schema.heartbeat.c


def beat(tx: Transaction, name: str, now: datetime) -> None:
    insert_or_update(tx, schema.heartbeat, [{"name": name, "at": now}])


def last_beat(tx: Transaction, name: str) -> datetime | None:
    """Return the last sign of life of `name`, None when there never was one."""
    return tx.scalar(sa.select(_beat.at).where(_beat.name == name))


def signs(tx: Transaction, kind: str = "") -> dict[str, datetime]:
    """Return the last sign of life of each process (`KIND@MACHINE/PID`), or of those of a kind."""
    named = _beat.name.like(f"{kind or '%'}@%")
    beats = sa.select(_beat.name, _beat.at).where(named).order_by(_beat.name)
    return dict(map(tuple, tx.execute(beats)))


def forget(tx: Transaction, name: str) -> None:
    """Delete the heartbeat of `name`, which ended normally."""
    tx.execute(sa.delete(schema.heartbeat).filter_by(name=name))


def forget_old(tx: Transaction, before: datetime) -> None:
    """Delete the heartbeats of processes (`KIND@MACHINE/PID`) from before a time."""
    old = _beat.name.contains("@") & (_beat.at < before)
    tx.execute(sa.delete(schema.heartbeat).where(old))


KEPT = 200
_activation = schema.activation.c


class Origin(NamedTuple):
    """The file of a configuration, and the process that uses it."""

    file: str
    host: str
    process: int


def origin_of(file: Path) -> Origin:
    """Return the origin of a configuration that this process uses."""
    return Origin(str(file.resolve()), socket.gethostname(), os.getpid())


class Activation(NamedTuple):
    """A configuration that came into use. `at` is of the real clock, as heartbeats are."""

    at: datetime
    config_hash: str
    origin: Origin


def record_activation(tx: Transaction, config_hash: str, origin: Origin) -> None:
    """Record that a configuration came into use, and forget all but the last 200."""
    row = {"at": datetime.now(UTC), "config_hash": config_hash, **origin._asdict()}
    tx.execute(sa.insert(schema.activation).values(row))
    kept = sa.select(_activation.id).order_by(_activation.id.desc()).offset(KEPT - 1).limit(1)
    tx.execute(sa.delete(schema.activation).where(_activation.id < kept.scalar_subquery()))


def newest_activation(tx: Transaction) -> Activation | None:
    return next(iter(activations(tx, 1)), None)


def activations(tx: Transaction, limit: int = KEPT) -> list[Activation]:
    """Return the last activations, the newest first."""
    rows = tx.execute(sa.select(schema.activation).order_by(_activation.id.desc()).limit(limit))
    return [Activation(at, config_hash, Origin(*origin)) for _, at, config_hash, *origin in rows]
