"""Installations of one subscription, the days that they live through, and what goes wrong then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from monitor.app import App, open_app
from monitor.commands.status import status
from monitor.config import load
from monitor.model import Delivery, DeliveryState
from monitor.pipeline.settle_deliveries import settle_by_hand
from monitor.store.digests import deliveries
from tests.faults.points import Order
from tests.faults.process import KILLED
from tests.faults.process import run as run_killed
from tests.faults.scenes import (
    MORNING,
    OPEN,
    Scene,
    Stage,
    at,
    by_mail,
    by_webhook,
    mailed,
    paper,
    posted,
)
from tests.house import Clock, House, dump
from tests.servers.slack import Fault
from tests.servers.smtp import Action, Drop, Kept, closed_port

ADA = "ada@example.org"
GRACE = "grace@example.org"
# Hours after the morning, while the second fault stands; the last but one is that of a digest.
DAY = (0.4, 5.0, 24.0)
THREE_DAYS = (*DAY, 30.0, 49.0, 54.0, 72.0)
PAPERS = 2
LONG = 48  # so many papers take a message and a reply


# ── who is written to, and how ──────────────────────────────────────────────────────


@dataclass(frozen=True)
class Way(Scene):
    """An installation with one subscription, on one kind of channel."""

    schedule: str = "daily 08:00"
    papers: int = PAPERS

    @property
    def wanted(self) -> set[tuple[str, str]]:
        numbers = range(1, self.papers + 3)
        return {(reader, str(n)) for reader in self.expected for n in numbers}

    def prepare(self, house: House, stage: Stage) -> None:
        self.connect(house, stage)
        house.settings["subscriptions"]["lab"] |= {"schedule": self.schedule, "max": LONG}
        house.run()
        long = 4 if self.papers > PAPERS else 1
        house.add("1.txt", *(paper(n, sentences=long) for n in range(1, self.papers + 1)))


class Mailed(Way):
    def connect(self, house: House, stage: Stage) -> None:
        by_mail(house, stage, *self.expected, unknown="hold" if self.held else "resend")


class Hooked(Way):
    def connect(self, house: House, stage: Stage) -> None:
        by_webhook(house, stage)


class Posted(Way):
    def connect(self, house: House, stage: Stage) -> None:
        house.by_slack(stage.slack)


ONE = dict.fromkeys((ADA,), ())
TWO = dict.fromkeys((ADA, GRACE), ())
HOOK = {"webhook": ()}
BOT = {"C0PAPERS1": ()}
AT_ONCE = "immediately"
WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        Mailed("two faults, mail", (), mailed, ONE),
        Mailed("two faults, mail at once", (), mailed, ONE, schedule=AT_ONCE),
        Mailed("two faults, mail held", (), mailed, ONE, held=True),
        Mailed("two faults, two readers", (), mailed, TWO),
        Hooked("two faults, webhook", (), posted, HOOK, held=True),
        Hooked("two faults, webhook at once", (), posted, HOOK, held=True, schedule=AT_ONCE),
        Posted("two faults, slack", (), posted, BOT, papers=LONG),
        Posted("two faults, slack at once", (), posted, BOT, schedule=AT_ONCE),
    )
}


# ── a few days, and what goes wrong in them ─────────────────────────────────────────


@dataclass
class Days:
    """An installation that is run again and again, at hours counted from the morning."""

    stage: Stage
    folder: Path
    way: Way
    stack: ExitStack = field(default_factory=ExitStack)
    unlisted: int = 0
    _as_it_was: str = ""

    def run(self, hours: float, order: Order | None = None) -> None:
        if order is not None:
            now = at(MORNING + timedelta(hours=hours))
            ended = run_killed(self.folder, "run", "--now", now, order=order)
            assert ended == KILLED, f"it was not killed at {order.point}"
            self.stage.settle()
            return
        with self.opened(hours) as app:
            app.once.ingest()
            app.once.digest(ignore_backoff=False)

    def opened(self, hours: float) -> AbstractContextManager[App]:
        return open_app(load(self.config), Clock(MORNING + timedelta(hours=hours)))

    @property
    def config(self) -> Path:
        return self.folder / "monitor.yaml"

    def add(self, number: int) -> None:
        result = dump(paper(number))
        (self.folder / "dumps" / f"{number + 100}.txt").write_text(result, encoding="utf-8")

    def change(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the configuration until everything works again."""
        self._as_it_was = self._as_it_was or self.config.read_text("utf-8")
        result = yaml.safe_load(self.config.read_text("utf-8"))
        change(result)
        self.config.write_text(yaml.safe_dump(result, sort_keys=False), encoding="utf-8")

    def all_well(self) -> None:
        self.stage.smtp.always.clear()
        self.stage.slack.always = None
        self.stack.close()
        if self._as_it_was:
            self.config.write_text(self._as_it_was, encoding="utf-8")

    def unknown(self, hours: float) -> list[int]:
        """Return what is unknown, and note what of it is not listed."""
        with self.opened(hours) as app:
            result = status(app.runtime)
            with app.runtime.database.reading() as tx:
                rows = deliveries.listing(tx)
        unknown = [one.id for one in rows if one.state is DeliveryState.UNKNOWN]
        open_still = [one.id for one in rows if one.state in OPEN and one.handed_off_at]
        listed = "\n".join(problem.text for problem in result.problems)
        missing = (f"delivery {id} (" not in listed for id in (*unknown, *open_still))
        self.unlisted += sum(missing) + (result.ok and bool(unknown))
        return unknown

    def resolve(self, hours: float, fate: Callable[[Delivery], str]) -> int:
        """Settle what is unknown as a person does; return how many there were."""
        unknown = self.unknown(hours)
        with self.opened(hours) as app:
            for id in unknown:
                with app.runtime.database.reading() as tx:
                    one = deliveries.get(tx, id)
                settle_by_hand(app.runtime, id, fate(one))
        return len(unknown)


