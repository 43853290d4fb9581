"""A store with sources that say what a test tells them, one topic, and readers of its digests."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from monitor.diff.decide import DecisionContext
from monitor.identity.withdrawals import NO_STANDING, Standing
from monitor.model import ChangeKind, DeliveryState, FirstRun, MatchRow, Paper, Role
from monitor.pipeline.store_chunk import Chunk, StoredChunk, store_papers
from monitor.store.digests import digests
from monitor.store.engine.database import Database
from monitor.store.papers import papers
from monitor.store.papers.papers import Origin
from monitor.store.sources import collections
from monitor.store.topics import matches
from tests.house import all_papers
from tests.store.scenes import NOW, attempt, digest, freeze, reading

# Words for titles, which share no stem.
WORDS = ["amber", "basil", "cobalt", "dahlia", "ember", "falcon", "garnet", "hazel", "indigo"]
WORDS += ["jasper", "kelp", "lotus", "marble", "nectar", "onyx", "pearl", "quartz", "raven"]
WORDS += ["sable", "topaz", "umber", "violet", "walnut", "xenon", "yarrow", "zinc"]


def read(
    store: Database,
    source: str,
    *result: Paper,
    now: datetime = NOW,
    first_run: FirstRun | None = None,
    assigns: tuple[str, ...] = (),
    standing: Standing = NO_STANDING,
    role: Role = Role.NEWS,
    guarded: Collection[str] = (),
) -> StoredChunk:
    """One reading of a source; its dates are those of announcement."""
    with store.ingesting() as tx:
        context = DecisionContext(now, first_run, dated=True, assigns=assigns, standing=standing)
        if role is Role.LIBRARY:
            collections.save(tx, source, "", result, now)
            return StoredChunk(unchanged=len(result))
        return store_papers(tx, Chunk(source, result, context, now), guarded)


def match(
    store: Database,
    topic: str = "t",
    now: datetime = NOW,
    kinds: Collection[ChangeKind] = (ChangeKind.NEW, ChangeKind.OLDER),
) -> None:
    """The topic meets all that waits, of the kinds that it asks for."""
    with store.writing() as tx:
        waiting = matches.changes_to_match(tx, 10_000)
        rows = [
            MatchRow(topic, change.stored.id, change.revision, 1.0)
            for change in waiting
            if change.kind in kinds
        ]
        matches.save(tx, [(c.stored.id, c.revision) for c in waiting], rows, now)


def tell(store: Database, name: str = "ada", now: datetime = NOW) -> list[int]:
    """Match, compose and send a digest of all that is unsent; return the papers in it."""
    match(store, now=now)
    with store.reading() as tx:
        news = matches.unsent(tx, name, now)
        period = str(digests.count(tx, name) + 1)
    if not news:
        return []
    assert freeze(store, digest(news, period, name, now), now=now) is not None
    send(store, now)
    return sorted({one.change.stored.id for one in news})


def send(store: Database, now: datetime = NOW) -> None:
    """Everything that is open goes out."""
    attempt(store, DeliveryState.SENT, 1_000, now)


def origin(store: Database, paper_id: int) -> Origin:
    with store.reading() as tx:
        stored = papers.get(tx, paper_id)
        assert stored is not None
        return papers.origin(tx, stored)


def ids(store: Database) -> Sequence[int]:
    return sorted(one.id for one in reading(store, all_papers))
