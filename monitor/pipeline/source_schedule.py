"""When a source may be read again, and when the whole of it is to be: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil

from monitor.model import Run
from monitor.sources.calendar import Calendar
from monitor.store.sources.reading_state import SourceState

# A server that says "not modified" for ever is asked for everything after so long (F14).
AFRESH = timedelta(days=7)
# No server may put itself off for longer (F5, F7): more is left by a clock that was ahead.
LONGEST = timedelta(hours=24)
# An interval that is so much longer than the usual one is an outage.
OUTAGE = 1.5
USUAL = 0.9
CONDITIONS = ("etag", "last_modified")


def waits(state: SourceState, now: datetime) -> bool:
    """Say whether the source's server asked not to be asked yet."""
    until = state.waits_until
    return until is not None and now < until <= now + LONGEST


def is_due(state: SourceState, last: datetime | None, every: timedelta, now: datetime) -> bool:
    """Say whether a source is to be read: after the longest of `every` and what it says itself.

    A last run in the future is a clock that was ahead: it says nothing.
    """
    if waits(state, now):
        return False
    pause = max(every, min(state.lifetime, LONGEST))
    return last is None or not last <= now < last + pause


def is_afresh(state: SourceState, now: datetime) -> bool:
    """Say whether nothing was read whole for so long that all is to be asked for and read."""
    return state.whole_at is None or not state.whole_at <= now < state.whole_at + AFRESH


def unconditional(validators: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in validators.items() if name not in CONDITIONS}


def lost_since(
    reads: Sequence[datetime], every: timedelta, run: Run, calendar: Calendar | None = None
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


def _has_publishing_day(calendar: Calendar | None, after: datetime, before: datetime) -> bool:
    """Say whether a publishing day lies between the days of two moments, or none is known."""
    if calendar is None:
        return True
    first, last = calendar.day(after), calendar.day(before)
    days = (first + timedelta(days=n) for n in range(1, min((last - first).days, 30)))
    return any(map(calendar.publishes, days))
