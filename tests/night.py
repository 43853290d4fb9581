"""A night of faults, on the real service: what was due arrives once, and each fault is noticed.

    python -m tests.night                          # all faults, on SQLite and on PostgreSQL
    python -m tests.night --store sqlite --faults password,source

`serve` runs as a process of its own, by a calendar that is moved for it. One fault after the other
is there for an hour of that calendar, then it is mended: the disk is full (SQLite), the server is
down (PostgreSQL), the clock is set back by an hour and on again, the mail server takes mail and
never answers, it refuses the password, a source fails. Counted is what the receivers have: each
paper in one message for each reader (a message may come twice under the same Message-ID while the
server does not answer). The log is short, and each fault reached the operator once.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from monitor.model import DeliveryState
from monitor.store.digests import deliveries, outbox
from monitor.store.engine.database import Database
from monitor.store.engine.opening import open_store
from tests.fleet import ROOT, FileClock, paper
from tests.house import House
from tests.patience import PATIENCE, wait
from tests.servers import postgres
from tests.servers.smtp import Patient, ScriptedSmtp

START = datetime(2026, 11, 21, 18, 10, tzinfo=UTC)
STEP = timedelta(minutes=5)
TICK = timedelta(seconds=0.25)
# Seconds of real time that each step of a fault takes: several ticks.
PACE = 1.0
MOST_WARNINGS = 40
READERS = {"ada": "0 * * * *", "grace": "30 * * * *", "mary": "15,45 * * * *"}
FACTS = re.compile(r"<!-- paper-monitor (\{.*\}) -->")


class Night:
    """A service under test, and what is asked of it from outside."""

    def __init__(self, folder: Path, smtp: ScriptedSmtp, store: str) -> None:
        self.house = House(folder)
        self.smtp = smtp
        self.full = folder / "full"
        self.calendar = folder / "calendar"
        self.log = folder / "serve.log"
        self.papers = 0
        self.resolved = 0
        self._configure(store)
        self.set(START)
        self.database: Database = open_store(store or f"sqlite:///{folder / 'data/monitor.db'}")
        self.url = store

    def _configure(self, store: str) -> None:
        house = self.house
        (house.folder / "extra").mkdir()
        secret = {"username": "papers", "password": "an open secret", "timeouts": {"final": "2s"}}
        house.by_mail(self.smtp.port, **secret)
        lab = house.settings["subscriptions"].pop("lab")
        for name, schedule in READERS.items():
            reader = {"email": [f"{name}@example.org"], "schedule": schedule, "timezone": "UTC"}
            house.settings["subscriptions"][name] = lab | reader
        house.settings["topics"]["agents"] = {"query": "agents"}
        house.settings["sources"]["extra"] = {"kind": "huggingface-page", "path": "extra/*.txt"}
        house.settings["channels"] = {"ops": {"kind": "file", "path": "ops/"}}
        house.settings["operator"] = {"channels": ["ops"]}
        if store:
            house.settings["store"] = store
        house.write()

    # ── time ──

    @property
    def now(self) -> datetime:
        return self.house.clock.at

    def set(self, at: datetime) -> None:
        self.house.clock.at = at
        written = self.calendar.with_suffix(".new")
        written.write_text(at.isoformat(), encoding="ascii")
        written.replace(self.calendar)

    def step(self, pause: float = PACE) -> None:
        self.set(self.now + STEP)
        threading.Event().wait(pause)

    def hour(self) -> None:
        """An hour in which a paper comes in, at the pace of a fault that is being watched."""
        self.add()
        for _ in range(12):
            self.step()

    def add(self) -> None:
        self.house.add(f"{self.papers:03}.txt", paper(self.papers))
        self.papers += 1

    def recover(self) -> None:
        """Move on until all that came in is read, composed and sent.

        What is unknown after three hours waits for a person, who looks into the mailboxes.
        """
        for step in range(80):
            self.step(0.5)
            if self.is_at_rest():
                return
            if step == 36:
                self.resolve()
        raise AssertionError(
            f"{self.open()} deliveries are open, {self.unannounced()} papers unannounced"
        )

    def resolve(self) -> None:
        arrived = {id for some in self.messages().values() for id in some}
        with self.database.writing() as tx:
            for one in deliveries.listing(tx, [DeliveryState.UNKNOWN]):
                fate = "sent" if one.message_id in arrived else "resend"
                outbox.settle_by_hand(tx, one.id, fate, self.now)
                self.resolved += 1

    def is_at_rest(self) -> bool:
        return not self.unannounced() and not self.open() and self.read() == self.papers

    def read(self) -> int:
        return self._count("SELECT count(*) FROM paper")

    def open(self) -> int:
        return self._count("SELECT count(*) FROM delivery WHERE state NOT IN ('sent','superseded')")

    def unannounced(self) -> int:
        """Papers that stand in no digest of a reader."""
        in_digests = self._count(
            "SELECT count(*) FROM digest_item i JOIN digest d ON d.id = i.digest_id"
            " WHERE d.superseded_at IS NULL"
        )
        return self.papers * len(READERS) - in_digests

    def _count(self, statement: str) -> int:
        with self.database.reading() as tx:
            return int(tx.exec_driver_sql(statement).scalar() or 0)

    # ── processes ──

    @contextmanager
    def serving(self) -> Iterator[None]:
        with self.log.open("wb") as logged:
            process = self._start(["serve"], logged, logged)
        try:
            wait(lambda: b'"serving"' in self.log.read_bytes() or process.poll() is not None)
            yield
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait()

    def command(self, *words: str) -> tuple[int, str]:
        """Run a command at this moment; return its status and all that it said."""
        pipe = subprocess.PIPE
        process = self._start([*words, "--now", self.now.isoformat()], pipe, subprocess.STDOUT)
        said, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, said.decode()

    def _start(self, words: list[str], out: Any, err: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.night", "--process", str(self.house.folder), *words],
            cwd=self.house.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=out,
            stderr=err,
        )

    # ── what is counted ──

    def lines(self) -> list[dict[str, Any]]:
        text = self.log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in text if line.startswith("{")]

    def warnings(self) -> list[dict[str, Any]]:
        return [one for one in self.lines() if one["level"] in ("warning", "error", "critical")]

    def notices(self) -> Counter[str]:
        pages = (self.house.folder / "ops").glob("*/*.html")
        facts = (FACTS.search(page.read_text(encoding="utf-8")) for page in pages)
        return Counter(json.loads(one[1])["title"] for one in facts if one)

    def messages(self) -> dict[str, dict[str, Any]]:
        """The mails that arrived, by recipient and Message-ID; and how often each did."""
        found: dict[str, dict[str, Any]] = defaultdict(dict)
        for mail in self.smtp.received:
            id = mail.message["Message-ID"]
            times, _ = found[mail.recipient].get(id, (0, ""))
            found[mail.recipient][id] = times + 1, mail.text
        return found


# ── the faults ──────────────────────────────────────────────────────────────────────


@contextmanager
def disk_full(night: Night) -> Iterator[None]:
    night.full.touch()
    yield
    night.full.unlink()


@contextmanager
def store_down(night: Night) -> Iterator[None]:
    with postgres.stopped(night.url.rpartition("/")[0]):
        yield


@contextmanager
def clock_back(night: Night) -> Iterator[None]:
    """An hour back for the schedule, and on again at the end."""
    night.set(night.now - timedelta(hours=1))
    yield
    night.set(night.now + timedelta(hours=1))


@contextmanager
def mail_swallowed(night: Night) -> Iterator[None]:
    night.smtp.always["dot"] = Patient(PATIENCE, "250 2.0.0 taken, and never answered")
    yield
    del night.smtp.always["dot"]


@contextmanager
def password_refused(night: Night) -> Iterator[None]:
    night.smtp.always["auth"] = "535 5.7.8 authentication failed"
    yield
    del night.smtp.always["auth"]


@contextmanager
def source_failing(night: Night) -> Iterator[None]:
    folder = night.house.folder / "extra"
    away = folder.rename(night.house.folder / "away")
    yield
    away.rename(folder)


@dataclass(frozen=True)
class Fault:
    """`seen` is in what `status` says, `notified` begins the one notice to the operator."""

    begin: Callable[[Night], AbstractContextManager[None]]
    seen: str = ""
    notified: str = ""
    stores: tuple[str, ...] = ("sqlite", "postgresql")


FAULTS = {
    "disk": Fault(
        disk_full, "the store cannot be written", "The store was unavailable", ("sqlite",)
    ),
    "down": Fault(store_down, "paper-monitor: ", "The store was unavailable", ("postgresql",)),
    "source": Fault(source_failing, "source extra has been failing", "extra cannot be read"),
    "password": Fault(password_refused, "smtp has been down", "Nothing can be sent by mail"),
    "clock": Fault(clock_back),
    "swallow": Fault(mail_swallowed, "smtp has been down", "Nothing can be sent by mail"),
}


def live(night: Night, store: str, names: list[str]) -> list[str]:
    """Let a night pass, print what came of it, and return what should not have been."""
    chosen = {name: FAULTS[name] for name in names if store in FAULTS[name].stores}
    seen = {}
    night.add()
    with night.serving():
        night.recover()
        for name, fault in chosen.items():
            with fault.begin(night):
                night.hour()
                status, said = night.command("status")
                seen[name] = f"status {status}" + ("" if fault.seen in said else f" without {said}")
            night.recover()
        night.step()
    return judge(night, store, chosen, seen)


def judge(night: Night, store: str, faults: dict[str, Fault], seen: dict[str, str]) -> list[str]:
    warnings = night.warnings()
    notices = night.notices()
    messages = night.messages()
    arrived = [times for some in messages.values() for times, _ in some.values()]
    copies = sum(arrived) - len(arrived)
    sys.stdout.write(
        f"{store}: {night.papers} papers for {len(READERS)} readers in {len(arrived)} messages, "
        f"{copies} copies, {night.resolved} settled by hand, "
        f"{len(warnings)} lines at warning or above\n"
    )
    for title, times in sorted(notices.items()):
        sys.stdout.write(f"    operator: {times} x {title}\n")
    wrong = []
    for name in READERS:
        texts = [text for _, text in messages[f"{name}@example.org"].values()]
        for number in range(night.papers):
            times = sum(paper(number)[0] in text for text in texts)
            if times != 1:
                wrong.append(f"{name} has paper {number} in {times} messages")
    if copies > (3 * len(READERS) if "swallow" in faults else 0):
        wrong.append(f"{copies} messages came again")
    if len(warnings) > MOST_WARNINGS:
        events = Counter(f"{one['level']} {one['event']}" for one in warnings)
        wrong.append(f"{len(warnings)} lines at warning or above: {events.most_common(9)}")
    if "Traceback" in night.log.read_text(encoding="utf-8"):
        wrong.append("there is a traceback in the log")
    wanted = Counter(fault.notified for fault in faults.values() if fault.notified)
    for notified, times in wanted.items():
        came = sum(count for title, count in notices.items() if title.startswith(notified))
        if came != times:
            wrong.append(f"the operator was notified {came} times, not {times}: {notified}")
    for name, fault in faults.items():
        if fault.seen and seen[name] != "status 1":
            wrong.append(f"{name} was not to be seen: {seen[name]}")
    return wrong


def night(folder: Path, store: str, url: str, names: list[str]) -> list[str]:
    with ScriptedSmtp(extensions=("8BITMIME", "AUTH PLAIN")) as smtp:
        made = Night(folder, smtp, url)
        try:
            return live(made, store, names)
        finally:
            made.database.close()


# ── the process under test ──────────────────────────────────────────────────────────


def process(folder: Path, words: list[str]) -> None:
    """Run a command of the program, with the calendar of the night and a disk that may be full."""
    _fill(folder / "full")
    if words != ["serve"]:
        from monitor.cli import main

        sys.argv = ["paper-monitor", *words, "--config", str(folder / "monitor.yaml")]
        main()
        return
    import logging

    from monitor.log import set_up_logging
    from monitor.service.scheduler import Service

    set_up_logging(logging.INFO)
    Service(folder / "monitor.yaml", FileClock(folder / "calendar"), TICK).run()


def _fill(flag: Path) -> None:
    """While the flag is there, each commit finds the disk full, as SQLite says it."""
    import sqlite3

    import sqlalchemy as sa

    begin = Database.writing

    @contextmanager
    def writing(self: Database) -> Iterator[sa.Connection]:
        with begin(self) as tx:
            yield tx
            if flag.exists():
                full = sqlite3.OperationalError("database or disk is full")
                raise sa.exc.OperationalError("COMMIT", {}, full)

    Database.writing = writing  # type: ignore[method-assign,assignment]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--store", choices=["sqlite", "postgresql"], action="append")
    asked.add_argument("--faults", default=",".join(FAULTS))
    arguments = asked.parse_args()
    names = arguments.faults.split(",")
    ok = True
    for store in arguments.store or ["sqlite", "postgresql"]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = ""
            if store == "postgresql":
                server = stack.enter_context(postgres.server())
                postgres.execute(server, "CREATE DATABASE night")
                url = f"{server}/night"
            for wrong in night(folder, store, url, names):
                sys.stdout.write(f"    WRONG: {wrong}\n")
                ok = False
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--process"]:
        process(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
