"""The outbox: deliveries are claimed, handed off and recorded, and unknown ones settled.

Every step is a compare-and-set on the row, so that two processes never take the same delivery.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from monitor.errors import Remedy, UsageError
from monitor.model import Delivery, DeliveryState, Json, Outcome
from monitor.model.delivery import TEST
from monitor.store.digests import deliveries
from monitor.store.digests.freeze_digest import UNRENDERED, add_parts
from monitor.store.digests.suppressions import address_of, is_withheld, suppressed_addresses
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import Instant, TextOfId, among, one_of, to_json

_delivery = schema.delivery.c
_digest = schema.digest.c

HELD = (DeliveryState.CLAIMED, DeliveryState.HANDING_OFF)
Recipient = tuple[str, str, str]
# A hand-off whose outcome is unknown: the time of the first is kept (`changed_at` has it from
# `handing_off` on). After a second one nothing is sent automatically.
_UNKNOWN: dict[str, sa.ColumnElement[Any]] = {
    "handed_off_at": sa.func.coalesce(_delivery.handed_off_at, _delivery.changed_at),
    "resent": _delivery.handed_off_at.is_not(None),
}


_COMMIT_HANDOFF = (
    sa.update(schema.delivery)
    .where(one_of(_delivery.id), _delivery.owner == sa.bindparam("by"))
    .where(_delivery.state == DeliveryState.CLAIMED)
    .values(state=DeliveryState.HANDING_OFF, changed_at=sa.bindparam("now"))
    .returning(_delivery.id)
)
# The server's name of each delivery, "" for none.
_references = sa.bindparam("references", type_=sa.Text)
_reference = TextOfId(_references, sa.cast(_delivery.id, sa.Text))
_new_state = sa.bindparam("new_state", type_=sa.Text)
_is_unknown = _new_state == str(DeliveryState.UNKNOWN)
_RECORD = (
    sa.update(schema.delivery)
    .where(one_of(_delivery.id), _delivery.owner == sa.bindparam("by"))
    .where(_delivery.state.in_(HELD))
    .values(
        state=_new_state,
        attempts=_delivery.attempts + 1,
        next_attempt_at=sa.bindparam("next_attempt"),
        reference=sa.case((_reference == "", _delivery.reference), else_=_reference),
        error=sa.bindparam("new_error"),
        owner="",
        changed_at=sa.bindparam("now"),
        address_refused_at=sa.func.coalesce(
            _delivery.address_refused_at, sa.bindparam("address_refused_at", type_=Instant)
        ),
        **{name: sa.case((_is_unknown, v), else_=_delivery[name]) for name, v in _UNKNOWN.items()},
    )
    .returning(_delivery.id)
)


def claim(
    tx: Transaction, owner: str, now: datetime, channels: Collection[str], limit: int = 1
) -> list[Delivery]:
    """Claim the next deliveries that are due, in the order they were planned.

    Other channels than those named, removed subscriptions and suppressed recipients are left out.
    A later part waits until the first is sent, and gets its reference as `parent`.
    """
    ids = tx.scalars(_CLAIMABLE, {"now": now, "values": channels, "limit": limit}).all()
    tx.execute(_CLAIM, {"values": ids, "by": owner, "now": now})
    return deliveries.with_bodies(tx, ids)


def waiting(tx: Transaction, now: datetime, channels: Collection[str], limit: int) -> int:
    """Return how many deliveries `claim` would find, counting up to `limit`."""
    count = sa.select(sa.func.count()).select_from(_READY.subquery())
    return tx.scalar(count, {"now": now, "values": channels, "limit": limit}) or 0


def _ready() -> sa.Select[Any]:
    now = sa.bindparam("now", type_=Instant)
    first = sa.func.coalesce(deliveries.of_first_part("state"), DeliveryState.SENT)
    row = schema.subscription.c
    gone = sa.select(row.name).where(row.removed_at.is_not(None))
    return (
        sa.select(_delivery.id)
        .join(schema.digest)
        .where(
            _delivery.state.in_(deliveries.WAITING),
            sa.or_(_delivery.next_attempt_at.is_(None), _delivery.next_attempt_at <= now),
            sa.or_(_delivery.part == 0, first == DeliveryState.SENT),
            _digest.subscription.not_in(gone),
            ~is_withheld(now),
            one_of(_delivery.channel),
        )
        .limit(sa.bindparam("limit", type_=sa.Integer))
    )


# Statements of each delivery are built once: SQLAlchemy takes longer to build than to run them.
_READY = _ready()
_CLAIMABLE = _READY.order_by(_delivery.id).with_for_update(of=schema.delivery, skip_locked=True)
_CLAIM = (
    sa.update(schema.delivery)
    .where(one_of(_delivery.id))
    .values(state=DeliveryState.CLAIMED, owner=sa.bindparam("by"), changed_at=sa.bindparam("now"))
)


def commit_handoff(tx: Transaction, ids: Collection[int], owner: str, now: datetime) -> set[int]:
    """Record that the last bytes are about to be sent; only those returned may be sent."""
    return set(tx.scalars(_COMMIT_HANDOFF, {"values": ids, "by": owner, "now": now}))


def record(
    tx: Transaction,
    references: Mapping[int, str],
    owner: str,
    outcome: Outcome,
    now: datetime,
    next_attempt_at: datetime | None = None,
) -> set[int]:
    """Record one outcome of an attempt at each delivery; return those it was recorded for.

    `references` are the server's names of the deliveries, in place of the outcome's own. The
    claim of a delivery that is not returned has been lost.
    """
    parameters = {
        "values": references,
        "references": to_json(references),
        "by": owner,
        "now": now,
        "new_state": outcome.state,
        "next_attempt": next_attempt_at,
        "new_error": outcome.error,
        "address_refused_at": now if outcome.address_refused else None,
    }
    return set(tx.scalars(_RECORD, parameters))


def put_back(tx: Transaction, ids: Collection[int], owner: str, now: datetime) -> None:
    """Release claims that were not used: the deliveries wait as before."""
    _release(tx, among(_delivery.id, ids) & (_delivery.owner == owner), now)


def _release(tx: Transaction, condition: sa.ColumnElement[bool], now: datetime) -> None:
    is_claimed = _delivery.state == DeliveryState.CLAIMED
    _set_if(tx, is_claimed & condition, now, state=deliveries.WAITS_AGAIN, owner="")


def unclaim(tx: Transaction, delivery_id: int, owner: str, error: str, now: datetime) -> bool:
    """Release a delivery whose outage group is down, without counting an attempt."""
    ours = sa.and_(_is_in(delivery_id, *HELD), _delivery.owner == owner)
    return _set_if(tx, ours, now, state=deliveries.WAITS_AGAIN, owner="", error=error)


def fail_tests(
    tx: Transaction, channels: Collection[str], owner: str, error: str, now: datetime
) -> None:
    """Fail the tests that wait on these channels, or are claimed by `owner`, who has ended.

    A test is for now, and none is sent later. One that may have arrived goes the way of others. The
    `error` is that of tests without one of their own.
    """
    tests = sa.select(_digest.id).where(_digest.subscription.startswith(TEST, autoescape=True))
    claimed = sa.and_(_delivery.state == DeliveryState.CLAIMED, _delivery.owner == owner)
    waits = sa.or_(_delivery.state.in_(deliveries.WAITING), claimed)
    condition = sa.and_(
        deliveries.IS_OPEN,
        waits,
        _delivery.handed_off_at.is_(None),
        _delivery.digest_id.in_(tests),
        among(_delivery.channel, channels),
    )
    values = {
        "state": DeliveryState.FAILED,
        "owner": "",
        "next_attempt_at": None,
        "error": sa.case((_delivery.error == "", error), else_=_delivery.error),
    }
    _set_if(tx, condition, now, **values)


def split(
    tx: Transaction,
    delivery: Delivery,
    bodies: tuple[Json, Json],
    message_ids: tuple[str, str],
    owner: str,
    now: datetime,
) -> bool:
    """Replace a part by two new ones: the first in its delivery, the other in a new one.

    Neither was sent under its Message-ID. What replies to the first part replies to the first of
    the two. Returns False and changes nothing if the claim has been lost.
    """
    first, second = message_ids
    ours = sa.and_(_is_in(delivery.id, *HELD), _delivery.owner == owner)
    waits = {"state": deliveries.WAITS_AGAIN, "next_attempt_at": None, "owner": "", "error": ""}
    if not _set_if(tx, ours, now, **waits, message_id=first):
        return False
    part = add_parts(tx, delivery, bodies, [second], now)
    tx.execute(sa.update(schema.delivery).filter_by(id=delivery.id).values(part=part))
    return True


def release_dead(
    tx: Transaction, alive: Callable[[str], bool], now: datetime, channels: Collection[str]
) -> None:
    """Release the claims of dead processes; what they were handing off is unknown.

    Other channels than those named are left out. `changed_at` of an unknown delivery is still the
    time of its hand-off.
    """
    here = among(_delivery.channel, channels)
    owners = sa.select(_delivery.owner).where(_delivery.state.in_(HELD), here).distinct()
    dead = {owner for owner in tx.scalars(owners) if not alive(owner)}
    if not dead:
        return
    theirs = among(_delivery.owner, dead) & here
    _release(tx, theirs, now)
    lost = (
        sa.update(schema.delivery)
        .where(theirs, _delivery.state == DeliveryState.HANDING_OFF)
        .values(
            state=DeliveryState.UNKNOWN,
            attempts=_delivery.attempts + 1,
            next_attempt_at=None,
            owner="",
            error="the process ended before the answer was recorded",
            **_UNKNOWN,
        )
    )
    tx.execute(lost)


def suppress_missing(tx: Transaction, living: Collection[Recipient], now: datetime) -> None:
    """Suppress open deliveries to recipients that were removed, and resume those added again.

    `living` are the (subscription, channel, recipient) of the active configuration. What was
    withheld because its recipient does not want it stays so.
    """
    columns = _digest.subscription, _delivery.channel, _delivery.recipient, _delivery.id
    all_open = sa.select(*columns).join(schema.digest).where(_delivery.withheld_at.is_(None))
    resumed = {"state": deliveries.WAITS_AGAIN, "next_attempt_at": None}
    for states, lives, values in (
        ([DeliveryState.SUPPRESSED], True, resumed),
        (deliveries.WAITING, False, {"state": DeliveryState.SUPPRESSED}),
    ):
        in_state = _delivery.state.in_(states)
        rows = tx.execute(all_open.where(in_state))
        ids = [
            id
            for name, *recipient, id in rows
            if ((name.removeprefix(TEST), *recipient) in living) is lives
        ]
        # In other states they were changed by another process meanwhile.
        changed = sa.update(schema.delivery).where(among(_delivery.id, ids), in_state)
        tx.execute(changed.values(values | {"changed_at": now}))


# ── unknown deliveries ──────────────────────────────────────────────────────────────

RETRIED_BY_HAND = (*deliveries.WAITING, DeliveryState.FAILED, DeliveryState.SUPPRESSED)


def list_unknown(tx: Transaction, now: datetime | None = None) -> list[Delivery]:
    """Return the deliveries that may or may not have arrived; with `now`, those due to check."""
    condition = deliveries.IS_UNKNOWN
    if now is not None:
        condition &= sa.or_(_delivery.next_attempt_at.is_(None), _delivery.next_attempt_at <= now)
    return deliveries.with_bodies(tx, tx.scalars(sa.select(_delivery.id).where(condition)))


def settle(tx: Transaction, delivery_id: int, outcome: Outcome, now: datetime) -> bool:
    """Record whether an unknown delivery arrived. Return False for one that is not unknown.

    One that arrived is sent, with the reference that later parts reply to. One that did not is
    tried again as if it had never been handed off.
    """
    values: dict[str, Any] = {
        "state": outcome.state,
        "reference": outcome.reference or _delivery.reference,
        "error": outcome.error,
        "next_attempt_at": now + outcome.retry_after if outcome.retry_after else None,
    }
    if outcome.state is DeliveryState.RETRY:
        values |= {"resent": False, "handed_off_at": None}
    return _set_if(tx, _is_in(delivery_id, DeliveryState.UNKNOWN), now, **values)


def _is_in(delivery_id: int, *states: DeliveryState) -> sa.ColumnElement[bool]:
    return sa.and_(_delivery.id == delivery_id, _delivery.state.in_(states))


def _set_if(
    tx: Transaction, condition: sa.ColumnElement[bool], now: datetime, **values: Any
) -> bool:
    """Change a delivery if the condition holds; return whether it did."""
    update = sa.update(schema.delivery).where(condition)
    return tx.execute(update.values(values | {"changed_at": now})).rowcount == 1


def hand_off_again(tx: Transaction, delivery_id: int, now: datetime) -> bool:
    """Let an unknown delivery be handed off once more. Return False for one that is not unknown."""
    is_unknown = _is_in(delivery_id, DeliveryState.UNKNOWN)
    return _set_if(tx, is_unknown, now, state=DeliveryState.RETRY, next_attempt_at=None)


def give_up(tx: Transaction, delivery_id: int, error: str, now: datetime) -> bool:
    """Stop handing off a delivery that may have arrived; a person decides about it."""
    waits = sa.and_(_delivery.id == delivery_id, deliveries.IS_HANDED_OFF_AGAIN)
    values = {"state": DeliveryState.UNKNOWN, "resent": True, "error": error}
    return _set_if(tx, waits, now, **values, next_attempt_at=None)


def settle_by_hand(
    tx: Transaction, delivery_id: int, fate: Literal["sent", "resend"], now: datetime
) -> None:
    """Mark a delivery that may have arrived as sent, or send it again.

    Raises UsageError for any other. One that is sent again may have arrived before, so its papers
    are in no other digest. The time until it is given up starts again.
    """
    may_have_arrived = sa.and_(_delivery.id == delivery_id, deliveries.MAY_HAVE_ARRIVED)
    again = {"state": DeliveryState.RETRY, "resent": False, "handed_off_at": now}
    values = again if fate == "resend" else {"state": DeliveryState.SENT}
    if not _set_if(tx, may_have_arrived, now, **values, error="", next_attempt_at=None):
        state = deliveries.get(tx, delivery_id).state
        raise UsageError(f"delivery {delivery_id} is {state}: only an unknown one is resolved")


def retry(tx: Transaction, delivery_id: int, now: datetime, sent_again: str = "") -> None:
    """Try a delivery again now. Raises UsageError if that might send it twice.

    `sent_again` is when an unknown one is sent again automatically, "" if it is not.
    """
    delivery = deliveries.get(tx, delivery_id)
    if UNRENDERED in delivery.rendered.body:
        hint = f"`paper-monitor deliveries retry {delivery_id}` renders it again"
        message = f"delivery {delivery_id} has no text: its channel failed"
        raise UsageError(message, hint, Remedy.LIST_DELIVERIES)
    if address_of(delivery.recipient) in suppressed_addresses(tx, delivery.subscription, now):
        hint = f"`paper-monitor suppressions lift {delivery.recipient}` ends that"
        message = f"delivery {delivery_id}: {delivery.recipient} is suppressed"
        raise UsageError(message, hint, Remedy.LIFT_SUPPRESSION)
    may_be_retried = _is_in(delivery_id, *RETRIED_BY_HAND)
    handed_off_at = sa.case((_delivery.handed_off_at.is_not(None), sa.literal(now, Instant)))
    values = {"next_attempt_at": None, "handed_off_at": handed_off_at, "withheld_at": None}
    if not _set_if(tx, may_be_retried, now, state=deliveries.WAITS_AGAIN, **values):
        state = deliveries.get(tx, delivery_id).state
        if sent_again:
            hint = f"now: `paper-monitor deliveries resolve {delivery_id} resend`"
            message = f"delivery {delivery_id} is {state}: it is sent again {sent_again}"
            raise UsageError(message, hint, Remedy.SETTLE_DELIVERY)
        message = f"delivery {delivery_id} is {state} and is not tried again"
        if state is DeliveryState.UNKNOWN:
            hint = "report whether it arrived with deliveries resolve"
            raise UsageError(message, hint, Remedy.SETTLE_DELIVERY)
        raise UsageError(message)
