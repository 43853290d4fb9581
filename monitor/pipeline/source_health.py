"""After a pass over a source: does it fail, is its first reading over, is its silence usual?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil

import structlog

from monitor.digest.wording import format_count
from monitor.model import Run, RunOutcome
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline import source_silence
from monitor.pipeline.roles import SourceRole
from monitor.pipeline.runtime import ConfiguredSource, Runtime
from monitor.sources.calendar import DAY, UNKNOWN, Calendar
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine.database import Transaction
from monitor.store.sources import asked_works, runs

log = structlog.get_logger()

# A gap that cannot be filled is said by `status` for so long.
GAP_STANDS = timedelta(days=7)
# An interval that is so much longer than the usual one is an outage.
OUTAGE = 1.5
# Files of a folder that are named as bad; there may be thousands.
FAILED_LISTED = 8
USUAL = 0.9
CUT = "it is cut off, so that no entry leaves the library"


def judge(
    runtime: Runtime, configured: ConfiguredSource, role: SourceRole, done: Sequence[Run]
) -> None:
    """Open and end the incidents of a source, each announced to the operator once.

    A source fails while any of its documents does. Its first reading is over once a whole pass
    has read something: until then what is there, a folder that is still being filled or a file
    half copied, is part of it.
    """
    whole = any(run.outcome is RunOutcome.OK for run in done) and not runtime.stopping.is_set()
    # A reading that was stopped is partial, and no failure.
    failures = {RunOutcome.FAILED} if runtime.stopping.is_set() else role.failures
    failed = [run for run in done if run.outcome in failures]
    held = [run.error for run in failed if run.is_held]
    errors = _describe_failures(configured, [run for run in failed if not run.is_held])
    now = runtime.clock.now()
    subject = Subject(SubjectKind.SOURCE, configured.name)
    with runtime.database.writing() as tx:
        if whole:
            runs.finish_first_reading(tx, configured.name, now, as_news=role.as_news)
        for kind, errors_of_kind in ((IncidentKind.FAILING, errors), (IncidentKind.HELD, held)):
            if errors_of_kind:
                text = "\n".join(errors_of_kind)
                stored_incidents.add_failure(tx, subject, kind, now, text)
            elif (whole or kind == IncidentKind.FAILING) and (
                ended := stored_incidents.end_incident(tx, subject, kind, now)
            ):
                name = configured.name
                since = ended.since.isoformat(timespec="seconds")
                log.warning("source works again", source=name, since=since, failures=ended.tries)
        stored_incidents.close_gaps(tx, subject, now - GAP_STANDS, now)
        _judge_answers(tx, configured, now)
        _judge_silence(tx, configured, [run.started for run in done], now)


def _judge_answers(tx: Transaction, configured: ConfiguredSource, now: datetime) -> None:
    """Open or end the incident of a service that does not answer about the works of libraries."""
    subject = Subject(SubjectKind.SOURCE, configured.name)
    kind = IncidentKind.UNANSWERED
    works = asked_works.unanswered(tx, configured.name) if configured.asked_about else []
    if not works:
        stored_incidents.end_incident(tx, subject, kind, now)
        return
    count = format_count(len(works), "work")
    error = f"the last {asked_works.ROUNDS} times it was asked about {count} (such as {works[0]}), "
    error += "it answered nothing, or about others"
    stored_incidents.open_incident(tx, subject, kind, now, error)


def _describe_failures(configured: ConfiguredSource, failed: Sequence[Run]) -> list[str]:
    """Return the error of each document that failed; of many files, of the first ones."""
    if not configured.is_folder:
        return [run.error or CUT for run in failed[:1]]
    errors = [": ".join(filter(None, (run.document, run.error or CUT))) for run in failed]
    more = len(errors) - FAILED_LISTED
    return [*errors[:FAILED_LISTED], f"and {more:,} more"] if more > 0 else errors


def _judge_silence(
    tx: Transaction, configured: ConfiguredSource, started: Sequence[datetime], now: datetime
) -> None:
    calendar = configured.calendar
    today = calendar.day(now)
    for day in {today, *map(calendar.day, started)}:
        start, end = map(calendar.midnight, (day, day + DAY))
        runs.count_day(tx, configured.name, day, start, end)
    first = runs.first_read(tx, configured.name)
    if first is None:
        return
    history = runs.forget_days(tx, configured.name, today - source_silence.HISTORY)
    subject = Subject(SubjectKind.SOURCE, configured.name)
    problems = source_silence.judge(history, calendar.day(first), now, calendar)
    for kind, text in problems.items():
        if text:
            stored_incidents.open_incident(tx, subject, kind, now, text)
        else:
            stored_incidents.end_incident(tx, subject, kind, now)


def note_gap(runtime: Runtime, configured: ConfiguredSource, done: Sequence[Run]) -> None:
    """Record that papers may be missing before this pass over a source of one fetched document.

    A kind that asks its service for a time, and keeps `until`, fills its gaps by itself, and so
    does a folder of files.
    """
    if len(done) != 1 or configured.source.options.path:
        return
    run = done[0]
    with runtime.database.reading() as tx:
        reads = runs.reads(tx, configured.name)[1:]  # the first is this one
    since = lost_since(reads, configured.settings.every, run, configured.calendar)
    if since is None:
        return
    error = (
        f"not read from {since:%Y-%m-%d %H:%M} to {run.started:%Y-%m-%d %H:%M} UTC, and nothing "
        "that it lists now was known: what it listed in between may be missing"
    )
    with runtime.database.writing() as tx:
        subject = Subject(SubjectKind.SOURCE, configured.name)
        stored_incidents.open_incident(tx, subject, IncidentKind.GAP, run.started, error)


def lost_since(
    reads: Sequence[datetime], every: timedelta, run: Run, calendar: Calendar = UNKNOWN
) -> datetime | None:
    """Return since when papers may be missing that no archive has; None where none are.

    So it is where `run` comes after an outage and holds nothing that its source had listed before:
    what stood in between is gone. `reads` are the readings before it, the newest first; their
    intervals but the longest tenth are usual, weekends of a weekday cron among them, and so is
    `every`. Between days that follow one another in the calendar nothing was published.
    """
    if not reads or not run.seen or run.fresh < run.seen:
        return None
    last = reads[0]
    intervals = sorted(later - earlier for later, earlier in pairwise(reads))
    usual = max(every, intervals[ceil(USUAL * (len(intervals) - 1))] if intervals else every)
    if run.started - last <= OUTAGE * usual or not _has_publishing_day(calendar, last, run.started):
        return None
    return last


def _has_publishing_day(calendar: Calendar, after: datetime, before: datetime) -> bool:
    """Say whether a publishing day lies between the days of two moments, or none is known."""
    if calendar is UNKNOWN:
        return True
    first = calendar.day(after)
    last = calendar.day(before)
    days = (first + timedelta(days=n) for n in range(1, min((last - first).days, 30)))
    return any(map(calendar.publishes, days))
