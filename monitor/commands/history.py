"""Papers a day of a source and of a topic, and the last runs of a source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from monitor.model import DayCount, Run, UndecidedRecord, fill_days
from monitor.pipeline import incidents
from monitor.pipeline.runtime import Runtime
from monitor.pipeline.source_silence import compare_days, day_of
from monitor.store.digests import incidents as stored_incidents
from monitor.store.digests.incidents import Incident
from monitor.store.papers import undecided
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


RECENT = timedelta(days=30)
RUNS = 50
UNDECIDED = 20


@dataclass(frozen=True, slots=True)
class SourceHistory:
    """The runs and incidents of a source, newest first, and its oldest undecided records.

    `faulty` are the runs of the last thirty days with an error or rejected records (`Run.set_aside`
    has the first few); `incidents` were open in that time.
    """

    runs: tuple[Run, ...]
    faulty: tuple[Run, ...]
    incidents: tuple[Incident, ...]
    undecided: tuple[UndecidedRecord, ...]


def _once_each(faulty: Sequence[Run]) -> tuple[Run, ...]:
    """Keep the newest run of each document and error: a bad file fails each minute."""
    newest: dict[tuple[str | None, str, int], Run] = {}
    for run in faulty:
        newest.setdefault((run.document, run.error, run.rejected), run)
    return tuple(newest.values())


def source_history(runtime: Runtime, source: str) -> SourceHistory:
    since = runtime.clock.now() - RECENT
    with runtime.database.reading() as tx:
        return SourceHistory(
            runs=tuple(runs.latest(tx, source, RUNS)),
            faulty=_once_each(runs.latest(tx, source, RUNS, only_faulty_since=since)),
            incidents=tuple(stored_incidents.of_subject(tx, incidents.source(source), since)),
            undecided=tuple(undecided.listing(tx, UNDECIDED, source)),
        )
