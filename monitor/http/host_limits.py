"""One request at a time for each host, and how far apart: shared through lock files."""

from __future__ import annotations

import fcntl
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import quote

from monitor.errors import DeferredError, FetchError
from monitor.private_files import open_shared

ARXIV = "arxiv.org"  # 3 s apart, one connection: its terms of use
GATE_PATIENCE = 600.0  # seconds to wait for one's turn at a host
BETWEEN_TRIES = 0.05  # seconds

# How long the first request of a reading waits for its turn, None where it waits as others do.
_first_patience: ContextVar[float | None] = ContextVar("first_patience", default=None)


@contextmanager
def patient(seconds: float) -> Iterator[None]:
    """Let the first request in a block wait `seconds` for its turn; then raise DeferredError."""
    before = _first_patience.set(seconds)
    try:
        yield
    finally:
        _first_patience.reset(before)


@dataclass(frozen=True, slots=True)
class Gates:
    """One request at a time for each host, shared through lock files by all processes."""

    folder: Path
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    owner: int = 0  # who may own the folder, beside this account and root

    @contextmanager
    def turn(
        self, host: str, apart: float = 0.0, go_on: Callable[[], object] = lambda: None
    ) -> Iterator[None]:
        """Wait for one's turn and hold it; FetchError when it does not come in time.

        Turns are at least `apart` seconds from one another, and as far as the host's own rule.
        `go_on` is called while it waits, and raises an error to end that.
        """
        gate = gate_of(host)
        spacing = max(apart, 3.0 if gate == ARXIV else 0.0)
        path = self.folder / f"{quote(gate, safe='')}.gate"
        try:
            file = open_shared(path, self.owner)
        except OSError as fault:
            raise FetchError(f"cannot keep the gate {path}: {fault.strerror}") from fault
        with file:
            self._lock(file, gate, go_on)
            _first_patience.set(None)
            self._keep_distance(file, spacing)
            go_on()
            try:
                yield
            finally:
                _write_time(file, self.wall())

    def _lock(self, file: IO[str], gate: str, go_on: Callable[[], object]) -> None:
        first = _first_patience.get()
        tries = math.ceil((GATE_PATIENCE if first is None else first) / BETWEEN_TRIES)
        for _ in range(tries):  # whatever the clock is set to meanwhile
            with suppress(BlockingIOError):
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            go_on()
            self.sleep(BETWEEN_TRIES)
        why = f"other requests to {gate} did not finish"
        raise FetchError(why) if first is None else DeferredError(why)

    def _keep_distance(self, file: IO[str], spacing: float) -> None:
        """Wait until `spacing` seconds after the last request, however the clock was set."""
        since = max(self.wall() - _read_time(file), 0.0)
        if since < spacing:
            self.sleep(spacing - since)
        _write_time(file, self.wall())  # also counts a request that a crash cuts off


def gate_of(host: str) -> str:
    """Return whose turn a host shares: the API, RSS and OAI of arXiv are one."""
    host = host.lower().rstrip(".")
    return ARXIV if host.endswith(f".{ARXIV}") else host


def _read_time(file: IO[str]) -> float:
    file.seek(0)
    try:
        return float(file.read(40))
    except ValueError:
        return 0.0


def _write_time(file: IO[str], at: float) -> None:
    file.truncate(0)
    file.write(f"{at!r}")
    file.flush()