@dataclass(frozen=True)
class First:
    """How the first hand-off ends without a clear answer; `kill` names the boundary of a kill."""

    smtp: Action | None = None
    slack: Fault | None = None
    kill: str = ""

    def befall(self, days: Days) -> None:
        if self.smtp is not None:
            # The first reader's, where there are two: the other one waits for the second fault.
            days.stage.smtp.script["dot"].append(self.smtp)
        if self.slack is not None:
            days.stage.slack.faults.append(self.slack)
        days.run(0, Order(self.kill, "kill") if self.kill else None)


FIRST = {
    "kept": First(Kept(), Fault(kept=True, reset=True)),
    "lost": First(Drop(), Fault(reset=True)),
    "killed after it": First(kill="smtp dot: answered"),
    "killed before it": First(kill="hand-off: committed"),
    "kept, 502": First(slack=Fault(502, "bad gateway", kept=True)),
    "killed after the post": First(kill="slack parent: answered"),
    "killed after the hook": First(kill="slack webhook: answered"),
}

Begin = Callable[[Days], None]


@dataclass(frozen=True)
class Second:
    """What goes wrong then. `asks`: a person has to settle what became of the first digest."""

    begin: Begin
    asks: bool = False
    kill: str = ""
    hours: Sequence[float] = DAY


def answers(**phases: Action) -> Begin:
    return lambda days: days.stage.smtp.always.update(phases)


def slack(fault: Fault) -> Begin:
    def begin(days: Days) -> None:
        days.stage.slack.always = fault

    return begin


def refused(days: Days) -> None:
    """Nobody listens where the server was."""
    port = days.stack.enter_context(closed_port())

    def elsewhere(result: dict[str, Any]) -> None:
        if "smtp" in result:
            result["smtp"]["port"] = port
        elif "slack" in result:
            result["slack"]["base_url"] = f"http://127.0.0.1:{port}/api/"
        else:
            result["channels"]["team"]["webhook"] = f"http://127.0.0.1:{port}/services/x"

    days.change(elsewhere)


def away(days: Days) -> None:
    """The subscription is taken out of the configuration."""

    def without(result: dict[str, Any]) -> None:
        lab = result["subscriptions"].pop("lab")
        other = {**lab, "email": ["other@example.org"], "schedule": "monthly 1 08:00"}
        result["subscriptions"]["other"] = other

    days.change(without)


def greylisted_and_away(days: Days) -> None:
    answers(rcpt="450 4.2.0 greylisted")(days)
    days.run(0.35)
    away(days)


def nothing(days: Days) -> None:
    """What goes wrong is a kill."""


GREYLISTED = answers(rcpt="450 4.2.0 greylisted")
CLOSING = answers(greeting="421 4.3.2 shutting down")
BY_MAIL = {
    "450 at RCPT": Second(GREYLISTED),
    "421 greeting": Second(CLOSING),
    "connection refused": Second(refused),
    "550 at MAIL": Second(answers(mail="550 5.7.1 sender refused")),
    "wrong password": Second(answers(auth="535 5.7.8 authentication failed")),
    "no TLS": Second(answers(starttls="454 4.7.0 TLS not available")),
    "broken at DATA": Second(answers(data=Drop())),
    "451 after the dot": Second(answers(dot="451 4.3.0 try later")),
    "550 at RCPT": Second(answers(rcpt="550 5.2.1 mailbox disabled"), asks=True),
    "554 after the dot": Second(answers(dot="554 5.6.0 refused"), asks=True),
    "kept again": Second(answers(dot=Kept()), asks=True),
    "lost again": Second(answers(dot=Drop()), asks=True),
    "killed at the claim": Second(nothing, kill="claim: committed"),
    "killed again": Second(nothing, kill="smtp dot: answered", asks=True),
    "away": Second(away),
    "450, then away": Second(greylisted_and_away),
    "450 for three days": Second(GREYLISTED, hours=THREE_DAYS, asks=True),
    "421 for three days": Second(CLOSING, hours=THREE_DAYS),
}
BY_SLACK = {
    "no such hook": Second(slack(Fault(404, "no_service"))),
    "wrong token": Second(slack(Fault.error("invalid_auth"))),
    "429": Second(slack(Fault(429, "", {"Retry-After": "30"}))),
    "502": Second(slack(Fault(502, "bad gateway"))),
    "502, asks": Second(slack(Fault(502, "bad gateway")), asks=True),
    "connection refused": Second(refused),
    "kept again": Second(slack(Fault(kept=True, reset=True)), asks=True),
}
