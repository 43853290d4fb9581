"""`python -m tests.faults.soak`: killed at random moments, a thousand times, as a table.

    --kills 1000   shared out over two stores and two policies
    --seed 1       the same moments again, as far as the machine allows
    --docs         write the table into docs/guarantees.md

Every day brings new papers. A run of the morning is killed after a random part of the time that a
whole run takes; the next begins a few minutes later, until one comes to its end. A mail server
takes some milliseconds for its last answer, so that the moment nobody can see into is not small.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from monitor.model import DeliveryState
from monitor.store import deliveries
from tests.faults import process
from tests.faults.docs import write
from tests.faults.scenes import (
    OPEN,
    READERS,
    Scene,
    Stage,
    at,
    by_mail,
    mailed,
    open_runs,
    opened,
    paper,
    stage,
    standing,
)
from tests.house import House, dump
from tests.servers import postgres
from tests.servers.smtp import Patient

KILLS_A_DAY = 8
ANSWERS_AFTER = 0.02
COLUMNS = ("kills", "in the hand-off", "days", "mails", "lost", "repeated", "in the window")
COLUMNS += ("unknown", "stuck")


class Mornings(Scene):
    def prepare(self, house: House, stage: Stage) -> None:
        by_mail(house, stage, unknown="hold" if self.held else "resend")
        house.run()


@dataclass
class Soak:
    """One installation that is killed again and again."""

    stage: Stage
    scene: Scene
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)

    def run(self, kills: int) -> None:
        self.folder = self.stage.fresh(self.scene)
        self.stage.smtp.always["dot"] = Patient(ANSWERS_AFTER, "250 2.0.0 queued")
        self.now = self.scene.now
        self._new_day()
        self._end_of_day()
        while self.counts["kills"] < kills:
            self._new_day()
            today = 0
            while today < KILLS_A_DAY and self.counts["kills"] < kills and self._killed():
                today += 1
                self.now += timedelta(minutes=20)
            self._end_of_day()
        self._count()

    def _new_day(self) -> None:
        self.counts["days"] += 1
        day = self.counts["days"]
        self.now = self.scene.now + timedelta(days=day)
        result = dump(paper(2 * day - 1), paper(2 * day))
        (self.folder / "dumps" / f"{day:04}.txt").write_text(result, encoding="utf-8")

    def _killed(self) -> bool:
        """Run, and kill it at a random moment; False when it was faster."""
        running = process.start(self.folder, "run", "--now", at(self.now))
        threading.Event().wait(self.chance.uniform(0, self.span))
        running.kill()
        if process.ended(running) != process.KILLED:
            return False
        self.counts["kills"] += 1
        self.counts["in the hand-off"] += bool(standing(self.folder)[DeliveryState.HANDING_OFF])
        return True

    def _end_of_day(self) -> None:
        """Let a run come to its end; on hold, a person looks at what is not known."""
        began = time.monotonic()
        self._whole_run()
        self.span = time.monotonic() - began
        unknown = standing(self.folder)[DeliveryState.UNKNOWN]
        self.counts["unknown"] += unknown
        if unknown and self.scene.held:
            self.scene.resolve(self.stage, self.folder, self.now)

    def _whole_run(self) -> None:
        status = process.run(self.folder, "run", "--now", at(self.now + timedelta(hours=4)))
        assert status in (0, 1), f"a whole run ended with {status}"

    def _count(self) -> None:
        came = mailed(self.stage, self.folder)
        papers = range(1, 2 * self.counts["days"] + 1)
        wanted = {(reader, str(n)) for reader in READERS for n in papers}
        self.counts["mails"] = len(self.stage.smtp.received)
        self.counts["lost"] = len(wanted - set(came))
        copies = Counter(mail.content for mail in self.stage.smtp.received)
        again = sum(count - 1 for count in copies.values())
        self.counts["in the window"] = min(again, self._resent())
        self.counts["repeated"] = again - self.counts["in the window"] + self._announced_twice()
        states = standing(self.folder)
        self.counts["stuck"] = sum(states[one] for one in OPEN) + open_runs(self.folder)

    def _resent(self) -> int:
        """Count the deliveries of which the store says that they may have gone out twice."""
        database = opened(self.folder)
        try:
            with database.reading() as tx:
                return sum(one.handed_off_at is not None for one in deliveries.listing(tx))
        finally:
            database.close()

    def _announced_twice(self) -> int:
        """Count papers that stand in two different mails to one reader."""
        different = {mail.content: mail for mail in self.stage.smtp.received}
        self.stage.smtp.received[:] = different.values()
        once = mailed(self.stage, self.folder)
        return sum(count - 1 for count in once.values())

    @property
    def ok(self) -> bool:
        held = self.scene.held
        result = self.counts
        repeated = result["repeated"] + (result["in the window"] if held else 0)
        unknown = result["unknown"] <= result["in the hand-off"] if held else not result["unknown"]
        return not result["lost"] and not repeated and not result["stuck"] and unknown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--docs", action="store_true")
    asked = parser.parse_args()
    rows, ok = [], True
    with ExitStack() as stack:
        stages = {"sqlite": ""}
        if not postgres.missing():
            stages["postgresql"] = stack.enter_context(postgres.server())
        for store, server in stages.items():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
            opened_stage = stack.enter_context(stage(folder, server))
            for policy in ("resend", "hold"):
                scene = Mornings(f"soak-{policy}", (), mailed, {}, held=policy == "hold")
                soak = Soak(opened_stage, scene, random.Random(asked.seed))
                soak.run(asked.kills // (2 * len(stages)))
                result = " | ".join(str(soak.counts[name]) for name in COLUMNS)
                rows.append(f"| {store} | {policy} | {result} |")
                print(rows[-1], "" if soak.ok else "WRONG", file=sys.stderr, flush=True)
                ok &= soak.ok
    head = ["store", "unknown:", *COLUMNS]
    table = "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows])
    print(table)
    if asked.docs:
        write("soak", f"Seed {asked.seed}.\n\n{table}")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
