"""Deliveries: their states, and reading them. `outbox` changes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from monitor.errors import Remedy, UsageError
from monitor.model import Delivery, DeliveryState, Rendered
from monitor.model.delivery import TEST
from monitor.store.digests.packed import body_of
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, one_of

WAITING = (DeliveryState.PLANNED, DeliveryState.RETRY)
# A delivery in one of these states reached its recipient, may have, or is about to. So may one
# whose hand-off had an unknown outcome, whatever its state is now (`handed_off_at`).
REACHED = (
    DeliveryState.SENT,
    DeliveryState.UNKNOWN,
    DeliveryState.HANDING_OFF,
    DeliveryState.CLAIMED,
)
_delivery = schema.delivery.c
_digest = schema.digest.c
_event = schema.digest_event.c
_item = schema.digest_item.c
_rendered = schema.rendered.c
_earlier = schema.delivery.alias("earlier")
# Those of a digest to the same recipient. By id, since the first may be of any part: where it is
# theirs alone, or replaces one that was too long.
_EARLIER_PARTS = sa.and_(
    _earlier.c.digest_id == _delivery.digest_id,
    _earlier.c.channel == _delivery.channel,
    _earlier.c.recipient == _delivery.recipient,
    _earlier.c.id < _delivery.id,
)
_NEVER_TRIED = sa.and_(_delivery.attempts == 0, _delivery.handed_off_at.is_(None))
# The state of a delivery that waits again.
WAITS_AGAIN = sa.case((_NEVER_TRIED, str(DeliveryState.PLANNED)), else_=str(DeliveryState.RETRY))
# The condition of the index `ix_delivery_open`: without it SQLite reads all that was ever sent.
IS_OPEN = sa.text("delivery.state NOT IN ('sent', 'superseded')")
IS_UNKNOWN = sa.and_(IS_OPEN, _delivery.state == DeliveryState.UNKNOWN)
IS_HANDED_OFF_AGAIN = sa.and_(
    IS_OPEN, _delivery.state == DeliveryState.RETRY, _delivery.handed_off_at.is_not(None)
)
# Unknown, or waiting to be handed off once more.
MAY_HAVE_ARRIVED = sa.or_(IS_UNKNOWN, IS_HANDED_OFF_AGAIN)
_later = schema.delivery.alias("later")
# A test whose recipient was sent something later by the same channel.
_IS_ANSWERED_TEST = sa.and_(
    _digest.subscription.startswith(TEST, autoescape=True),
    sa.select(_later.c.id)
    .where(
        _later.c.channel == _delivery.channel,
        _later.c.recipient == _delivery.recipient,
        _later.c.state == DeliveryState.SENT,
        sa.or_(_later.c.id > _delivery.id, _later.c.changed_at > _delivery.handed_off_at),
    )
    .exists(),
)
# For a person to decide about, if it stays unclear.
IS_UNCERTAIN = sa.and_(MAY_HAVE_ARRIVED, ~_IS_ANSWERED_TEST)


def reaches_recipient() -> sa.ColumnElement[bool]:
    """Whether a delivery reached its recipient, or may have."""
    return sa.or_(_delivery.state.in_(REACHED), _delivery.handed_off_at.is_not(None))


def reaches_anyone(digest_id: sa.ColumnElement[int]) -> sa.Exists:
    """Whether a digest reached any recipient, or may have."""
    of_digest = (_delivery.digest_id == digest_id, reaches_recipient())
    return sa.select(_delivery.id).where(*of_digest).exists()


def of_first_part(column: str) -> sa.ScalarSelect[Any]:
    """Return a column of the first part for the recipient of a later one; null for the first."""
    earlier = sa.select(_earlier.c[column]).where(_EARLIER_PARTS)
    return earlier.order_by(_earlier.c.id).limit(1).scalar_subquery()


def has_news() -> sa.ColumnElement[bool]:
    """Whether a digest has news, as `Digest.has_news`."""
    changes = sa.select(_event.event_id).where(_event.digest_id == _digest.id)
    return sa.or_(_digest.papers > 0, changes.exists())


def can_be_superseded() -> sa.ColumnElement[bool]:
    """Whether a digest may be superseded: it has news, or deliveries although it has none.

    One of a quiet day without deliveries records that nothing was sent.
    """
    planned = sa.select(_delivery.id).where(_delivery.digest_id == _digest.id)
    return sa.or_(has_news(), planned.exists())


def stands() -> sa.ColumnElement[bool]:
    """Whether a digest is not superseded, and in its state never will be."""
    kept = sa.or_(reaches_anyone(_digest.id), ~can_be_superseded())
    return sa.and_(_digest.superseded_at.is_(None), kept)


def has_recipient(tx: Transaction, address: str) -> bool:
    """Return whether anything was ever for a recipient; `address` is as `address_of` returns."""
    of_mail = sa.func.lower(_delivery.recipient) == address
    own = sa.select(_delivery.id).where(sa.or_(of_mail, _delivery.recipient == address))
    return tx.scalar(own.limit(1)) is not None


def get(tx: Transaction, delivery_id: int) -> Delivery:
    """Return a delivery. Raises UsageError if there is none with this number."""
    rows = with_bodies(tx, [delivery_id])
    if not rows:
        message = f"there is no delivery {delivery_id}"
        raise UsageError(message, "`deliveries` lists them", Remedy.LIST_DELIVERIES)
    return rows[0]


def with_ids(tx: Transaction, ids: Iterable[int]) -> list[Delivery]:
    """Return the deliveries with these ids in order, without their bodies."""
    return select(tx, among(_delivery.id, ids))[::-1]


def of_digests(tx: Transaction, digest_ids: Iterable[int]) -> dict[int, tuple[Delivery, ...]]:
    """Return the deliveries of each digest in order, without their bodies."""
    by_digest: dict[int, tuple[Delivery, ...]] = dict.fromkeys(digest_ids, ())
    for delivery in reversed(select(tx, among(_delivery.digest_id, by_digest))):
        by_digest[delivery.digest_id] += (delivery,)
    return by_digest


def channels_of_digests(tx: Transaction, paper_id: int) -> defaultdict[tuple[str, str], set[str]]:
    """Return the channels by which the digests with a paper are or were sent.

    They are by the subscription and the period of the digest.
    """
    columns = _digest.subscription, _digest.period, _delivery.channel
    with_paper = sa.select(_item.digest_id).where(_item.paper_id == paper_id)
    query = sa.select(*columns).join(schema.digest).where(_digest.id.in_(with_paper))
    channels = defaultdict[tuple[str, str], set[str]](set)
    for subscription, period, channel in tx.execute(query):
        channels[subscription, period].add(channel)
    return channels


def listing(
    tx: Transaction,
    states: Collection[DeliveryState] | None = None,
    limit: int | None = None,
    before: int | None = None,
    conditions: Sequence[sa.ColumnElement[bool]] = (),
) -> list[Delivery]:
    """Return the newest deliveries in some states, newest first, without their bodies."""
    in_state = sa.true() if states is None else _delivery.state.in_(states)
    is_older = sa.true() if before is None else _delivery.id < before
    return select(tx, in_state, is_older, *conditions, limit=limit)


def conditions_for(
    recipient: str = "", subscription: str = "", channel: str = ""
) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of a filter by recipient, subscription and channel; "" is any."""
    conditions: list[sa.ColumnElement[bool]] = []
    if recipient:  # SQLite lowers ASCII alone: hence the second comparison
        lowered = sa.func.lower(_delivery.recipient) == recipient.lower()
        conditions.append(sa.or_(lowered, _delivery.recipient == recipient))
    if subscription:
        of_subscription = sa.select(_digest.id).where(_digest.subscription == subscription)
        conditions.append(_delivery.digest_id.in_(of_subscription))
    if channel:
        conditions.append(_delivery.channel == channel)
    return conditions


