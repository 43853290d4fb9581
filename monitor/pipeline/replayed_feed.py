"""A feed that lists old papers as new ones is held, and the operator is asked."""

from __future__ import annotations

from datetime import datetime

from monitor.diff.replayed_feed import Suspicion
from monitor.errors import HeldError


def hold_replayed(source: str, suspicion: Suspicion, last_read: datetime) -> None:
    """Raise HeldError for a reading of a feed that replays old papers.

    It is judged by its first chunk: a feed that was moved or rebuilt replays from the start.
    """
    if suspicion.holds:
        raise HeldError(
            f"held: {suspicion.new} of {suspicion.known_before} entries that should have been "
            f"there at the reading of {last_read:%Y-%m-%d %H:%M} UTC are new",
            f"`paper-monitor ingest {source} --accept` announces them as new, "
            "with --silently they are stored without being announced",
        )
