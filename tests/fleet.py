"""Replicas of `serve` and workers as real processes on one PostgreSQL, with one calendar for all.

The calendar is a file that the test moves; ticks are short. Each process is what the command
runs, but for these two.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from tests.house import House
from tests.patience import PATIENCE, wait

ROOT = Path(__file__).parent.parent
TICK = 0.25
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo")


def paper(number: int) -> tuple[str, str]:
    """Return a paper about agents that is no other one."""
    chosen = random.Random(number)

    def words(count: int) -> str:
        return " ".join("".join(chosen.choices(SYLLABLES, k=3)) for _ in range(count))

    return f"{words(5).title()} Agents", ". ".join(words(12) for _ in range(5)) + "."


class FileClock:
    """The calendar that all processes of a fleet share."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def now(self) -> datetime:
        return datetime.fromisoformat(self.path.read_text(encoding="ascii"))


class Fleet:
    """Processes on the store of a house, and the calendar that they go by."""

    def __init__(self, house: House, store: str) -> None:
        self.house = house
        self.store = store
        house.settings["store"] = store
        house.write()
        self.running: list[subprocess.Popen[bytes]] = []
        self.logs: dict[int, Path] = {}
        self.calendar = house.folder / "calendar"
        self.set(house.clock.at)

    def set(self, at: datetime) -> None:
        self.house.clock.at = at
        written = self.calendar.with_suffix(".new")
        written.write_text(at.isoformat(), encoding="ascii")
        written.replace(self.calendar)

    def move(self, **by: float) -> None:
        self.set(self.house.clock.at + timedelta(**by))

    def start(self, kind: str) -> subprocess.Popen[bytes]:
        """Start one more `serve` or `worker`; what it logs is in a file of its own."""
        log = self.house.folder / f"{len(self.logs)}-{kind}.log"
        with log.open("wb") as logged:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.fleet", kind, self.house.config, self.calendar],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=logged,
                stderr=logged,
            )
        self.running.append(process)
        self.logs[process.pid] = log
        return process

    def start_all(self, *kinds: str) -> None:
        """Start processes, and wait until all serve."""
        for kind in kinds:
            self.start(kind)
        wait(lambda: all(map(self.is_up, self.running)))

    def is_up(self, process: subprocess.Popen[bytes]) -> bool:
        """Say whether a process has come so far that it serves, and hears signals."""
        return b'"serving"' in self.logs[process.pid].read_bytes()

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait(PATIENCE)
        self.running.remove(process)

    def logged(self, kind: str) -> str:
        found = sorted(self.house.folder.glob(f"*-{kind}.log"))
        return "".join(path.read_text(encoding="utf-8") for path in found)

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement on the store, in a transaction of its own."""
        with self.connected() as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def has_read(self, papers: int) -> bool:
        """Say whether so many papers are stored and have met the topics."""
        stored = "SELECT count(*), count(matched_at) FROM change"
        return self.ask(stored) == [(papers, papers)]

    def connected(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.store.replace("+psycopg", ""), autocommit=True)

    @contextmanager
    def locked(self, table: str) -> Iterator[None]:
        """Let nobody write to a table, so that a job comes to a stop there."""
        with psycopg.connect(self.store.replace("+psycopg", "")) as connection:
            connection.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE".encode())
            yield

    def is_blocked(self) -> bool:
        """Say whether a process waits for a table that is locked."""
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'"
        return bool(self.ask(waits)[0][0])

    def end(self, process: subprocess.Popen[bytes]) -> int:
        """End one as `docker stop` does, when it is up; return its status."""
        wait(lambda: self.is_up(process))
        process.terminate()
        self.running.remove(process)
        return self._status(process)

    def stop(self) -> list[int]:
        """End all at the same time; return their statuses."""
        wait(lambda: all(map(self.is_up, self.running)))
        ending = self.running
        self.running = []
        for process in ending:
            process.terminate()
        return [*map(self._status, ending)]

    def _status(self, process: subprocess.Popen[bytes]) -> int:
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


@contextmanager
def fleet(house: House, store: str) -> Iterator[Fleet]:
    made = Fleet(house, store)
    try:
        yield made
    finally:
        for process in made.running:
            process.kill()
            process.wait()


def main(kind: str, path: str, calendar: str) -> None:
    import logging

    from monitor.log import set_up_logging
    from monitor.service.scheduler import Service
    from monitor.service.workers import Worker

    set_up_logging(logging.INFO)
    made = {"serve": Service, "worker": Worker}[kind]
    made(Path(path), FileClock(Path(calendar)), timedelta(seconds=TICK)).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
