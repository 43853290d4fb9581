"""Changes of works in libraries: recorded once, and once in the digests of a subscription."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence, Set
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from msgspec import structs

from monitor.identity.keys import LINK, hash_of_text, identifiers, with_keys
from monitor.identity.reference_events import (
    as_told,
    concerns,
    is_certain,
    is_news_since,
    is_of_notice,
    join,
    named_works,
    with_uncertain,
    without,
    work_of,
)
from monitor.model import Audience, Paper, ReferenceChange, ReferenceEvent
from monitor.store.digests.deliveries import WAITING, reaches_anyone, reaches_recipient
from monitor.store.digests.packed import pack, unpack
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, insert_new
from monitor.store.sources import collections
from monitor.store.sources.collections import CollectionEntry
from monitor.store.topics import judgements

_event = schema.reference_event.c
_key = schema.reference_event_key.c
_item = schema.digest_event.c
_delivery = schema.delivery.c
_digest = schema.digest.c

# The assertions of which there are uncertain events, too.
_ASSERTED = {
    ReferenceChange.PUBLISHED: ReferenceChange.PUBLISHED,
    ReferenceChange.RETRACTED: ReferenceChange.RETRACTED,
    ReferenceChange.REPORTED: ReferenceChange.RETRACTED,
}


def save(tx: Transaction, events: Iterable[ReferenceEvent]) -> int:
    """Store events that are not stored yet, and return how many there were.

    One that is stored keeps all names of its work, and one for a reader all subscriptions for which
    they follow it. `tx` is one of `Database.ingesting`.
    """
    new = 0
    for event in events:
        if event.change in _ASSERTED:
            asserted = _with_uncertain(tx, event)
            if asserted is None:
                continue
            event = asserted
        stored = _same(tx, event)
        if stored is not None and stored.void:
            continue
        if stored is None:
            added = sa.insert(schema.reference_event).returning(_event.id)
            id = tx.scalar(added, {"packed": pack(event)})
            stored = structs.replace(event, id=id or 0)
            new = new + 1
        elif (joined := _join(stored, event)) != stored:
            _update(tx, joined)
        _write_keys(tx, stored.id, event)
    return new


def _join(stored: ReferenceEvent, event: ReferenceEvent) -> ReferenceEvent:
    audience = tuple(sorted({*stored.audience, *event.audience}))
    return structs.replace(join(stored, event), audience=audience, saved=event.saved)


def _work_keys(event: ReferenceEvent) -> set[int]:
    """Return hashes of the names of a work; those of one reader are found for them alone."""
    keys = collections.identity_keys(with_keys(event.work))
    if not event.reader:
        return keys
    return {hash_of_text(f"for:{event.reader}:{key}") for key in keys}


def _write_keys(tx: Transaction, id: int, event: ReferenceEvent) -> None:
    """Let a stored event be found by the names of a work, and of all that report it."""
    reports = {name for one in (event, *event.others) for name in one.identity} - {""}
    keys = _work_keys(event) | set(map(hash_of_text, reports))
    if event.reader:
        keys |= set(map(_audience_key, event.audience))
    rows = [{"key": key, "event_id": id} for key in sorted(keys)]
    insert_new(tx, schema.reference_event_key, rows)


def _with_uncertain(tx: Transaction, event: ReferenceEvent) -> ReferenceEvent | None:
    """Return an event as it is to be stored, None if another one asserts what it only supposes.

    Of uncertain events, those that are in no digest are kept with the certain one.
    """
    alike = _alike(tx, event)
    in_digests = sa.select(_item.event_id).where(among(_item.event_id, [o.id for o in alike]))
    told = set(tx.scalars(in_digests))
    waiting = [other for other in alike if other.id not in told]
    if is_certain(event):
        uncertain = [other for other in waiting if not is_certain(other)]
        gone = among(_event.id, [other.id for other in uncertain])
        tx.execute(sa.delete(schema.reference_event).where(gone))
        return with_uncertain(event, uncertain)
    if not any(map(is_certain, alike)):
        return event
    for other in filter(is_certain, waiting):
        if (kept := with_uncertain(other, [event])) != other:
            _update(tx, kept)
            _write_keys(tx, other.id, kept)
    return None


def _alike(tx: Transaction, event: ReferenceEvent) -> list[ReferenceEvent]:
    """Return the stored events that assert, report or suppose the same of a work as one."""
    record = with_keys(event.work)
    keyed = sa.select(_key.event_id).where(among(_key.key, _work_keys(event)))
    asserted = _ASSERTED.get(event.change)
    return [
        other
        for other in _events(tx, _event.id.in_(keyed))
        if asserted
        and _ASSERTED.get(other.change) is asserted
        and other.reader == event.reader
        and not other.void
        and collections.why_same(record, other.work, "key")
    ]


def without_mistaken(tx: Transaction, events: Iterable[ReferenceEvent]) -> list[ReferenceEvent]:
    """Return events without those that a person called mistaken."""
    return [event for event in events if not ((stored := _same(tx, event)) and stored.void)]


def withdraw(tx: Transaction, names: Set[str]) -> None:
    """Delete events of which every report is withdrawn before they are in a digest."""
    keyed = sa.select(_key.event_id).where(among(_key.key, map(hash_of_text, names)))
    in_digest = sa.select(_item.event_id).where(_item.event_id == _event.id)
    for event in _events(tx, sa.and_(_event.id.in_(keyed), ~in_digest.exists())):
        if left := without(event, names):
            _update(tx, left)
        else:
            tx.execute(sa.delete(schema.reference_event).filter_by(id=event.id))


def _update(tx: Transaction, event: ReferenceEvent) -> None:
    changed = sa.update(schema.reference_event).filter_by(id=event.id)
    tx.execute(changed.values(packed=pack(event)))


def _same(tx: Transaction, event: ReferenceEvent) -> ReferenceEvent | None:
    """Return the stored event that is the same as one, of the same work and for the same reader."""
    record = with_keys(event.work)
    keyed = sa.select(_key.event_id).where(among(_key.key, _work_keys(event)))
    wanted: sa.ColumnElement[bool] = _event.id.in_(keyed)
    if "" not in event.identity:  # a work may have thousands of corrections
        alike = sa.select(_key.event_id).where(among(_key.key, map(hash_of_text, event.identity)))
        wanted &= _event.id.in_(alike)
    for other in _events(tx, wanted):
        # A work that was retracted by mistake may be retracted by another notice.
        names = set(event.identity) - ({""} if other.void else set())
        is_one = other.change is event.change and not names.isdisjoint(other.identity)
        is_one &= other.reader == event.reader
        if is_one and collections.why_same(record, other.work, "key"):
            return other
    return None


def _events(tx: Transaction, wanted: sa.ColumnElement[bool]) -> list[ReferenceEvent]:
    return _read(tx.execute(_select(wanted)))


def _select(*wanted: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(_event.id, _event.packed).where(*wanted).order_by(_event.id)


def _read(rows: Iterable[Any]) -> list[ReferenceEvent]:
    return [structs.replace(unpack(packed, ReferenceEvent), id=id) for id, packed in rows]


def _is_sent(subscription: sa.ColumnElement[str], *, fresh: bool) -> sa.Exists:
    """Whether an event is in a digest of a subscription; in one that was sent, if not `fresh`."""
    own = _item.subscription == subscription, _item.event_id == _event.id
    sent = sa.select(_item.digest_id).where(*own)
    return (sent if fresh else sent.where(reaches_anyone(_item.digest_id))).exists()


# The unsent events that are for a subscription or a reader of it, by `fresh`. Built once: every
# digest runs one.
_ADDRESSED = {
    fresh: _select(
        _event.id.in_(sa.select(_key.event_id).where(_key.key == sa.bindparam("audience"))),
        ~_is_sent(sa.bindparam("subscription"), fresh=fresh),
    )
    for fresh in (False, True)
}


def unsent(
    tx: Transaction,
    subscription: str,
    libraries: Collection[str],
    audience: Audience,
    now: datetime,
    *,
    fresh: bool = False,
) -> list[ReferenceEvent]:
    """Return the events that a subscription has not sent, oldest first.

    They are of works in libraries, corrections, and of papers that its readers saved. Events in a
    digest that reached no recipient are unsent, but not `fresh`. An event is left out if all whom
    it is for get it from other subscriptions.
    """
    values = {"subscription": subscription, "audience": _audience_key(subscription)}
    addressed = _read(tx.execute(_ADDRESSED[fresh], values))
    concerned = [event for event in addressed if subscription in event.audience]
    own = [event for event in concerned if event.reader]
    concerned = [event for event in concerned if not event.reader]
    if libraries:
        is_unsent = ~_is_sent(sa.literal(subscription), fresh=fresh)
        concerned += _of_libraries(tx, libraries, is_unsent, now)
    shared = {event.id for event in concerned}
    concerned += [
        as_told(event)
        for event in own
        if judgements.follows(tx, subscription, event.reader, event.saved)
        and not _is_shared(tx, subscription, event, shared)
    ]
    if not concerned:  # as for most digests
        return []
    elsewhere = recipients_sent(tx, concerned, subscription, audience)
    return [event for event in concerned if audience.of(event) - elsewhere[event.id]]


def _is_shared(
    tx: Transaction, subscription: str, event: ReferenceEvent, shared: Collection[int]
) -> bool:
    """Whether an event for one reader goes, or went, to all of the subscription, too."""
    same = _same(tx, structs.replace(event, reader="", audience=()))
    if same is None or same.void:
        return False
    sent = sa.select(_item.event_id).filter_by(subscription=subscription, event_id=same.id)
    return same.id in shared or tx.scalar(sent) is not None


def is_told(tx: Transaction, event: ReferenceEvent) -> bool:
    """Whether an event for a reader is stored for all of its audience, or a more certain one is."""
    stored = _same(tx, event)
    if stored is None and not is_certain(event):
        stored = next(filter(is_certain, _alike(tx, event)), None)
    return stored is not None and set(stored.audience) >= set(event.audience)


def _of_libraries(
    tx: Transaction, libraries: Collection[str], is_unsent: sa.ColumnElement[bool], now: datetime
) -> list[ReferenceEvent]:
    """Return the unsent events of works in libraries, under the titles of their entries."""
    news = [
        (event, own)
        for event, entries in with_entries(tx, libraries, now, is_unsent)
        if (own := [e for e in entries if is_news_since(event.change, event.at, e.since)])
    ]
    # As the readers' own libraries have the work: entries with its title are first.
    return [
        structs.replace(
            as_told(event),
            work=work_of([*(entry.paper for entry in own), event.work]),
            entries=tuple(entry.place for entry in own),
        )
        for event, own in news
    ]


def with_entries(
    tx: Transaction,
    libraries: Collection[str],
    now: datetime,
    wanted: sa.ColumnElement[bool] | None = None,
) -> list[tuple[ReferenceEvent, list[CollectionEntry]]]:
    """Return events that hold for entries of libraries as these are now, each with the entries.

    They are the oldest first; of all events, or of those that are `wanted`.
    """
    if not libraries:
        return []
    collection = schema.collection.c
    entry_key = schema.collection_key.c
    chosen = sa.select(collection.id).where(among(collection.source, libraries))
    in_libraries = (
        sa.select(_key.event_id)
        .join(schema.collection_key, entry_key.key == _key.key)
        .where(entry_key.collection_id.in_(chosen))
    )
    listed: sa.ColumnElement[bool] = _event.id.in_(in_libraries)
    found = _events(tx, listed if wanted is None else listed & wanted)
    events = [event for event in found if not event.void]
    if not events:
        return []
    entries = collections.find(tx, libraries, [with_keys(event.work) for event in events], now)
    named = [named_works(_names_of(event)) for event in events]
    by_name = collections.find(tx, libraries, named, now)
    each = [
        (event, {entry.id: entry for entry in (*of_work, *of_name)}.values())
        for event, of_work, of_name in zip(events, entries, by_name, strict=True)
    ]
    held = [(event, [e for e in own if concerns(event, e.paper)]) for event, own in each]
    return [(event, own) for event, own in held if own]


def _names_of(event: ReferenceEvent) -> list[tuple[str, str]]:
    """Return the identifiers by which a notice names a work; none for other events."""
    return [pair for pair in identifiers(event.work) if is_of_notice(event) and pair[0] != LINK]


def correct(
    tx: Transaction, records: Sequence[Paper], told: Set[str], event: ReferenceEvent
) -> set[str]:
    """Void the retractions of a work with these records, and correct the digests that had them.

    `told` are subscriptions that reported it otherwise; `event` is the correction. Returns all
    subscriptions that get it.
    """
    record = with_keys(work_of(records))
    keyed = sa.select(_key.event_id).where(among(_key.key, collections.identity_keys(record)))
    wrong = [
        other
        for other in _events(tx, _event.id.in_(keyed))
        if other.change is ReferenceChange.RETRACTED
        and not other.void
        and collections.why_same(record, other.work, "key")
    ]
    sent = sa.select(_item.subscription).join(schema.digest, _digest.id == _item.digest_id)
    of_wrong = among(_item.event_id, {other.id for other in wrong})
    audience = {*told, *tx.scalars(sent.where(of_wrong, _digest.superseded_at.is_(None)))}
    for other in wrong:
        names = {name for one in (other, *other.others) for name in one.identity} - {""}
        void = structs.replace(other, identity=tuple(sorted(names)), others=(), void=True)
        _update(tx, void)
    if audience:
        telling = structs.replace(event, audience=tuple(sorted(audience)))
        added = sa.insert(schema.reference_event).returning(_event.id)
        id = tx.scalar(added, {"packed": pack(telling)})
        keys = sorted(map(_audience_key, audience))
        insert_new(tx, schema.reference_event_key, [{"key": k, "event_id": id} for k in keys])
    return audience


def _audience_key(subscription: str) -> int:
    return hash_of_text(f"told:{subscription}")


def reported(
    tx: Transaction, records: Sequence[Paper]
) -> list[tuple[ReferenceEvent, str, datetime]]:
    """Return the events of a work with these records that subscriptions were sent, oldest first."""
    record = with_keys(work_of(records))
    keyed = sa.select(_key.event_id).where(among(_key.key, collections.identity_keys(record)))
    events = {event.id: event for event in _events(tx, _event.id.in_(keyed))}
    sent = sa.select(_item.event_id, _item.subscription, _digest.composed_at)
    sent = sent.join(schema.digest, _digest.id == _item.digest_id).order_by(_digest.composed_at)
    rows = tx.execute(sent.where(among(_item.event_id, events), reaches_anyone(_item.digest_id)))
    return [
        (events[id], subscription, at)
        for id, subscription, at in rows
        if collections.why_same(record, events[id].work, "key")
    ]


def recipients_sent(
    tx: Transaction, events: Collection[ReferenceEvent], subscription: str, audience: Audience
) -> defaultdict[int, set[tuple[str, str]]]:
    """Return the recipients who have events from other subscriptions, or are about to.

    And readers of this one who have an event since they saved the paper.
    """
    recipients = _recipients(tx, {e.id for e in events}, _item.subscription != subscription)
    shared = [event for event in events if not event.reader]
    readers = _readers(tx, subscription) if shared else ()
    for event in shared:
        for reader in readers:
            own = _same(tx, structs.replace(event, reader=reader))
            if own:
                told = _recipients(tx, {own.id}, sa.true())[own.id]
                recipients[event.id] |= told & audience.of(own)
    return recipients


def _recipients(
    tx: Transaction, ids: Collection[int], wanted: sa.ColumnElement[bool]
) -> defaultdict[int, set[tuple[str, str]]]:
    open_or_sent = sa.or_(_delivery.state.in_(WAITING), reaches_recipient())
    query = sa.select(_item.event_id, _delivery.channel, _delivery.recipient)
    rows = tx.execute(
        query.join(schema.delivery, _delivery.digest_id == _item.digest_id).where(
            among(_item.event_id, ids), wanted, open_or_sent
        )
    )
    recipients = defaultdict[int, set[tuple[str, str]]](set)
    for id, channel, recipient in rows:
        recipients[id].add((channel, recipient))
    return recipients


def _readers(tx: Transaction, subscription: str) -> set[str]:
    """Return the readers of a subscription for whom events are stored."""
    keyed = sa.select(_key.event_id).where(_key.key == _audience_key(subscription))
    return {event.reader for event in _events(tx, _event.id.in_(keyed))} - {""}