def unfinished_of(tx: Transaction, digest_ids: Collection[int]) -> list[Delivery]:
    """Return the deliveries of some digests that failed or are tried again."""
    tried = (DeliveryState.FAILED, DeliveryState.RETRY)
    return select(tx, among(_delivery.digest_id, digest_ids), _delivery.state.in_(tried))


def open_on(tx: Transaction, channels: Collection[str]) -> list[int]:
    """Return the digests with deliveries that wait for these channels, oldest first."""
    waits = (_delivery.state.in_(WAITING), among(_delivery.channel, channels))
    return sorted(tx.scalars(sa.select(_delivery.digest_id).where(*waits).distinct()))


def sent_before(
    tx: Transaction, channel: str, recipients: Collection[str], at: datetime
) -> set[tuple[str, str]]:
    """Return the subscriptions and periods of the digests that were sent before a time."""
    query = (
        sa.select(_digest.subscription, _digest.period)
        .join(schema.delivery, _delivery.digest_id == _digest.id)
        .where(
            _delivery.state == DeliveryState.SENT,
            _delivery.channel == channel,
            _delivery.recipient.in_(recipients),
            _delivery.changed_at < at,
        )
    )
    return {(subscription, period) for subscription, period in tx.execute(query)}


def has_reached(tx: Transaction, subscription: str, period: str, prefix: str) -> bool:
    """Return whether a digest was delivered with references that begin with `prefix`."""
    of_digest = sa.select(_digest.id).filter_by(subscription=subscription, period=period)
    starts_so = _delivery.reference.startswith(prefix, autoescape=True)
    there = sa.select(_delivery.id).where(_delivery.digest_id.in_(of_digest), starts_so)
    return tx.scalar(there.limit(1)) is not None


