"""A whole installation in a folder: its configuration, dumps, store, and a clock of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import yaml

from monitor.app import App, load_settings, open_app
from monitor.commands.status import status
from monitor.model import DeliveryState, Digest, Run, StoredPaper
from monitor.pipeline.runtime import ActiveConfig
from monitor.store.digests import deliveries, digests
from monitor.store.engine.database import Transaction
from monitor.store.papers import papers, search
from tests.patience import PATIENCE
from tests.servers.slack import TOKEN, SlackServer
from tests.store.scenes import reading

T = TypeVar("T")
SATURDAY = datetime(2026, 11, 21, 6, tzinfo=UTC)

HEADER = "new\n\nGet trending papers in your email inbox!\n\nSubscribe\n\nbyAK\n\nMar 12\n"

AGENTS = (
    "Teaching Language Agents to Plan Together",
    "Planning together is hard for agents. We train language agents that share their plans in "
    "writing. On four benchmarks they need half as many steps as agents that plan alone.",
)
BANDITS = (
    "Safe Exploration in Contextual Bandits",
    "Exploration may cause harm in clinical trials. We bound the harm that a bandit may do and "
    "show that the bound is tight. Experiments on two trials support the theory.",
)
FOLDING = (
    "Symmetric Samplers for Protein Folding",
    "Folding remains a challenge for molecular dynamics. We present a sampler that respects the "
    "symmetries of a chain. It reaches equilibrium in a tenth of the time.",
)
# Further news for the topic of the first.
APART = (AGENTS[0] + " and Apart", BANDITS[1] + " With a language agent.")


def dump(*papers: tuple[str, str]) -> str:
    """Write papers as the daily page lists them."""
    return HEADER + "".join(f"\n{title}\n\n{abstract}\n" for title, abstract in papers)


class Clock:
    """A calendar that stands still until a test moves it."""

    def __init__(self, at: datetime = SATURDAY) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def move(self, **by: float) -> None:
        self.at += timedelta(**by)


class House:
    """An installation that reads `dumps/*.txt` and writes to one subscription, `lab`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.settings: dict[str, Any] = {
            "sources": {"page": {"kind": "huggingface-page", "path": "dumps/*.txt"}},
            "topics": {"agents": {"query": "language AND agent"}},
            "channels": {"pages": {"kind": "file", "path": "pages/"}},
            "subscriptions": {"lab": {"topics": ["*"], "channels": ["pages"]}},
            "web": "off",
        }
        (folder / "dumps").mkdir()

    @property
    def config(self) -> Path:
        return self.folder / "monitor.yaml"

    def write(self) -> Path:
        """Write the configuration, at once: a process may be looking at it."""
        written = self.config.with_suffix(".new")
        written.write_text(yaml.safe_dump(self.settings, sort_keys=False), encoding="utf-8")
        return written.replace(self.config)

    def add(self, name: str, *papers: tuple[str, str]) -> None:
        (self.folder / "dumps" / name).write_text(dump(*papers), encoding="utf-8")

    def by_mail(self, port: int, *addresses: str, **smtp: Any) -> None:
        """Let `lab` be notified by e-mail alone, through a server on loopback."""
        server = {"host": "127.0.0.1", "port": port, "tls": "none", "from": "papers@example.org"}
        self.settings["smtp"] = server | smtp
        lab = self.settings["subscriptions"]["lab"]
        lab.pop("channels", None)
        lab["email"] = list(addresses) or ["ada@example.org"]

    @contextmanager
    def opened(self, active: ActiveConfig | None = None) -> Iterator[App]:
        """Open it as commands do; `active` is what its last configuration put in force."""
        with open_app(load_settings(self.write()), self.clock, active) as app:
            yield app

    def problems(self) -> tuple[str, ...]:
        with self.opened() as app:
            return tuple(problem.text for problem in status(app.runtime).problems)

    def digest(self, name: str = "lab") -> Digest:
        """Return the last digest of a subscription."""
        latest = self.read(newest_digest, name)
        assert latest
        return latest

    def read(self, query: Callable[..., T], *arguments: Any) -> T:
        """Return what a function of the store reads."""
        with self.opened() as app:
            return reading(app.runtime.database, query, *arguments)

    def states(self) -> list[DeliveryState]:
        """Return the states of all deliveries, the newest first."""
        return [delivery.state for delivery in self.read(deliveries.listing)]

    def by_slack(self, slack: SlackServer) -> None:
        """Let `lab` be notified in a channel of Slack alone."""
        self.settings["slack"] = {"token": TOKEN, "base_url": slack.base_url}
        self.settings["channels"] = {"team": {"kind": "slack", "channel": "C0PAPERS1"}}
        lab = self.settings["subscriptions"]["lab"]
        lab.pop("email", None)
        lab["channels"] = ["team"]

    def add_next(self, *papers: tuple[str, str]) -> None:
        """Add a further dump, if there are papers."""
        if papers:
            number = 1 + sum(1 for _ in (self.folder / "dumps").iterdir())
            self.add(f"{number}.txt", *papers)

    def ingest(self, *papers: tuple[str, str]) -> list[Run]:
        self.add_next(*papers)
        with self.opened() as app:
            runs = app.once.ingest()
            app.once.match()
            return runs

    def run(self, *papers: tuple[str, str]) -> dict[str, int]:
        """Ingest and digest once; return how many papers each subscription was sent."""
        self.add_next(*papers)
        with self.opened() as app:
            app.once.ingest()
            return {sent.subscription: sent.papers for sent in app.once.digest()}

    def make_due(self, *papers: tuple[str, str]) -> None:
        """Read papers, by default one, and let the time come at which their digest is due."""
        self.run(*(papers or [AGENTS]))
        self.clock.move(days=1)

    def next_morning(self, *papers: tuple[str, str]) -> dict[str, int]:
        return self.run_after(*papers, days=1)

    def run_after(self, *papers: tuple[str, str], **by: float) -> dict[str, int]:
        self.clock.move(**by)
        return self.run(*papers)

    def command(self, *words: str, env: Mapping[str, str] | None = None) -> Said:
        """Run the command line as a process of its own, at this house's time."""
        return Said.by(self.process(*words, env=env))

    def process(
        self, *words: str, env: Mapping[str, str] | None = None, stdin: int | None = None
    ) -> subprocess.Popen[str]:
        self.write()
        return subprocess.Popen(
            [sys.executable, "-m", "monitor", *words],
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def newest_digest(tx: Transaction, subscription: str = "lab") -> Digest | None:
    listed = digests.newest(tx, [subscription], 1)
    return digests.get(tx, listed[0].id) if listed else None


def newest_mail(tx: Transaction, subscription: str = "lab") -> str:
    """The HTML of the newest digest's mail."""
    [listed] = digests.newest(tx, [subscription], 1)
    sent = deliveries.of_digests(tx, [listed.id])[listed.id]
    [mail, *_] = [one.id for one in sent if one.channel == "email"]
    html = deliveries.get(tx, mail).rendered.body["html"]
    assert isinstance(html, str)
    return html


def all_papers(tx: Transaction) -> list[StoredPaper]:
    every = papers.load(tx, search.newest(tx, None, None, 10_000)).values()
    return [stored for stored in every if not stored.purged]


@dataclass(frozen=True)
class Said:
    """What a command printed, and the status that it ended with."""

    status: int
    out: str
    err: str

    @classmethod
    def by(cls, process: subprocess.Popen[str]) -> Said:
        """Wait for the end of a process."""
        out, err = process.communicate(timeout=PATIENCE)
        return cls(process.returncode, out, err)

    @property
    def json(self) -> Any:
        return json.loads(self.out)
