"""`serve` as a process, with ticks as short as a test wants them and the machine's clock.

python -m tests.service.serve monitor.yaml SECONDS
"""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.fleet import ROOT
from tests.house import House


def serve(house: House, seconds: float, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.service.serve", house.write(), str(seconds)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, **options)


if __name__ == "__main__":
    from monitor.clocks import SystemClock
    from monitor.log import set_up_logging
    from monitor.service.scheduler import Service

    set_up_logging()
    Service(Path(sys.argv[1]), SystemClock(), timedelta(seconds=float(sys.argv[2]))).run()
