"""Digests that a recipient did not get because of a pause, which has ended."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from monitor.model import DeliveryState
from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.digest_state import reaches_recipient
from monitor.store.sql import among
from monitor.store.suppressions import ALL, address_of

_delivery = schema.delivery.c
_digest = schema.digest.c
_row = schema.suppression.c


def ended_pauses(tx: Transaction, now: datetime) -> set[str]:
    """Return the addresses (`address_of`) of all pauses that have ended."""
    return set(tx.scalars(sa.select(_row.address).where(_row.until <= now)))


def with_ended_pause(
    tx: Transaction, subscription: str, recipients: Collection[str], now: datetime
) -> list[str]:
    """Return the recipients who had paused a subscription, and get it again."""
    ended = set(
        tx.scalars(
            sa.select(_row.address).where(
                among(_row.address, map(address_of, recipients)),
                _row.subscription.in_((ALL, subscription)),
                _row.until <= now,
            )
        )
    )
    return [recipient for recipient in recipients if address_of(recipient) in ended]


def list_missed(tx: Transaction, subscription: str, channel: str, recipient: str) -> list[int]:
    """Return the digests withheld from a recipient since the last one they got.

    Those that nobody else got either are left out: their papers are in a later digest.
    """
    own = sa.and_(
        _digest.subscription == subscription,
        _delivery.channel == channel,
        _delivery.recipient == recipient,
        _delivery.part == 0,
    )
    joined = sa.select(_delivery.digest_id).join(schema.digest, _digest.id == _delivery.digest_id)
    last = tx.scalar(
        joined.where(own, reaches_recipient()).order_by(_delivery.digest_id.desc()).limit(1)
    )
    withheld = joined.where(
        own,
        _delivery.digest_id > (last or 0),
        _delivery.state == DeliveryState.SUPPRESSED,
        _delivery.withheld_at.is_not(None),
        _digest.superseded_at.is_(None),
        _digest.papers > 0,
    )
    return sorted(tx.scalars(withheld))
