"""The matches that a subscription has not been sent yet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from monitor.model import UnsentMatch
from monitor.store import matches, schema
from monitor.store.database import Transaction
from monitor.store.deliveries import reaches_anyone
from monitor.store.sql import Instant, earlier

_item = schema.digest_item.c
_match = schema.match.c
_change = schema.change.c
_has = schema.subscription_topic.c
_topic = schema.topic.c


def unsent(
    tx: Transaction, subscription: str, now: datetime, known: matches.ChangesRead | None = None
) -> list[UnsentMatch]:
    """Return the matches that a subscription has not been sent, by paper and topic.

    They count from the look-back before it got each topic. Matches in a digest that reached
    no recipient are unsent, however old. Several changes of a paper are one piece of news: its
    matches carry the newest change with the kind of the first, so that a paper never sent is new.
    Sending a revision also sends the earlier ones. `known` are changes read for other
    subscriptions.
    """
    of_change = _change.paper_id, _change.revision, _change.kind, _change.at
    query = _unsent(sa.select(*of_change, _match.topic, _match.score), subscription, now)
    rows = tx.execute(query.order_by(_change.paper_id, _change.revision, _match.topic)).all()
    return _news(tx, rows, known or matches.ChangesRead())


def has_fresh(tx: Transaction, subscription: str, now: datetime) -> bool:
    """Return whether a subscription has an unsent match that is in no digest."""
    fresh = _unsent(sa.select(_change.paper_id), subscription, now, fresh=True)
    return tx.execute(fresh.limit(1)).first() is not None


def waiting(tx: Transaction, subscription: str, now: datetime) -> int:
    """Return how many papers are unsent."""
    papers = sa.select(sa.func.count(_change.paper_id.distinct()))
    return tx.scalar(_unsent(papers, subscription, now)) or 0


def waits_since(tx: Transaction, subscription: str, now: datetime) -> datetime | None:
    """Return the time of the oldest match that is in no digest, None if there is none."""
    oldest = sa.select(sa.func.min(_match.matched_at)).select_from(schema.change)
    since: datetime | None = tx.scalar(_unsent(oldest, subscription, now, fresh=True))
    return since


def _unsent(
    columns: sa.Select[Any], subscription: str, now: datetime, fresh: bool = False
) -> sa.Select[Any]:
    """Select from the unsent changes and matches of active topics."""
    asked = _active_topics(subscription, now)
    announced = sa.select(_item.paper_id).where(
        _item.subscription == subscription,
        _item.paper_id == _match.paper_id,
        _item.revision >= _match.revision,
    )
    sent = announced if fresh else announced.where(reaches_anyone(_item.digest_id))
    return (
        columns.join(schema.match, matches.OF_CHANGE)
        .join(asked, asked.c.topic == _match.topic)
        .where(sa.or_(_change.at >= asked.c.start, announced.exists()), ~sent.exists())
    )


def _active_topics(subscription: str, now: datetime) -> sa.CTE:
    """Return the active topics of a subscription, and from when each counts.

    Materialized: SQLite would work out the time again for each match.
    """
    since = sa.case((_has.since < now, _has.since), else_=sa.literal(now, Instant))
    start = earlier(since, _topic.since_seconds).label("start")
    asked = sa.select(_has.topic, start).join(schema.topic, _topic.name == _has.topic)
    of_subscription = asked.where(_has.subscription == subscription)
    return of_subscription.cte("asked").prefix_with("MATERIALIZED")


def _news(tx: Transaction, rows: Sequence[Any], known: matches.ChangesRead) -> list[UnsentMatch]:
    newest = _newest_with_first_kind(rows)
    changes = dict(zip(newest, known.read(tx, list(newest.values())), strict=True))
    scores: dict[tuple[int, str], float] = {}
    for row in rows:
        place = row.paper_id, row.topic
        scores[place] = max(scores.get(place, 0.0), row.score)
    return [UnsentMatch(topic, scores[id, topic], changes[id]) for id, topic in sorted(scores)]


def _newest_with_first_kind(rows: Sequence[Any]) -> dict[int, matches.ChangeRow]:
    """Return one change of each paper; `rows` are in the order of revisions."""
    newest: dict[int, matches.ChangeRow] = {}
    for row in rows:
        before = newest.get(row.paper_id)
        kind = before[2] if before else row.kind
        newest[row.paper_id] = row.paper_id, row.revision, kind, row.at
    return newest
