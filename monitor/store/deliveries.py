"""Deliveries: the outbox. Every step is a compare-and-set, so that two never take the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Literal

import sqlalchemy as sa

from monitor.errors import UsageError
from monitor.model import Delivery, DeliveryState, Outcome, Rendered
from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.digests import UNRENDERED
from monitor.store.sql import Instant, among, named, names, one_of, wanted

WAITING = (DeliveryState.PLANNED, DeliveryState.RETRY)
HELD = (DeliveryState.CLAIMED, DeliveryState.HANDING_OFF)
RETRIED_BY_HAND = (
    DeliveryState.FAILED,
    DeliveryState.RETRY,
    DeliveryState.PLANNED,
    DeliveryState.SUPPRESSED,
)

Recipient = tuple[str, str, str]

_delivery = schema.delivery.c
_digest = schema.digest.c
_rendered = schema.rendered.c
_first = schema.delivery.alias("first")
_first_of = sa.and_(
    _first.c.digest_id == _delivery.digest_id,
    _first.c.channel == _delivery.channel,
    _first.c.recipient == _delivery.recipient,
    _first.c.part == 0,
)
# Where a delivery waits again that was never tried, or was.
_UNTRIED = sa.and_(_delivery.attempts == 0, _delivery.handed_off_at.is_(None))
_AGAIN = sa.case((_UNTRIED, str(DeliveryState.PLANNED)), else_=str(DeliveryState.RETRY))
# The words of the index `ix_delivery_open`, without which SQLite reads all that was ever sent.
_OPEN = sa.text("delivery.state NOT IN ('sent', 'superseded')")
_UNKNOWN = sa.and_(_OPEN, _delivery.state == DeliveryState.UNKNOWN)
_HANDED_OFF = sa.and_(
    _OPEN, _delivery.state == DeliveryState.RETRY, _delivery.handed_off_at.is_not(None)
)
# What may have arrived: uncertain, or waiting to be handed off once more.
_MAY_HAVE_ARRIVED = sa.or_(_UNKNOWN, _HANDED_OFF)
# A hand-off without a clear end: the first is remembered by its moment, which `changed_at` is
# from `handing_off` on; after another one nothing is sent by itself.
_UNCLEAR: dict[str, sa.ColumnElement[Any]] = {
    "handed_off_at": sa.func.coalesce(_delivery.handed_off_at, _delivery.changed_at),
    "resent": _delivery.handed_off_at.is_not(None),
}


@cache
def _handing_off(dialect: str) -> sa.Update:
    """Each mail takes this and `_record`: they are put together once."""
    return (
        sa.update(schema.delivery)
        .where(one_of(dialect, _delivery.id), _delivery.owner == sa.bindparam("by"))
        .where(_delivery.state == DeliveryState.CLAIMED)
        .values(state=DeliveryState.HANDING_OFF, changed_at=sa.bindparam("at"))
        .returning(_delivery.id)
    )


@cache
def _record(dialect: str) -> sa.Update:
    """Its names are what each delivery is known as by the other side, "" for nothing."""
    known_as = named(dialect, _delivery.id)
    became = sa.bindparam("became", type_=sa.Text)
    unclear = became == str(DeliveryState.UNKNOWN)
    return (
        sa.update(schema.delivery)
        .where(one_of(dialect, _delivery.id), _delivery.owner == sa.bindparam("by"))
        .where(sa.or_(*(_delivery.state == state for state in HELD)))
        .values(
            state=became,
            attempts=_delivery.attempts + 1,
            next_attempt_at=sa.bindparam("again"),
            reference=sa.case((known_as == "", _delivery.reference), else_=known_as),
            error=sa.bindparam("because"),
            owner="",
            changed_at=sa.bindparam("at"),
            **{name: sa.case((unclear, v), else_=_delivery[name]) for name, v in _UNCLEAR.items()},
        )
        .returning(_delivery.id)
    )


# ── claim, send, record ─────────────────────────────────────────────────────────────


def claim(
    tx: Transaction,
    owner: str,
    now: datetime,
    *,
    channels: Collection[str] | None = None,
    limit: int = 1,
) -> list[Delivery]:
    """Take the next deliveries whose time has come, in the order they were planned.

    Those of other than the named channels and of removed subscriptions stay; a later part waits
    until part 0 is sent, and is then given its reference as `parent`.
    """
    ready = _ready(tx, now, channels).order_by(_delivery.id).limit(limit)
    ids = list(tx.scalars(ready.with_for_update(of=schema.delivery, skip_locked=True)))
    tx.execute(
        sa.update(schema.delivery)
        .where(among(tx, _delivery.id, ids))
        .values(state=DeliveryState.CLAIMED, owner=owner, changed_at=now)
    )
    return _deliveries(tx, among(tx, _delivery.id, ids))


def waiting(tx: Transaction, now: datetime, channels: Collection[str], most: int) -> int:
    """Return how many deliveries `claim` would find, counted to `most`."""
    found = _ready(tx, now, channels).limit(most).subquery()
    return tx.scalar(sa.select(sa.func.count()).select_from(found)) or 0


def _ready(tx: Transaction, now: datetime, channels: Collection[str] | None) -> sa.Select[Any]:
    return (
        sa.select(_delivery.id)
        .join(schema.digest, _digest.id == _delivery.digest_id)
        .where(
            _delivery.state.in_(WAITING),
            sa.or_(_delivery.next_attempt_at.is_(None), _delivery.next_attempt_at <= now),
            sa.or_(_delivery.part == 0, _first_is_sent()),
            ~_is_removed(),
            _on(tx, channels),
        )
    )


def _on(tx: Transaction, channels: Collection[str] | None) -> sa.ColumnElement[bool]:
    return among(tx, _delivery.channel, channels) if channels is not None else sa.true()


def _first_is_sent() -> sa.Exists:
    return sa.select(_first.c.id).where(_first_of, _first.c.state == DeliveryState.SENT).exists()


def _is_removed() -> sa.Exists:
    row = schema.subscription.c
    removed = (row.name == _digest.subscription, row.removed_at.is_not(None))
    return sa.select(row.name).where(*removed).exists()


def commit_handoff(tx: Transaction, ids: Collection[int], owner: str, now: datetime) -> set[int]:
    """Note that the last bytes are about to leave; return for which of them.

    Of one that is missing the claim is lost: send nothing.
    """
    told = {"by": owner, "at": now, **wanted(tx.dialect.name, ids)}
    return set(tx.scalars(_handing_off(tx.dialect.name), told))


def record(
    tx: Transaction,
    references: Mapping[int, str],
    owner: str,
    outcome: Outcome,
    now: datetime,
    next_attempt_at: datetime | None = None,
) -> set[int]:
    """Record one outcome of an attempt at each delivery; return those that it was written of.

    `references` are what the other side knows each by, in place of the outcome's own. Of those
    that are missing in the answer the claim is lost.
    """
    told = {
        "by": owner,
        "at": now,
        "became": outcome.state,
        "again": next_attempt_at,
        "because": outcome.error,
        **wanted(tx.dialect.name, references),
        **names(references),
    }
    return set(tx.scalars(_record(tx.dialect.name), told))


def put_back(tx: Transaction, ids: Collection[int], owner: str, now: datetime) -> None:
    """Let go of claims that nothing was done with: the deliveries wait as before."""
    ours = (among(tx, _delivery.id, ids), _delivery.owner == owner)
    tx.execute(
        sa.update(schema.delivery)
        .where(*ours, _delivery.state == DeliveryState.CLAIMED)
        .values(state=_AGAIN, owner="", changed_at=now)
    )


def unclaim(tx: Transaction, delivery_id: int, owner: str, error: str, now: datetime) -> bool:
    """Put a delivery back whose line is down: it waits as before, and no attempt is counted."""
    ours = _claimed(delivery_id, owner, *HELD)
    return _step(tx, ours, state=_AGAIN, owner="", error=error, changed_at=now)


def release_dead(
    tx: Transaction,
    alive: Callable[[str], bool],
    now: datetime,
    channels: Collection[str] | None = None,
) -> list[Delivery]:
    """Free what dead owners had claimed; return what they were handing off, now unknown.

    Those of other than the named channels stay. `changed_at` of the unknown is still the moment
    of their hand-off.
    """
    held = (_delivery.state.in_(HELD), _on(tx, channels))
    owners = tx.scalars(sa.select(_delivery.owner).where(*held).distinct())
    dead = {owner for owner in owners if not alive(owner)}
    if not dead:
        return []
    theirs = sa.and_(among(tx, _delivery.owner, dead), _on(tx, channels))
    tx.execute(
        sa.update(schema.delivery)
        .where(theirs, _delivery.state == DeliveryState.CLAIMED)
        .values(state=_AGAIN, owner="", changed_at=now)
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
    ids = list(tx.scalars(lost.returning(_delivery.id)))
    return _deliveries(tx, among(tx, _delivery.id, ids))


def _claimed(delivery_id: int, owner: str, *states: DeliveryState) -> sa.ColumnElement[bool]:
    return sa.and_(_is_in(delivery_id, *states), _delivery.owner == owner)


def _is_in(delivery_id: int, *states: DeliveryState) -> sa.ColumnElement[bool]:
    return sa.and_(_delivery.id == delivery_id, _delivery.state.in_(states))


def _step(tx: Transaction, standing: sa.ColumnElement[bool], **values: Any) -> bool:
    return tx.execute(sa.update(schema.delivery).where(standing).values(values)).rowcount == 1


# ── what nobody knows, and what a person decides ────────────────────────────────────


def unknown(tx: Transaction, now: datetime | None = None) -> list[Delivery]:
    """Return the deliveries of which nobody knows whether they arrived.

    With `now`, only those whose time to be looked into has come.
    """
    wanted = _UNKNOWN
    if now is not None:
        wanted &= sa.or_(_delivery.next_attempt_at.is_(None), _delivery.next_attempt_at <= now)
    return _deliveries(tx, wanted)


def to_hand_off_again(tx: Transaction) -> list[Delivery]:
    """Return the deliveries that may have arrived and wait to be handed off once more."""
    return _deliveries(tx, _HANDED_OFF)


def settle(tx: Transaction, delivery_id: int, found: Outcome, now: datetime) -> bool:
    """Record what was found out about an unknown delivery. False for one that is not unknown.

    Found to have arrived, it is sent, with the reference under which later parts follow; found
    not to have, it is tried again as if it had never been handed off.
    """
    absent = found.state is DeliveryState.RETRY
    return _step(
        tx,
        _is_in(delivery_id, DeliveryState.UNKNOWN),
        state=found.state,
        resent=False if absent else _delivery.resent,
        handed_off_at=None if absent else _delivery.handed_off_at,
        reference=found.reference or _delivery.reference,
        error=found.error,
        next_attempt_at=now + found.retry_after if found.retry_after else None,
        changed_at=now,
    )


def hand_off_again(tx: Transaction, delivery_id: int, now: datetime) -> bool:
    """Let an unknown delivery be handed off once more. False for one that is not unknown."""
    unknown_still = _is_in(delivery_id, DeliveryState.UNKNOWN)
    return _step(tx, unknown_still, state=DeliveryState.RETRY, next_attempt_at=None, changed_at=now)


def give_up(tx: Transaction, delivery_id: int, error: str, now: datetime) -> bool:
    """Leave to a person what may have arrived and waited to be handed off once more."""
    waits_still = sa.and_(_delivery.id == delivery_id, _HANDED_OFF)
    unknown_now = {"state": DeliveryState.UNKNOWN, "resent": True, "error": error}
    return _step(tx, waits_still, **unknown_now, next_attempt_at=None, changed_at=now)


def resolve(
    tx: Transaction, delivery_id: int, fate: Literal["sent", "resend"], now: datetime
) -> None:
    """Settle by hand what may have arrived. Raises UsageError where that is no question.

    Sent again, it may still have arrived before, so it is never composed again; the time in which
    it is tried begins anew.
    """
    open_still = sa.and_(_delivery.id == delivery_id, _MAY_HAVE_ARRIVED)
    again = {"state": DeliveryState.RETRY, "resent": False, "handed_off_at": now}
    done = again if fate == "resend" else {"state": DeliveryState.SENT}
    if not _step(tx, open_still, **done, error="", next_attempt_at=None, changed_at=now):
        found = get(tx, delivery_id).state
        raise UsageError(f"delivery {delivery_id} is {found}: only an unknown one is resolved")


def retry(tx: Transaction, delivery_id: int, now: datetime) -> None:
    """Let a delivery be tried again now. Raises UsageError where that might send it twice."""
    if UNRENDERED in get(tx, delivery_id).rendered.body:
        hint = "`paper-monitor digest` renders it again"
        raise UsageError(f"delivery {delivery_id} has no text: its channel failed", hint)
    open_still = _is_in(delivery_id, *RETRIED_BY_HAND)
    anew = sa.case((_delivery.handed_off_at.is_not(None), sa.literal(now, Instant)))
    values = {"next_attempt_at": None, "handed_off_at": anew, "changed_at": now}
    if not _step(tx, open_still, state=_AGAIN, **values):
        found = get(tx, delivery_id).state
        hint = (
            "report whether it arrived with deliveries resolve"
            if found is DeliveryState.UNKNOWN
            else ""
        )
        raise UsageError(f"delivery {delivery_id} is {found} and is not tried again", hint)


def suppress_missing(tx: Transaction, living: Collection[Recipient], now: datetime) -> None:
    """Hold back open deliveries to who is no longer written to, and resume those who are again.

    `living` are all (subscription, channel, recipient) in force.
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
    ).all()
    lives = {row.id: (row.subscription, row.channel, row.recipient) in living for row in rows}
    stopped = [r.id for r in rows if not lives[r.id] and r.state != DeliveryState.SUPPRESSED]
    resumed = [r.id for r in rows if lives[r.id] and r.state == DeliveryState.SUPPRESSED]
    _set(tx, stopped, WAITING, state=DeliveryState.SUPPRESSED, changed_at=now)
    _set(
        tx, resumed, (DeliveryState.SUPPRESSED,), state=_AGAIN, next_attempt_at=None, changed_at=now
    )


