from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from monitor.errors import StoreBusyError
from monitor.store.engine import locks
from monitor.store.engine.database import Database
from monitor.store.engine.locks import hold_owner
from monitor.store.engine.opening import open_store
from tests.patience import PATIENCE

HOLDS = """
import sys
from monitor.store.engine.opening import open_store
from monitor.store.engine.locks import hold_owner, service_lock, source_lock

store = open_store(sys.argv[1])
with source_lock(store, "feed") as source, service_lock(store), hold_owner(store) as owner:
    print(source.id, owner.id, flush=True)
    sys.stdin.read()
"""


@contextmanager
def process(script: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a script that prints a line and waits; yield the process and the line."""
    command = [sys.executable, "-c", script, *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as running:
        try:
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()


def kill(running: subprocess.Popen[str], store: Database, name: str) -> None:
    """Kill a process; a PostgreSQL server takes a moment to notice that it is gone."""
    running.send_signal(signal.SIGKILL)
    running.wait(timeout=PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while locks.alive(store, name):
        assert time.monotonic() < deadline


def test_an_owner_lives_until_it_lets_go(url: str, store: Database) -> None:
    with closing(open_store(url)) as other, hold_owner(store) as second:
        first = hold_owner(store)
        assert first.id != second.id
        first.keep()
        assert all(locks.alive(seen_by, first.id) for seen_by in (store, store, other))
        first.release()
        assert not any(locks.alive(seen_by, first.id) for seen_by in (store, other))
        assert locks.alive(store, second.id)
        assert not locks.alive(store, "nobody")


def test_K03_K15_only_one_serves_a_store_or_reads_a_source_until_it_ends(
    url: str, store: Database
) -> None:
    with process(HOLDS, url) as (running, held):
        source, owner = held.split()
        assert locks.alive(store, owner)
        with pytest.raises(StoreBusyError, match="another paper-monitor serve"):
            locks.service_lock(store)
        with pytest.raises(StoreBusyError, match="the source feed is being read"):
            locks.source_lock(store, "feed")
        for name in (source, locks.SERVICE, owner):
            kill(running, store, name)
    for _ in range(2):
        with locks.service_lock(store), locks.source_lock(store, "feed"):
            pass


def test_what_dead_owners_leave_behind_is_swept_away(sqlite: Database) -> None:
    folder = locks.owners_folder(sqlite.path)
    living = hold_owner(sqlite)
    (folder / "dead").touch()
    (folder / locks.SERVICE).touch()
    another = hold_owner(sqlite)
    assert {file.name for file in folder.iterdir()} == {living.id, another.id, locks.SERVICE}
    living.release()
    another.release()


def let_go_of_all_locks(store: Database) -> None:
    with store.writing() as tx:
        tx.exec_driver_sql(
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_locks"
            " WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
        )


def test_K15_a_service_takes_its_place_again_after_the_server_let_go_of_it(
    postgres_url: str,
) -> None:
    """Where another took it meanwhile, that is reported until it is free."""
    with closing(open_store(postgres_url)) as store, closing(open_store(postgres_url)) as other:
        with locks.service_lock(store) as place, hold_owner(store) as owner:
            let_go_of_all_locks(store)
            for lock in (place, owner):
                lock.keep()
                assert locks.alive(other, lock.id)
            let_go_of_all_locks(store)
            with locks.service_lock(other):
                for _ in range(2):
                    with pytest.raises(StoreBusyError, match="another paper-monitor"):
                        place.keep()
            place.keep()
            with pytest.raises(StoreBusyError, match="another paper-monitor"):
                locks.service_lock(other)
        with locks.service_lock(other):
            pass


@pytest.mark.parametrize("source", ["feed", "../a b/é" * 99, "service"])
def test_a_source_is_read_by_one_at_a_time(store: Database, source: str) -> None:
    with locks.source_lock(store, source) as place, locks.service_lock(store):
        place.keep()
        with pytest.raises(StoreBusyError, match="is being read already"):
            locks.source_lock(store, source)
        with locks.source_lock(store, "other"):
            pass
        hold_owner(store).release()
        with pytest.raises(StoreBusyError):
            locks.source_lock(store, source)
    with locks.source_lock(store, source):
        pass
