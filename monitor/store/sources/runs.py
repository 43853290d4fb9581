"""Runs: every attempt to read a source, and what came of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from monitor.model import Rejected, Run, RunOutcome, SourceDay, SourceReport, SourceWarning
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.store.digests import incidents
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import insert_new, insert_or_update

READ = (RunOutcome.OK, RunOutcome.PARTIAL, RunOutcome.UNCHANGED)

_COUNTED = ("seen", "new", "revised", "known", "rejected", "fresh", "error")
_run = schema.run.c
_day = schema.source_day.c


def start(tx: Transaction, run: Run) -> int:
    """Open a run and return its id. Commit it before anything is fetched."""
    row = {"source": run.source, "document": run.document, "started_at": run.started}
    insert = sa.insert(schema.run).values(row | _counts(run)).returning(_run.id)
    return int(tx.execute(insert).scalar_one())


def save(
    tx: Transaction, run_id: int, run: Run, validators: Mapping[str, str] | None = None
) -> None:
    """Record the counts of a run, in the transaction that wrote its papers or that ends it.

    `validators` go with the next request, and claim that everything before them is stored; None
    keeps those of earlier runs.
    """
    row = _counts(run) | {"document": run.document}
    if run.finished:
        row |= {"outcome": run.outcome, "finished_at": run.finished, "validators": None}
    if validators is not None:
        row["validators"] = dict(validators)
    tx.execute(sa.update(schema.run).where(_run.id == run_id).values(row))


def fold_repeated(tx: Transaction, run_id: int, run: Run) -> None:
    """Of the runs of a quarter of an hour that found nothing, or the same fault, keep only this.

    A folder is checked every minute: a row for each check would fill the store.
    """
    start = run.started.replace(minute=run.started.minute // 15 * 15, second=0, microsecond=0)
    is_of_document = _run.document.is_not_distinct_from(run.document)
    same = (_run.outcome == run.outcome, _run.error == run.error, _run.seen == 0, is_of_document)
    earlier = (_run.id < run_id, _run.started_at >= start, _run.started_at <= run.started)
    tx.execute(sa.delete(schema.run).where(_run.source == run.source, *same, *earlier))


def discard(tx: Transaction, run_id: int) -> None:
    """Delete an open run that had nothing to do."""
    tx.execute(sa.delete(schema.run).where(_run.id == run_id, _run.finished_at.is_(None)))


def close_interrupted(tx: Transaction, source: str, now: datetime) -> int:
    """Close the runs of a source whose process ended before they did; return how many."""
    row = {"outcome": RunOutcome.FAILED, "finished_at": now, "error": "interrupted"}
    is_open = (_run.source == source, _run.finished_at.is_(None))
    return tx.execute(sa.update(schema.run).where(*is_open).values(row)).rowcount


def first_read(tx: Transaction, source: str, *, as_news: bool = False) -> datetime | None:
    """Return when the first reading of a source, or the first `as_news`, was complete, else None.

    What was a library or a reference list before is news from a first reading on.
    """
    query = sa.select(schema.source.c.first_read_at).filter_by(name=source)
    return tx.scalar(query.where(schema.source.c.as_news) if as_news else query)


def finish_first_reading(
    tx: Transaction, source: str, now: datetime, *, as_news: bool = True
) -> None:
    """Record that the first reading of a source is complete. A second call changes nothing."""
    insert_new(tx, schema.source, [{"name": source, "first_read_at": now, "as_news": as_news}])
    if as_news:
        other = sa.update(schema.source).where(~schema.source.c.as_news).filter_by(name=source)
        tx.execute(other.values(first_read_at=now, as_news=True))


def validators(tx: Transaction, source: str) -> dict[str, str]:
    """Return the validators (ETag, Last-Modified) of a source's last complete response."""
    saved = sa.select(_run.validators).where(_run.source == source, _run.validators.is_not(None))
    return dict(tx.scalar(saved.order_by(_run.id.desc()).limit(1)) or {})


def newest_of_each_source(tx: Transaction) -> list[Run]:
    """Return the newest run of each source that tried to read it, ordered by source."""
    ended = (_run.finished_at.is_not(None), _run.outcome != RunOutcome.RETRIED)
    newest = sa.select(sa.func.max(_run.id)).where(*ended).group_by(_run.source)
    return load(tx, sa.select(schema.run).where(_run.id.in_(newest)).order_by(_run.source))


def newest_of_source(
    tx: Transaction, source: str, limit: int, *, only_faulty_since: datetime | None = None
) -> list[Run]:
    """Return the last finished runs of a source, or those with errors or rejects, newest first."""
    query = sa.select(schema.run).filter_by(source=source).where(_run.finished_at.is_not(None))
    if only_faulty_since:
        is_faulty = sa.or_(_run.error != "", _run.rejected > 0)
        query = query.where(is_faulty, _run.started_at >= only_faulty_since)
    return load(tx, query.order_by(_run.id.desc()).limit(limit))


def last_read(tx: Transaction, source: str) -> datetime | None:
    """Return when a source was last read, even partly; None until its first reading is complete."""
    if first_read(tx, source) is None:
        return None
    return next(iter(reads(tx, source, 1)), None)


