"""Freezing a digest: its papers, its rendered parts and its deliveries, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
import sqlalchemy as sa

from monitor.model import DeliveryState, Digest, Rendered
from monitor.store import papers, schema
from monitor.store.database import Transaction
from monitor.store.digest_state import has_content, has_reached, reached
from monitor.store.inserts import insert_new
from monitor.store.sql import among

_digest = schema.digest.c
_item = schema.digest_item.c
_delivery = schema.delivery.c
_rendered = schema.rendered.c

# The body of a part that its channel could not render: the error under this name.
UNRENDERED = "unrendered"


@dataclass(frozen=True, slots=True)
class Planned:
    """A delivery to be: one part, on one channel, to one recipient, under its message id.

    With an `error` its channel could not render the digest: it is recorded as failed.
    """

    channel: str
    recipient: str
    part: int
    message_id: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Unrendered:
    """A channel that a digest stands without a text for."""

    digest_id: int
    subscription: str
    period: str
    channel: str


# ── what it is told ─────────────────────────────────────────────────────────────────


def freeze(
    tx: Transaction,
    digest: Digest,
    rendered: Mapping[str, Sequence[Rendered]],
    planned: Iterable[Planned],
    now: datetime,
) -> int | None:
    """Write a digest, its items, its rendered parts and its deliveries; return its id.

    Digests of the subscription that reached nobody are superseded: their items are free for
    this one. (The operator's, who is no subscription, stand each for itself.) None, and nothing
    is written, when the period has its digest already, or an item stands in a digest that
    reached somebody (another composer was faster), or a paper was joined to another meanwhile.
    """
    attempt = tx.begin_nested()
    enrolled = _alone(tx, digest.subscription)
    digest_id = _insert_digest(tx, digest)
    if digest_id is not None:
        if enrolled:
            _supersede(tx, digest.subscription, digest_id, now)
        if _take_items(tx, digest, digest_id):
            _plan(tx, digest_id, rendered, planned, now)
            attempt.commit()
            return digest_id
    attempt.rollback()
    return None


def _alone(tx: Transaction, subscription: str) -> bool:
    """Wait for other composers of a subscription. False for the operator, who has no row."""
    row = schema.subscription.c
    locked = sa.select(row.name).where(row.name == subscription).with_for_update()
    return tx.execute(locked).first() is not None


def _insert_digest(tx: Transaction, digest: Digest) -> int | None:
    row = {
        "subscription": digest.subscription,
        "period": digest.period,
        "due_at": digest.due_at,
        "composed_at": digest.composed_at,
        "papers": digest.papers,
        "content": msgspec.to_builtins(digest),
    }
    if not insert_new(tx, schema.digest, [row]):
        return None
    place = (_digest.subscription == digest.subscription, _digest.period == digest.period)
    return tx.scalar(sa.select(_digest.id).where(*place))


def _supersede(tx: Transaction, subscription: str, digest_id: int, now: datetime) -> None:
    """Take back what reached nobody. Its deliveries are locked first, so that none is claimed."""
    earlier = sa.select(_digest.id).where(
        _digest.subscription == subscription,
        _digest.id != digest_id,
        _digest.superseded_at.is_(None),
        ~reached(_digest.id),
    )
    ids = set(tx.scalars(earlier))
    its_deliveries = among(tx, _delivery.digest_id, ids)
    open_ones = sa.select(_delivery.digest_id, has_reached()).where(its_deliveries)
    now_reached = {id for id, reached_ in tx.execute(open_ones.with_for_update()) if reached_}
    lost = _with_content(tx, ids - now_reached)
    tx.execute(sa.delete(schema.digest_item).where(among(tx, _item.digest_id, lost)))
    tx.execute(
        sa.update(schema.digest).where(among(tx, _digest.id, lost)).values(superseded_at=now)
    )
    tx.execute(
        sa.update(schema.delivery)
        .where(among(tx, _delivery.digest_id, lost))
        .values(state=DeliveryState.SUPERSEDED, next_attempt_at=None, changed_at=now)
    )


def _with_content(tx: Transaction, ids: Iterable[int]) -> set[int]:
    """Leave out the quiet days."""
    chosen = (among(tx, _digest.id, ids), has_content())
    return set(tx.scalars(sa.select(_digest.id).where(*chosen)))


def _take_items(tx: Transaction, digest: Digest, digest_id: int) -> bool:
    entries = {e.paper_id: e.revision for group in digest.groups for e in group.entries}
    if not papers.exist(tx, entries):
        return False
    taken = tx.execute(
        sa.select(_item.paper_id, _item.revision).where(
            _item.subscription == digest.subscription, among(tx, _item.paper_id, entries)
        )
    )
    if any(row.revision >= entries[row.paper_id] for row in taken):
        return False
    rows = [
        {
            "subscription": digest.subscription,
            "paper_id": paper_id,
            "revision": revision,
            "digest_id": digest_id,
        }
        for paper_id, revision in sorted(entries.items())
    ]
    return insert_new(tx, schema.digest_item, rows) == len(rows)


def _plan(
    tx: Transaction,
    digest_id: int,
    rendered: Mapping[str, Sequence[Rendered]],
    planned: Iterable[Planned],
    now: datetime,
) -> None:
    parts = [
        {"digest_id": digest_id, "channel": channel, "part": part.part, "body": dict(part.body)}
        for channel, told in rendered.items()
        for part in told
    ]
    planned = list(planned)
    failed = {one.channel: one.error for one in planned if one.error}
    parts += [
        {"digest_id": digest_id, "channel": channel, "part": 0, "body": {UNRENDERED: error}}
        for channel, error in failed.items()
    ]
    rows = [
        {
            "digest_id": digest_id,
            "channel": one.channel,
            "recipient": one.recipient,
            "part": one.part,
            "state": DeliveryState.FAILED if one.error else DeliveryState.PLANNED,
            "attempts": 0,
            "owner": "",
            "message_id": one.message_id,
            "reference": "",
            "error": one.error,
            "created_at": now,
            "changed_at": now,
        }
        for one in planned
    ]
    if parts:
        tx.execute(sa.insert(schema.rendered), parts)
    if rows:
        tx.execute(sa.insert(schema.delivery), rows)


# ── what a channel could not render ─────────────────────────────────────────────────


def unrendered(tx: Transaction, names: Collection[str] | None = None) -> list[Unrendered]:
    """Return what has no text yet, of the named subscriptions or of all, oldest first.

    Digests that are superseded are left out: their papers are in a newer one.
    """
    wanted = sa.true() if names is None else among(tx, _digest.subscription, names)
    rows = tx.execute(
        sa.select(_digest.id, _digest.subscription, _digest.period, _rendered.channel)
        .join(schema.rendered, _rendered.digest_id == _digest.id)
        .where(_digest.superseded_at.is_(None), _lacks_text(), wanted)
        .order_by(_digest.id, _rendered.channel)
    )
    return [Unrendered(*row) for row in rows]


def _lacks_text() -> sa.ColumnElement[bool]:
    return sa.cast(_rendered.body, sa.Text).startswith(f'{{"{UNRENDERED}"')


def add_rendered(
    tx: Transaction,
    one: Unrendered,
    rendered: Sequence[Rendered],
    planned: Sequence[Planned],
    now: datetime,
) -> int:
    """Give a digest the text and deliveries of a channel; return how many deliveries wait now.

    0, and nothing is written, when another process was faster or the digest is superseded. Part
    0 keeps its Message-ID; recipients that are not in `planned` stay failed.
    """
    _alone(tx, one.subscription)
    place = (_rendered.digest_id == one.digest_id, _rendered.channel == one.channel)
    stands = sa.exists().where(_digest.id == one.digest_id, _digest.superseded_at.is_(None))
    first = sa.update(schema.rendered).where(*place, _rendered.part == 0, _lacks_text(), stands)
    if tx.execute(first.values(body=dict(rendered[0].body))).rowcount != 1:
        return 0
    waits = (
        sa.update(schema.delivery)
        .where(_delivery.digest_id == one.digest_id, _delivery.channel == one.channel)
        .where(_delivery.state == DeliveryState.FAILED)
        .where(among(tx, _delivery.recipient, {to.recipient for to in planned}))
        .values(state=DeliveryState.PLANNED, error="", created_at=now, changed_at=now)
    )
    begun = tx.execute(waits).rowcount
    later = [to for to in planned if to.part > 0]
    _plan(tx, one.digest_id, {one.channel: rendered[1:]}, later, now)
    return begun + len(later)
