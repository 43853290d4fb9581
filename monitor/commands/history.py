"""Papers a day of a source and of a topic."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, time, timedelta

from monitor.model import DayCount, fill_days
from monitor.pipeline.runtime import Runtime
from monitor.pipeline.source_silence import compare_days, day_of
from monitor.store.sources import runs
from monitor.store.topics import matches

DAYS = 90
DAY = timedelta(days=1)


def count_of_source(runtime: Runtime, source: str) -> tuple[DayCount, ...]:
    """Return how many papers a configured source had on each day, and usually has, oldest first.

    The days are the source's own. Nothing for a source whose first reading is not complete.
    """
    calendar = runtime.sources[source].calendar
    with runtime.database.reading() as tx:
        first = runs.first_read(tx, source)
        stored = runs.days(tx, source)
    if first is None:
        return ()
    now = runtime.clock.now()
    return compare_days(stored, day_of(first, calendar), now, calendar, DAYS)


def count_of_topic(runtime: Runtime, topic: str) -> tuple[DayCount, ...]:
    """Return how many papers were news for a topic on each UTC day since its first match."""
    today = runtime.clock.now().astimezone(UTC).date()
    begin = today - DAY * (DAYS - 1)
    with runtime.database.reading() as tx:
        moments = matches.moments(tx, topic, datetime.combine(begin, time(), UTC))
    counts = Counter(day for _, day in {(paper_id, at.date()) for paper_id, at in moments})
    return fill_days(counts, today)
