"""Freezing a digest: its papers, its rendered parts and its deliveries, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
import sqlalchemy as sa
from msgspec import structs

from monitor.model import Delivery, DeliveryState, Digest, Json, Rendered
from monitor.store.digests.deliveries import can_be_superseded, reaches_anyone, reaches_recipient
from monitor.store.digests.packed import pack, pack_body
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, insert_all, insert_new, one_of
from monitor.store.papers import papers

_digest = schema.digest.c
_item = schema.digest_item.c
_event_item = schema.digest_event.c
_delivery = schema.delivery.c
_rendered = schema.rendered.c

# The key of the error in the body of a part that its channel could not render.
UNRENDERED = "unrendered"
ALL_KNOWN = "all of it was in digests of other subscriptions"


class Planned(msgspec.Struct, frozen=True):
    """A delivery to add: one part, on one channel, to one recipient.

    With an `error` the channel could not render the digest, and the delivery is failed.
    """

    channel: str
    recipient: str
    part: int
    message_id: str
    error: str = ""


def freeze(
    tx: Transaction,
    digest: Digest,
    rendered: Mapping[str, Sequence[Rendered]],
    planned: Iterable[Planned],
    now: datetime,
) -> int | None:
    """Write a digest, its items, its rendered parts and its deliveries; return its id.

    The subscription's digests that reached no recipient are superseded, and their items are free
    for this one. (Notices to the operator do not supersede each other.) Returns None and writes
    nothing if the period has a digest already, if an item or an event is in a digest that reached a
    recipient (another composer was faster), or if a paper was merged into another meanwhile.
    """
    attempt = tx.begin_nested()
    is_subscription = _wait_for_other_composers(tx, digest.subscription)
    content = pack(digest)
    key = {"subscription": digest.subscription, "period": digest.period}
    times = {"due_at": digest.due_at, "composed_at": digest.composed_at}
    row = {**key, **times, "papers": digest.papers, "content": {}, "packed": content}
    row["early"] = digest.early
    if insert_new(tx, schema.digest, [row]):
        digest_id = tx.execute(_ID, key).scalar_one()
        if is_subscription:
            _supersede(tx, digest.subscription, digest_id, now)
        if _take_items(tx, digest, digest_id) and _take_events(tx, digest, digest_id):
            _plan(tx, digest_id, rendered, content, planned, now)
            attempt.commit()
            return int(digest_id)
    attempt.rollback()
    return None


def _wait_for_other_composers(tx: Transaction, subscription: str) -> bool:
    """Wait for other composers of a subscription. False for notices to the operator."""
    return tx.execute(_LOCK, {"subscription": subscription}).first() is not None


# Built once, as all of these: every digest runs them.
_LOCK = (
    sa.select(schema.subscription.c.name)
    .where(schema.subscription.c.name == sa.bindparam("subscription"))
    .with_for_update()
)
_ID = sa.select(_digest.id).where(
    _digest.subscription == sa.bindparam("subscription"),
    _digest.period == sa.bindparam("period"),
)
_TAKEN_BEFORE = sa.select(_item.paper_id, _item.revision).where(
    _item.subscription == sa.bindparam("subscription"), one_of(_item.paper_id)
)
_EARLIER = sa.select(_digest.id).where(
    _digest.subscription == sa.bindparam("subscription"),
    _digest.id != sa.bindparam("id"),
    _digest.superseded_at.is_(None),
    ~reaches_anyone(_digest.id),
)


def _supersede(tx: Transaction, subscription: str, digest_id: int, now: datetime) -> None:
    """Supersede digests that reached no recipient, with a lock against claims meanwhile."""
    ids = set(tx.scalars(_EARLIER, {"subscription": subscription, "id": digest_id}))
    if not ids:
        return
    its_deliveries = among(_delivery.digest_id, ids)
    states = sa.select(_delivery.digest_id, reaches_recipient()).where(its_deliveries)
    ids -= {id for id, has_reached in tx.execute(states.with_for_update()) if has_reached}
    unread = sa.select(_digest.id).where(among(_digest.id, ids), can_be_superseded())
    lost = list(tx.scalars(unread))
    if not lost:
        return
    of_lost = (_item.subscription == subscription, among(_item.digest_id, lost))
    # Papers that were left out are not for the next digest either.
    shown = _item.shown_under.is_distinct_from("")
    tx.execute(sa.delete(schema.digest_item).where(*of_lost, shown))
    events = (_event_item.subscription == subscription, among(_event_item.digest_id, lost))
    tx.execute(sa.delete(schema.digest_event).where(*events))
    tx.execute(sa.update(schema.digest).where(among(_digest.id, lost)).values(superseded_at=now))
    unsent = sa.update(schema.delivery).where(among(_delivery.digest_id, lost))
    superseded = {"state": DeliveryState.SUPERSEDED, "next_attempt_at": None, "changed_at": now}
    tx.execute(unsent.values(superseded))


def _take_items(tx: Transaction, digest: Digest, digest_id: int) -> bool:
    in_full = {entry.paper_id for entry in digest.best(digest.full)}  # readers can answer these
    entries: dict[int, tuple[int, str | None]] = {
        entry.paper_id: (entry.revision, group.topic if entry.paper_id in in_full else None)
        for group in digest.groups
        for entry in group.entries
    }
    entries |= {id: (revision, "") for id, revision in digest.left_out}
    # SQLite has one writer, and refuses items of papers that are gone.
    if tx.dialect.name != "sqlite" and not papers.exist(tx, entries):
        return False
    earlier = tx.execute(_TAKEN_BEFORE, {"subscription": digest.subscription, "values": entries})
    if any(revision >= entries[id][0] for id, revision in earlier):
        return False
    of_digest = {"subscription": digest.subscription, "digest_id": digest_id}
    rows = [
        {"paper_id": id, "revision": revision, "shown_under": topic} | of_digest
        for id, (revision, topic) in sorted(entries.items())
    ]
    try:
        return insert_new(tx, schema.digest_item, rows) == len(rows)
    except sa.exc.IntegrityError:
        if tx.dialect.name != "sqlite" or papers.exist(tx, entries):
            raise
        return False


def _take_events(tx: Transaction, digest: Digest, digest_id: int) -> bool:
    of_digest = {"subscription": digest.subscription, "digest_id": digest_id}
    rows = [of_digest | {"event_id": event.id} for event in digest.references]
    return insert_new(tx, schema.digest_event, rows) == len(rows)


def _plan(
    tx: Transaction,
    digest_id: int,
    rendered: Mapping[str, Sequence[Rendered]],
    content: bytes | None,
    planned: Iterable[Planned],
    now: datetime,
) -> None:
    """Add parts to a digest, packed after its packed `content`, and their deliveries."""
    planned = list(planned)
    parts = [
        {"channel": channel, "part": part.part, "body": {}, "packed": pack_body(part.body, content)}
        for channel, texts in rendered.items()
        for part in texts
    ]
    failed = {delivery.channel: delivery.error for delivery in planned if delivery.error}
    parts += [
        {"channel": channel, "part": 0, "body": {UNRENDERED: error}, "packed": None}
        for channel, error in failed.items()
    ]
    unsent = {"attempts": 0, "resent": False, "owner": "", "reference": ""}
    unsent |= {"created_at": now, "changed_at": now}
    rows = [
        structs.asdict(delivery)
        | {"state": DeliveryState.FAILED if delivery.error else DeliveryState.PLANNED}
        | unsent
        for delivery in planned
    ]
    insert_all(tx, schema.rendered, [part | {"digest_id": digest_id} for part in parts])
    insert_all(tx, schema.delivery, [row | {"digest_id": digest_id} for row in rows])


def add_parts(
    tx: Transaction, delivery: Delivery, bodies: Sequence[Json], ids: Sequence[str], now: datetime
) -> int:
    """Add parts for the channel of a delivery, after its last; return the number of the first.

    All but the first get a delivery to the same recipient, with these Message-IDs.
    """
    place = {"digest_id": delivery.digest_id, "channel": delivery.channel}
    # The lock is for others that add parts to this digest.
    stored = sa.select(_digest.packed).where(_digest.id == delivery.digest_id).with_for_update()
    content = tx.scalar(stored)
    last: int = tx.execute(sa.select(sa.func.max(_rendered.part)).filter_by(**place)).scalar_one()
    parts = [Rendered(number, body) for number, body in enumerate(bodies, last + 1)]
    planned = [
        Planned(delivery.channel, delivery.recipient, part.part, message_id)
        for part, message_id in zip(parts[1:], ids, strict=True)
    ]
    _plan(tx, delivery.digest_id, {delivery.channel: parts}, content, planned, now)
    return parts[0].part


def add_text(
    tx: Transaction,
    unrendered: Delivery,
    rendered: Sequence[Rendered],
    planned: Sequence[Planned],
    recipients: Collection[str],
    now: datetime,
) -> int:
    """Add the text that a delivery lacks, for its channel; return how many deliveries now wait.

    Returns 0 and writes nothing if another process was faster or the digest is superseded. The
    first part for a recipient keeps its Message-ID. Recipients for whom nothing is planned have
    all of the digest already; others than `recipients` stay failed.
    """
    _wait_for_other_composers(tx, unrendered.subscription)
    place = {"digest_id": unrendered.digest_id, "channel": unrendered.channel}
    stands = sa.exists().where(_digest.id == unrendered.digest_id, _digest.superseded_at.is_(None))
    lacks_text = sa.cast(_rendered.body, sa.Text).startswith(f'{{"{UNRENDERED}"')
    first = sa.update(schema.rendered).filter_by(**place, part=0).where(lacks_text, stands)
    content = tx.scalar(sa.select(_digest.packed).where(_digest.id == unrendered.digest_id))
    if tx.execute(first.values(body={}, packed=pack_body(rendered[0].body, content))).rowcount != 1:
        return 0
    failed = sa.select(_delivery.recipient).filter_by(**place, state=DeliveryState.FAILED)
    own: dict[str, list[Planned]] = {to: [] for to in tx.scalars(failed) if to in recipients}
    for delivery in planned:
        if delivery.recipient in own:
            own[delivery.recipient].append(delivery)
    later = [delivery for parts in own.values() for delivery in parts[1:]]
    _plan(tx, unrendered.digest_id, {unrendered.channel: rendered[1:]}, content, later, now)
    for to, parts in own.items():
        values = {"state": DeliveryState.SUPERSEDED, "error": ALL_KNOWN, "withheld_at": now}
        if parts:
            part = {"part": parts[0].part, "created_at": now}
            values = {"state": DeliveryState.PLANNED, "error": "", **part}
        unsent = sa.update(schema.delivery).filter_by(**place, recipient=to, part=0)
        tx.execute(unsent.values(values | {"changed_at": now}))
    return sum(map(len, own.values()))
