"""Very many webhooks, whose sender is killed at each step and whose receiver loses answers.

    python -m tests.webhooks 10000 [--postgres] [--seed 1]

Each morning a paper comes in, and each subscription has a digest for the receiver of the docs,
`docs/examples/webhook_receiver.py`, which verifies signatures by the package `standardwebhooks`.
The process that sends is killed (SIGKILL) at one boundary of I/O after the other, at a chance hit
of it, and the next one goes on. One answer in a hundred is lost after the receiver has stored the
digest. At the end the receiver must have each digest that was due once, and have refused none.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import random
import runpy
import socket
import sqlite3
import struct
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, chdir, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import ThreadingHTTPServer
from itertools import cycle
from pathlib import Path
from typing import Any

from monitor.log import set_up_logging
from monitor.model import DeliveryState
from monitor.pipeline.settle_deliveries import settle_by_hand
from monitor.store.digests import deliveries, outbox
from tests.faults import process
from tests.faults.grid import boundaries
from tests.faults.points import Order
from tests.faults.scenes import HOOK_SECRET
from tests.fleet import paper
from tests.house import SATURDAY, House
from tests.servers import postgres

RECEIVER = Path(__file__).parent.parent / "docs" / "examples" / "webhook_receiver.py"
# Digests are due at 08:00, so that there is a day until the next ones are.
START = SATURDAY + timedelta(hours=3)
# Digests of one morning, and kills in it.
MOST_AT_ONCE = 500
KILLS = 16
# Of so many answers one is lost.
ANSWERS_A_LOSS = 100
LATER = timedelta(minutes=21)
# Reached once in each run; the other boundaries are once for each digest.
ONCE_A_RUN = "settling"
# Runs without harm after which all must have arrived.
MOST_RUNS = 30


@dataclass
class Result:
    """What was due (ids), what the receiver has, and what happened on the way."""

    due: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)
    digests: Counter[tuple[str, str]] = field(default_factory=Counter)
    posts: Counter[str] = field(default_factory=Counter)
    answers: Counter[int] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    lost_answers: int = 0
    resent: int = 0  # by hand
    seconds: float = 0.0

    @property
    def is_whole(self) -> bool:
        once = set(self.digests.values()) | set(self.due.values()) == {1}
        return once and self.stored == self.due and set(self.answers) <= {204}

    @property
    def copies(self) -> int:
        return self.posts.total() - len(self.posts)


@contextmanager
def receiver(result: Result, chosen: random.Random) -> Iterator[str]:
    """Run the receiver of the docs in the current folder, with answers that are lost."""
    os.environ["SECRET"] = HOOK_SECRET
    of_docs: Any = runpy.run_path(str(RECEIVER))["Receiver"]
    counting = threading.Lock()

    class Receiver(of_docs):  # type: ignore[misc]
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if len(body) < int(self.headers["Content-Length"]):
                self.close_connection = True  # its sender was killed before the last byte
                return
            self.rfile = io.BytesIO(body)
            super().do_POST()

        def send_response(self, status: int, *words: Any) -> None:
            with counting:
                result.answers[int(status)] += 1
                result.posts[self.headers["webhook-id"]] += 1
                is_lost = status == 204 and chosen.randrange(ANSWERS_A_LOSS) == 0
                result.lost_answers += is_lost
            if is_lost:
                at_once = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
                self.connection.close()
                raise ConnectionResetError
            super().send_response(status, *words)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing of connections whose sender was killed."""

    with Server(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/digests"
        finally:
            server.shutdown()


def webhooks(
    folder: Path, count: int, seed: int = 1, store: str = "", kills: int = KILLS
) -> Result:
    """Send as many webhooks in as many mornings as they take."""
    chosen = random.Random(seed)
    result = Result()
    began = time.monotonic()
    at_once = min(count, MOST_AT_ONCE)
    house = House(folder)
    house.clock.at = START
    with ExitStack() as stack:
        stack.enter_context(chdir(folder))
        url = stack.enter_context(receiver(result, random.Random(seed)))
        _configure(house, url, at_once, store)
        house.run()
        points = cycle(boundaries()["signed webhook"])
        for morning in range(-(-count // at_once)):
            house.add(f"{morning}.txt", paper(morning))
            house.clock.at = START + timedelta(days=morning + 1)
            for _ in range(kills):
                point = next(points)
                hit = 1 if point.startswith(ONCE_A_RUN) else _hit(chosen, at_once, kills)
                _run(house, result, Order(point, "kill", hit))
            _finish(house, result)
        result.due.update(
            one.message_id.strip("<>").partition("@")[0] for one in house.read(deliveries.listing)
        )
        with closing(sqlite3.connect("digests.db")) as stored:
            for key, body in stored.execute("SELECT id, body FROM digest"):
                data = json.loads(body)["data"]
                result.stored[key] += 1
                result.digests[data["subscription"], data["period"]] += 1
    result.seconds = time.monotonic() - began
    return result


def _configure(house: House, url: str, at_once: int, store: str) -> None:
    if store:
        house.settings["store"] = store
    hook = {"kind": "webhook", "url": url, "allow_private": True, "secret": HOOK_SECRET}
    house.settings["channels"] = {"team": hook}
    house.settings["topics"] = {"agents": {"query": "agents"}}
    lab = house.settings["subscriptions"].pop("lab")
    for number in range(at_once):
        house.settings["subscriptions"][f"lab-{number:03}"] = lab | {"channels": ["team"]}
    house.write()


def _hit(chosen: random.Random, at_once: int, kills: int) -> int:
    """Return at which time a boundary kills, so that the kills are spread over a morning."""
    return chosen.randint(1, max(1, at_once // kills))


def _run(house: House, result: Result, order: Order | None = None) -> None:
    house.clock.at += LATER
    status = process.run(house.folder, "run", "--now", house.clock.at.isoformat(), order=order)
    if status == process.KILLED and order:
        result.kills[order.point] += 1


def _finish(house: House, result: Result) -> None:
    """Run until all of a morning is sent: what is unclear is posted again after a while.

    What is unclear a second time waits for a person, who may always answer `resend`.
    """
    for _ in range(MOST_RUNS):
        _run(house, Result())
        if set(house.states()) <= {DeliveryState.SENT}:
            return
        with house.opened() as app:
            with app.runtime.database.reading() as tx:
                unknown = [one.id for one in outbox.list_unknown(tx) if one.resent]
            for one in unknown:
                settle_by_hand(app.runtime, one, "resend")
                result.resent += 1
    raise AssertionError(f"not sent: {Counter(house.states())}")


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("count", type=int)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--postgres", action="store_true")
    arguments = asked.parse_args()
    set_up_logging(logging.CRITICAL)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="webhooks-")))
        store = ""
        if arguments.postgres:
            server = stack.enter_context(postgres.server())
            postgres.execute(server, "CREATE DATABASE webhooks")
            store = f"{server}/webhooks"
        result = webhooks(folder, arguments.count, arguments.seed, store)
    sys.stdout.write(
        f"{len(result.due)} webhooks, {result.kills.total()} kills at {len(result.kills)} steps, "
        f"{result.lost_answers} answers lost, {result.seconds:.0f} s\n"
        f"posted {result.posts.total()} times, {result.copies} copies recognised by their id\n"
        f"stored {result.stored.total()}, missing {len(result.due - result.stored)}, not due "
        f"{len(result.stored - result.due)}, digests stored twice "
        f"{sum(n > 1 for n in result.digests.values())}\n"
        f"signatures refused {result.answers[401]}, resent by hand {result.resent}\n"
    )
    with suppress(ValueError):
        sys.stdout.flush()
    return 0 if result.is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