def last_start(tx: Transaction, source: str) -> datetime | None:
    """Return when the last run that tried to read a source started, whatever its outcome."""
    is_reading = _run.outcome.is_distinct_from(RunOutcome.RETRIED)  # null while it is open
    starts = sa.select(_run.started_at).where(_run.source == source, is_reading)
    return tx.scalar(starts.order_by(_run.started_at.desc()).limit(1))


def reads(tx: Transaction, source: str, limit: int = 20) -> list[datetime]:
    """Return the times of the last successful readings of a source, newest first."""
    ends = sa.select(_run.finished_at).where(_run.source == source, _run.outcome.in_(READ))
    return list(tx.scalars(ends.order_by(_run.id.desc()).limit(limit)))


def since(tx: Transaction, after: datetime, until: datetime) -> list[Run]:
    """Return the runs that finished after one moment and not after another, in order."""
    in_time = (_run.finished_at > after, _run.finished_at <= until)
    return load(tx, sa.select(schema.run).where(*in_time).order_by(_run.id))


def report(
    tx: Transaction, sources: Iterable[str], after: datetime, until: datetime
) -> tuple[SourceReport, ...]:
    """Return what was read of each source after one moment and until another.

    A source fails while its incident "failing" is open. Its other open incidents, and the gaps
    that were found in that time, are its warnings.
    """
    recent = _run.finished_at > after
    by_source = sa.select(
        _run.source,
        sa.func.coalesce(sa.func.sum(_run.seen).filter(recent), 0).label("seen"),
        sa.func.coalesce(sa.func.sum(_run.new).filter(recent), 0).label("new"),
        sa.func.max(_run.finished_at).filter(_run.outcome.in_(READ)).label("last_read"),
    ).where(_run.finished_at <= until)
    totals = {row.source: row for row in tx.execute(by_source.group_by(_run.source))}
    wrong: dict[Subject, list[incidents.Incident]] = defaultdict(list)
    for incident in incidents.open_incidents_and_gaps(tx):
        if incident.kind != IncidentKind.GAP or after < incident.since <= until:
            wrong[incident.subject].append(incident)
    return tuple(
        _report(name, totals.get(name), wrong[Subject(SubjectKind.SOURCE, name)])
        for name in sources
    )


def _report(source: str, total: Any, wrong: Sequence[incidents.Incident]) -> SourceReport:
    failing = next((incident for incident in wrong if incident.kind == IncidentKind.FAILING), None)
    others = (incident for incident in wrong if incident is not failing)
    return SourceReport(
        source=source,
        seen=total.seen if total else 0,
        new=total.new if total else 0,
        last_read=total.last_read if total else None,
        failing_since=failing.since if failing else None,
        error="; ".join(failing.error.splitlines()) if failing else "",
        troubles=tuple(SourceWarning(other.kind, other.since, other.error) for other in others),
    )


def count_day(tx: Transaction, source: str, day: date, start: datetime, end: datetime) -> None:
    """Count a day again, from the runs that started between `start` and `end`.

    An unchanged response counts as papers if the last one that was read had any.
    """
    answered = _run.outcome.in_(READ)
    unchanged = _run.outcome == RunOutcome.UNCHANGED
    that_day = (_run.source == source, _run.started_at >= start, _run.started_at < end)
    counts = sa.select(
        sa.func.count().filter(answered),
        sa.func.count().filter(unchanged),
        sa.func.coalesce(sa.func.sum(_run.seen), 0),
        sa.func.coalesce(sa.func.sum(_run.fresh), 0),
    )
    asked, same, offered, fresh = tx.execute(counts.where(*that_day)).one()
    if same and not offered:
        read = (RunOutcome.OK, RunOutcome.PARTIAL)
        last = sa.select(_run.seen).where(_run.source == source, _run.outcome.in_(read))
        offered = tx.scalar(last.order_by(_run.id.desc()).limit(1))
    row = {"source": source, "day": day, "asked": asked, "offered": bool(offered), "fresh": fresh}
    insert_or_update(tx, schema.source_day, [row])


def forget_days(tx: Transaction, source: str, after: date) -> Mapping[date, SourceDay]:
    """Return the counted days of a source, and delete those up to `after`."""
    tx.execute(sa.delete(schema.source_day).where(_day.source == source, _day.day <= after))
    return days(tx, source)


def days(tx: Transaction, source: str) -> Mapping[date, SourceDay]:
    columns = sa.select(_day.day, _day.asked, _day.offered, _day.fresh).filter_by(source=source)
    return {day: SourceDay(*counts) for day, *counts in tx.execute(columns)}


def _counts(run: Run) -> dict[str, Any]:
    set_aside = [[record.where, record.why] for record in run.set_aside] or None
    return {name: getattr(run, name) for name in _COUNTED} | {"set_aside": set_aside}


def load(tx: Transaction, query: sa.Select[Any]) -> list[Run]:
    return [
        Run(
            row.source,
            row.document,
            RunOutcome(row.outcome),
            row.started_at,
            row.finished_at,
            set_aside=tuple(Rejected(*record) for record in row.set_aside or ()),
            **{name: getattr(row, name) for name in _COUNTED},
        )
        for row in tx.execute(query)
    ]
