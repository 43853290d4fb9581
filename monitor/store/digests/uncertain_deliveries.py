"""Deliveries that may or may not have arrived, and what a person decides about them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import sqlalchemy as sa

from monitor.errors import UsageError
from monitor.model import Delivery, DeliveryState, Outcome
from monitor.store.digests.deliveries import (
    IS_HANDED_OFF_AGAIN,
    IS_UNKNOWN,
    MAY_HAVE_ARRIVED,
    WAITS_AGAIN,
    get,
    is_in,
    select,
    select_without_bodies,
    set_if,
)
from monitor.store.digests.freeze_digest import UNRENDERED
from monitor.store.digests.suppressions import address_of, suppressed_addresses
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import Instant

_delivery = schema.delivery.c

RETRIED_BY_HAND = (
    DeliveryState.FAILED,
    DeliveryState.RETRY,
    DeliveryState.PLANNED,
    DeliveryState.SUPPRESSED,
)


def list_unknown(tx: Transaction, now: datetime | None = None) -> list[Delivery]:
    """Return the deliveries that may or may not have arrived.

    With `now`, only those that are due to be checked.
    """
    condition = IS_UNKNOWN
    if now is not None:
        condition &= sa.or_(_delivery.next_attempt_at.is_(None), _delivery.next_attempt_at <= now)
    return select(tx, condition)


def to_hand_off_again(tx: Transaction) -> list[Delivery]:
    """Return the deliveries that may have arrived and will be handed off once more."""
    return select(tx, IS_HANDED_OFF_AGAIN)


def settle(tx: Transaction, delivery_id: int, outcome: Outcome, now: datetime) -> bool:
    """Record whether an unknown delivery arrived. Return False for one that is not unknown.

    One that arrived is sent, with the reference that later parts reply to. One that did not is
    tried again as if it had never been handed off.
    """
    absent = outcome.state is DeliveryState.RETRY
    return set_if(
        tx,
        is_in(delivery_id, DeliveryState.UNKNOWN),
        state=outcome.state,
        resent=False if absent else _delivery.resent,
        handed_off_at=None if absent else _delivery.handed_off_at,
        reference=outcome.reference or _delivery.reference,
        error=outcome.error,
        next_attempt_at=now + outcome.retry_after if outcome.retry_after else None,
        changed_at=now,
    )


def hand_off_again(tx: Transaction, delivery_id: int, now: datetime) -> bool:
    """Let an unknown delivery be handed off once more. Return False for one that is not unknown."""
    is_unknown = is_in(delivery_id, DeliveryState.UNKNOWN)
    return set_if(tx, is_unknown, state=DeliveryState.RETRY, next_attempt_at=None, changed_at=now)


def give_up(tx: Transaction, delivery_id: int, error: str, now: datetime) -> bool:
    """Stop handing off a delivery that may have arrived; a person decides about it."""
    waits = sa.and_(_delivery.id == delivery_id, IS_HANDED_OFF_AGAIN)
    values = {"state": DeliveryState.UNKNOWN, "resent": True, "error": error}
    return set_if(tx, waits, **values, next_attempt_at=None, changed_at=now)


def resolve(
    tx: Transaction, delivery_id: int, fate: Literal["sent", "resend"], now: datetime
) -> None:
    """Mark an uncertain delivery as sent, or send it again. Raises UsageError for any other.

    One that is sent again may have arrived before, so its papers are in no other digest. The
    time until it is given up starts again.
    """
    is_uncertain = sa.and_(_delivery.id == delivery_id, MAY_HAVE_ARRIVED)
    again = {"state": DeliveryState.RETRY, "resent": False, "handed_off_at": now}
    values = again if fate == "resend" else {"state": DeliveryState.SENT}
    if not set_if(tx, is_uncertain, **values, error="", next_attempt_at=None, changed_at=now):
        state = get(tx, delivery_id).state
        raise UsageError(f"delivery {delivery_id} is {state}: only an unknown one is resolved")


def retry(tx: Transaction, delivery_id: int, now: datetime) -> None:
    """Try a delivery again now. Raises UsageError if that might send it twice."""
    delivery = get(tx, delivery_id)
    if UNRENDERED in delivery.rendered.body:
        hint = "`paper-monitor digest` renders it again"
        raise UsageError(f"delivery {delivery_id} has no text: its channel failed", hint)
    if address_of(delivery.recipient) in suppressed_addresses(tx, delivery.subscription, now):
        hint = f"`paper-monitor suppressions lift {delivery.recipient}` ends that"
        raise UsageError(f"delivery {delivery_id}: {delivery.recipient} is suppressed", hint)
    may_be_retried = is_in(delivery_id, *RETRIED_BY_HAND)
    handed_off_at = sa.case((_delivery.handed_off_at.is_not(None), sa.literal(now, Instant)))
    values = {"next_attempt_at": None, "handed_off_at": handed_off_at, "changed_at": now}
    values |= {"withheld_at": None}
    if not set_if(tx, may_be_retried, state=WAITS_AGAIN, **values):
        state = get(tx, delivery_id).state
        hint = (
            "report whether it arrived with deliveries resolve"
            if state is DeliveryState.UNKNOWN
            else ""
        )
        raise UsageError(f"delivery {delivery_id} is {state} and is not tried again", hint)


def listing(tx: Transaction) -> list[Delivery]:
    """Return the uncertain deliveries and those handed off again, newest first, without bodies."""
    return select_without_bodies(tx, MAY_HAVE_ARRIVED)
