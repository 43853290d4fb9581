"""The state of each service that is asked about papers: its requests, failures and rests."""

from __future__ import annotations

from datetime import date, datetime

import msgspec
import sqlalchemy as sa

from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import fetch, insert_or_update

_service = schema.look_up_service.c


class ServiceState(msgspec.Struct, frozen=True):
    """The requests to a service on a `day`, since when it has failed, until when it rests."""

    name: str
    day: date
    spent: int
    error: str = ""
    failing_since: datetime | None = None
    rests_until: datetime | None = None


def read(tx: Transaction, name: str, today: date) -> ServiceState:
    """Return the state of a service; what it was asked on an earlier day does not count."""
    rows = fetch(tx, sa.select(schema.look_up_service).where(_service.name == name), ServiceState)
    state = rows[0] if rows else ServiceState(name, today, 0)
    return state if state.day == today else msgspec.structs.replace(state, day=today, spent=0)


def save(tx: Transaction, state: ServiceState) -> None:
    insert_or_update(tx, schema.look_up_service, [msgspec.structs.asdict(state)])
