"""What became of the runs of a source: the last ones, what went wrong, what they rejected."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from monitor.model import Run, UndecidedRecord
from monitor.pipeline import incidents
from monitor.pipeline.runtime import Runtime
from monitor.store import incidents as stored_incidents
from monitor.store import runs, undecided
from monitor.store.incidents import Incident

RECENT = timedelta(days=30)
RUNS = 20
UNDECIDED = 20


@dataclass(frozen=True, slots=True)
class SourceHistory:
    """The runs and incidents of a source, newest first, and its oldest undecided records.

    `faulty` are the runs of the last thirty days with an error or rejected records, of which
    `Run.set_aside` has the first; `incidents` those that were open in that time.
    """

    source: str
    runs: tuple[Run, ...]
    faulty: tuple[Run, ...]
    incidents: tuple[Incident, ...]
    undecided: tuple[UndecidedRecord, ...]


def source_history(runtime: Runtime, source: str, limit: int = RUNS) -> SourceHistory:
    """Return what became of the last runs of a source."""
    since = runtime.clock.now() - RECENT
    with runtime.database.reading() as tx:
        return SourceHistory(
            source,
            runs=tuple(runs.latest(tx, source, limit)),
            faulty=tuple(runs.latest(tx, source, limit, only_faulty_since=since)),
            incidents=tuple(stored_incidents.of_subject(tx, incidents.source(source), since)),
            undecided=tuple(undecided.listing(tx, UNDECIDED, source)),
        )
