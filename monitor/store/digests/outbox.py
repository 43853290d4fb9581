"""The outbox: deliveries are claimed, handed off and recorded.

Every step is a compare-and-set on the row, so that two processes never take the same delivery.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from monitor.model import Delivery, DeliveryState, Outcome
from monitor.store.digests.deliveries import (
    OF_SAME_RECIPIENT,
    WAITING,
    WAITS_AGAIN,
    first_part,
    is_in,
    set_if,
    with_bodies,
)
from monitor.store.digests.suppressions import is_withheld
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import Instant, among, one_of, text_of_id, to_json

_delivery = schema.delivery.c
_digest = schema.digest.c

HELD = (DeliveryState.CLAIMED, DeliveryState.HANDING_OFF)
Recipient = tuple[str, str, str]
# A hand-off without a clear outcome: the time of the first is kept (`changed_at` has it from
# `handing_off` on). After a second one nothing is sent automatically.
_UNCLEAR: dict[str, sa.ColumnElement[Any]] = {
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


def _record() -> sa.Update:
    """The parameter `references` has the server's name of each delivery, "" for none."""
    reference = text_of_id(_delivery.id, "references")
    state = sa.bindparam("new_state", type_=sa.Text)
    unclear = state == str(DeliveryState.UNKNOWN)
    return (
        sa.update(schema.delivery)
        .where(one_of(_delivery.id), _delivery.owner == sa.bindparam("by"))
        .where(_delivery.state.in_(HELD))
        .values(
            state=state,
            attempts=_delivery.attempts + 1,
            next_attempt_at=sa.bindparam("next_attempt"),
            reference=sa.case((reference == "", _delivery.reference), else_=reference),
            error=sa.bindparam("new_error"),
            owner="",
            changed_at=sa.bindparam("now"),
            **{name: sa.case((unclear, v), else_=_delivery[name]) for name, v in _UNCLEAR.items()},
        )
        .returning(_delivery.id)
    )


_RECORD = _record()


def claim(
    tx: Transaction,
    owner: str,
    now: datetime,
    *,
    channels: Collection[str] | None = None,
    limit: int = 1,
) -> list[Delivery]:
    """Claim the next deliveries that are due, in the order they were planned.

    Other channels than those named, removed subscriptions and suppressed recipients are left out.
    A later part waits until part 0 is sent, and gets its reference as `parent`.
    """
    ids = tx.scalars(_CLAIMABLE, _parameters(now, channels, limit)).all()
    tx.execute(_CLAIM, {"values": ids, "by": owner, "now": now})
    return with_bodies(tx, ids)


def waiting(tx: Transaction, now: datetime, channels: Collection[str], limit: int) -> int:
    """Return how many deliveries `claim` would find, counting up to `limit`."""
    count = sa.select(sa.func.count()).select_from(_READY.subquery())
    return tx.scalar(count, _parameters(now, channels, limit)) or 0


def _parameters(now: datetime, channels: Collection[str] | None, limit: int) -> dict[str, Any]:
    """Return the parameters of `_READY`, for some channels or for all."""
    return {"now": now, "everywhere": channels is None, "values": channels, "limit": limit}


def _ready() -> sa.Select[Any]:
    now = sa.bindparam("now", type_=Instant)
    return (
        sa.select(_delivery.id)
        .join(schema.digest, _digest.id == _delivery.digest_id)
        .where(
            _delivery.state.in_(WAITING),
            sa.or_(_delivery.next_attempt_at.is_(None), _delivery.next_attempt_at <= now),
            sa.or_(_delivery.part == 0, _first_is_sent()),
            ~_subscription_is_gone(),
            ~is_withheld(now),
            sa.or_(sa.bindparam("everywhere", type_=sa.Boolean), one_of(_delivery.channel)),
        )
        .limit(sa.bindparam("limit", type_=sa.Integer))
    )


def _is_on(channels: Collection[str] | None) -> sa.ColumnElement[bool]:
    return among(_delivery.channel, channels) if channels is not None else sa.true()


def _first_is_sent() -> sa.Exists:
    return (
        sa.select(first_part.c.id)
        .where(OF_SAME_RECIPIENT, first_part.c.state == DeliveryState.SENT)
        .exists()
    )


def _subscription_is_gone() -> sa.Exists:
    row = schema.subscription.c
    is_gone = (row.name == _digest.subscription, row.removed_at.is_not(None))
    return sa.select(row.name).where(*is_gone).exists()


