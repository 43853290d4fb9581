"""How many papers came on each of the last days: from a source, or for a topic."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, time, timedelta

from monitor.model import DayCount
from monitor.pipeline.runtime import Runtime
from monitor.pipeline.source_silence import compare_days, day_of
from monitor.store import matches, runs

DAYS = 90
DAY = timedelta(days=1)


def count_of_source(runtime: Runtime, source: str, days: int = DAYS) -> tuple[DayCount, ...]:
    """Return what a configured source brought on each day, beside what is usual, oldest first.

    The days are the source's own. Nothing for a source whose first reading is not complete.
    """
    calendar = runtime.sources[source].calendar
    with runtime.database.reading() as tx:
        first = runs.first_read(tx, source)
        stored = runs.days(tx, source)
    if first is None:
        return ()
    now = runtime.clock.now()
    return compare_days(stored, day_of(first, calendar), now, calendar, days)


def count_of_topic(runtime: Runtime, topic: str, days: int = DAYS) -> tuple[DayCount, ...]:
    """Return how many papers were news for a topic on each day of UTC, oldest first.

    The first day is that of its first match, if that is within so many days.
    """
    today = runtime.clock.now().astimezone(UTC).date()
    begin = today - DAY * (days - 1)
    with runtime.database.reading() as tx:
        found = matches.moments(tx, topic, datetime.combine(begin, time(), UTC))
    counts = Counter(day for _, day in {(paper_id, at.date()) for paper_id, at in found})
    if not counts:
        return ()
    begin = min(counts)
    return tuple(
        DayCount(begin + DAY * n, counts[begin + DAY * n]) for n in range((today - begin).days + 1)
    )
