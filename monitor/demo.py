"""The demo: the seeds through the whole flow, in a folder that is a working installation."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from monitor.app import open_app
from monitor.clocks import clock_at
from monitor.config import load
from monitor.errors import UsageError
from monitor.model import DeliveryState, Run, RunOutcome
from monitor.pipeline.flow import DigestReport
from monitor.private_files import make_folder
from monitor.resources import resource
from monitor.store.papers import papers

PAGES = "pages"
CONFIG = "monitor.yaml"


@dataclass(frozen=True, slots=True)
class Played:
    """The results of the demo in its folder."""

    folder: Path
    runs: tuple[Run, ...]
    sent: tuple[DigestReport, ...]
    papers: int
    failed: tuple[tuple[str, str], ...] = ()

    @property
    def index(self) -> Path:
        """The page to open."""
        return (self.folder / PAGES / "index.html").resolve()

    @property
    def new(self) -> int:
        return sum(run.new for run in self.runs)

    @property
    def ok(self) -> bool:
        is_read = all(run.outcome is not RunOutcome.FAILED for run in self.runs)
        deliveries = [delivery for digest in self.sent for delivery in digest.deliveries]
        is_sent = all(delivery.state is DeliveryState.SENT for delivery in deliveries)
        return is_read and not self.failed and is_sent

    def page(self, digest: DigestReport) -> Path | None:
        """The page of a digest; None where a changed demo writes none."""
        pages = (Path(delivery.reference) for delivery in digest.deliveries)
        return next((page for page in pages if page.is_file()), None)

    def json(self) -> dict[str, Any]:
        digests = [
            {
                "subscription": digest.subscription,
                "papers": digest.papers,
                "path": str(page) if (page := self.page(digest)) else None,
            }
            for digest in self.sent
        ]
        return {"papers": self.papers, "new": self.new, "digests": digests}


def demo(
    directory: Path, now: datetime | None, on_progress: Callable[[Run], None] | None = None
) -> Played:
    """Lay the seeds and their configuration into `directory` and run them; again is harmless.

    Raises UsageError for the folder of another installation, OSError for one that cannot be
    written.
    """
    make_folder(directory)
    seeds = {seed.name: seed for seed in resource("seeds").iterdir() if seed.is_file()}
    there = {name for name in seeds if (directory / name).exists()}
    if there == {CONFIG} and (directory / CONFIG).read_bytes() != seeds[CONFIG].read_bytes():
        raise UsageError(f"{directory} has a {CONFIG} of its own", "choose another folder")
    for name in sorted(seeds.keys() - there):
        shutil.copyfile(seeds[name], directory / name)
    with open_app(load(directory / CONFIG), clock_at(now)) as app:
        runs = app.once.ingest((), on_progress)
        names = [subscription.name for subscription in app.runtime.subscriptions]
        failed: dict[str, Exception] = {}
        sent = app.once.digest(names, early=True, on_failure=failed.__setitem__)
        with app.runtime.database.reading() as tx:
            stored = papers.count(tx)
    with_papers = tuple(digest for digest in sent if digest.papers)
    failures = tuple((name, str(fault)) for name, fault in failed.items())
    return Played(directory, tuple(runs), with_papers, stored, failures)
