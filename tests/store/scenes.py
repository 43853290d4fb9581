"""What the tests of the store say again and again, as sentences."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import sqlalchemy as sa

from monitor.model import (
    ChangeKind,
    Decision,
    Delivery,
    DeliveryState,
    Digest,
    DigestGroup,
    DigestPaper,
    IncomingPaper,
    MatchRow,
    Outcome,
    Paper,
    Rendered,
    Topic,
    UnsentMatch,
)
from monitor.store.digests import freeze_digest, outbox
from monitor.store.digests.freeze_digest import Planned
from monitor.store.engine.database import Database
from monitor.store.papers import write_papers
from monitor.store.topics import matches, subscriptions
from tests.patience import PATIENCE

NOW = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
CHANNELS = ("email", "pages", "slack", "smtp")

T = TypeVar("T")
_ids = itertools.count(1)


def reading(store: Database, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """What a function of the store reads, in a transaction of its own."""
    with store.reading() as tx:
        return work(tx, *arguments, **named)


def writing(store: Database, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    with store.writing() as tx:
        return work(tx, *arguments, **named)


def ingesting(store: Database, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    with store.ingesting() as tx:
        return work(tx, *arguments, **named)


def run(script: str, *arguments: str, **options: Any) -> str:
    """What a script prints that another process runs."""
    command = [sys.executable, "-c", script, *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "text": True, **options}
    return subprocess.run(command, timeout=PATIENCE, check=True, **pipes).stdout


def keyed(title: str, *keys: tuple[str, str], raw_id: str = "", **fields: object) -> IncomingPaper:
    """A paper as diff hands it over."""
    paper = Paper(title, **fields)  # type: ignore[arg-type]
    return IncomingPaper(paper, keys, title.casefold(), raw_id or f"raw {title}", f"print {title}")


def arxiv(number: str, title: str = "", **fields: object) -> IncomingPaper:
    return keyed(title or f"Paper {number}", ("arxiv", number), **fields)  # type: ignore[arg-type]


def new(one: IncomingPaper, **fields: object) -> Decision:
    return Decision(one, ChangeKind.NEW, **fields)  # type: ignore[arg-type]


def ingest(
    store: Database, *decisions: Decision, source: str = "feed", now: datetime = NOW
) -> list[int]:
    return ingesting(store, write_papers.apply, source, decisions, now, "monday.txt")


def arrive(store: Database, *numbers: str, now: datetime = NOW) -> list[int]:
    """Papers that the store has never seen come in, and are news."""
    return ingest(store, *(new(arxiv(number)) for number in numbers), now=now)


def watch(store: Database, *topics: str, now: datetime = NOW, **fields: object) -> None:
    rows = [Topic(name, f'"{name}"', **fields) for name in topics]  # type: ignore[arg-type]
    with store.writing() as tx:
        matches.activate_topics(tx, *matches.difference(tx, rows), now)


def subscribe(store: Database, *names: str, topics: Sequence[str] = ("t",), now: datetime = NOW):
    rows = [(name, "daily 08:00", "UTC", topics) for name in names]
    writing(store, subscriptions.sync_subscriptions, rows, now)


def match(
    store: Database, *ids: int, topic: str = "t", revision: int = 1, score: float = 1.0
) -> None:
    """Papers meet a topic."""
    rows = [MatchRow(topic, id, revision, score) for id in ids]
    writing(store, matches.save, [(id, revision) for id in ids], rows, NOW)


def waiting(store: Database) -> list[tuple[int, int, ChangeKind]]:
    """(paper, revision, kind) of the changes that wait to be matched."""
    changes = reading(store, matches.changes_to_match, 100)
    return [(change.stored.id, change.revision, change.kind) for change in changes]


def unsent(store: Database, name: str = "ada", now: datetime = NOW) -> list[UnsentMatch]:
    return reading(store, matches.unsent, name, now)


def has_fresh(store: Database, name: str = "ada", now: datetime = NOW) -> bool:
    return reading(store, matches.has_fresh, name, now)


def revisions_of(news: Iterable[UnsentMatch]) -> list[tuple[int, int]]:
    """(paper, revision) of pieces of news, once each."""
    return sorted({(one.change.stored.id, one.change.revision) for one in news})


def digest(
    news: Iterable[UnsentMatch], period: str = "2026-03-02", name: str = "ada", due: datetime = NOW
) -> Digest:
    """A digest of all of it, as compose would make it."""
    entries = {
        one.change.stored.id: DigestPaper(
            paper_id=one.change.stored.id,
            revision=one.change.revision,
            kind=one.change.kind,
            paper=one.change.stored.paper,
            first_seen=one.change.stored.first_seen,
            sources=one.change.sources,
            score=one.score,
            matched=(),
        )
        for one in news
    }
    groups = (DigestGroup("t", tuple(entries.values())),) if entries else ()
    return Digest(name, period, due, "UTC", None, due, groups, ())


def freeze(
    store: Database,
    made: Digest,
    *,
    recipients: Sequence[str] = ("ada@example.org",),
    channel: str = "email",
    parts: int = 1,
    now: datetime = NOW,
) -> int | None:
    rendered = {channel: tuple(Rendered(n, {"text": f"part {n}"}) for n in range(parts))}
    planned = [
        Planned(channel, recipient, n, f"<{next(_ids)}@papers.example>")
        for recipient in recipients
        for n in range(parts)
    ]
    return writing(store, freeze_digest.freeze, made, rendered, planned, now)


def claim(
    store: Database,
    owner: str = "me",
    now: datetime = NOW,
    limit: int = 100,
    channels: Sequence[str] = CHANNELS,
) -> list[Delivery]:
    return writing(store, outbox.claim, owner, now, channels, limit)


def attempt(
    store: Database, state: DeliveryState, limit: int = 100, now: datetime = NOW
) -> list[Delivery]:
    """Claim what is open and record that it ended so."""
    claimed = claim(store, now=now, limit=limit)
    for one in claimed:
        if state is DeliveryState.HANDING_OFF:
            writing(store, outbox.commit_handoff, [one.id], "me", now)
        elif state is not DeliveryState.CLAIMED:
            writing(store, outbox.record, {one.id: ""}, "me", Outcome(state), now)
    return claimed


def until_another_waits(store: Database) -> None:
    """On PostgreSQL, until a session waits for another; on SQLite it cannot even begin."""
    deadline = time.monotonic() + PATIENCE
    waiting = store.dialect == "sqlite"
    while not waiting:
        assert time.monotonic() < deadline
        with store.reading() as tx:
            waiting = bool(tx.scalar(sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")))