def _set(
    tx: Transaction, ids: Iterable[int], standing: Sequence[DeliveryState], **values: Any
) -> None:
    """Leave alone what another process has moved on from where it stood."""
    chosen = (among(tx, _delivery.id, ids), _delivery.state.in_(standing))
    tx.execute(sa.update(schema.delivery).where(*chosen).values(values))


# ── looking ─────────────────────────────────────────────────────────────────────────


def get(tx: Transaction, delivery_id: int) -> Delivery:
    """Return a delivery. Raises UsageError when there is none with this number."""
    found = _deliveries(tx, _delivery.id == delivery_id)
    if not found:
        raise UsageError(f"there is no delivery {delivery_id}", "`deliveries` lists them")
    return found[0]


def of_digest(tx: Transaction, digest_id: int) -> list[Delivery]:
    """Return the deliveries of a digest in their order."""
    return _deliveries(tx, _delivery.digest_id == digest_id)


def listing(tx: Transaction, states: Collection[DeliveryState] | None = None) -> list[Delivery]:
    """Return all deliveries, or those in some states, newest first; without their bodies."""
    wanted = _delivery.state.in_(states) if states is not None else sa.true()
    rows = tx.execute(_select(sa.literal(None)).where(wanted).order_by(_delivery.id.desc()))
    return [_delivery_of(row) for row in rows]


