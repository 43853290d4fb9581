"""Incidents: faults, since when, whether the operator knows, and when to try again.

The hand-offs of an outage group without a clear outcome are counted for all threads and processes.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

import msgspec
import sqlalchemy as sa

from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import Instant, among, fetch, fetch_one, insert_new, insert_or_update

_incident = schema.incident.c
_group = schema.line.c


class Incident(msgspec.Struct, frozen=True):
    """Something that went wrong. The operator is notified of its beginning and of its end.

    `about`, `name` and `recipient` are its `subject`.
    """

    # Ids have the order in which incidents were recorded.
    id: int
    # The kind of the subject.
    about: SubjectKind
    # The name of the source, service, subscription, channel or outage group; "" for parts of the
    # program.
    name: str
    # The recipient on the channel `name`, "" for other subjects.
    recipient: str
    # A value of `IncidentKind`. Of one kind, a subject has one open incident at most.
    kind: str
    # When the fault was noticed first.
    since: datetime
    # The last error, perhaps of several lines.
    error: str
    # When the operator was notified of the beginning, or it was decided not to; None before.
    told_at: datetime | None
    # None while the incident is open.
    ended_at: datetime | None
    # When the operator was notified of the end, or it was decided not to; None before.
    end_told_at: datetime | None
    # The number of failed attempts, of a mail server and the like; 0 for other kinds.
    tries: int
    # The end of the rest after a failed attempt; None for no rest.
    next_try_at: datetime | None

    @property
    def subject(self) -> Subject:
        return Subject(self.about, self.name, self.recipient)


def open_incident(tx: Transaction, subject: Subject, kind: str, now: datetime, error: str) -> bool:
    """Open an incident and return True, or only renew the error of one that is open already."""
    if insert_new(tx, schema.incident, [_row(subject, kind, now, error)]):
        return True
    tx.execute(sa.update(schema.incident).where(*_open(subject, kind)).values(error=error))
    return False


def end_incident(tx: Transaction, subject: Subject, kind: str, now: datetime) -> Incident | None:
    """End an incident and return it; None when there was none."""
    update = sa.update(schema.incident).where(*_open(subject, kind)).values(ended_at=now)
    return fetch_one(tx, update.returning(schema.incident), Incident)


def add_ended(
    tx: Transaction, subject: Subject, kind: str, since: datetime, now: datetime, error: str
) -> None:
    """Record an incident that is over, unless one that ended since then is recorded."""
    same = *_is_about(subject), _incident.kind == kind, _incident.ended_at >= since
    if tx.execute(sa.select(_incident.id).where(*same)).first() is None:
        row = _row(subject, kind, since, error) | {"ended_at": now}
        tx.execute(sa.insert(schema.incident).values(row))


def close_gaps(tx: Transaction, subject: Subject, before: datetime, now: datetime) -> None:
    """End the gaps found before a moment. The operator is not notified of their end."""
    gaps = sa.update(schema.incident).where(
        *_open(subject, IncidentKind.GAP), _incident.since < before
    )
    told_at = sa.func.coalesce(_incident.told_at, now)
    tx.execute(gaps.values(ended_at=now, end_told_at=now, told_at=told_at))


def replace_incident(
    tx: Transaction, subject: Subject, kind: str, by: str, now: datetime, error: str
) -> None:
    """Open an incident of another kind in place of one. The operator is not notified of its end."""
    old = sa.update(schema.incident).where(*_open(subject, kind))
    told_at = sa.func.coalesce(_incident.told_at, now)
    tx.execute(old.values(ended_at=now, end_told_at=now, told_at=told_at))
    open_incident(tx, subject, by, now, error)


def end_obsolete(tx: Transaction, living: Collection[Subject], now: datetime) -> None:
    """End the incidents of subjects that no longer exist: all but those in `living`.

    The operator is notified of the end only where they were notified of the beginning.
    """
    gone = [incident.id for incident in open_incidents(tx) if incident.subject not in living]
    was_open = among(_incident.id, gone), _incident.ended_at.is_(None)
    end_told_at = sa.case((_incident.told_at.is_(None), sa.literal(now, Instant)))
    told_at = sa.func.coalesce(_incident.told_at, now)
    ended = sa.update(schema.incident).where(*was_open)
    tx.execute(ended.values(ended_at=now, end_told_at=end_told_at, told_at=told_at))


def open_incidents(tx: Transaction) -> list[Incident]:
    """Return the open incidents, oldest first."""
    return fetch(tx, _OPEN, Incident)


def open_incidents_and_gaps(tx: Transaction) -> list[Incident]:
    """Return the open incidents and the gaps of any time, oldest first."""
    return _incidents(tx, sa.or_(_incident.ended_at.is_(None), _incident.kind == IncidentKind.GAP))


def of_subject(tx: Transaction, subject: Subject, since: datetime) -> list[Incident]:
    """Return the incidents of a subject that were open at a time or later, the newest first."""
    lasted = sa.or_(_incident.ended_at.is_(None), _incident.ended_at >= since)
    return _incidents(tx, sa.and_(*_is_about(subject), lasted))[::-1]


def open_error(tx: Transaction, subject: Subject, kind: str) -> str:
    """Return the error of an open incident, "" if there is none."""
    return tx.scalar(sa.select(_incident.error).where(*_open(subject, kind))) or ""


def unnotified(tx: Transaction) -> list[Incident]:
    """Return the incidents whose beginning or end the operator does not know, oldest first."""
    end_is_new = sa.and_(_incident.ended_at.is_not(None), _incident.end_told_at.is_(None))
    return _incidents(tx, sa.or_(_incident.told_at.is_(None), end_is_new))


def mark_notified(tx: Transaction, incident: Incident, now: datetime) -> None:
    """Record that the operator was notified of an incident in the state given: begun or ended."""
    update = sa.update(schema.incident).filter_by(id=incident.id)
    ended = now if incident.ended_at else None
    tx.execute(update.values(told_at=incident.told_at or now, end_told_at=ended))


def add_failure(
    tx: Transaction, subject: Subject, kind: str, now: datetime, error: str, config_hash: str = ""
) -> int:
    """Count a failed attempt of a configuration; return how many the incident has had."""
    open_incident(tx, subject, kind, now, error)
    update = sa.update(schema.incident).where(*_open(subject, kind))
    counted = update.values(tries=_incident.tries + 1, mark=config_hash)
    return int(tx.execute(counted.returning(_incident.tries)).scalar_one())


def set_next_try(tx: Transaction, subject: Subject, kind: str, at: datetime) -> None:
    tx.execute(sa.update(schema.incident).where(*_open(subject, kind)).values(next_try_at=at))


def end_rest(tx: Transaction, group: str, now: datetime) -> None:
    """Let an outage group that is down be tried now."""
    subject = Subject(SubjectKind.OUTAGE_GROUP, group)
    rests = sa.update(schema.incident).where(
        *_open(subject, IncidentKind.DOWN), _incident.next_try_at > now
    )
    tx.execute(rests.values(next_try_at=now))


def resting(tx: Transaction, kind: str, now: datetime, config_hash: str = "") -> set[str]:
    """Return the names with an incident of a kind that rest until a time.

    Another `config_hash` ends their rest, too.
    """
    waiting = _incident.ended_at.is_(None), _incident.next_try_at > now
    names = sa.select(_incident.name).filter_by(kind=kind, mark=config_hash)
    return set(tx.scalars(names.where(*waiting)))


def down_groups(tx: Transaction) -> dict[str, Incident]:
    """Return the incident of each outage group that is down."""
    is_down = sa.and_(_incident.kind == IncidentKind.DOWN, _incident.ended_at.is_(None))
    return {incident.name: incident for incident in _incidents(tx, is_down)}


def _row(subject: Subject, kind: str, since: datetime, error: str) -> dict[str, object]:
    row = {"kind": kind, "since": since, "error": error, "tries": 0}
    return row | msgspec.structs.asdict(subject)


def _open(subject: Subject, kind: str) -> tuple[sa.ColumnElement[bool], ...]:
    return *_is_about(subject), _incident.kind == kind, _incident.ended_at.is_(None)


def _is_about(subject: Subject) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        _incident.about == subject.about,
        _incident.name == subject.name,
        _incident.recipient == subject.recipient,
    )


def _incidents(tx: Transaction, condition: sa.ColumnElement[bool]) -> list[Incident]:
    return fetch(tx, _with(condition), Incident)


def _with(condition: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(schema.incident).where(condition).order_by(_incident.id)


# Built once: every digest runs it.
_OPEN = _with(_incident.ended_at.is_(None))


def unclear(tx: Transaction, group: str) -> int:
    """Return how many hand-offs since the last success had an unknown outcome."""
    return tx.scalar(sa.select(_group.unclear).where(_group.name == group)) or 0


def add_unclear(tx: Transaction, group: str, count: int) -> int:
    """Count hand-offs with an unknown outcome; return how many since the last success."""
    row = {"name": group, "unclear": count}
    insert_or_update(tx, schema.line, [row], [], unclear=_group.unclear + count)
    return unclear(tx, group)


def reset_unclear(tx: Transaction, group: str) -> None:
    """Record a success: the count starts again."""
    counted = sa.update(schema.line).where(_group.name == group, _group.unclear != 0)
    tx.execute(counted.values(unclear=0))


def time_down(tx: Transaction, group: str, since: datetime, until: datetime) -> timedelta:
    """Return how long an outage group was down between two times, from its incidents."""
    outages = [
        (min(outage.ended_at or until, until) - max(outage.since, since))
        for outage in of_subject(tx, Subject(SubjectKind.OUTAGE_GROUP, group), since)
        if outage.kind == IncidentKind.DOWN and outage.since < until
    ]
    return sum(outages, timedelta())
