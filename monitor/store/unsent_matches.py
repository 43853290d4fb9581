"""The matches that a subscription has not been sent yet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa

from monitor.model import UnsentMatch
from monitor.store import matches, schema
from monitor.store.database import Transaction
from monitor.store.digest_state import reaches_anyone
from monitor.store.raw_rows import fetch
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
    nobody are unsent, however old. Several changes of a paper are one piece of news: its matches
    carry the newest change with the kind of the first, so that a paper never sent is new. Sending
    a revision also sends the earlier ones. `known` are changes read for other subscriptions.
    """
    parameters = {"subscription": subscription, "now": now}
    rows = fetch(tx, _all_unsent(tx.dialect.name), parameters)
    return _news(tx, rows, known or matches.ChangesRead())


# SQLAlchemy takes as long to build this query as SQLite to answer it for a small digest.
@cache
def _all_unsent(dialect: str) -> sa.Select[Any]:
    of_change = _change.paper_id, _change.revision, _change.kind, _change.at
    wanted = _unsent(dialect, sa.select(*of_change, _match.topic, _match.score))
    return wanted.order_by(_change.paper_id, _change.revision, _match.topic)


def has_fresh(tx: Transaction, subscription: str, now: datetime) -> bool:
    """Return whether a subscription has an unsent match that is in no digest."""
    parameters = {"subscription": subscription, "now": now}
    return tx.execute(_one_fresh(tx.dialect.name), parameters).first() is not None


@cache
def _one_fresh(dialect: str) -> sa.Select[Any]:
    return _unsent(dialect, sa.select(_change.paper_id), fresh=True).limit(1)


def waiting(tx: Transaction, subscription: str, now: datetime) -> int:
    """Return how many papers are unsent."""
    papers = sa.select(sa.func.count(_change.paper_id.distinct()))
    parameters = {"subscription": subscription, "now": now}
    return tx.scalar(_unsent(tx.dialect.name, papers), parameters) or 0


def waits_since(tx: Transaction, subscription: str, now: datetime) -> datetime | None:
    """Return the time of the oldest match that is in no digest, None if there is none."""
    oldest = sa.select(sa.func.min(_match.matched_at)).select_from(schema.change)
    wanted = _unsent(tx.dialect.name, oldest, fresh=True)
    since: datetime | None = tx.scalar(wanted, {"subscription": subscription, "now": now})
    return since


def _unsent(dialect: str, columns: sa.Select[Any], fresh: bool = False) -> sa.Select[Any]:
    """Select from the unsent changes and matches of active topics.

    The parameters are `subscription` and `now`.
    """
    asked = _active_topics(dialect)
    stands = _item_of_match()
    sent = stands if fresh else stands.where(reaches_anyone(_item.digest_id))
    return (
        columns.join(schema.match, matches.OF_CHANGE)
        .join(asked, asked.c.topic == _match.topic)
        .where(sa.or_(_change.at >= asked.c.start, stands.exists()), ~sent.exists())
    )


def _active_topics(dialect: str) -> sa.CTE:
    """Return the active topics of a subscription, and from when each counts.

    Materialized: SQLite would work out the time again for each match.
    """
    now = sa.bindparam("now", type_=Instant)
    since = sa.case((_has.since < now, _has.since), else_=now)
    start = earlier(dialect, since, _topic.since_seconds).label("start")
    asked = sa.select(_has.topic, start).join(schema.topic, _topic.name == _has.topic)
    of_subscription = _has.subscription == sa.bindparam("subscription")
    return asked.where(of_subscription).cte("asked").prefix_with("MATERIALIZED")


def _item_of_match() -> sa.Select[Any]:
    return sa.select(_item.paper_id).where(
        _item.subscription == sa.bindparam("subscription"),
        _item.paper_id == _match.paper_id,
        _item.revision >= _match.revision,
    )


def _news(
    tx: Transaction, rows: Sequence[tuple[Any, ...]], known: matches.ChangesRead
) -> list[UnsentMatch]:
    newest = _newest_with_first_kind(rows)
    changes = dict(zip(newest, known.read(tx, list(newest.values())), strict=True))
    scores: dict[tuple[int, str], float] = {}
    for paper_id, _, _, _, topic, score in rows:
        place = paper_id, topic
        scores[place] = max(scores.get(place, 0.0), score)
    return [UnsentMatch(topic, scores[id, topic], changes[id]) for id, topic in sorted(scores)]


def _newest_with_first_kind(rows: Sequence[tuple[Any, ...]]) -> dict[int, matches.ChangeRow]:
    """Return one change of each paper; `rows` are in the order of revisions."""
    newest: dict[int, matches.ChangeRow] = {}
    for paper_id, revision, kind, at, _, _ in rows:
        before = newest.get(paper_id)
        newest[paper_id] = paper_id, revision, before[2] if before else kind, at
    return newest
