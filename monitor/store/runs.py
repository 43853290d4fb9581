"""Runs: every attempt to read a source, how far each document was read, and what went wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from monitor.model import Rejected, Run, RunOutcome, SourceReport, SourceWarning
from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.sql import Instant, among, insert_new, insert_or_update

READ = (RunOutcome.OK, RunOutcome.PARTIAL, RunOutcome.UNCHANGED)
FAILING = "failing"
DOWN = "down"
GAP = "gap"

_run = schema.run.c
_document = schema.document.c
_incident = schema.incident.c
_source = schema.source.c


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that went wrong and is to be told, as is its end.

    `subject` is a source or a line of channels; `told` and `end_told` are None while nobody
    was told. `tries` and `next_try` are those of a line that is down.
    """

    id: int
    subject: str
    kind: str
    since: datetime
    error: str
    told: datetime | None
    ended: datetime | None
    end_told: datetime | None
    tries: int
    next_try: datetime | None


# ── runs ────────────────────────────────────────────────────────────────────────────


def start(tx: Transaction, run: Run) -> int:
    """Open a run and return its id. It is to be committed before anything is fetched."""
    row = {"source": run.source, "document": run.document, "started_at": run.started}
    opened = sa.insert(schema.run).values(row | _counts(run)).returning(_run.id)
    return int(tx.execute(opened).scalar_one())


def progress(
    tx: Transaction, run_id: int, run: Run, validators: Mapping[str, str] | None = None
) -> None:
    """Record how far an open run is, in the transaction that wrote its papers.

    `validators` come with the last of them, since they say that all before is stored.
    """
    row = {"document": run.document} | _counts(run)
    if validators is not None:
        row["validators"] = dict(validators)
    tx.execute(sa.update(schema.run).where(_run.id == run_id).values(row))


def finish(
    tx: Transaction, run_id: int, run: Run, validators: Mapping[str, str] | None = None
) -> None:
    """Close a run. `validators` are for the next request; None leaves those of earlier runs."""
    row = {
        "document": run.document,
        "outcome": run.outcome,
        "finished_at": run.finished,
        "validators": dict(validators) if validators is not None else None,
    }
    tx.execute(sa.update(schema.run).where(_run.id == run_id).values(row | _counts(run)))


