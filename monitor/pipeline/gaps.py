"""A gap that no archive fills: said once, in `status` and the next digest, and kept till then."""

from __future__ import annotations

from monitor.model import Document, Run
from monitor.pipeline import again, incidents
from monitor.pipeline.parts import Parts, Watched
from monitor.store import runs


def note(parts: Parts, watched: Watched, run: Run, document: Document) -> None:
    """Record that papers may be missing before this reading of a source that keeps no window.

    A kind that asks its service for a time, and keeps `until`, fills its gaps by itself.
    """
    if "until" in document.validators:
        return
    with parts.database.reading() as tx:
        reads = runs.reads(tx, watched.name)
    since = again.lost_since(reads, watched.every, run, watched.calendar)
    if since is None:
        return
    error = (
        f"not read from {since:%Y-%m-%d %H:%M} to {run.started:%Y-%m-%d %H:%M} UTC, and nothing "
        "that it lists now was known: what it listed in between may be missing"
    )
    with parts.database.writing() as tx:
        subject = incidents.source(watched.name)
        runs.open_incident(tx, subject, incidents.GAP, run.started, error)
