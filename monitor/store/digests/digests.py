"""Reading digests as they were frozen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from msgspec import structs

from monitor.identity.notices import notice
from monitor.model import Digest, DigestPaper, ListedDigest, Paper, SourceReport
from monitor.store.digests.deliveries import WAITING, has_news
from monitor.store.digests.packed import pack, unpack
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, fetch, fetch_one, learned
from monitor.store.papers import papers

T = TypeVar("T")
_digest = schema.digest.c
_item = schema.digest_item.c
_changes = sa.select(sa.func.count()).where(schema.digest_event.c.digest_id == _digest.id)


def of_period(tx: Transaction, subscription: str, period: str) -> Digest | None:
    id = sa.select(_digest.id).filter_by(subscription=subscription, period=period)
    return get(tx, tx.scalar(id) or 0)


def has_period(tx: Transaction, subscription: str, period: str) -> bool:
    id = sa.select(_digest.id).filter_by(subscription=subscription, period=period)
    return tx.scalar(id) is not None


def get(tx: Transaction, digest_id: int) -> Digest | None:
    """Return a digest as it was frozen, or with its papers as they are now: see `remove_texts`."""
    stored = sa.select(_digest.content, _digest.packed).where(_digest.id == digest_id)
    row = tx.execute(stored).one_or_none()
    if row is None:
        return None
    digest = _content(row, Digest)
    entries = (entry for group in digest.groups for entry in group.entries)
    if not any(entry.paper == _NO_TEXT for entry in entries):
        return digest
    now = papers.load(tx, {entry.paper_id for group in digest.groups for entry in group.entries})

    def fill(entry: DigestPaper) -> DigestPaper:
        stored = now.get(entry.paper_id)
        return structs.replace(entry, paper=stored.paper if stored else _MERGED)

    notes = (*digest.notes, TEXTS_REMOVED)
    return replace(map_papers(digest, fill), notes=notes, texts_removed=True)


def _content(row: Any, kind: type[T]) -> T:
    return unpack(row.packed, kind) if row.packed else msgspec.convert(row.content, learned(kind))


def remove_texts(tx: Transaction, digest_id: int) -> None:
    """Leave of a frozen digest its papers, their topics and places; their texts are removed."""
    digest = get(tx, digest_id)
    if digest is None:
        return

    def strip(entry: DigestPaper) -> DigestPaper:
        matched = tuple(structs.replace(topic, why=()) for topic in entry.matched)
        return structs.replace(entry, paper=_NO_TEXT, matched=matched, also=(), from_library=None)

    values = {"content": {}, "packed": pack(map_papers(digest, strip))}
    tx.execute(sa.update(schema.digest).where(_digest.id == digest_id).values(values))


_NO_TEXT = Paper("")
_MERGED = Paper("A paper that was merged into another")
TEXTS_REMOVED = "The texts of this digest were removed. Its papers are shown as they are now."


def map_papers(digest: Digest, change: Callable[[DigestPaper], DigestPaper]) -> Digest:
    groups = (replace(group, entries=tuple(map(change, group.entries))) for group in digest.groups)
    return replace(digest, groups=tuple(groups))


_LISTED = sa.select(
    _digest.id,
    _digest.subscription,
    _digest.period,
    _digest.due_at,
    _digest.composed_at,
    _digest.papers,
    _changes.scalar_subquery().label("changes"),
    _digest.superseded_at.is_not(None).label("superseded"),
    sa.literal(0).label("notices"),  # see `with_notices`
)


def headings(tx: Transaction, ids: Iterable[int]) -> dict[int, ListedDigest]:
    """Return digests by id, without their content."""
    query = _LISTED.where(among(_digest.id, ids))
    return {digest.id: digest for digest in fetch(tx, query, ListedDigest)}


def newest(
    tx: Transaction, subscriptions: Collection[str], limit: int, before: int | None = None
) -> list[ListedDigest]:
    """Return the newest digests of subscriptions, newest first; from below the id `before`."""
    is_older = sa.true() if before is None else _digest.id < before
    query = _LISTED.where(among(_digest.subscription, subscriptions), is_older)
    return fetch(tx, query.order_by(_digest.id.desc()).limit(limit), ListedDigest)


def latest(tx: Transaction, subscriptions: Collection[str]) -> dict[str, ListedDigest]:
    """Return the newest digest with news of each subscription that had one."""
    name = schema.subscription.c.name
    sent = sa.select(_digest.id).where(has_news(), _digest.superseded_at.is_(None))
    newest = sent.order_by(_digest.id.desc()).limit(1)
    own = newest.where(_digest.subscription == name).correlate(schema.subscription)
    ids = sa.select(own.scalar_subquery()).where(among(name, subscriptions))
    listed = fetch(tx, _LISTED.where(_digest.id.in_(ids)), ListedDigest)
    return {digest.subscription: digest for digest in listed}


def neighbours(
    tx: Transaction, subscription: str, period: str
) -> tuple[ListedDigest | None, ListedDigest | None]:
    """Return the digests of a subscription just before and after one."""
    own = sa.select(_digest.id).filter_by(subscription=subscription, period=period)
    id_ = own.scalar_subquery()
    same = _LISTED.filter_by(subscription=subscription).limit(1)
    older = same.where(_digest.id < id_).order_by(_digest.id.desc())
    newer = same.where(_digest.id > id_).order_by(_digest.id)
    return fetch_one(tx, older, ListedDigest), fetch_one(tx, newer, ListedDigest)


def oldest_open(tx: Transaction) -> ListedDigest | None:
    """Return the digest that was due first of those with a delivery that is not over."""
    waiting = sa.select(schema.delivery.c.digest_id).where(schema.delivery.c.state.in_(WAITING))
    query = _LISTED.where(_digest.id.in_(waiting)).order_by(_digest.due_at).limit(1)
    return fetch_one(tx, query, ListedDigest)


def with_notices(tx: Transaction, listed: Sequence[ListedDigest]) -> list[ListedDigest]:
    """Return digests with the number of their notices, as of retractions.

    It is unknown, and 0, where texts were removed.
    """
    ids = [digest.id for digest in listed if digest.papers]
    stored = sa.select(_digest.id, _digest.content, _digest.packed).where(among(_digest.id, ids))
    notices = {row.id: _content(row, _FrozenGroups).notices for row in tx.execute(stored)}
    return [structs.replace(digest, notices=notices.get(digest.id, 0)) for digest in listed]


class _FrozenPaper(msgspec.Struct, gc=False):
    title: str
    type: str = ""


class _FrozenEntry(msgspec.Struct, gc=False):
    paper: _FrozenPaper


class _FrozenGroup(msgspec.Struct):
    entries: tuple[_FrozenEntry, ...] = ()


class _FrozenGroups(msgspec.Struct):
    """The papers of a frozen digest, as far as they are notices or not."""

    groups: tuple[_FrozenGroup, ...] = ()

    @property
    def notices(self) -> int:
        papers = (entry.paper for group in self.groups for entry in group.entries)
        return sum(bool(notice(Paper(one.title, type=one.type))) for one in papers)


class FrozenReport(_FrozenGroups, kw_only=True):
    """A frozen digest without the texts of its papers: there may be hundreds."""

    report: tuple[SourceReport, ...]
    left_out: tuple[tuple[int, int], ...] = ()


def latest_report(tx: Transaction, subscription: str) -> tuple[ListedDigest, FrozenReport] | None:
    """Return the newest digest of a subscription, and what was read for it."""
    own = _LISTED.add_columns(_digest.content, _digest.packed).filter_by(subscription=subscription)
    row = tx.execute(own.order_by(_digest.id.desc()).limit(1)).one_or_none()
    if row is None:
        return None
    listed = msgspec.convert(row, learned(ListedDigest), from_attributes=True)
    return listed, _content(row, FrozenReport)


def count(tx: Transaction, subscription: str) -> int:
    """Return how many digests a subscription had, including superseded and quiet ones."""
    return tx.scalar(_COUNT, {"subscription": subscription}) or 0


# Built once: every digest for `immediately` runs it.
_COUNT = (
    sa.select(sa.func.count())
    .select_from(schema.digest)
    .where(_digest.subscription == sa.bindparam("subscription"))
)


def of_paper(tx: Transaction, paper_id: int) -> list[tuple[Digest, int]]:
    """Return the digests with a paper and its revision in each, oldest first."""
    query = sa.select(_digest.id, _item.revision).join(schema.digest_item)
    shows = sa.and_(_item.paper_id == paper_id, _item.shown_under.is_distinct_from(""))
    rows = tx.execute(query.where(shows).order_by(_digest.id)).all()
    return [(digest, revision) for id, revision in rows if (digest := get(tx, id))]
