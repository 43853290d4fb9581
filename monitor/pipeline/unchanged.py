"""Readings that found the same as before: one line of the log an hour stands for them."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import datetime, timedelta

import structlog

log = structlog.get_logger()

HOUR = timedelta(hours=1)


class Unchanged:
    """Counts of such readings by source, since the last line; may be used by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: datetime | None = None
        self._readings = Counter[str]()

    def add(self, source: str, at: datetime) -> None:
        """Count a reading, and log the counts once they are of an hour, or the clock was set."""
        with self._lock:
            since = self._since = self._since or at
            self._readings[source] += 1
            if abs(at - since) < HOUR:
                return
            readings = self._readings
            self._readings = Counter()
            self._since = at
        log.info("sources unchanged", since=since.isoformat(), readings=dict(readings))
