"""No test asserts how many seconds work takes: another machine is slower, or has other work.

What such a test means is counted instead (`tests/counting.py`), or compared with other work of the
same run. Seconds are measured in `benchmarks/`.
"""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time"}
CLOCKS |= {f"{clock}_ns" for clock in CLOCKS}
# The tests that read a clock, and for what.
READ_FOR = {
    "cli/test_opml.py": "a ratio: reading the same feeds as XML alone",
    "look_up/test_services.py": "an hour that passes while an answer comes",
    "match/test_foreign_syntax.py": "a ratio: eight times the text",
    "match/test_suggestions.py": "a ratio: eight times the text",
    "service/test_two_processes.py": "the least time between two requests",
    "store/test_database.py": "the least time that a process waits",
    "store/test_locks.py": "the end of waiting for what never comes",
    "test_hostile_texts.py": "a ratio: eight times the text",
    "web/test_connections.py": "the end of waiting for what never comes",
}


def reads_a_clock(code: str) -> bool:
    calls = [node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    names = {getattr(called, "attr", getattr(called, "id", "")) for called in calls}
    return not names.isdisjoint(CLOCKS)


def test_no_other_test_reads_a_clock() -> None:
    files = {str(file.relative_to(TESTS)): file for file in TESTS.rglob("test_*.py")}
    reading = {name for name, file in files.items() if reads_a_clock(file.read_text("utf-8"))}
    assert reading - {Path(__file__).name} == {*READ_FOR}


def test_a_clock_is_seen_however_it_is_imported() -> None:
    assert reads_a_clock("began = time.monotonic()")
    assert reads_a_clock("from time import process_time\nassert process_time() < 3")
    assert not reads_a_clock("import time\ntime.time()")