def counts(
    tx: Transaction, conditions: Sequence[sa.ColumnElement[bool]] = ()
) -> dict[DeliveryState, int]:
    """Return how many deliveries are in each state, without the states that have none."""
    counted = sa.select(_delivery.state, sa.func.count()).where(*conditions)
    rows = tx.execute(counted.group_by(_delivery.state))
    return {DeliveryState(state): number for state, number in rows}


def with_bodies(tx: Transaction, ids: Iterable[int]) -> list[Delivery]:
    """Return the deliveries with these ids, in the order they were planned."""
    return [_to_delivery(row) for row in tx.execute(_WITH_BODIES, {"values": ids})]


def select(
    tx: Transaction, *conditions: sa.ColumnElement[bool], limit: int | None = None
) -> list[Delivery]:
    """Return the deliveries for which conditions hold, newest first, without their bodies."""
    query = _query(*_NO_BODIES).where(*conditions).order_by(_delivery.id.desc())
    return [_to_delivery(row) for row in tx.execute(query.limit(limit))]


_BODIES = (_rendered.body, _rendered.packed, _digest.packed.label("content"))
_NO_BODIES = tuple(sa.null().label(name) for name in ("body", "packed", "content"))


def _query(*bodies: sa.ColumnElement[Any]) -> sa.Select[Any]:
    return (
        sa.select(
            *(column for column in _delivery if column is not _delivery.part),
            _digest.subscription,
            _digest.period,
            _digest.composed_at,
            of_first_part("reference").label("parent"),
            sa.select(sa.func.count()).where(_EARLIER_PARTS).scalar_subquery().label("part"),
            *bodies,
        )
        .join_from(schema.delivery, schema.digest)
        .join(
            schema.rendered,
            sa.and_(
                _rendered.digest_id == _delivery.digest_id,
                _rendered.channel == _delivery.channel,
                _rendered.part == _delivery.part,
            ),
        )
    )


# Built once: every delivery is read so before it is sent.
_WITH_BODIES = _query(*_BODIES).where(one_of(_delivery.id)).order_by(_delivery.id)


def _to_delivery(row: Any) -> Delivery:
    fields = row._asdict() | {"state": DeliveryState(row.state), "parent": row.parent or ""}
    body = body_of(*map(fields.pop, ("body", "packed", "content")))
    return Delivery(**fields, rendered=Rendered(row.part, body))
