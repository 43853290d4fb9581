"""A gap that no archive fills: recorded, to be said in `status` and the next digest."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.model import Run
from monitor.pipeline import incidents, source_schedule
from monitor.pipeline.runtime import ConfiguredSource, Runtime
from monitor.store import incidents as stored_incidents
from monitor.store import runs


def note(parts: Runtime, watched: ConfiguredSource, done: Sequence[Run]) -> None:
    """Record that papers may be missing before this pass over a source of one fetched document.

    A kind that asks its service for a time, and keeps `until`, fills its gaps by itself, and so
    does a folder of files.
    """
    if len(done) != 1 or watched.source.options.path:
        return
    run = done[0]
    with parts.database.reading() as tx:
        reads = runs.reads(tx, watched.name)[1:]  # the first is this one
    since = source_schedule.lost_since(reads, watched.every, run, watched.calendar)
    if since is None:
        return
    error = (
        f"not read from {since:%Y-%m-%d %H:%M} to {run.started:%Y-%m-%d %H:%M} UTC, and nothing "
        "that it lists now was known: what it listed in between may be missing"
    )
    with parts.database.writing() as tx:
        subject = incidents.source(watched.name)
        stored_incidents.open_incident(tx, subject, incidents.GAP, run.started, error)
