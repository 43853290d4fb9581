"""Whether the stages are at work that takes the processor, so that others may give way to it.

Python runs one thread at a time: pages that are asked for all the time would take most turns.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType


class Busy:
    """True while at least one block that it guards runs, on whatever thread."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._count = 0

    def __bool__(self) -> bool:
        return self._count > 0

    def wait(self, most: float) -> float:
        """Wait while it is true, for `most` seconds at most; return how long that was."""
        if not self or most <= 0:
            return 0.0
        began = time.monotonic()
        with self._change:
            self._change.wait_for(lambda: not self, most)
        return time.monotonic() - began

    def __enter__(self) -> None:
        with self._change:
            self._count += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._change:
            self._count -= 1
            self._change.notify_all()