def open_on(tx: Transaction, channels: Collection[str]) -> list[int]:
    """Return the digests with deliveries that wait to be sent on these channels, oldest first."""
    if not channels:
        return []
    waits = (_delivery.state.in_(WAITING), among(tx, _delivery.channel, channels))
    chosen = sa.select(_delivery.digest_id).where(*waits).distinct()
    return sorted(tx.scalars(chosen))


def may_have_arrived(tx: Transaction) -> list[Delivery]:
    """Return what may or may not have arrived, newest first; without the bodies."""
    wanted = _select(sa.literal(None)).where(_MAY_HAVE_ARRIVED)
    return [_delivery_of(row) for row in tx.execute(wanted.order_by(_delivery.id.desc()))]


def counts(tx: Transaction) -> dict[DeliveryState, int]:
    """Return how many deliveries are in each state; states with none are left out."""
    rows = tx.execute(sa.select(_delivery.state, sa.func.count()).group_by(_delivery.state))
    return {DeliveryState(state): number for state, number in rows}


def _deliveries(tx: Transaction, wanted: sa.ColumnElement[bool]) -> list[Delivery]:
    rows = tx.execute(_select(_rendered.body).where(wanted).order_by(_delivery.id))
    return [_delivery_of(row) for row in rows]


def _select(body: sa.ColumnElement[Any]) -> sa.Select[Any]:
    return (
        sa.select(
            schema.delivery,
            _digest.subscription,
            _digest.period,
            _first.c.reference.label("parent"),
            body.label("body"),
        )
        .join(schema.digest, _digest.id == _delivery.digest_id)
        .join(
            schema.rendered,
            sa.and_(
                _rendered.digest_id == _delivery.digest_id,
                _rendered.channel == _delivery.channel,
                _rendered.part == _delivery.part,
            ),
        )
        .outerjoin(_first, sa.and_(_first_of, _delivery.part > 0))
    )


def _delivery_of(row: Any) -> Delivery:
    return Delivery(
        id=row.id,
        digest_id=row.digest_id,
        subscription=row.subscription,
        period=row.period,
        channel=row.channel,
        recipient=row.recipient,
        part=row.part,
        state=DeliveryState(row.state),
        attempts=row.attempts,
        message_id=row.message_id,
        created_at=row.created_at,
        changed_at=row.changed_at,
        next_attempt_at=row.next_attempt_at,
        rendered=Rendered(row.part, row.body or {}),
        parent=row.parent or "",
        reference=row.reference,
        error=row.error,
        owner=row.owner,
        resent=row.resent,
        handed_off_at=row.handed_off_at,
    )
