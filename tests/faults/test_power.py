"""Power lost: what was written and never synced is gone, and what was recorded is not."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from monitor.model import DeliveryState
from monitor.store.digests import deliveries
from monitor.store.engine.database import Database
from tests.house import AGENTS, House
from tests.patience import PATIENCE
from tests.servers.smtp import Hold, ScriptedSmtp

SHIM = Path(__file__).with_name("power.c")
NORMAL = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
    "c.execute('PRAGMA journal_mode = WAL'); c.execute('PRAGMA synchronous = {}'); "
    "c.execute('CREATE TABLE t (x)'); c.execute('INSERT INTO t VALUES (1)'); c.commit(); "
    "import os; os._exit(0)"
)


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("POWER LOSS IS NOT TESTED: there is no C compiler")
    library = tmp_path_factory.mktemp("power") / "power.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SHIM), "-ldl"]
    subprocess.run(command, check=True, timeout=PATIENCE)
    return library


def disk_after(log: Path, store: Path, image: Path) -> Path:
    """Make the files that a disk holds for sure: each as it was when it was last synced.

    What the program wrote later may or may not have come to the disk; here, nothing of it did.
    """
    length: dict[str, int] = {}
    synced: dict[str, int] = {}
    for line in log.read_text().splitlines():
        what, path, offset, size = line.split("\t")
        if what == "w":
            length[path] = max(length.get(path, 0), int(offset) + int(size))
        elif what == "t":
            length[path] = int(size)
        else:
            synced[path] = length.get(path, 0)
    image.mkdir()
    for suffix in ("", "-wal"):
        there = store.with_name(store.name + suffix)
        kept = synced.get(str(there), 0)
        if there.exists():
            (image / there.name).write_bytes(there.read_bytes()[:kept])
    return image / store.name


def test_K09_an_answer_that_was_recorded_outlasts_the_power(
    house: House, smtp: ScriptedSmtp, shim: Path
):
    """The first mail's answer is recorded, the second is under way, and the power fails."""
    house.by_mail(smtp.port, "ada@example.org", "grace@example.org")
    house.add("a.txt", AGENTS)
    house.run()
    house.clock.move(days=1)
    with house.opened() as app:
        app.once.match()
    # The store was closed: all of it is in one file, and on the disk.
    store = house.folder / "data" / "monitor.db"
    log = house.folder / "disk.log"
    log.write_text(f"w\t{store}\t0\t{store.stat().st_size}\ns\t{store}\t0\t0\n")
    until = threading.Event()
    smtp.script["rcpt"] += ["250 2.1.5 ok", Hold(until, "250 2.1.5 ok")]
    process = house.process(
        "digest",
        "--now",
        house.clock.at.isoformat(),
        env={"LD_PRELOAD": str(shim), "DISK_LOG": str(log)},
    )
    try:
        assert smtp.held.wait(PATIENCE)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    finally:
        until.set()
    kept = Database(f"sqlite:///{disk_after(log, store, house.folder / 'image')}")
    with closing(kept), kept.reading() as tx:
        states = {one.recipient: one.state for one in deliveries.listing(tx)}
    assert states["ada@example.org"] is DeliveryState.SENT
    assert len(smtp.received) == 1


@pytest.mark.parametrize(("synchronous", "rows"), [("FULL", 1), ("NORMAL", 0)])
def test_K09_the_rig_can_tell_a_disk_that_forgets(
    tmp_path: Path, shim: Path, synchronous: str, rows: int
):
    """With `synchronous = NORMAL` the same commit is lost: why the store does not use it."""
    store = tmp_path / "some.db"
    log = tmp_path / "disk.log"
    env = {**os.environ, "LD_PRELOAD": str(shim), "DISK_LOG": str(log)}
    command = [sys.executable, "-c", NORMAL.format(synchronous), str(store)]
    subprocess.run(command, env=env, check=True, timeout=PATIENCE)
    with closing(sqlite3.connect(disk_after(log, store, tmp_path / "image"))) as kept:
        tables = kept.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        found = kept.execute("SELECT count(*) FROM t").fetchone()[0] if tables else 0
    assert found == rows
