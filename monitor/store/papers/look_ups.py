"""How far services were asked what the records of papers do not say, and what they answered.

A row is committed before the request that it is for: see `begin`. What is open has a `due_at`.
What services are asked about papers that readers saved has rows of its own, in the same form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any

import msgspec
import sqlalchemy as sa

from monitor.identity.keys import LINK
from monitor.model import Claim, Paper
from monitor.model.look_up import FILLED_IN, Answered, LookUp, LookUpState
from monitor.store.digests.packed import pack, unpack
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, insert_new, insert_or_update
from monitor.store.topics import judgements
from monitor.store.topics.matches import OF_CHANGE

_look_up = schema.look_up.c
_paper = schema.paper.c
_key = schema.paper_key.c
_item = schema.digest_item.c
_has = schema.subscription_topic.c

NOTHING = Answered()


class Purpose(StrEnum):
    """The reason for asking a service about a paper, by the name of its table."""

    GAPS = "look_up"
    CHANGES = "saved_look_up"


def _table(purpose: Purpose) -> sa.Table:
    return schema.metadata.tables[purpose.value]


class JoinedBy(msgspec.Struct, frozen=True):
    """A paper that the answer of a service joined with another stored one."""

    paper: int
    service: str
    when: datetime


def unasked(
    tx: Transaction,
    since: datetime,
    limit: int,
    below: int | None = None,
    subscription: str | None = None,
) -> list[int]:
    """Return papers that wait for a digest and were never looked up, newest first.

    Of those that were news since a time, with ids below one, the papers that may lack something:
    `missing` in `monitor/pipeline/missing_fields.py` decides. With `subscription`, only those that
    wait for its digest.
    """
    sent = sa.exists().where(_item.subscription == _has.subscription, _item.paper_id == _paper.id)
    query = (
        sa.select(_paper.id)
        .select_from(schema.change)
        .join(schema.match, OF_CHANGE)
        .join(schema.subscription_topic, _has.topic == schema.match.c.topic)
        .join(schema.paper, _paper.id == schema.match.c.paper_id)
        .where(
            schema.change.c.at >= since,
            _paper.purged_at.is_(None),
            *([] if below is None else [_paper.id < below]),
            *([] if subscription is None else [_has.subscription == subscription]),
            _may_lack(),
            ~sent,
            ~sa.exists().where(_look_up.paper_id == _paper.id),
        )
        .distinct()
        .order_by(_paper.id.desc())
        .limit(limit)
    )
    return list(tx.scalars(query))


def _may_lack() -> sa.ColumnElement[bool]:
    return sa.or_(
        _paper.url == "",
        sa.cast(_paper.authors, sa.Text) == "[]",
        sa.and_(_paper.published_at.is_(None), _paper.year.is_(None)),
        ~sa.exists().where(_key.paper_id == _paper.id, _key.scheme != LINK),
    )


def of_papers(
    tx: Transaction, ids: Iterable[int], purpose: Purpose = Purpose.GAPS
) -> dict[int, list[LookUp]]:
    """Return what was asked about papers, by paper, in the order of asking."""
    rows: dict[int, list[LookUp]] = defaultdict(list)
    table = _table(purpose)
    query = sa.select(table).where(among(table.c.paper_id, ids))
    for row in tx.execute(query.order_by(table.c.asked_at, table.c.service)):
        rows[row.paper_id].append(_to_look_up(row))
    return rows


def due(
    tx: Transaction, service: str, now: datetime, limit: int, only: Collection[int] = ()
) -> list[LookUp]:
    """Return the look-ups at a service that are due, of all papers or some, the first first."""
    query = sa.select(schema.look_up).where(_look_up.service == service, _look_up.due_at <= now)
    if only:
        query = query.where(among(_look_up.paper_id, only))
    rows = tx.execute(query.order_by(_look_up.due_at, _look_up.paper_id.desc()).limit(limit))
    return list(map(_to_look_up, rows))


def is_open(tx: Transaction, ids: Iterable[int], until: datetime) -> bool:
    """Return whether one of some papers is asked about now, or will be before a moment."""
    asking = _look_up.state == LookUpState.ASKING.value
    waiting = sa.and_(_look_up.state == LookUpState.WAITING.value, _look_up.due_at <= until)
    open_ = sa.select(_look_up.paper_id).where(among(_look_up.paper_id, ids))
    return tx.execute(open_.where(sa.or_(asking, waiting)).limit(1)).first() is not None


def take_out_keys(tx: Transaction, paper_id: int, schemes: Collection[str]) -> None:
    """Delete the identifiers of a paper that were looked up."""
    for table in (schema.paper_key, schema.common_key):
        looked_up = table.c.claim == Claim.LOOKED_UP.value, among(table.c.scheme, schemes)
        tx.execute(sa.delete(table).where(table.c.paper_id == paper_id, *looked_up))


def make_unsent(tx: Transaction, paper_id: int) -> None:
    """Take a paper out of the digests that had another one, so that it is sent with the next."""
    tx.execute(sa.delete(schema.digest_item).where(_item.paper_id == paper_id))


def is_in_digest(tx: Transaction, paper_id: int) -> bool:
    """Return whether a paper was ever in a digest."""
    query = sa.select(_item.paper_id).where(_item.paper_id == paper_id)
    return tx.execute(query.limit(1)).first() is not None


def wait(tx: Transaction, rows: Iterable[tuple[int, str]], due_at: datetime) -> None:
    """Let papers wait for their turn at services: rows are (paper id, service)."""
    insert_new(
        tx,
        schema.look_up,
        [
            {
                "paper_id": id,
                "service": service,
                "state": LookUpState.WAITING.value,
                "attempts": 0,
                "owner": "",
                "due_at": due_at,
            }
            for id, service in rows
        ],
    )


def begin(
    tx: Transaction,
    asked: Iterable[LookUp],
    owner: str,
    now: datetime,
    due_again: datetime,
    purpose: Purpose = Purpose.GAPS,
) -> list[LookUp]:
    """Record that an owner asks about papers, and return those that no other owner asks about.

    After a crash they are due again at a later time, and this counts as an attempt.
    """
    expected = {(one.paper_id, one.service): one for one in asked}
    if not expected:
        return []
    table = _table(purpose)
    columns = table.c.paper_id, table.c.service, table.c.due_at, table.c.attempts
    of_papers = among(table.c.paper_id, {id for id, _ in expected})
    rows = tx.execute(sa.select(*columns).where(of_papers).with_for_update())
    unchanged = {
        (row.paper_id, row.service)
        for row in rows
        if (one := expected.get((row.paper_id, row.service)))
        and (one.due_at, one.attempts) == (row.due_at, row.attempts)
    }
    begun = [
        msgspec.structs.replace(
            one,
            state=LookUpState.ASKING,
            attempts=one.attempts + 1,
            owner=owner,
            asked_at=now,
            due_at=due_again,
        )
        for place, one in expected.items()
        if place in unchanged
    ]
    values = [
        {
            "of": one.paper_id,
            "at": one.service,
            "state": one.state.value,
            "attempts": one.attempts,
            "owner": owner,
            "asked_at": now,
            "due_at": due_again,
        }
        for one in begun
    ]
    if values:
        tx.execute(_update(purpose), values)
    return begun


def settle(
    tx: Transaction,
    asked: LookUp,
    state: LookUpState,
    answered: Answered = NOTHING,
    due_at: datetime | None = None,
    purpose: Purpose = Purpose.GAPS,
) -> None:
    """Record what became of a look-up; one that is tried again is `due_at` a time."""
    settle_all(tx, [(asked, state, answered)], due_at, purpose)


def settle_all(
    tx: Transaction,
    settled: Iterable[tuple[LookUp, LookUpState, Answered]],
    due_at: datetime | None = None,
    purpose: Purpose = Purpose.GAPS,
) -> None:
    """Record what became of look-ups; those that are tried again are `due_at` a time."""
    values = [
        {
            "of": asked.paper_id,
            "at": asked.service,
            "state": state.value,
            "attempts": asked.attempts,
            "owner": "",
            "due_at": due_at,
            "packed": _packed(answered),
        }
        for asked, state, answered in settled
    ]
    if purpose is Purpose.CHANGES:
        for row in values:
            if row["state"] != LookUpState.FAILED.value:
                row["attempts"] = 0  # the next month has its own
    if values:
        tx.execute(_update(purpose), values)


def _is_row(table: sa.Table) -> sa.ColumnElement[bool]:
    """Return the condition that a row is that of a paper `of`, `at` a service."""
    is_of_paper = table.c.paper_id == sa.bindparam("of")
    return sa.and_(is_of_paper, table.c.service == sa.bindparam("at"))


@cache  # every request runs it
def _update(purpose: Purpose) -> sa.Update:
    table = _table(purpose)
    return sa.update(table).where(_is_row(table))


_DROP = sa.delete(schema.look_up).where(_is_row(schema.look_up))


def put_back(
    tx: Transaction,
    asked: Iterable[LookUp],
    due_at: datetime,
    purpose: Purpose = Purpose.GAPS,
) -> None:
    """Let look-ups wait again that were begun, and of which nothing was sent."""
    for one in asked:
        row = sa.update(_table(purpose)).filter_by(paper_id=one.paper_id, service=one.service)
        waiting = {"state": LookUpState.WAITING.value, "attempts": one.attempts - 1}
        tx.execute(row.values(waiting | {"owner": "", "asked_at": None, "due_at": due_at}))


def put_off(
    tx: Transaction, service: str, until: datetime, purpose: Purpose = Purpose.GAPS
) -> None:
    """Let what waits for a service wait until a time."""
    table = _table(purpose)
    waiting = sa.update(table).where(
        table.c.service == service,
        table.c.due_at < until,
        table.c.state == LookUpState.WAITING.value,
    )
    tx.execute(waiting.values(due_at=until))


def drop(tx: Transaction, look_ups: Iterable[LookUp]) -> None:
    """Forget look-ups that are not needed any more."""
    if rows := [{"of": one.paper_id, "at": one.service} for one in look_ups]:
        tx.execute(_DROP, rows)


def forget(tx: Transaction, paper_id: int, service: str = "") -> None:
    """Forget what was asked about a paper, of one service or all, so that it is asked once more.

    What was filled in, and what a person took out again, stays.
    """
    states = (LookUpState.REFUSED, LookUpState.ASKING, *FILLED_IN)
    kept = [state.value for state in states]
    gone = sa.delete(schema.look_up).where(
        _look_up.paper_id == paper_id, _look_up.state.not_in(kept)
    )
    tx.execute(gone.where(_look_up.service == service) if service else gone)


def may_lack(tx: Transaction, limit: int) -> list[int]:
    """Return the newest papers that may lack a link, an identifier, authors or a date."""
    query = sa.select(_paper.id).where(_may_lack(), _paper.purged_at.is_(None))
    return list(tx.scalars(query.order_by(_paper.id.desc()).limit(limit)))


def move(tx: Transaction, into: Mapping[int, int]) -> None:
    """Move the look-ups of merged papers to those that are kept; of two with a service, one."""
    for table in map(_table, Purpose):
        rows = tx.execute(sa.select(table).where(among(table.c.paper_id, into)))
        insert_new(tx, table, [row._asdict() | {"paper_id": into[row.paper_id]} for row in rows])


def open_elsewhere(tx: Transaction, names: Collection[str]) -> list[LookUp]:
    """Return the open look-ups at services that are not among some names."""
    is_elsewhere = _look_up.due_at.is_not(None), ~among(_look_up.service, names)
    return list(map(_to_look_up, tx.execute(sa.select(schema.look_up).where(*is_elsewhere))))


def refuse(tx: Transaction, paper_id: int, service: str, now: datetime) -> None:
    """Keep a service from being asked about a paper."""
    row = {"paper_id": paper_id, "service": service, "state": LookUpState.REFUSED.value}
    insert_or_update(tx, schema.look_up, [row | {"attempts": 0, "owner": "", "asked_at": now}])


def joined_since(tx: Transaction, since: datetime) -> tuple[JoinedBy, ...]:
    """Return the papers that answers joined with others since a time, the last first."""
    joined = _look_up.state == LookUpState.JOINED.value, _look_up.asked_at >= since
    columns = _look_up.paper_id, _look_up.service, _look_up.asked_at
    rows = tx.execute(sa.select(*columns).where(*joined).order_by(_look_up.asked_at.desc()))
    return tuple(JoinedBy(*row) for row in rows)


def counts(tx: Transaction, since: datetime) -> dict[str, dict[LookUpState, int]]:
    """Return how many look-ups of each service are in each state: all open, and others since."""
    of_late = sa.or_(_look_up.due_at.is_not(None), _look_up.asked_at >= since)
    number = sa.func.count()
    query = sa.select(_look_up.service, _look_up.state, number).where(of_late)
    totals: dict[str, dict[LookUpState, int]] = defaultdict(dict)
    for service, state, total in tx.execute(query.group_by(_look_up.service, _look_up.state)):
        totals[service][LookUpState(state)] = total
    return totals


# ── papers that readers saved ──────────────────────────────────────────────────────

_saved = schema.saved_look_up.c


def unfollowed(tx: Transaction, service: str, schemes: Collection[str], limit: int) -> list[int]:
    """Return the papers that readers follow and about which a service was never to be asked.

    They have an identifier in one of some schemes.
    """
    has_row = sa.exists().where(_saved.paper_id == _paper.id, _saved.service == service)
    is_named = sa.exists().where(_key.paper_id == _paper.id, _key.scheme.in_(schemes))
    query = sa.select(_paper.id).where(
        _paper.purged_at.is_(None), judgements.is_followed(_paper.id), is_named, ~has_row
    )
    return list(tx.scalars(query.order_by(_paper.id.desc()).limit(limit)))


def follow(tx: Transaction, works: Mapping[int, Paper], service: str, now: datetime) -> None:
    """Let a service be asked about papers, by id, of which the records as they are now are kept."""
    insert_new(
        tx,
        schema.saved_look_up,
        [
            {
                "paper_id": id,
                "service": service,
                "state": LookUpState.WAITING.value,
                "attempts": 0,
                "owner": "",
                "due_at": now,
                "packed": _packed(Answered(work=work)),
            }
            for id, work in works.items()
        ],
    )


def followed(tx: Transaction) -> list[int]:
    """Return all papers that readers follow, newest first."""
    query = sa.select(_paper.id).where(
        _paper.purged_at.is_(None), judgements.is_followed(_paper.id)
    )
    return list(tx.scalars(query.order_by(_paper.id.desc())))


def due_changes(tx: Transaction, service: str, now: datetime, limit: int) -> list[LookUp]:
    """Return what a service is due to be asked about papers that readers still follow."""
    query = sa.select(schema.saved_look_up).where(
        _saved.service == service, _saved.due_at <= now, judgements.is_followed(_saved.paper_id)
    )
    rows = tx.execute(query.order_by(_saved.due_at, _saved.paper_id).limit(limit))
    return list(map(_to_look_up, rows))


def answered_before(tx: Transaction) -> list[LookUp]:
    """Return the answers with changes that are older than a reader's wish to follow the paper."""
    query = sa.select(schema.saved_look_up).where(
        _saved.state == LookUpState.REPORTED.value,
        judgements.is_followed(_saved.paper_id, since=_saved.asked_at),
    )
    return list(map(_to_look_up, tx.execute(query.order_by(_saved.paper_id, _saved.service))))


def followed_counts(tx: Transaction, services: Collection[str]) -> tuple[int, int, datetime | None]:
    """Return how many papers readers follow, about how many of these services reported a change.

    And when the last of some services was asked about one.
    """
    here = _paper.purged_at.is_(None), judgements.is_followed(_paper.id)
    of_services = among(_saved.service, services)
    reported = sa.exists().where(
        _saved.paper_id == _paper.id, of_services, _saved.state == LookUpState.REPORTED.value
    )
    count = sa.select(sa.func.count()).select_from(schema.paper).where(*here)
    asked = sa.select(sa.func.max(_saved.asked_at)).where(of_services)
    return tx.scalar(count) or 0, tx.scalar(count.where(reported)) or 0, tx.scalar(asked)


def _packed(answered: Answered) -> bytes | None:
    return None if answered == NOTHING else pack(answered)


def _to_look_up(row: Any) -> LookUp:
    return LookUp(
        row.paper_id,
        row.service,
        LookUpState(row.state),
        row.attempts,
        row.asked_at,
        row.due_at,
        row.owner,
        unpack(row.packed, Answered) if row.packed else NOTHING,
    )
