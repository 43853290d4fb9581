"""A reading that would announce a known feed anew is held, and the operator is asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from monitor.diff.decide import DecisionContext
from monitor.diff.replayed_feed import Suspicion, suspect
from monitor.errors import HeldError
from monitor.model import Paper
from monitor.pipeline.runtime import ConfiguredSource, Runtime
from monitor.pipeline.store_chunk import decide
from monitor.store import runs

CHUNK = 1_000


def look(parts: Runtime, watched: ConfiguredSource, told: Sequence[Paper], now: datetime) -> None:
    """Raise HeldError for a reading of a feed that tells old papers anew; nothing is written.

    A first reading, a list and a document of a folder are never held.
    """
    if not (watched.dated and watched.source.repeats):
        return
    with parts.database.reading() as tx:
        last_read = runs.last_read(tx, watched.name)
        if last_read is None:
            return
        found = Suspicion()
        for start in range(0, len(told), CHUNK):
            chunk = told[start : start + CHUNK]
            decided = decide(tx, watched.name, chunk, DecisionContext(now, dated=True))
            found += suspect(chunk, decided.decisions, decided.candidates, last_read)
    if found.holds:
        raise HeldError(
            f"held: {found.new} of {found.known_before} entries that should have been there at "
            f"the reading of {last_read:%Y-%m-%d %H:%M} UTC are new",
            f"`paper-monitor ingest {watched.name} --accept` announces them as new, "
            "with --silently they are stored without being announced",
        )
