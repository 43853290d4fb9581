"""The application that commands and the service use: ingest, digest, deliver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from monitor.config import Settings, load
from monitor.model import Clock, Delivery, FirstRun, Run
from monitor.pipeline.freeze import OnFailure, log_failure
from monitor.pipeline.runtime import OPERATOR, ActiveConfig, Runtime
from monitor.store.digests import deliveries, digests, incidents
from monitor.store.engine.database import Transaction
from monitor.store.engine.opening import queries_in_force
from monitor.wiring import open_runtime

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DigestReport:
    """A digest that was composed or whose deliveries were attempted, as scripts read it."""

    subscription: str
    period: str
    papers: int
    deliveries: tuple[Delivery, ...]


@dataclass(frozen=True, slots=True)
class App:
    """The program with everything open. Close it by leaving `open_app`.

    The stages are imported where they are called: most commands only look at the store.
    """

    settings: Settings
    runtime: Runtime

    def ingest(
        self,
        names: Sequence[str] = (),
        on_progress: Callable[[Run], None] | None = None,
        accept: FirstRun | None = None,
    ) -> list[Run]:
        """Read the named sources, or all; readings that would be held, too, with `accept`.

        Raises UsageError for a name that is not configured.
        """
        from monitor.pipeline import flow

        return flow.ingest_once(self.runtime, names, on_progress, accept)

    def retry_undecided(self, on_progress: Callable[[Run], None] | None = None) -> list[Run]:
        """Try the undecided records of all sources again."""
        from monitor.pipeline import flow

        return flow.retry_once(self.runtime, on_progress)

    def match(self) -> int:
        from monitor.pipeline import flow

        return flow.match_once(self.runtime)

    def digest(
        self,
        names: Sequence[str] = (),
        early: bool = False,
        *,
        ignore_backoff: bool = True,
        on_failure: OnFailure = log_failure,
    ) -> list[DigestReport]:
        """Match what waits, compose what is due, deliver what is open.

        Returns the digests that were composed, attempted, or wait for an outage to end.
        `on_failure` gets the name and error of each subscription that could not be composed.
        `ignore_backoff` tries at once what rests after a failure, as after a repair.
        """
        from monitor.pipeline import flow

        composed, attempted = flow.digest_once(
            self.runtime, names, early=early, ignore_backoff=ignore_backoff, on_failure=on_failure
        )
        with self.runtime.database.reading() as tx:
            waiting = deliveries.open_on(tx, self._channels_down(tx))
            sent = [delivery.digest_id for delivery in attempted]
            ids = dict.fromkeys([*composed, *sent, *waiting])
            headings = digests.headings(tx, ids)
            return [
                _report(tx, id, headings[id]) for id in ids if headings[id].subscription != OPERATOR
            ]

    def _channels_down(self, tx: Transaction) -> list[str]:
        down = {
            incident.subject
            for incident in incidents.open_incidents(tx)
            if incident.kind == incidents.DOWN
        }
        channels = self.runtime.channels.values()
        return [channel.name for channel in channels if channel.outage_group in down]

    def deliver(self) -> list[Delivery]:
        """Send all open deliveries, also in outage groups that rest."""
        from monitor.pipeline import flow

        return flow.deliver_once(self.runtime)

    def upkeep(self) -> None:
        from monitor.pipeline.cleanup import upkeep

        upkeep(self.runtime)


def _report(tx: Transaction, digest_id: int, heading: digests.Listed) -> DigestReport:
    attempted = tuple(deliveries.of_digest(tx, digest_id))
    return DigestReport(heading.subscription, heading.period, heading.papers, attempted)


def load_settings(path: Path) -> Settings:
    """Read and check a configuration. Raises ConfigError with all of its faults.

    A topic that is in force in the store, and that these rules refuse, is parked with a warning:
    an upgrade stops no service.
    """
    settings = load(path, active_queries=queries_in_force)
    for name, fault in settings.parked.items():
        log.warning(
            "topic parked", topic=name, file=fault.file, line=fault.line, error=fault.message
        )
    return settings


@contextmanager
def open_app(
    settings: Settings, clock: Clock, active: ActiveConfig | None = None, *, create: bool = True
) -> Iterator[App]:
    """Open everything that the settings name: see `open_runtime`."""
    with open_runtime(settings, clock, active, create=create) as runtime:
        yield App(settings, runtime)
