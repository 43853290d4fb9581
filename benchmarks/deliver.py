"""Sending through the outbox, beside bare smtplib with as many threads, in one run.

    python benchmarks/deliver.py
    python benchmarks/deliver.py --store postgresql+psycopg://monitor@db/empty

Both send the same digests of fifty papers to one sink in a process of its own. smtplib is given
the mails ready; ours claims, builds, commits the hand-off before the last byte and the outcome
after the answer, each commit on the disk (`synchronous = FULL`), as the service does:

    shared   one digest to many recipients
    own      a digest for each recipient
"""

from __future__ import annotations

import argparse
import logging
import smtplib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr
from dataclasses import replace
from functools import partial
from pathlib import Path

import yaml
from letters import AT, SENDER, another, delivery, digest, mail, rendered
from sink import sink, taken

from monitor.app import App, open_app
from monitor.channels.email.channel import Mailbox, message_id
from monitor.clocks import FixedClock
from monitor.config import load
from monitor.log import set_up_logging
from monitor.model import Rendered
from monitor.pipeline.deliver import deliver_group
from monitor.store.digests import freeze_digest
from monitor.store.digests.freeze_digest import Planned

CONNECTIONS = 8
MAILS = 2_000


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--store", default="")
    asked.add_argument("--mails", type=int, default=MAILS)
    result = asked.parse_args()
    part = rendered()
    content = mail().message(delivery(part), Mailbox.parse("reader@example.org"))
    size = f"{len(content) / 1024:.0f} KiB"
    print(f"{result.mails} mails of {size}, {CONNECTIONS} connections; mails a second")
    with sink() as port, tempfile.TemporaryDirectory() as folder, logged(Path(folder)):
        bare = rate(port, result.mails, lambda: by_smtplib(port, content, result.mails))
        print(f"smtplib      {bare:7.0f}")
        for name in ("shared", "own"):
            settings = load(configured(Path(folder), port, result.store))
            with open_app(settings, FixedClock(AT)) as app:
                plan(app, part, result.mails, name)
                ours = rate(port, result.mails, partial(deliver_group, app.runtime, "smtp"))
            print(f"ours, {name:6} {ours:7.0f}   {ours / bare:5.2f} of smtplib")
        again = rate(port, result.mails, lambda: by_smtplib(port, content, result.mails))
        print(f"smtplib      {again:7.0f}   once more")


@contextmanager
def logged(folder: Path) -> Iterator[None]:
    """The service logs each delivery, and so it does here: into a file."""
    with (folder / "log").open("w") as file, redirect_stderr(file):
        set_up_logging(logging.INFO)
        yield


def rate(port: int, mails: int, send: Callable[[], object]) -> float:
    """Send, and return how many mails the sink took a second."""
    before = taken(port)
    began = time.perf_counter()
    send()
    seconds = time.perf_counter() - began
    assert taken(port) - before == mails, "not all arrived"
    return mails / seconds


def by_smtplib(port: int, content: bytes, mails: int) -> None:
    def some(recipients: Sequence[str]) -> None:
        with smtplib.SMTP("127.0.0.1", port) as server:
            for recipient in recipients:
                server.sendmail("papers@example.org", recipient, content)

    people = [f"reader-{number}@example.org" for number in range(mails)]
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(some, [people[n::CONNECTIONS] for n in range(CONNECTIONS)]))


def configured(folder: Path, port: int, store: str) -> Path:
    """Write a configuration whose mail goes to the sink."""
    smtp = {"host": "127.0.0.1", "port": port, "tls": "none", "from": SENDER}
    result = {
        "store": store or f"sqlite:///{folder / 'monitor.db'}",
        "sources": {"page": {"kind": "huggingface-page", "path": "none/*.txt"}},
        "topics": {"agents": {"query": "agents"}},
        "subscriptions": {"ada": {"topics": ["*"], "email": "ada@example.org"}},
        "smtp": smtp | {"connections": CONNECTIONS},
    }
    path = folder / "monitor.yaml"
    path.write_text(yaml.safe_dump(result), encoding="utf-8")
    return path


def plan(app: App, part: Rendered, mails: int, name: str) -> None:
    """Put that many deliveries into the outbox: of one digest, or of a digest each."""
    people = [f"reader-{number}@example.org" for number in range(mails)]
    whole = replace(digest(), groups=())
    with app.runtime.database.writing() as tx:
        for number, some in enumerate([people] if name == "shared" else [[p] for p in people]):
            one = replace(whole, subscription=f"{name}-{number}", period=str(time.time_ns()))
            body = part if name == "shared" else another(part, number)
            planned = [
                Planned("email", to, 0, message_id(f"{name} {to} {one.period}", SENDER))
                for to in some
            ]
            assert freeze_digest.freeze(tx, one, {"email": [body]}, planned, AT)


if __name__ == "__main__":
    main()