def fold_unchanged(tx: Transaction, run_id: int, run: Run) -> None:
    """Keep, of the runs of a quarter of an hour that found nothing, only this one.

    A folder is looked at every minute: a run for each look would fill the store.
    """
    start = run.started.replace(minute=run.started.minute // 15 * 15, second=0, microsecond=0)
    same = (_run.source == run.source, _run.outcome == RunOutcome.UNCHANGED)
    earlier = (_run.id < run_id, _run.started_at >= start, _run.started_at <= run.started)
    tx.execute(sa.delete(schema.run).where(*same, *earlier))


def discard(tx: Transaction, run_id: int) -> None:
    """Remove an open run that turned out to have nothing to do."""
    tx.execute(sa.delete(schema.run).where(_run.id == run_id, _run.finished_at.is_(None)))


def close_interrupted(tx: Transaction, source: str, now: datetime) -> int:
    """Close the runs of a source that its process did not live to finish; return how many."""
    row = {"outcome": RunOutcome.FAILED, "finished_at": now, "error": "interrupted"}
    was_open = (_run.source == source, _run.finished_at.is_(None))
    return tx.execute(sa.update(schema.run).where(*was_open).values(row)).rowcount


def first_read(tx: Transaction, source: str) -> datetime | None:
    """Return when the first reading of a source was over, None while it is not."""
    return tx.scalar(sa.select(_source.first_read_at).where(_source.name == source))


def finish_first_reading(tx: Transaction, source: str, now: datetime) -> None:
    """Note that the first reading of a source is over. Again, it changes nothing."""
    insert_new(tx, schema.source, [{"name": source, "first_read_at": now}])


def validators(tx: Transaction, source: str) -> dict[str, str]:
    """Return what the last complete answer of a source said to ask the next one with."""
    kept = sa.select(_run.validators).where(_run.source == source, _run.validators.is_not(None))
    return dict(tx.scalar(kept.order_by(_run.id.desc()).limit(1)) or {})


def last_runs(tx: Transaction) -> list[Run]:
    """Return the newest finished run of each source, by name of the source."""
    newest = (
        sa.select(sa.func.max(_run.id)).where(_run.finished_at.is_not(None)).group_by(_run.source)
    )
    return _runs(tx, sa.select(schema.run).where(_run.id.in_(newest)).order_by(_run.source))


def last_read(tx: Transaction, source: str) -> datetime | None:
    """Return when a source was last read, be it in part; None before its first reading is over."""
    if first_read(tx, source) is None:
        return None
    read = sa.select(_run.finished_at).where(_run.source == source, _run.outcome.in_(READ))
    return tx.scalar(read.order_by(_run.id.desc()).limit(1))


def last_started(tx: Transaction, source: str) -> datetime | None:
    """Return when a source was last asked, whatever came of it."""
    asked = sa.select(_run.started_at).where(_run.source == source)
    return tx.scalar(asked.order_by(_run.started_at.desc()).limit(1))


def reads(tx: Transaction, source: str, most: int = 20) -> list[datetime]:
    """Return when the last readings of a source ended that brought an answer, newest first."""
    ended = sa.select(_run.finished_at).where(_run.source == source, _run.outcome.in_(READ))
    return list(tx.scalars(ended.order_by(_run.id.desc()).limit(most)))


def since(tx: Transaction, after: datetime, until: datetime) -> list[Run]:
    """Return the runs that finished after one moment and not after another, in their order."""
    finished = (_run.finished_at > after, _run.finished_at <= until)
    return _runs(tx, sa.select(schema.run).where(*finished).order_by(_run.id))


def report(
    tx: Transaction, sources: Iterable[str], after: datetime, until: datetime
) -> tuple[SourceReport, ...]:
    """Return what was read of each source after one moment and until another.

    A source fails while its incident is open, as `open_incident(tx, f"source {name}",
    "failing", ...)` opened it. Its other incidents are its troubles: those that are open, and
    the gaps that were found in that time.
    """
    counted = tx.execute(
        sa.select(
            _run.source, sa.func.sum(_run.seen).label("seen"), sa.func.sum(_run.new).label("new")
        )
        .where(_run.finished_at > after, _run.finished_at <= until)
        .group_by(_run.source)
    )
    totals = {row.source: row for row in counted}
    read = tx.execute(
        sa.select(_run.source, sa.func.max(_run.finished_at).label("at"))
        .where(_run.outcome.in_(READ), _run.finished_at <= until)
        .group_by(_run.source)
    )
    last_read = {row.source: row.at for row in read}
    wrong = defaultdict(list)
    for one in _incidents(tx, sa.or_(_incident.ended_at.is_(None), _incident.kind == GAP)):
        if one.kind != GAP or after < one.since <= until:
            wrong[one.subject].append(one)
    return tuple(
        _report(name, totals.get(name), last_read.get(name), wrong[f"source {name}"])
        for name in sources
    )


def _report(
    source: str, total: Any, last_read: datetime | None, wrong: Sequence[Incident]
) -> SourceReport:
    failing = next((one for one in wrong if one.kind == FAILING), None)
    return SourceReport(
        source=source,
        seen=total.seen if total else 0,
        new=total.new if total else 0,
        last_read=last_read,
        failing_since=failing.since if failing else None,
        error=failing.error if failing else "",
        troubles=tuple(
            SourceWarning(one.kind, one.since, one.error) for one in wrong if one is not failing
        ),
    )


def _counts(run: Run) -> dict[str, Any]:
    return {
        "seen": run.seen,
        "new": run.new,
        "revised": run.revised,
        "known": run.known,
        "rejected": run.rejected,
        "set_aside": [[one.where, one.why] for one in run.set_aside] or None,
        "fresh": run.fresh,
        "error": run.error,
    }


def _runs(tx: Transaction, wanted: sa.Select[Any]) -> list[Run]:
    return [
        Run(
            source=row.source,
            document=row.document,
            outcome=RunOutcome(row.outcome),
            started=row.started_at,
            finished=row.finished_at,
            seen=row.seen,
            new=row.new,
            revised=row.revised,
            known=row.known,
            rejected=row.rejected,
            fresh=row.fresh,
            set_aside=tuple(Rejected(*one) for one in row.set_aside or ()),
            error=row.error,
        )
        for row in tx.execute(wanted)
    ]


# ── documents ───────────────────────────────────────────────────────────────────────


def document_state(tx: Transaction, source: str, content_hash: str) -> tuple[int, bool] | None:
    """Return how many papers of a document are stored and whether that is all; None if unread."""
    row = tx.execute(
        sa.select(_document.offset, _document.finished).where(
            _document.source == source, _document.content_hash == content_hash
        )
    ).first()
    return (row.offset, row.finished) if row else None


def document_progress(
    tx: Transaction,
    source: str,
    content_hash: str,
    name: str,
    offset: int,
    finished: bool,
    now: datetime,
) -> None:
    """Record how far a document is read, in the transaction that wrote its papers."""
    row = {
        "source": source,
        "content_hash": content_hash,
        "name": name,
        "offset": offset,
        "finished": finished,
        "at": now,
    }
    insert_or_update(tx, schema.document, [row], ["name", "offset", "finished", "at"])


# ── incidents ───────────────────────────────────────────────────────────────────────


def open_incident(tx: Transaction, subject: str, kind: str, now: datetime, error: str) -> bool:
    """Note that something goes wrong. True when it is new; else only its error is renewed."""
    row = {"subject": subject, "kind": kind, "since": now, "error": error, "tries": 0}
    if insert_new(tx, schema.incident, [row]):
        return True
    tx.execute(sa.update(schema.incident).where(*_open(subject, kind)).values(error=error))
    return False


def end_incident(tx: Transaction, subject: str, kind: str, now: datetime) -> Incident | None:
    """End an incident and return it; None when there was none."""
    ended = sa.update(schema.incident).where(*_open(subject, kind)).values(ended_at=now)
    row = tx.execute(ended.returning(schema.incident)).first()
    return _incident_of(row) if row else None


def note_ended(
    tx: Transaction, subject: str, kind: str, since: datetime, now: datetime, error: str
) -> None:
    """Record an incident that is over, unless one of the same time is recorded already."""
    same = (_incident.subject == subject, _incident.kind == kind, _incident.ended_at >= since)
    if tx.execute(sa.select(_incident.id).where(*same)).first() is None:
        row = {"subject": subject, "kind": kind, "since": since, "error": error, "tries": 0}
        tx.execute(sa.insert(schema.incident).values(row | {"ended_at": now}))


def close_gaps(tx: Transaction, subject: str, before: datetime, now: datetime) -> None:
    """End the gaps found before a moment: they are past, and nobody need be told of an end."""
    found = (*_open(subject, GAP), _incident.since < before)
    row = {"ended_at": now, "end_told_at": now, "told_at": sa.func.coalesce(_incident.told_at, now)}
    tx.execute(sa.update(schema.incident).where(*found).values(row))


def end_obsolete(tx: Transaction, living: Collection[str], now: datetime) -> None:
    """End the incidents of subjects that are no more: other than those in `living`.

    Where nobody was told of the beginning, nobody need be told of the end.
    """
    gone = [one.id for one in open_incidents(tx) if one.subject not in living]
    ended = {
        "ended_at": now,
        "end_told_at": sa.case((_incident.told_at.is_(None), sa.literal(now, Instant))),
        "told_at": sa.func.coalesce(_incident.told_at, now),
    }
    still_open = (among(tx, _incident.id, gone), _incident.ended_at.is_(None))
    tx.execute(sa.update(schema.incident).where(*still_open).values(ended))


def open_incidents(tx: Transaction) -> list[Incident]:
    """Return what goes wrong now, the oldest first."""
    return _incidents(tx, _incident.ended_at.is_(None))


def open_error(tx: Transaction, subject: str, kind: str) -> str:
    """Return the error of an incident that is open, "" where none is."""
    return tx.scalar(sa.select(_incident.error).where(*_open(subject, kind))) or ""


def untold(tx: Transaction) -> list[Incident]:
    """Return the incidents whose beginning or end nobody was told, the oldest first."""
    return _incidents(
        tx,
        sa.or_(
            _incident.told_at.is_(None),
            sa.and_(_incident.ended_at.is_not(None), _incident.end_told_at.is_(None)),
        ),
    )


def told(tx: Transaction, incidents: Sequence[Incident], now: datetime) -> None:
    """Note that the operator was told of incidents as they are given: ended, or begun."""
    for one in incidents:
        row = {"told_at": one.told or now, "end_told_at": now if one.ended else None}
        tx.execute(sa.update(schema.incident).where(_incident.id == one.id).values(row))


def failed_again(
    tx: Transaction, subject: str, kind: str, now: datetime, error: str, mark: str = ""
) -> int:
    """Note that something was tried in vain; return how often, since the incident began.

    `mark` stands for the configuration that it was tried with.
    """
    open_incident(tx, subject, kind, now, error)
    row = {"tries": _incident.tries + 1, "mark": mark}
    tried = sa.update(schema.incident).where(*_open(subject, kind)).values(row)
    return int(tx.execute(tried.returning(_incident.tries)).scalar_one())


def try_at(tx: Transaction, subject: str, kind: str, at: datetime) -> None:
    """Set when what failed is to be tried again."""
    tx.execute(sa.update(schema.incident).where(*_open(subject, kind)).values(next_try_at=at))


def resting(tx: Transaction, kind: str, now: datetime, mark: str = "") -> set[str]:
    """Return the subjects of such incidents whose time to be tried again has not come.

    One that was last tried with another `mark` may be tried at once.
    """
    open_still = (_incident.kind == kind, _incident.ended_at.is_(None))
    waiting = (_incident.next_try_at > now, _incident.mark == mark)
    return set(tx.scalars(sa.select(_incident.subject).where(*open_still, *waiting)))


def _open(subject: str, kind: str) -> tuple[sa.ColumnElement[bool], ...]:
    return _incident.subject == subject, _incident.kind == kind, _incident.ended_at.is_(None)


def _incidents(tx: Transaction, wanted: sa.ColumnElement[bool]) -> list[Incident]:
    rows = tx.execute(sa.select(schema.incident).where(wanted).order_by(_incident.id))
    return [_incident_of(row) for row in rows]


def _incident_of(row: Any) -> Incident:
    return Incident(
        id=row.id,
        subject=row.subject,
        kind=row.kind,
        since=row.since,
        error=row.error,
        told=row.told_at,
        ended=row.ended_at,
        end_told=row.end_told_at,
        tries=row.tries,
        next_try=row.next_try_at,
    )
