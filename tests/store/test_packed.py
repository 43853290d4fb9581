"""Packed values are read by many threads at once, also where their type is new to all of them."""

from __future__ import annotations

import subprocess
import sys

# A type of its own for each turn: msgspec reads the fields of a type once in a process.
READ_BY_MANY = """
import sys, threading
from dataclasses import make_dataclass
from monitor.store.digests.packed import pack, unpack

sys.setswitchinterval(1e-6)
for turn in range(50):
    inner = make_dataclass("Inner", [(f"f{n}", int) for n in range(20)])
    kind = make_dataclass("Outer", [("first", inner), ("rest", list[inner])])
    one = inner(*range(20))
    packed, wanted = pack(kind(one, [one] * 3)), kind(one, [one] * 3)
    together = threading.Barrier(8)

    def read():
        together.wait()
        assert unpack(packed, kind) == wanted

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("read")
"""


def test_threads_that_read_the_first_values_of_a_type_at_once_do_not_crash() -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ_BY_MANY], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "read\n", "")
