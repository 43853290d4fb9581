"""The records that could not be decided, of all sources, also of those not configured any more."""

from __future__ import annotations

from monitor.model import UndecidedRecord
from monitor.pipeline.runtime import Runtime
from monitor.store import undecided as stored


def undecided(runtime: Runtime) -> list[UndecidedRecord]:
    """Return the records that wait to be tried again, by source, the oldest first."""
    with runtime.database.reading() as tx:
        return stored.listing(tx)
