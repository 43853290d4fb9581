"""How many papers are stored in one transaction: at most 1,000, in about half a second."""

from __future__ import annotations

MAX_PAPERS = 1_000
MIN_PAPERS = 50
SECONDS = 0.5


class ChunkSize:
    """The size of the next chunk.

    Seconds are of our own work: on a busy machine smaller transactions would only add to it.
    """

    def __init__(self) -> None:
        self.papers = MAX_PAPERS

    def adapt(self, seconds: float) -> None:
        """Choose the next size after a chunk that took `seconds`."""
        papers = int(self.papers * SECONDS / max(seconds, 0.001))
        self.papers = max(MIN_PAPERS, min(MAX_PAPERS, papers))
