"""The memory that threads of a service allocate from."""

from __future__ import annotations

import subprocess
import sys

import pytest

ALLOCATE = """
import re, sys, threading
from monitor.service.process import use_one_arena
if sys.argv[1] == "one":
    use_one_arena()
barrier = threading.Barrier(4)
def allocate():
    kept = [bytes(2_000) for _ in range(100)]
    barrier.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
reserved = re.findall(r"^(\\w+)-(\\w+) ---p", open("/proc/self/maps").read(), re.M)
print(sum(32 << 20 < int(end, 16) - int(start, 16) <= 64 << 20 for start, end in reserved))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="about glibc")
def test_all_threads_allocate_from_one_arena() -> None:
    def arenas(how: str) -> int:
        command = [sys.executable, "-c", ALLOCATE, how]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    assert arenas("many") >= 1
    assert arenas("one") == 0
