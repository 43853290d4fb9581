"""Incidents: what went wrong, since when, whether the operator knows, and when to try again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_new
from monitor.store.engine.sql import Instant, among

FAILING = "failing"
DOWN = "down"
GAP = "gap"

_incident = schema.incident.c


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that went wrong. The operator is notified of its beginning and of its end.

    `subject` is a source or an outage group of channels. `notified` and `end_notified` are None
    until then. `tries` and `next_try` belong to what is tried again, such as a mail server.
    """

    id: int
    subject: str
    kind: str
    since: datetime
    error: str
    notified: datetime | None
    ended: datetime | None
    end_notified: datetime | None
    tries: int
    next_try: datetime | None


def open_incident(tx: Transaction, subject: str, kind: str, now: datetime, error: str) -> bool:
    """Open an incident and return True, or only renew the error of one that is open already."""
    row = {"subject": subject, "kind": kind, "since": now, "error": error, "tries": 0}
    if insert_new(tx, schema.incident, [row]):
        return True
    tx.execute(sa.update(schema.incident).where(*_open(subject, kind)).values(error=error))
    return False


def end_incident(tx: Transaction, subject: str, kind: str, now: datetime) -> Incident | None:
    """End an incident and return it; None when there was none."""
    update = sa.update(schema.incident).where(*_open(subject, kind)).values(ended_at=now)
    row = tx.execute(update.returning(schema.incident)).first()
    return _incident_of(row) if row else None


def add_ended(
    tx: Transaction, subject: str, kind: str, since: datetime, now: datetime, error: str
) -> None:
    """Record an incident that is over, unless one that ended since then is recorded."""
    same = (_incident.subject == subject, _incident.kind == kind, _incident.ended_at >= since)
    if tx.execute(sa.select(_incident.id).where(*same)).first() is None:
        row = {"subject": subject, "kind": kind, "since": since, "error": error, "tries": 0}
        tx.execute(sa.insert(schema.incident).values(row | {"ended_at": now}))


def close_gaps(tx: Transaction, subject: str, before: datetime, now: datetime) -> None:
    """End the gaps found before a moment. The operator is not notified of their end."""
    gaps = (*_open(subject, GAP), _incident.since < before)
    row = {"ended_at": now, "end_told_at": now, "told_at": sa.func.coalesce(_incident.told_at, now)}
    tx.execute(sa.update(schema.incident).where(*gaps).values(row))


def end_obsolete(tx: Transaction, living: Collection[str], now: datetime) -> None:
    """End the incidents of subjects that no longer exist: all but those in `living`.

    The operator is notified of the end only where they were notified of the beginning.
    """
    gone = [incident.id for incident in open_incidents(tx) if incident.subject not in living]
    row = {
        "ended_at": now,
        "end_told_at": sa.case((_incident.told_at.is_(None), sa.literal(now, Instant))),
        "told_at": sa.func.coalesce(_incident.told_at, now),
    }
    still_open = (among(_incident.id, gone), _incident.ended_at.is_(None))
    tx.execute(sa.update(schema.incident).where(*still_open).values(row))


def open_incidents(tx: Transaction) -> list[Incident]:
    """Return the open incidents, oldest first."""
    return _incidents(tx, _incident.ended_at.is_(None))


def open_incidents_and_gaps(tx: Transaction) -> list[Incident]:
    """Return the open incidents and the gaps of any time, oldest first."""
    return _incidents(tx, sa.or_(_incident.ended_at.is_(None), _incident.kind == GAP))


def of_subject(tx: Transaction, subject: str, since: datetime) -> list[Incident]:
    """Return the incidents of a subject that were open at a time or later, the newest first."""
    lasted = sa.or_(_incident.ended_at.is_(None), _incident.ended_at >= since)
    return _incidents(tx, sa.and_(_incident.subject == subject, lasted))[::-1]


def open_error(tx: Transaction, subject: str, kind: str) -> str:
    """Return the error of an open incident, "" if there is none."""
    return tx.scalar(sa.select(_incident.error).where(*_open(subject, kind))) or ""


def unnotified(tx: Transaction) -> list[Incident]:
    """Return the incidents whose beginning or end the operator does not know, oldest first."""
    return _incidents(
        tx,
        sa.or_(
            _incident.told_at.is_(None),
            sa.and_(_incident.ended_at.is_not(None), _incident.end_told_at.is_(None)),
        ),
    )


def mark_notified(tx: Transaction, incidents: Sequence[Incident], now: datetime) -> None:
    """Record that the operator was notified of incidents in the state given: begun or ended."""
    for incident in incidents:
        row = {"told_at": incident.notified or now, "end_told_at": now if incident.ended else None}
        tx.execute(sa.update(schema.incident).where(_incident.id == incident.id).values(row))


def add_failure(
    tx: Transaction, subject: str, kind: str, now: datetime, error: str, config_hash: str = ""
) -> int:
    """Count a failed attempt and return how many there were since the incident began.

    `mark` identifies the configuration of the attempt.
    """
    open_incident(tx, subject, kind, now, error)
    row = {"tries": _incident.tries + 1, "mark": config_hash}
    update = sa.update(schema.incident).where(*_open(subject, kind)).values(row)
    return int(tx.execute(update.returning(_incident.tries)).scalar_one())


def set_next_try(tx: Transaction, subject: str, kind: str, at: datetime) -> None:
    """Set when to try again."""
    tx.execute(sa.update(schema.incident).where(*_open(subject, kind)).values(next_try_at=at))


def resting(tx: Transaction, kind: str, now: datetime, config_hash: str = "") -> set[str]:
    """Return the subjects of open incidents of a kind that are not to be tried again yet.

    Another `mark` than that of the last attempt, a changed configuration, may be tried at once.
    """
    is_open = (_incident.kind == kind, _incident.ended_at.is_(None))
    waiting = (_incident.next_try_at > now, _incident.mark == config_hash)
    return set(tx.scalars(sa.select(_incident.subject).where(*is_open, *waiting)))


def _open(subject: str, kind: str) -> tuple[sa.ColumnElement[bool], ...]:
    return _incident.subject == subject, _incident.kind == kind, _incident.ended_at.is_(None)


def _incidents(tx: Transaction, condition: sa.ColumnElement[bool]) -> list[Incident]:
    rows = tx.execute(sa.select(schema.incident).where(condition).order_by(_incident.id))
    return [_incident_of(row) for row in rows]


def _incident_of(row: Any) -> Incident:
    return Incident(
        id=row.id,
        subject=row.subject,
        kind=row.kind,
        since=row.since,
        error=row.error,
        notified=row.told_at,
        ended=row.ended_at,
        end_notified=row.end_told_at,
        tries=row.tries,
        next_try=row.next_try_at,
    )
