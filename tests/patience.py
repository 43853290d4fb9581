"""Waiting for what another process or thread brings about.

Nothing waits a moment longer than it has to. The bound is for what never comes, and far beyond
what the slowest and busiest machine takes: a test that is late is no news.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 600.0


def wait(until: Callable[[], Any], seconds: float = PATIENCE) -> None:
    """Look again and again until it has come about."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not until():
        assert time.monotonic() < deadline, "it did not come about"
        pause.wait(0.02)


def at_once(*work: Callable[[], object]) -> None:
    """Let threads work at the same time, until all are done."""
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
