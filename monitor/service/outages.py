"""Outages of repeated jobs: one log line when an outage begins, and one when it ends.

A store that is down fails every job. That is one outage, and it is over when each job that failed
has worked again. A job that began before the end, and fails later, failed by the same outage.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from monitor.errors import MonitorError, StoreError
from monitor.pipeline.incidents import note_outage
from monitor.pipeline.runtime import Runtime

log = structlog.get_logger()


@dataclass(slots=True)
class Outage:
    """A failure that has lasted `since`; `jobs` are those that have not worked again."""

    error: str
    since: datetime
    failures: int = 0
    jobs: set[str] = field(default_factory=set)


class Outages:
    """The outages at this moment. Ends of those of the store are recorded for the operator."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._open: dict[str, Outage] = {}
        self._store_outages_ended = 0
        self._lock = threading.Lock()

    @contextmanager
    def watch(self, job: str, seen_by: str = "") -> Iterator[None]:
        """Take the place of the traceback of a job that is run again soon.

        `seen_by` is for a job that comes seldom: another one, which sees when the store is back.
        """
        ended = self._store_outages_ended
        try:
            yield
        except StoreError as fault:
            if self._store_outages_ended > ended:
                log.info("job failed in the outage that is over", job=job, error=str(fault))
            else:
                self.record_failure(job, fault, seen_by)
        except Exception as fault:
            self.record_failure(job, fault, seen_by)
        else:
            self.record_success(job)

    def record_failure(self, job: str, fault: Exception, seen_by: str = "") -> None:
        """Count a failure. The first is logged, with its traceback if the error is unexpected."""
        by_store = isinstance(fault, StoreError)
        subject = "store" if by_store else f"{job}: {type(fault).__name__}"
        with self._lock:
            outage = self._open.get(subject)
            first = outage is None
            if outage is None:
                outage = self._open[subject] = Outage(str(fault), self._runtime.clock.now())
            outage.failures += 1
            outage.jobs.add(seen_by if by_store and seen_by else job)
        if first and by_store:
            log.warning("store unavailable", job=job, error=str(fault))
        elif first:
            expected = isinstance(fault, MonitorError)
            log.error("job failed", job=job, error=str(fault), exc_info=not expected)

    def record_success(self, job: str) -> None:
        """End the outages in which no other job still fails."""
        with self._lock:
            for outage in self._open.values():
                outage.jobs.discard(job)
            over = {name: outage for name, outage in self._open.items() if not outage.jobs}
            for name in over:
                del self._open[name]
            self._store_outages_ended += "store" in over
        for name, outage in over.items():
            since = outage.since.isoformat(timespec="seconds")
            about = {"failures": outage.failures, "since": since, "error": outage.error}
            if name == "store":
                log.warning("store available again", **about)
                note_outage(self._runtime, outage.since, outage.error)
            else:
                log.warning("job works again", job=job, **about)
