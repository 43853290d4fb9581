"""What commands and processes cost: processor time and memory."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of processor, and the peak of memory in MB of the largest process."""

    seconds: float
    memory: float


def run(command: Sequence[str], folder: Path) -> Cost:
    """Run a command in a folder to its end; it must succeed."""
    # An installation keeps its compiled modules, whatever this shell says.
    kept = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=folder, env=kept, stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        assert process.returncode == 0, output.read()[-2000:]
    # Linux counts kilobytes, macOS bytes.
    unit = 1024 if sys.platform == "linux" else 1024**2
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / unit)


def monitor(folder: Path, *arguments: str, profile: Path | None = None) -> Cost:
    """Run a command of Paper Monitor with the configuration in a folder."""
    profiled = ["-m", "cProfile", "-o", str(profile)] if profile else []
    config = ["--config", str(folder / "monitor.yaml")]
    return run([sys.executable, *profiled, "-m", "monitor", *arguments, *config], folder)


def resident(pid: int) -> float:
    """Return the MB of memory that a process takes now."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
