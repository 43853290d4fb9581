"""What the service needs: looked at, with what to do about what is amiss."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from monitor.errors import StoreError
from monitor.model import (
    Run,
    RunOutcome,
)
from monitor.pipeline import Parts
from monitor.store import beats, runs

SERVICE = "serve"
ALIVE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: `message` says how it is, or what to do."""

    name: str
    ok: bool
    message: str


def vital_signs(parts: Parts) -> list[Check]:
    """Say whether the store takes a write and the service has ticked lately."""
    return [_store(parts, whole=False), _service(parts, expected=True)]


def _service(parts: Parts, *, expected: bool) -> Check:
    with parts.database.reading() as tx:
        last = beats.last_beat(tx, SERVICE)
    if last is None:
        return Check("service", not expected, "it has never run on this store: paper-monitor serve")
    alive = datetime.now(UTC) - last < ALIVE
    return Check("service", alive, f"last sign of life {last:%Y-%m-%d %H:%M:%S} UTC")


def _store(parts: Parts, *, whole: bool) -> Check:
    try:
        parts.database.probe()
        if whole:
            parts.database.check()
    except StoreError as fault:
        return Check("store", False, str(fault))
    return Check("store", True, "it is whole and takes a write" if whole else "it takes a write")


def doctor(parts: Parts) -> list[Check]:
    """Look at everything that is needed: the store, the ways out, the sources, the service.

    A service that never ran on this store is no fault: some have a cron of their own.
    """
    ways = [
        Check(f"channel {name}", not fault, fault or "reached; nothing was sent")
        for name, channel in parts.channels.items()
        for fault in [channel.check()]
    ]
    own = [_store(parts, whole=True), _service(parts, expected=False)]
    return [*own, *ways, *_sources_read(parts)]


def _sources_read(parts: Parts) -> list[Check]:
    with parts.database.reading() as tx:
        last = {run.source: run for run in runs.last_runs(tx)}
    return [
        Check(f"source {name}", last[name].outcome is not RunOutcome.FAILED, _last_run(last[name]))
        if name in last
        else Check(f"source {name}", False, "never read: paper-monitor ingest")
        for name in parts.sources
    ]


def _last_run(run: Run) -> str:
    return f"{run.outcome} {run.started:%Y-%m-%d %H:%M} UTC" + (
        f": {run.error}" if run.error else ""
    )
