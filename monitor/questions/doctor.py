"""What the service needs: looked at, with what to do about what is amiss."""

from __future__ import annotations

from monitor.model import (
    Run,
    RunOutcome,
)
from monitor.pipeline import Parts
from monitor.questions.alive import Check, service, store, workers
from monitor.store import runs


def doctor(parts: Parts) -> list[Check]:
    """Look at everything that is needed: the store, the ways out, the sources, the service.

    A service that never ran on this store is no fault: some have a cron of their own.
    """
    ways = [
        Check(f"channel {name}", not fault, fault or "reached; nothing was sent")
        for name, channel in parts.channels.items()
        for fault in [channel.check()]
    ]
    own = [store(parts.database, whole=True), service(parts.database, expected=False)]
    return [*own, *workers(parts.database), *ways, *_sources_read(parts)]


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
