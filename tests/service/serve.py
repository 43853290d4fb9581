"""`serve` with ticks as short as a test wants them: on a thread, or as a process.

The process has the machine's clock: python -m tests.service.serve monitor.yaml SECONDS
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from monitor.service.scheduler import Service
from tests.fleet import ROOT
from tests.house import House
from tests.patience import PATIENCE

TICK = timedelta(milliseconds=20)


@contextmanager
def serving(house: House, tick: timedelta = TICK) -> Iterator[Service]:
    """Run a service on a thread until the block ends."""
    service = Service(house.write(), house.clock, tick)
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield service
    finally:
        service.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()


def serve(house: House, seconds: float, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.service.serve", house.write(), str(seconds)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, **options)


if __name__ == "__main__":
    from monitor.clocks import SystemClock
    from monitor.log import set_up_logging

    set_up_logging()
    Service(Path(sys.argv[1]), SystemClock(), timedelta(seconds=float(sys.argv[2]))).run()
