"""Upkeep: old data is deleted, and stored papers are made searchable."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import structlog

from monitor.channels.base import Channel
from monitor.errors import TemplateError
from monitor.match import paper_keywords
from monitor.model import Role
from monitor.pipeline import incidents, shared_store
from monitor.pipeline.runtime import Runtime
from monitor.store import retention
from monitor.store.digests import deliveries
from monitor.store.engine.database import Transaction
from monitor.store.papers import papers, search, undecided
from monitor.store.sources import collections

log = structlog.get_logger()

# Papers in one transaction: about a tenth of a second, for which an ingest may have to wait.
BATCH = 500
# Seconds between two transactions: without a pause the same thread would take the store's only
# writing connection again at once, however long others have waited for it.
PAUSE = 0.005


def upkeep(runtime: Runtime) -> None:
    """Let go of what is older than `retention:` says, in short transactions. Again, it is quick.

    By a clock that has jumped nothing is old.
    """
    if incidents.clock_jumped(runtime):
        return
    limits = runtime.settings.retention
    now = runtime.clock.now()
    before = now - limits.papers if limits.papers else None
    _all(runtime, "papers", lambda tx: retention.purge(tx, before, limits.count, now, BATCH))
    if before:
        _all(runtime, "undecided records", lambda tx: undecided.prune(tx, before))
    _all(runtime, "matches", lambda tx: retention.prune_matches(tx, now - limits.matches, BATCH))
    _all(runtime, "bodies", lambda tx: retention.prune_bodies(tx, now - limits.bodies, BATCH))
    kept = {name for name, source in runtime.sources.items() if source.role is not Role.NEWS}

    def forget(tx: Transaction) -> int:
        return 0 if shared_store.keeps_others(tx, runtime) else collections.forget(tx, kept, BATCH)

    _all(runtime, "entries", forget)
    _all(runtime, "runs", lambda tx: retention.prune_runs(tx, now - limits.runs))
    if limits.pages:
        _delete_pages(runtime, now - limits.pages)


def _delete_pages(runtime: Runtime, before: datetime) -> None:
    """Delete pages of digests sent before a time: one that is not sent may be looked for yet."""
    for name, channel in runtime.channels.items():

        def sent(channel: Channel = channel) -> set[tuple[str, str]]:
            with runtime.database.reading() as tx:
                return deliveries.sent_before(tx, channel.name, channel.recipients(), before)

        try:
            if count := channel.delete_old(sent):
                log.info("old data deleted", what="pages", channel=name, count=count)
        except (OSError, TemplateError) as fault:
            log.warning("old pages not deleted", channel=name, error=str(fault))


def _all(runtime: Runtime, what: str, step: Callable[[Transaction], int]) -> None:
    if count := repeat(runtime, step):
        log.info("old data deleted", what=what, count=count)


def repeat(runtime: Runtime, step: Callable[[Transaction], int], most: int | None = None) -> int:
    """Repeat a step, each time in a transaction, until it or `most` is done; return the total."""
    total = 0
    while (most is None or total < most) and not runtime.stopping.wait(PAUSE):
        # Reading and writing are one: no ingest may change a paper between the two.
        with runtime.database.ingesting() as tx:
            done = step(tx)
        if not done:
            break
        total += done
    return total


def make_searchable(runtime: Runtime, most: int | None = None) -> int:
    """Put papers that are not in the search index into it, and return how many there were.

    `most` is where to stop. Until it is done, a search reads the missing papers one by one.
    """

    def add(tx: Transaction) -> int:
        batch = papers.with_indexed_fields(tx, search.waiting(tx, BATCH))
        rows = [(id, paper_keywords(paper)) for id, paper in batch.items()]
        search.save(tx, rows)
        return len(rows)

    return repeat(runtime, add, most)
