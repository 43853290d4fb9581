"""The matches that a subscription has not been sent yet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from monitor.model import UnsentMatch
from monitor.store.digests.deliveries import reaches_anyone
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import Instant, earlier
from monitor.store.topics import matches

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
    rows = tx.execute(_UNSENT, {"subscription": subscription, "now": now}).all()
    return _news(tx, rows, known or matches.ChangesRead())


def has_fresh(tx: Transaction, subscription: str, now: datetime) -> bool:
    """Return whether a subscription has an unsent match that is in no digest."""
    return tx.execute(_FRESH, {"subscription": subscription, "now": now}).first() is not None


def waiting(tx: Transaction, subscription: str, now: datetime) -> int:
    """Return how many papers are unsent."""
    papers = _unsent(sa.func.count(_change.paper_id.distinct()))
    return tx.scalar(papers, {"subscription": subscription, "now": now}) or 0


def waits_since(tx: Transaction, subscription: str, now: datetime) -> datetime | None:
    """Return the time of the oldest match that is in no digest, None if there is none."""
    oldest = _unsent(sa.func.min(_match.matched_at), fresh=True)
    since: datetime | None = tx.scalar(oldest, {"subscription": subscription, "now": now})
    return since


def _unsent(*columns: sa.ColumnElement[Any], fresh: bool = False) -> sa.Select[Any]:
    """Select from the unsent changes and matches of active topics.

    The parameters are `subscription` and `now`.
    """
    asked = _active_topics()
    announced = sa.select(_item.paper_id).where(
        _item.subscription == sa.bindparam("subscription"),
        _item.paper_id == _match.paper_id,
        _item.revision >= _match.revision,
    )
    sent = announced if fresh else announced.where(reaches_anyone(_item.digest_id))
    return (
        sa.select(*columns)
        .select_from(schema.change)
        .join(schema.match, matches.OF_CHANGE)
        .join(asked, asked.c.topic == _match.topic)
        .where(sa.or_(_change.at >= asked.c.start, announced.exists()), ~sent.exists())
    )


def _active_topics() -> sa.CTE:
    """Return the active topics of a subscription, and from when each counts.

    Materialized: SQLite would work out the time again for each match.
    """
    now = sa.bindparam("now", type_=Instant)
    since = sa.case((_has.since < now, _has.since), else_=now)
    start = earlier(since, _topic.since_seconds).label("start")
    asked = sa.select(_has.topic, start).join(schema.topic, _topic.name == _has.topic)
    of_subscription = asked.where(_has.subscription == sa.bindparam("subscription"))
    return of_subscription.cte("asked").prefix_with("MATERIALIZED")


# Built once: SQLAlchemy takes as long to build them as SQLite to answer them for a small digest.
_UNSENT = _unsent(
    _change.paper_id, _change.revision, _change.kind, _change.at, _match.topic, _match.score
).order_by(_change.paper_id, _change.revision, _match.topic)
_FRESH = _unsent(_change.paper_id, fresh=True).limit(1)


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
