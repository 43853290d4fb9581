"""Suppressions: recipients who opted out, or were removed by the operator.

    suppress     a row for a recipient and one subscription, or all (""); until a time, or for good
    withhold     open deliveries that a row forbids become `suppressed`, for good
    lift         the row goes; what was withheld is not sent afterwards
    stop_refused a row for an address that does not exist, by the word of its mail server
    stop_gone    a row for a channel whose service says that it is gone; when it is lifted, what it
                 withheld is in the next digest

The configuration does not undo a row: it holds for the address, whoever names it. Claims look at
the rows themselves (`is_withheld`), so that nothing is sent from the moment a row is committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from monitor.model import Delivery, DeliveryState, Suppression
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.store.digests import incidents
from monitor.store.digests.deliveries import (
    WAITING,
    WAITS_AGAIN,
    conditions_for,
    of_first_part,
    reaches_recipient,
)
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, fetch, insert_or_update

ALL = ""
# `how` of an address that a mail server refused.
REFUSED = "refused"
# `how` of a channel whose service calls its address permanently gone.
GONE = "gone"

_row = schema.suppression.c
_delivery = schema.delivery.c
_digest = schema.digest.c


def address_of(recipient: str) -> str:
    """Return the form in which recipients are compared: readers do not care about case."""
    return recipient.strip().lower()


def suppress(
    tx: Transaction,
    recipient: str,
    subscription: str,
    now: datetime,
    *,
    until: datetime | None = None,
    how: str,
    reason: str | None = None,
) -> None:
    """Send a recipient nothing of a subscription (or of `ALL`), until a time or permanently.

    A later suppression of the same recipient and subscription replaces an earlier one. What waits
    is withheld at once. `how` is "operator", "link", "one-click", "page" or, with a reason,
    `REFUSED` or `GONE`.
    """
    key = {"address": address_of(recipient), "subscription": subscription}
    row = key | {"recipient": recipient.strip(), "since": now, "until": until, "how": how}
    row["reason"] = reason
    insert_or_update(tx, schema.suppression, [row])
    withhold(tx, now)


def lift(tx: Transaction, recipient: str, subscription: str, now: datetime) -> bool:
    """Send a recipient what is composed from now on; return whether there was a suppression.

    Earlier refusals of the address no longer count. What was withheld because a channel was `GONE`
    is in its next digest; the rest of one in parts is sent as it is.
    """
    this = {"address": address_of(recipient), "subscription": subscription}
    since = tx.scalar(sa.select(_row.since).filter_by(**this, how=GONE).where(_in_force(now)))
    if since is not None:
        tx.execute(sa.update(schema.suppression).filter_by(**this).values(until=now))
        _resume_parts(tx, recipient.strip(), since, now)
        return True
    ended = sa.delete(schema.suppression).filter_by(**this).where(_row.how != GONE)
    if tx.execute(ended).rowcount != 1:
        return False
    refused = _delivery.address_refused_at.is_not(None), *conditions_for(recipient.strip())
    tx.execute(sa.update(schema.delivery).where(*refused).values(address_refused_at=None))
    return True


def _resume_parts(tx: Transaction, recipient: str, since: datetime, now: datetime) -> None:
    """Let the parts wait again whose first part was sent before their recipient was stopped."""
    of_sent = of_first_part("state") == DeliveryState.SENT
    was_withheld = _delivery.state == DeliveryState.SUPPRESSED, _delivery.withheld_at >= since
    ids = tx.scalars(
        sa.select(_delivery.id).where(of_sent, *was_withheld, *conditions_for(recipient))
    )
    waits = {"state": WAITS_AGAIN, "withheld_at": None, "error": "", "changed_at": now}
    tx.execute(sa.update(schema.delivery).where(among(_delivery.id, ids.all())).values(waits))


def stop_refused(
    tx: Transaction, delivery: Delivery, reason: str, now: datetime, apart: timedelta
) -> bool:
    """Stop the address of a delivery that was refused now, and before; return whether it was.

    Before: in another digest of any subscription, at least `apart` ago, since when nothing was
    accepted for this address, or may have been. An address that is stopped stays as it is.
    """
    theirs = conditions_for(delivery.recipient)
    refused_at = _delivery.address_refused_at
    counted = sa.select(_delivery.id).join(schema.digest).where(_is_of_subscription())
    before = (
        sa.select(sa.func.max(refused_at))
        .where(refused_at.is_not(None), refused_at <= now - apart, *theirs)
        .where(_delivery.digest_id != delivery.digest_id, _delivery.id.in_(counted))
    )
    since = tx.scalar(before)
    if since is None or tx.scalar(counted.where(_delivery.id == delivery.id)) is None:
        return False
    accepted = sa.and_(_delivery.state == DeliveryState.SENT, _delivery.changed_at >= since)
    may_be = sa.or_(accepted, _delivery.handed_off_at >= since)
    is_stopped = any(row.subscription == ALL for row in listing(tx, now, delivery.recipient))
    if is_stopped or tx.scalar(sa.select(_delivery.id).where(may_be, *theirs).limit(1)) is not None:
        return False
    suppress(tx, delivery.recipient, ALL, now, how=REFUSED, reason=reason)
    return True


def stop_gone(tx: Transaction, delivery: Delivery, reason: str, now: datetime) -> bool:
    """Stop a recipient that is gone, and withhold this delivery; return whether it was.

    Tests and notices to the operator do not count.
    """
    counted = sa.select(_delivery.id).join(schema.digest).where(_is_of_subscription())
    is_counted = tx.scalar(counted.where(_delivery.id == delivery.id)) is not None
    if not is_counted or any(
        row.subscription == ALL for row in listing(tx, now, delivery.recipient)
    ):
        return False
    # One that may have arrived stays unknown.
    this = sa.update(schema.delivery).filter_by(id=delivery.id, state=DeliveryState.FAILED)
    tx.execute(this.values(state=DeliveryState.RETRY))
    suppress(tx, delivery.recipient, ALL, now, how=GONE, reason=reason)
    return True


def end_pause(tx: Transaction, recipient: str, subscription: str, now: datetime) -> None:
    """End a suppression that has an end now; since when it was is kept, for what was withheld."""
    this = {"address": address_of(recipient), "subscription": subscription}
    ends = sa.update(schema.suppression).filter_by(**this).where(_row.until > now)
    tx.execute(ends.values(until=now))


def listing(tx: Transaction, now: datetime, recipient: str | None = None) -> list[Suppression]:
    """Return the suppressions in force, oldest first: all, or those of a recipient."""
    of_recipient = sa.true() if recipient is None else _row.address == address_of(recipient)
    active = sa.select(schema.suppression).where(_in_force(now), of_recipient)
    ordered = active.order_by(_row.since, _row.address, _row.subscription)
    return fetch(tx, ordered, Suppression)


def lasting(rows: Iterable[Suppression]) -> Suppression | None:
    """Return the suppression that ends last, or never."""
    return max(rows, key=lambda row: (row.until is None, row.until or row.since), default=None)


def suppressed_addresses(tx: Transaction, subscription: str, now: datetime) -> set[str]:
    """Return the addresses (`address_of`) that get nothing of a subscription."""
    named = _row.subscription.in_((ALL, subscription))
    return set(tx.scalars(sa.select(_row.address).where(named, _in_force(now))))


def with_ended_pause(
    tx: Transaction, subscription: str, recipients: Collection[str], now: datetime
) -> list[str]:
    """Return the recipients whose pause of a subscription has ended."""
    ended = set(tx.scalars(_OVER, {"subscription": subscription, "now": now}))
    return [recipient for recipient in recipients if address_of(recipient) in ended]


# Built once: every digest runs it.
_OVER = sa.select(_row.address).where(
    _row.subscription.in_((ALL, sa.bindparam("subscription"))),
    _row.until <= sa.bindparam("now", type_=_row.until.type),
)


def list_missed(tx: Transaction, subscription: str, channel: str, recipient: str) -> list[int]:
    """Return the digests withheld from a recipient since the last one they got.

    Those that reached no other recipient are left out: their papers are in a later digest.
    """
    of_recipient = sa.select(_delivery.digest_id).filter_by(channel=channel, recipient=recipient)
    own = of_recipient.join(schema.digest).where(_digest.subscription == subscription)
    newest = own.where(reaches_recipient()).order_by(_delivery.digest_id.desc())
    withheld = own.where(
        _delivery.digest_id > (tx.scalar(newest.limit(1)) or 0),
        _delivery.state == DeliveryState.SUPPRESSED,
        _delivery.withheld_at.is_not(None),
        _digest.superseded_at.is_(None),
    )
    return sorted(set(tx.scalars(withheld)))


def withhold(tx: Transaction, now: datetime) -> None:
    """Mark open deliveries that a suppression forbids: they are not sent later either."""
    rows = tx.execute(
        sa.select(_delivery.id, _row.since, _row.until, _row.how, _row.reason)
        .join(schema.digest)
        .join(schema.suppression, _forbids())
        .where(_delivery.state.in_(WAITING), _in_force(now))
    ).all()
    reasons = {row.id: _reason(row) for row in rows}
    for reason in sorted(set(reasons.values())):
        ids = [id for id, its_reason in reasons.items() if its_reason == reason]
        waits = among(_delivery.id, ids), _delivery.state.in_(WAITING)
        values = {"state": DeliveryState.SUPPRESSED, "error": reason, "withheld_at": now}
        values |= {"next_attempt_at": None, "changed_at": now}
        tx.execute(sa.update(schema.delivery).where(*waits).values(values))


def is_withheld(now: sa.ColumnElement[datetime]) -> sa.ColumnElement[bool]:
    """Whether a delivery may not be sent now: its recipient does not want it.

    After a restore without the list of suppressions, only notices to the operator are sent.
    """
    forbidden = sa.select(_row.address).where(_forbids(), _in_force(now)).exists()
    incident = schema.incident.c
    is_open = (
        incident.about == SubjectKind.SUPPRESSIONS,
        incident.kind == IncidentKind.UNCONFIRMED,
        incident.ended_at.is_(None),
    )
    in_doubt = sa.select(incident.id).where(*is_open).exists()
    return sa.and_(_is_of_subscription(), sa.or_(forbidden, in_doubt))


def _forbids() -> sa.ColumnElement[bool]:
    """Whether a row is about a delivery. SQLite lowers ASCII alone: hence the second comparison."""
    lowered = _row.address == sa.func.lower(_delivery.recipient)
    is_theirs = sa.or_(lowered, _row.recipient == _delivery.recipient)
    of_all = sa.and_(_row.subscription == ALL, _is_of_subscription())
    return sa.and_(is_theirs, sa.or_(_row.subscription == _digest.subscription, of_all))


def _is_of_subscription() -> sa.ColumnElement[bool]:
    return _digest.subscription.in_(sa.select(schema.subscription.c.name))


def _in_force(now: datetime | sa.ColumnElement[datetime]) -> sa.ColumnElement[bool]:
    return sa.or_(_row.until.is_(None), _row.until > now)


def _reason(row: Any) -> str:
    if row.how in (REFUSED, GONE):
        return f"stopped on {row.since:%Y-%m-%d}: {row.reason}"
    if row.until is not None:
        return f"paused by the recipient until {row.until:%Y-%m-%d %H:%M} UTC"
    by = "the operator" if row.how == "operator" else "the recipient"
    return f"stopped by {by} on {row.since:%Y-%m-%d}"


def doubt(tx: Transaction, now: datetime) -> None:
    """Hold all mail to readers until the operator confirms the list: some of it may be lost."""
    error = (
        "those of the replaced store could not be read, and no digest is sent until you compare "
        "`paper-monitor suppressions` with what you know and run `paper-monitor suppressions "
        "confirm`"
    )
    subject = Subject(SubjectKind.SUPPRESSIONS)
    incidents.open_incident(tx, subject, IncidentKind.UNCONFIRMED, now, error)


def confirm(tx: Transaction, now: datetime) -> bool:
    """End the doubt; return whether there was one."""
    subject = Subject(SubjectKind.SUPPRESSIONS)
    return incidents.end_incident(tx, subject, IncidentKind.UNCONFIRMED, now) is not None
