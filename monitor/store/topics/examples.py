"""Ratings of papers that are not stored: examples, until such a paper arrives.

They are neither known nor news. An arriving paper with an identifier of an example, or the only
one with its title, takes over its rating, unless the same person has rated it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

import msgspec
import sqlalchemy as sa

from monitor.model import Judgement, Verdict
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, fetch, index_value
from monitor.store.papers import paper_index
from monitor.store.topics import judgements

# The scheme of a title's key, beside those of identifiers.
TITLE = "title"
_example = schema.example.c
_key = schema.example_key.c


class Example(msgspec.Struct, frozen=True):
    """A rating of a paper that is not stored."""

    # The name of the subscription whose order it teaches.
    subscription: str
    # The name of the topic whose order it teaches.
    topic: str
    # The rater: an address, or `OPERATOR_NAME`.
    who: str
    # Only "wanted" so far.
    verdict: Verdict
    # When the paper was rated.
    at: datetime
    # The means of rating: "file".
    how: str
    # As the file has it; its folded form is one of the example's names.
    title: str
    # As the file has it, "" for none.
    abstract: str
    # 0 until the example is stored.
    id: int = 0


def keep(tx: Transaction, example: Example, keys: Iterable[tuple[str, str]]) -> None:
    """Store an example with its names; one of the same person and topic is replaced."""
    names = {(scheme, index_value(value)) for scheme, value in keys}
    forget(tx, names, example.subscription, example.topic, example.who)
    values = msgspec.structs.asdict(example)
    del values["id"]
    id = tx.scalar(sa.insert(schema.example).returning(_example.id), values)
    rows = [{"scheme": scheme, "value": value, "example_id": id} for scheme, value in names]
    tx.execute(sa.insert(schema.example_key), rows)


def forget(
    tx: Transaction,
    keys: Collection[tuple[str, str]],
    subscription: str,
    topic: str,
    who: str,
) -> int:
    """Delete the examples of a person with one of some names; "" is any subscription or topic."""
    named = [
        sa.and_(_key.scheme == scheme, _key.value == index_value(value)) for scheme, value in keys
    ]
    ids = sa.select(_key.example_id).where(sa.or_(*named))
    query = sa.delete(schema.example).where(_example.id.in_(ids), _example.who == who)
    for column, value in ((_example.subscription, subscription), (_example.topic, topic)):
        query = query.where(column == value) if value else query
    return tx.execute(query).rowcount


def listing(tx: Transaction, subscription: str = "") -> list[Example]:
    """Return all examples, or those of a subscription, oldest first."""
    query = sa.select(schema.example).order_by(_example.id)
    return fetch(tx, query.filter_by(subscription=subscription) if subscription else query, Example)


def subscriptions(tx: Transaction) -> frozenset[str]:
    """Return the subscriptions that have examples."""
    return frozenset(tx.scalars(sa.select(_example.subscription).distinct()))


def settle(tx: Transaction) -> None:
    """Make ratings of the examples whose papers have arrived."""
    if not (arrived := _arrived(tx)):
        return
    query = sa.select(schema.example).where(among(_example.id, arrived)).order_by(_example.id)
    for example in fetch(tx, query, Example):
        paper_id = arrived[example.id]
        rated = {(r.subscription, r.topic, r.who) for r in judgements.of_paper(tx, paper_id)}
        if (example.subscription, example.topic, example.who) not in rated:
            values = {name: getattr(example, name) for name in _RATING}
            judgements.judge(tx, [Judgement(**values, paper_id=paper_id)])
    tx.execute(sa.delete(schema.example).where(among(_example.id, arrived)))


_RATING = ("subscription", "topic", "who", "verdict", "at", "how")


def _arrived(tx: Transaction) -> dict[int, int]:
    """Return the papers that have names of examples, an identifier before a title."""
    rows = tx.execute(sa.select(_key.example_id, _key.scheme, _key.value)).all()
    titles = {id: value for id, scheme, value in rows if scheme == TITLE}
    pairs = [(id, (scheme, value)) for id, scheme, value in rows if scheme != TITLE]
    owners = paper_index.of_keys(tx, [pair for _, pair in pairs])
    titled = paper_index.of_titles(tx, titles.values())
    only = {id: titled[key][0] for id, key in titles.items() if len(titled.get(key, ())) == 1}
    return only | {id: owners[pair] for id, pair in pairs if pair in owners}
