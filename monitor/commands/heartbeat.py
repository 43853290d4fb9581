"""Heartbeats: whether the store takes a write, and whether the service and workers tick.

A container's health check asks every minute, so this imports little.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock

from monitor.clocks import Clock
from monitor.errors import StoreError
from monitor.store.engine import processes
from monitor.store.engine.database import Database, Transaction
from monitor.store.engine.opening import CREATED_BY, is_there

SERVICE = "serve"
WORKER = "worker"
# A round of the command `run`, which does the work of the service once.
ROUND = "run"
ALIVE = timedelta(minutes=5)
# A worker beats every twenty seconds: after this time others take over its work.
AT_WORK = timedelta(minutes=1)
FORGOTTEN = timedelta(days=1)
RECENT = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check: `message` is the state, or what to do; a `warning` stops nothing."""

    name: str
    ok: bool
    message: str
    warning: bool = False


def sign_of_life(database: Database, kind: str) -> None:
    """Record that this service or worker process runs, and forget those of more than a day ago."""
    now = datetime.now(UTC)
    with database.writing() as tx:
        if kind == SERVICE:
            processes.beat(tx, SERVICE, now)
        processes.beat(tx, f"{_here(kind)}{os.getpid()}", now)
        processes.forget_old(tx, now - FORGOTTEN)


def end_of_life(database: Database, kind: str) -> None:
    with database.writing() as tx:
        processes.forget(tx, f"{_here(kind)}{os.getpid()}")


def take_over(database: Database) -> None:
    """Record a round of `run`: a service that has fallen silent is not missed any more."""
    with database.writing() as tx:
        processes.beat(tx, ROUND, datetime.now(UTC))


def last_sign(tx: Transaction) -> datetime | None:
    """Return the last sign of life of the service, None where none runs or ought to.

    One that is silent ought not to run once a later round of `run` has done its work.
    """
    last = processes.last_beat(tx, SERVICE)
    taken_over = processes.last_beat(tx, ROUND)
    if last is None or _is_alive(last) or taken_over is None or taken_over < last:
        return last
    return None


def living_workers(database: Database) -> int:
    """Return how many workers have given a sign of life within the last minute."""
    with database.reading() as tx:
        signs = processes.signs(tx, WORKER)
    return sum(datetime.now(UTC) - at < AT_WORK for at in signs.values())


def _here(kind: str) -> str:
    return f"{kind}@{socket.gethostname()}/"


def vital_signs(database: Database) -> list[Check]:
    """Check that the store takes a write, and that the processes on this machine tick.

    Of each kind the newest process here is checked; if there is none, any service.
    """
    recorded = store(database, whole=False)
    if not recorded.ok:
        return [recorded]
    with database.reading() as tx:
        signs = processes.signs(tx)
    checks = []
    for kind in (SERVICE, WORKER):
        here = [at for name, at in signs.items() if name.startswith(_here(kind))]
        checks += [_check_heartbeat(kind, max(here))] if here else []
    return [recorded, *(checks or [service(database, expected=True)])]


class RecentSigns:
    """Vital signs for those who ask often and need no login: checked once in a few seconds.

    A check writes to the store, and so would hold up whoever else writes. May be used by threads.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._lock = Lock()
        self._checked_at: datetime | None = None
        self._checks: list[Check] = []

    def checks(self) -> list[Check]:
        with self._lock:
            now = self._clock.now()
            if self._checked_at is None or abs(now - self._checked_at) >= RECENT:
                self._checks = vital_signs(self._database)
                self._checked_at = now
            return self._checks


def service(database: Database, *, expected: bool) -> Check:
    with database.reading() as tx:
        last = last_sign(tx)
    if last is None:
        advice = "it does not run on this store; start it with paper-monitor serve"
        return Check("service", not expected, advice)
    return _check_heartbeat("service", last)


def workers(database: Database) -> list[Check]:
    """Check the workers of all machines; a killed one passes while another runs."""
    with database.reading() as tx:
        signs = processes.signs(tx, WORKER)
    checks = [_check_heartbeat(name.replace("@", " "), at) for name, at in signs.items()]
    if not any(check.ok for check in checks):
        return checks
    fate = "it stopped unexpectedly; another worker has taken over"
    return [
        check if check.ok else Check(check.name, True, f"{check.message}: {fate}")
        for check in checks
    ]


def _check_heartbeat(name: str, last: datetime) -> Check:
    return Check(name, _is_alive(last), f"last sign of life {last:%Y-%m-%d %H:%M:%S} UTC")


def _is_alive(last: datetime) -> bool:
    # A heartbeat in the future is from before the clock was set back, and does not count.
    return abs(datetime.now(UTC) - last) < ALIVE


def store(database: Database, *, whole: bool) -> Check:
    try:
        if not is_there(database.url.render_as_string(hide_password=False)):
            return Check("store", False, f"there is no store yet at {database}: {CREATED_BY}")
        database.probe()
        if whole:
            database.check()
    except StoreError as fault:
        return Check("store", False, str(fault))
    return Check("store", True, "intact and writable" if whole else "writable")
