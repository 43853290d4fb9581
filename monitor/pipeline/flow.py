"""The flow as code: which step follows which, in one process, in `serve` and among workers.

    INGEST source ─> MATCH ─> COMPOSE ─> COMPOSE_SOME chunk ─> DELIVER group    SEARCH, CLEAN_UP

A command goes through it once: `ingest_once`, then `digest_once`. A service does one task after
another with `do`, which passes on what follows: to another job of the process, or to a queue.
A task that is lost or done twice does no harm: the tables hold everything that is due.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

import structlog

from monitor.errors import StoreBusyError, StoreError, UsageError
from monitor.kept import forget
from monitor.model import Delivery, FirstRun, Run, RunOutcome
from monitor.pipeline.cleanup import make_searchable, upkeep
from monitor.pipeline.compose import compose, find_chunks
from monitor.pipeline.deliver import are_open, deliver, deliver_group
from monitor.pipeline.freeze import OnFailure, log_failure, notify
from monitor.pipeline.ingest import ingest, is_due, retry_all
from monitor.pipeline.match import match, sync_subscriptions
from monitor.pipeline.runtime import Runtime

log = structlog.get_logger()

# A command that read a large dump leaves the rest of its papers to the next one.
SEARCHABLE_PER_COMMAND = 20_000


class Step(StrEnum):
    """The steps of the flow, by the names of their tasks in the queue of `service/workers.py`."""

    INGEST = "ingest"
    MATCH = "match"
    COMPOSE = "compose"
    COMPOSE_SOME = "compose-some"
    DELIVER = "deliver"
    SEARCH = "search"
    CLEAN_UP = "upkeep"


class Task(NamedTuple):
    """A step, and which source, chunk of subscriptions or outage group it is for."""

    step: Step
    target: str = ""


def do(
    runtime: Runtime, task: Task, follow: Callable[[Task], object], batch_size: int | None = None
) -> None:
    """Do a task as a service does it, and `follow` with each task that comes after it.

    `batch_size` is how many subscriptions or deliveries one task takes, None for all: other tasks
    take the rest. A task for what this configuration does not have does nothing.
    """
    match task.step:
        case Step.INGEST:
            if _ingest(runtime, task.target):
                follow(Task(Step.MATCH))
        case Step.MATCH:
            match(runtime)
        case Step.COMPOSE:
            match(runtime)
            for chunk in find_chunks(runtime, batch_size):
                follow(Task(Step.COMPOSE_SOME, str(chunk)))
        case Step.COMPOSE_SOME:
            _compose(runtime, int(task.target), follow, batch_size)
        case Step.DELIVER:
            _deliver(runtime, task, follow, batch_size)
        case Step.SEARCH:
            if make_searchable(runtime):
                forget()  # it follows the last reading of new papers
        case Step.CLEAN_UP:
            upkeep(runtime)


def _ingest(runtime: Runtime, source: str) -> bool:
    if source not in runtime.sources or not is_due(runtime, source):
        return False
    try:
        ingest(runtime, source)
    except StoreBusyError as fault:
        log.info("source busy", source=source, reason=str(fault))
        return False
    return True


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
    composed = compose(runtime, names, ignore_backoff=False, on_failure=failed.__setitem__)
    if composed:
        for group in runtime.outage_groups:
            follow(Task(Step.DELIVER, group))
        forget()
    for fault in failed.values():
        if isinstance(fault, StoreError):
            raise fault


def _deliver(
    runtime: Runtime, task: Task, follow: Callable[[Task], object], batch_size: int | None
) -> None:
    if batch_size and are_open(runtime, task.target, batch_size):
        follow(task)  # another worker helps meanwhile
    attempted = deliver_group(runtime, task.target, most=batch_size)
    if batch_size and len(attempted) >= batch_size:
        follow(task)
        return
    for channel in runtime.outage_groups.get(task.target, ()):
        channel.close()


# ── one process, once ───────────────────────────────────────────────────────────────


def ingest_once(
    runtime: Runtime,
    names: Sequence[str],
    on_progress: Callable[[Run], None] | None = None,
    accept: FirstRun | None = None,
) -> list[Run]:
    """Read the named sources, or all, one after the other.

    Raises UsageError for a name that is not configured.
    """
    for name in names:
        if name not in runtime.sources:
            hint = f"there are: {', '.join(runtime.sources) or 'none'}"
            raise UsageError(f"no source is named {name!r}", hint)
    sync_subscriptions(runtime)
    names = names or [*runtime.sources]
    return _each(runtime, names, lambda name: ingest(runtime, name, on_progress, accept))


def retry_once(runtime: Runtime, on_progress: Callable[[Run], None] | None = None) -> list[Run]:
    """Try the undecided records of all sources again."""
    sync_subscriptions(runtime)
    return _each(runtime, [*runtime.sources], lambda name: retry_all(runtime, name, on_progress))


def _each(
    runtime: Runtime, names: Sequence[str], work: Callable[[str], Sequence[Run]]
) -> list[Run]:
    done: list[Run] = []
    for name in names:
        try:
            done += work(name)
        except StoreBusyError as fault:
            now = runtime.clock.now()
            done.append(Run(name, None, RunOutcome.UNCHANGED, now, now, error=str(fault)))
    return done


def match_once(runtime: Runtime) -> int:
    matched = match(runtime)
    make_searchable(runtime, SEARCHABLE_PER_COMMAND)
    return matched


def deliver_once(runtime: Runtime) -> list[Delivery]:
    """Send all open deliveries, also in outage groups that rest."""
    sync_subscriptions(runtime)
    return deliver(runtime, ignore_backoff=True)


def digest_once(
    runtime: Runtime,
    names: Sequence[str],
    *,
    early: bool,
    ignore_backoff: bool,
    on_failure: OnFailure = log_failure,
) -> tuple[list[int], list[Delivery]]:
    """Match, compose what is due, deliver what is open.

    Returns the ids of the digests that were composed, and the deliveries that were attempted.
    """
    failed: dict[str, Exception] = {}
    match(runtime)
    composed = compose(
        runtime, names, early=early, ignore_backoff=ignore_backoff, on_failure=failed.__setitem__
    )
    for name, fault in failed.items():
        on_failure(name, fault)
    try:
        attempted = deliver(runtime, ignore_backoff=ignore_backoff)
        if notify(runtime):
            attempted += deliver(runtime)
        make_searchable(runtime, SEARCHABLE_PER_COMMAND)
    except StoreError as fault:
        if not any(isinstance(error, StoreError) for error in failed.values()):
            raise
        log.error("nothing delivered", error=str(fault))
        attempted = []
    return composed, attempted
