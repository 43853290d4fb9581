"""The flow as code: which step follows which, in one process, in `serve` and among workers.

    INGEST source ─> MATCH ─> COMPOSE ─> COMPOSE_SOME chunk ─> DELIVER group    SEARCH, CLEAN_UP
                         ├─> LOOK_UP ┤
                         └──> EMBED ─┘

A command goes through it `Once`. A service does one task after another with `do`, which passes on
what follows: to another job of the process, or to a queue. A task that is lost or done twice does
no harm: the tables hold everything that is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import structlog

from monitor.digest.wording import format_news
from monitor.errors import DeferredError, StoreBusyError, StoreError, refuse_unknown
from monitor.http.host_limits import patient
from monitor.look_up.service import DEADLINE
from monitor.model import Delivery, FirstRun, Run, RunOutcome
from monitor.model.delivery import NO_SUBSCRIPTION
from monitor.pipeline import embeddings
from monitor.pipeline.cleanup import make_searchable, upkeep
from monitor.pipeline.compose import compose, due_chunks
from monitor.pipeline.deliver import are_open, deliver, deliver_group
from monitor.pipeline.embeddings import embed
from monitor.pipeline.freeze import notify
from monitor.pipeline.ingest import ingest, is_due, retry_all
from monitor.pipeline.look_up import drop_removed_services, look_up, queue
from monitor.pipeline.match import match, sync_subscriptions
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import deliveries, digests
from monitor.store.digests.incidents import down_groups

log = structlog.get_logger()

# A command that read a large dump leaves the rest of its papers to the next one.
SEARCHABLE_PER_COMMAND = 20_000
# Seconds that a service waits for its first turn at a host, before it reads another source.
FIRST_TURN = 5.0


class Step(StrEnum):
    """The steps of the flow, by the names of their tasks in the queue of `service/workers.py`."""

    INGEST = "ingest"
    MATCH = "match"
    LOOK_UP = "look-up"
    EMBED = "embed"
    COMPOSE = "compose"
    COMPOSE_SOME = "compose-some"
    DELIVER = "deliver"
    SEARCH = "search"
    CLEAN_UP = "upkeep"


# The steps that ask services about papers, which compose may wait for.
_ASKING = {Step.LOOK_UP: look_up, Step.EMBED: embed}


class Task(NamedTuple):
    """A step, and which source, chunk of subscriptions or outage group it is for."""

    step: Step
    target: str = ""


def do(
    runtime: Runtime,
    task: Task,
    follow: Callable[[Task], object],
    batch_size: int | None = None,
    seconds: float | None = None,
) -> None:
    """Do a task as a service does it, and `follow` with each task that comes after it.

    `batch_size` is how many subscriptions or deliveries one task takes, and `seconds` for how long
    it begins deliveries, None for all: other tasks take the rest. A task for what this
    configuration does not have does nothing.
    """
    match task.step:
        case Step.INGEST:
            if _ingest(runtime, task.target):
                follow(Task(Step.MATCH))
        case Step.MATCH:
            _match(runtime, follow)
        case Step.LOOK_UP | Step.EMBED:
            if _ASKING[task.step](runtime, seconds):
                follow(Task(Step.COMPOSE))
        case Step.COMPOSE:
            _match(runtime, follow)
            for chunk in due_chunks(runtime, batch_size):
                follow(Task(Step.COMPOSE_SOME, str(chunk)))
        case Step.COMPOSE_SOME:
            _compose(runtime, int(task.target), follow, batch_size)
        case Step.DELIVER:
            _deliver(runtime, task, follow, batch_size, seconds)
        case Step.SEARCH:
            make_searchable(runtime)
        case Step.CLEAN_UP:
            upkeep(runtime)
            drop_removed_services(runtime)


def _ingest(runtime: Runtime, source: str) -> bool:
    if source not in runtime.sources or not is_due(runtime, source):
        return False
    try:
        with patient(FIRST_TURN):
            ingest(runtime, source)
    except StoreBusyError as fault:
        log.info("source busy", source=source, reason=str(fault))
        return False
    except DeferredError as fault:
        log.debug("reading deferred", source=source, reason=str(fault))
        return False
    return True


def _match(runtime: Runtime, follow: Callable[[Task], object]) -> None:
    matched = match(runtime)
    if matched and queue(runtime):
        follow(Task(Step.LOOK_UP))
    if embeddings.queue(runtime):
        follow(Task(Step.EMBED))


def _compose(
    runtime: Runtime, chunk: int, follow: Callable[[Task], object], batch_size: int | None
) -> None:
    names = []
    if batch_size:
        start = chunk * batch_size
        names = [s.name for s in runtime.subscriptions[start : start + batch_size]]
        if not names:
            return
    failed: dict[str, Exception] = {}
    if compose(runtime, names, ignore_backoff=False, awaits_look_up=True, failed=failed):
        for group in runtime.outage_groups:
            follow(Task(Step.DELIVER, group))
    for fault in failed.values():
        if isinstance(fault, StoreError):
            raise fault


def _deliver(
    runtime: Runtime,
    task: Task,
    follow: Callable[[Task], object],
    batch_size: int | None,
    seconds: float | None,
) -> None:
    if batch_size and are_open(runtime, task.target, batch_size):
        follow(task)  # another worker helps meanwhile
    if deliver_group(runtime, task.target, most=batch_size, seconds=seconds).is_cut:
        follow(task)
        return
    for channel in runtime.outage_groups.get(task.target, ()):
        channel.close()


@dataclass(frozen=True, slots=True)
class DigestReport:
    """A digest that was composed or whose deliveries were attempted, as scripts read it."""

    subscription: str
    period: str
    papers: int
    changes: int
    deliveries: tuple[Delivery, ...]

    @property
    def news(self) -> str:
        return format_news(self.papers, self.changes)


@dataclass(frozen=True, slots=True)
class Once:
    """The steps as a command does them, each once."""

    runtime: Runtime

    def ingest(
        self,
        names: Sequence[str] = (),
        on_progress: Callable[[Run], None] | None = None,
        accept_as: FirstRun | None = None,
    ) -> list[Run]:
        """Read the named sources, or all.

        With `accept_as`, store readings that would be held, treating their papers as this says.
        Raises UsageError for a name that is not configured.
        """
        refuse_unknown("source", names, self.runtime.sources)
        names = names or self.runtime.reading_order
        return self._each(names, lambda name: ingest(self.runtime, name, on_progress, accept_as))

    def retry_undecided(self, on_progress: Callable[[Run], None] | None = None) -> list[Run]:
        """Try the undecided records of all sources again."""
        return self._each(self.runtime.sources, lambda n: retry_all(self.runtime, n, on_progress))

    def _each(self, names: Iterable[str], work: Callable[[str], Sequence[Run]]) -> list[Run]:
        sync_subscriptions(self.runtime)
        done: list[Run] = []
        for name in names:
            try:
                done += work(name)
            except StoreBusyError as fault:
                now = self.runtime.clock.now()
                done.append(Run(name, None, RunOutcome.UNCHANGED, now, now, error=str(fault)))
        return done

    def match(self) -> int:
        """Match what waits, and return how many matches there were."""
        matched = match(self.runtime)
        make_searchable(self.runtime, SEARCHABLE_PER_COMMAND)
        return matched

    def digest(
        self,
        names: Sequence[str] = (),
        early: bool = False,
        *,
        ahead: bool = False,
        ignore_backoff: bool = True,
        failed: dict[str, Exception] | None = None,
    ) -> list[DigestReport]:
        """Match what waits, compose what is due, deliver what is open; `early`, `ahead`: `compose`.

        Returns the digests that were composed, attempted, or wait for an outage to end.
        `failed` gets the error of each subscription that could not be composed, by its name.
        `ignore_backoff` tries at once what rests after a failure, as after a repair.
        """
        runtime = self.runtime
        failed = {} if failed is None else failed
        match(runtime)
        # The request that is begun last ends in time, too.
        seconds = (runtime.look_up_wait - DEADLINE).total_seconds()
        if runtime.services and look_up(runtime, seconds):
            match(runtime)
        embed(runtime, embeddings.WAIT.total_seconds())
        composed = compose(
            runtime,
            names,
            early=early,
            ahead=ahead,
            ignore_backoff=ignore_backoff,
            failed=failed,
        )
        attempted: list[Delivery] = []
        try:
            attempted += deliver(runtime, ignore_backoff=ignore_backoff)
            if notify(runtime):
                attempted += deliver(runtime)
            make_searchable(runtime, SEARCHABLE_PER_COMMAND)
        except StoreError as fault:
            if not any(isinstance(error, StoreError) for error in failed.values()):
                raise
            log.error("nothing delivered", error=str(fault))
        with runtime.database.reading() as tx:
            down = down_groups(tx)
            channels = runtime.channels.values()
            waiting = deliveries.open_on(tx, [c.name for c in channels if c.outage_group in down])
            ids = dict.fromkeys([*composed, *(entry.digest_id for entry in attempted), *waiting])
            listed = digests.headings(tx, ids)
            sent = deliveries.of_digests(tx, ids)
            return [
                DigestReport(one.subscription, one.period, one.papers, one.changes, sent[id])
                for id, one in ((id, listed[id]) for id in ids)
                if not one.subscription.startswith(NO_SUBSCRIPTION)
            ]

    def deliver(self) -> list[Delivery]:
        """Send all open deliveries, also in outage groups that rest."""
        sync_subscriptions(self.runtime)
        return deliver(self.runtime, ignore_backoff=True)