# Statements of each delivery are built once: SQLAlchemy takes longer to build than to run them.
_READY = _ready()
_CLAIMABLE = _READY.order_by(_delivery.id).with_for_update(of=schema.delivery, skip_locked=True)
_CLAIM = (
    sa.update(schema.delivery)
    .where(one_of(_delivery.id))
    .values(state=DeliveryState.CLAIMED, owner=sa.bindparam("by"), changed_at=sa.bindparam("now"))
)


def commit_handoff(tx: Transaction, ids: Collection[int], owner: str, now: datetime) -> set[int]:
    """Record that the last bytes are about to be sent; return the deliveries to send.

    The claim of any other has been lost: do not send it.
    """
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
    }
    return set(tx.scalars(_RECORD, parameters))


def put_back(tx: Transaction, ids: Collection[int], owner: str, now: datetime) -> None:
    """Release claims that were not used: the deliveries wait as before."""
    ours = (among(_delivery.id, ids), _delivery.owner == owner)
    tx.execute(
        sa.update(schema.delivery)
        .where(*ours, _delivery.state == DeliveryState.CLAIMED)
        .values(state=WAITS_AGAIN, owner="", changed_at=now)
    )


def unclaim(tx: Transaction, delivery_id: int, owner: str, error: str, now: datetime) -> bool:
    """Release a delivery whose outage group is down, without counting an attempt."""
    ours = sa.and_(is_in(delivery_id, *HELD), _delivery.owner == owner)
    return set_if(tx, ours, state=WAITS_AGAIN, owner="", error=error, changed_at=now)


def release_dead(
    tx: Transaction,
    alive: Callable[[str], bool],
    now: datetime,
    channels: Collection[str] | None = None,
) -> list[Delivery]:
    """Release the claims of dead processes; return what they were handing off, now unknown.

    Other channels than those named are left out. `changed_at` of an unknown delivery is still the
    time of its hand-off.
    """
    held = (_delivery.state.in_(HELD), _is_on(channels))
    owners = tx.scalars(sa.select(_delivery.owner).where(*held).distinct())
    dead = {owner for owner in owners if not alive(owner)}
    if not dead:
        return []
    theirs = sa.and_(among(_delivery.owner, dead), _is_on(channels))
    tx.execute(
        sa.update(schema.delivery)
        .where(theirs, _delivery.state == DeliveryState.CLAIMED)
        .values(state=WAITS_AGAIN, owner="", changed_at=now)
    )
    lost = (
        sa.update(schema.delivery)
        .where(theirs, _delivery.state == DeliveryState.HANDING_OFF)
        .values(
            state=DeliveryState.UNKNOWN,
            attempts=_delivery.attempts + 1,
            next_attempt_at=None,
            owner="",
            error="the process ended before the answer was recorded",
            **_UNCLEAR,
        )
    )
    return with_bodies(tx, tx.scalars(lost.returning(_delivery.id)))


def suppress_missing(tx: Transaction, living: Collection[Recipient], now: datetime) -> None:
    """Suppress open deliveries to recipients that were removed, and resume those added again.

    `living` are the (subscription, channel, recipient) of the active configuration. What was
    withheld because its recipient does not want it stays so.
    """
    rows = tx.execute(
        sa.select(
            _delivery.id,
            _delivery.state,
            _digest.subscription,
            _delivery.channel,
            _delivery.recipient,
        )
        .join(schema.digest, _digest.id == _delivery.digest_id)
        .where(_delivery.state.in_((*WAITING, DeliveryState.SUPPRESSED)))
        .where(_delivery.withheld_at.is_(None))
    ).all()
    lives = {row.id: (row.subscription, row.channel, row.recipient) in living for row in rows}
    to_suppress = [r.id for r in rows if not lives[r.id] and r.state != DeliveryState.SUPPRESSED]
    to_resume = [r.id for r in rows if lives[r.id] and r.state == DeliveryState.SUPPRESSED]
    _set(tx, to_suppress, WAITING, state=DeliveryState.SUPPRESSED, changed_at=now)
    _set(
        tx,
        to_resume,
        (DeliveryState.SUPPRESSED,),
        state=WAITS_AGAIN,
        next_attempt_at=None,
        changed_at=now,
    )


def _set(
    tx: Transaction, ids: Iterable[int], states: Sequence[DeliveryState], **values: Any
) -> None:
    """Change deliveries in these states; others were changed by another process meanwhile."""
    unchanged = (among(_delivery.id, ids), _delivery.state.in_(states))
    tx.execute(sa.update(schema.delivery).where(*unchanged).values(values))
