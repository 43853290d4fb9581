"""A simulated month: two schedulers, three workers, one PostgreSQL; processes killed at random.

    python -m tests.month --days 30

Real processes, a real SMTP conversation that takes its time, a calendar that all share. At each
step a paper comes in, the calendar moves on, and some process is killed (SIGKILL) a moment later
and replaced. What nobody knows the end of (`smtp.unknown: hold`) is settled as a person would:
by looking into the mailbox. At the end it is counted at the receivers: each digest that was due,
once, and each paper once for each reader.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from monitor.digest.schedule import next_due, parse_schedule
from monitor.store.digests import outbox
from monitor.store.engine.opening import open_store
from tests.fleet import Fleet, fleet, paper
from tests.house import SATURDAY, House
from tests.patience import wait
from tests.servers import postgres
from tests.servers.smtp import Patient, ScriptedSmtp

SCHEDULES = {
    "berlin": ("daily 08:00", "Europe/Berlin"),
    "tokyo": ("daily 07:30", "Asia/Tokyo"),
    "angeles": ("weekdays 06:00", "America/Los_Angeles"),
    "delhi": ("mon+thu 18:00", "Asia/Kolkata"),
    "twice": ("0 6,18 * * *", "UTC"),
    "first": ("monthly 1 08:00", "Europe/London"),
}
STEP = timedelta(hours=8)
NUDGE = timedelta(minutes=1)
REPLICAS = 2
WORKERS = 3
# Seconds within which a process is killed after the calendar has moved.
WITHIN = 1.5
DIGESTS = """
    SELECT message_id, subscription, period
    FROM delivery JOIN digest ON digest.id = digest_id
