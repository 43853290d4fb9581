"""The records that could not be decided, of all sources, also of those not configured any more."""

from __future__ import annotations

import json
from typing import Any

from monitor.model import UndecidedRecord
from monitor.pipeline.runtime import Runtime
from monitor.store import undecided as stored


def undecided(runtime: Runtime) -> list[UndecidedRecord]:
    """Return the records that wait to be tried again, by source, the oldest first."""
    with runtime.database.reading() as tx:
        return stored.listing(tx)


def fields_of(record: UndecidedRecord) -> dict[str, Any]:
    """Return what the source said of a record; a field without a value is left out."""
    fields: dict[str, Any] = json.loads(record.text)
    return fields
