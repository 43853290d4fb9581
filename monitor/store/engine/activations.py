"""Activations: the configurations that were in use, in turn."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from monitor.store.engine import schema
from monitor.store.engine.database import Transaction

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


def record(tx: Transaction, config_hash: str, origin: Origin) -> None:
    """Record that a configuration came into use, and forget all but the last 200."""
    row = {"at": datetime.now(UTC), "config_hash": config_hash, **origin._asdict()}
    tx.execute(sa.insert(schema.activation).values(row))
    kept = sa.select(_activation.id).order_by(_activation.id.desc()).offset(KEPT - 1).limit(1)
    tx.execute(sa.delete(schema.activation).where(_activation.id < kept.scalar_subquery()))


def newest(tx: Transaction) -> Activation | None:
    """Return the configuration that came into use last."""
    return next(iter(history(tx, 1)), None)


def history(tx: Transaction, limit: int = KEPT) -> list[Activation]:
    """Return the last activations, the newest first."""
    rows = sa.select(schema.activation).order_by(_activation.id.desc()).limit(limit)
    return [
        Activation(row.at, row.config_hash, Origin(row.file, row.host, row.process))
        for row in tx.execute(rows)
    ]