"""

Digest = tuple[str, str]


@dataclass
class Result:
    """What was due, what arrived how often, and what it took."""

    due: set[Digest]
    arrived: Counter[Digest]
    papers: Counter[tuple[str, str]]
    read: int
    kills: Counter[str] = field(default_factory=Counter)
    resolved: Counter[str] = field(default_factory=Counter)

    @property
    def lost(self) -> set[Digest]:
        return self.due - set(self.arrived)

    @property
    def repeated(self) -> set[Digest]:
        return {digest for digest, times in self.arrived.items() if times > 1}

    @property
    def unannounced(self) -> int:
        """Papers of which a reader with a daily digest was not sent, or more than once."""
        daily = [name for name, (schedule, _) in SCHEDULES.items() if schedule.startswith("daily")]
        return sum(
            self.papers[name, paper(number)[0]] != 1
            for name in daily
            for number in range(self.read)
        )


class Month:
    def __init__(self, running: Fleet, smtp: ScriptedSmtp, seed: int) -> None:
        self.fleet = running
        self.smtp = smtp
        self.random = random.Random(seed)
        self.start = running.house.clock.at
        self.read = 0
        self.kills: Counter[str] = Counter()
        self.resolved: Counter[str] = Counter()
        self.kinds: dict[int, str] = {}

    def live(self, days: float) -> Result:
        for kind in ["serve"] * REPLICAS + ["worker"] * WORKERS:
            self.begin(kind)
        while self.now < self.start + timedelta(days=days):
            self.step()
        self.take_in()
        for _ in range(3):  # the paper of the last step is in the digests of a day later
            self.advance()
            self.come_to_rest()
        assert set(self.fleet.stop()) == {0}
        digest_of = {message: tuple(digest) for message, *digest in self.fleet.ask(DIGESTS)}
        arrived = Counter(digest_of[str(mail.message["Message-ID"])] for mail in self.smtp.received)
        return Result(
            self.due(), arrived, self.count_announcements(), self.read, self.kills, self.resolved
        )

    @property
    def now(self) -> datetime:
        return self.fleet.house.clock.at

    def step(self) -> None:
        self.take_in()
        self.advance()
        self.kill_some()
        self.come_to_rest()

    def advance(self) -> None:
        """Move on to the next step: no schedule has two slots in one."""
        self.fleet.set(self.start + (int((self.now - self.start) / STEP) + 1) * STEP)

    def take_in(self) -> None:
        self.fleet.house.add(f"{self.read:03}.txt", paper(self.read))
        self.read += 1
        self.fleet.set(self.now + NUDGE)
        self.until(lambda: self.fleet.has_read(self.read))

    def begin(self, kind: str) -> None:
        self.kinds[self.fleet.start(kind).pid] = kind

    def kill_some(self) -> None:
        self.until(self.some_are_up)
        threading.Event().wait(self.random.uniform(0, WITHIN))
        up = [process for process in self.fleet.running if self.fleet.is_up(process)]
        chosen: subprocess.Popen[bytes] = self.random.choice(up)
        kind = self.kinds[chosen.pid]
        self.fleet.kill(chosen)
        self.kills[kind] += 1
        self.begin(kind)

    def some_are_up(self) -> bool:
        """Whether those that were killed before are replaced, all but one."""
        return sum(map(self.fleet.is_up, self.fleet.running)) >= REPLICAS + WORKERS - 1

    def until(self, come: Callable[[], bool]) -> None:
        """Wait; what is tried again later, or was interrupted, is helped on by the calendar."""
        for _ in range(200):
            try:
                wait(come, 3)
                return
            except AssertionError:
                self.fleet.set(self.now + NUDGE)
        raise AssertionError("it did not come about")

    def come_to_rest(self) -> None:
        self.until(self.is_composed)
        self.until(self.is_settled)

    def is_composed(self) -> bool:
        composed = {tuple(row) for row in self.fleet.ask("SELECT subscription, period FROM digest")}
        return self.due() <= composed

    def is_settled(self) -> bool:
        """Whether all is sent; a person looks into the mailboxes for what is unknown."""
        states = "SELECT DISTINCT state FROM delivery WHERE state <> 'sent'"
        found = {state for (state,) in self.fleet.ask(states)}
        if not found:
            return True
        if found == {"unknown"} and not self.smtp.talking:
            self.resolve()
        return False

    def resolve(self) -> None:
        store = open_store(self.fleet.store)
        received = {str(mail.message["Message-ID"]) for mail in self.smtp.received}
        with store.writing() as tx:
            for one in outbox.list_unknown(tx):
                fate = "sent" if one.message_id in received else "resend"
                outbox.settle_by_hand(tx, one.id, fate, self.now)
                self.resolved[fate] += 1
        store.close()

    def due(self) -> set[Digest]:
        """All digests that were due since the start, reckoned from the schedules."""
        found = set()
        for name, (schedule, zone) in SCHEDULES.items():
            at = self.start - timedelta(microseconds=1)
            while (slot := next_due(parse_schedule(schedule), zone, at)).due_at <= self.now:
                found.add((name, slot.period))
                at = slot.due_at
        return found

    def count_announcements(self) -> Counter[tuple[str, str]]:
        """How often each reader was sent each paper."""
        titles = [paper(number)[0] for number in range(self.read)]
        counts: Counter[tuple[str, str]] = Counter()
        for mail in self.smtp.received:
            # Each subscription has one recipient, of its name.
            name = mail.recipient.partition("@")[0]
            counts.update((name, title) for title in titles if title in mail.text)
        return counts


def month(folder: Path, store: str, days: float, seed: int) -> Result:
    house = House(folder)
    house.clock.at = SATURDAY
    with ScriptedSmtp() as smtp, fleet_of(house, smtp, store) as running:
        smtp.always["dot"] = Patient(0.03, "250 2.0.0 ok")
        return Month(running, smtp, seed).live(days)


def fleet_of(house: House, smtp: ScriptedSmtp, store: str):  # type: ignore[no-untyped-def]
    house.by_mail(smtp.port, unknown="hold")
    lab = house.settings["subscriptions"].pop("lab")
    for name, (schedule, zone) in SCHEDULES.items():
        house.settings["subscriptions"][name] = {
            **lab,
            "email": [f"{name}@example.org"],
            "schedule": schedule,
            "timezone": zone,
            "quiet": "send",
        }
    house.settings["topics"]["agents"] = {"query": "agents"}
    house.settings["sources"]["page"]["every"] = "1m"
    house.write()
    database = open_store(store)
    database.close()
    house.settings["store"] = store
    with house.opened() as app:
        app.once.match()
    return fleet(house, store)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--days", type=float, default=30)
    asked.add_argument("--seed", type=int, default=1)
    arguments = asked.parse_args()
    with postgres.server() as server, tempfile.TemporaryDirectory() as folder:
        postgres.execute(server, "CREATE DATABASE month")
        result = month(Path(folder), f"{server}/month", arguments.days, arguments.seed)
    sys.stdout.write(
        f"{arguments.days:g} days, seed {arguments.seed}: {result.kills['worker']} workers and "
        f"{result.kills['serve']} replicas killed\n"
        f"digests due {len(result.due)}, arrived {len(result.arrived)}, lost {len(result.lost)}, "
        f"repeated {len(result.repeated)}, not due {len(set(result.arrived) - result.due)}\n"
        f"papers {result.read}, not sent exactly once to a daily reader {result.unannounced}\n"
        f"settled by hand: {result.resolved['sent']} had arrived, "
        f"{result.resolved['resend']} had not\n"
    )
    whole = not (result.lost or result.repeated or result.unannounced)
    sys.exit(0 if whole and set(result.arrived) == result.due else 1)


if __name__ == "__main__":
    main()
