"""Leaves time between two messages to a place that wants it.

Slack takes one a second for each channel, and others go on meanwhile; a mail server may take so
many a minute, over all connections. The time is the machine's: no `--now` moves it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection

from monitor.pipeline.runtime import DeliverContext


class Pace:
    """The pace of one line; what a round of it knows, the next one knows, too."""

    _taking = threading.Lock()

    def __init__(self, context: DeliverContext, line: str, names: Collection[str]) -> None:
        self._context = context
        self._line = line
        self._names = names
        self._next = context.not_before

    def free(self) -> set[str]:
        """Return the channels that may be sent to at once."""
        return {name for name in self._names if self._left(name) <= 0}

    def wait(self, name: str) -> bool:
        """Wait until a channel and its line may be sent to. False when the process is stopping."""
        left = max(self._left(name), self._turn())
        return left <= 0 or not self._context.stopping.wait(left)

    def sent(self, name: str) -> None:
        apart = self._context.channels[name].min_interval
        if apart:
            self._next[self._line, name] = time.monotonic() + apart

    def _left(self, name: str) -> float:
        return self._next.get((self._line, name), 0.0) - time.monotonic()

    def _turn(self) -> float:
        """Take the line's next turn, and return the seconds until it comes."""
        apart = self._context.apart.get(self._line, 0.0)
        if not apart:
            return 0.0
        with self._taking:
            now = time.monotonic()
            turn = max(now, self._next.get((self._line, ""), 0.0))
            self._next[self._line, ""] = turn + apart
        return turn - now
