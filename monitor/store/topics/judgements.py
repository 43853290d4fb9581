"""Readers' ratings of papers, and the papers that they saved, from which an order is learned.

A person has one verdict on a paper of a topic. The same again changes nothing, another one
replaces it, and taking it back deletes the row. Of several people the sum counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from monitor.model import SAVED, UNJUDGED, UNWANTED, WANTED, Judgement, Verdict
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, fetch, insert_new, insert_or_update

_judgement = schema.judgement.c
_saved = schema.saved_paper.c
_item = schema.digest_item.c
_match = schema.match.c
_has = schema.subscription_topic.c


def judge(tx: Transaction, answers: Iterable[Judgement]) -> None:
    """Store answers, `SAVED` ones as saved papers."""
    answers = list(answers)
    rated = [_row(a) | {"verdict": a.verdict} for a in answers if a.verdict != SAVED]
    now: dict[str, Any] = {name: sa.literal_column(f"excluded.{name}") for name in ("at", "how")}
    insert_or_update(tx, schema.judgement, rated, ["verdict"], only_changed=True, **now)
    insert_new(tx, schema.saved_paper, [_row(a) for a in answers if a.verdict == SAVED])


def take_back(tx: Transaction, answers: Iterable[Judgement]) -> None:
    for answer in answers:
        table = schema.saved_paper if answer.verdict == SAVED else schema.judgement
        tx.execute(sa.delete(table).filter_by(**dict(zip(_KEY, _key(answer), strict=True))))


def forget(tx: Transaction, subscription: str, topic: str | None = None) -> int:
    """Delete all answers and examples of a subscription, or of one of its topics."""
    wanted = {"subscription": subscription} | ({} if topic is None else {"topic": topic})
    tables = schema.judgement, schema.saved_paper, schema.example
    return sum(tx.execute(sa.delete(table).filter_by(**wanted)).rowcount for table in tables)


def listing(tx: Transaction, subscription: str | None = None) -> list[Judgement]:
    """Return all answers, or those of a subscription, oldest first."""
    if subscription is None:
        return fetch(tx, _answers(), Judgement)
    return fetch(tx, _OF_SUBSCRIPTION, Judgement, {"subscription": subscription})


def of_paper(tx: Transaction, paper_id: int) -> list[Judgement]:
    """Return all answers to a paper, oldest first."""
    return fetch(tx, _answers(paper_id=paper_id), Judgement)


def of_person(tx: Transaction, who: str) -> list[Judgement]:
    """Return all answers of a person, oldest first; case does not matter."""
    return fetch(tx, _answers(who), Judgement)


def _answers(by: str = "", **wanted: Any) -> sa.CompoundSelect[Any]:
    """Select all answers, or those of a person or with some values, oldest first."""
    names = (*_KEY, "at", "how")
    rated = sa.select(*(_judgement[name] for name in names), _judgement.verdict)
    is_saved = sa.literal(SAVED).label("verdict")
    saved = sa.select(*(schema.saved_paper.c[name] for name in names), is_saved)
    if by:
        rated, saved = (
            query.where(sa.or_(sa.func.lower(who) == by.lower(), who == by))
            for query, who in ((rated, _judgement.who), (saved, schema.saved_paper.c.who))
        )
    every = sa.union_all(rated.filter_by(**wanted), saved.filter_by(**wanted))
    return every.order_by("at", "paper_id", "topic", "who", "verdict")


_KEY = ("subscription", "topic", "paper_id", "who")
# Built once: every digest runs it, and SQLAlchemy takes longer to build it than to run it.
_OF_SUBSCRIPTION = _answers(subscription=sa.bindparam("subscription"))


def verdicts(tx: Transaction, subscription: str) -> dict[str, dict[int, Verdict]]:
    """Return the verdicts on papers by topic, oldest first: of several people the sum.

    A saved paper is wanted, unless the same person rated it.
    """
    answers = listing(tx, subscription)
    judged = {_key(answer) for answer in answers if answer.verdict != SAVED}
    totals: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for answer in answers:
        if answer.verdict != SAVED or _key(answer) not in judged:
            totals[answer.topic][answer.paper_id] += -1 if answer.verdict == UNWANTED else 1
    return {
        topic: {
            id: WANTED if total > 0 else UNWANTED if total < 0 else UNJUDGED
            for id, total in of_topic.items()
        }
        for topic, of_topic in totals.items()
    }


def shown(tx: Transaction, subscription: str, topic: str, limit: int) -> list[int]:
    """Return the papers last shown in full under a topic of a subscription, oldest first."""
    query = (
        sa.select(_item.paper_id)
        .where(_item.subscription == subscription, _item.shown_under == topic)
        .order_by(_item.digest_id.desc(), _item.paper_id.desc())
    )
    return list(tx.scalars(query.limit(limit)))[::-1]


def topics_of(tx: Transaction, paper_id: int) -> dict[str, list[str]]:
    """Return by subscription its topics that a paper matches, or under which it was shown."""
    matched = (
        sa.select(_has.subscription, _has.topic)
        .join(schema.match, _match.topic == _has.topic)
        .where(_match.paper_id == paper_id)
    )
    was_shown = sa.select(_item.subscription, _item.shown_under).where(
        _item.paper_id == paper_id, _item.shown_under != ""
    )
    topics: dict[str, list[str]] = defaultdict(list)
    for subscription, topic in sorted(map(tuple, tx.execute(matched.union(was_shown)))):
        topics[subscription].append(topic)
    return dict(topics)


def is_judged(paper_id: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    judged = sa.exists().where(_judgement.paper_id == paper_id)
    return sa.or_(judged, sa.exists().where(_saved.paper_id == paper_id))


def is_followed(
    paper_id: sa.ColumnElement[int], since: sa.ColumnElement[Any] | None = None
) -> sa.ColumnElement[bool]:
    """Whether a person saved a paper or wants more like it; with `since`, after a time."""
    wanted = [_judgement.paper_id == paper_id, _judgement.verdict == WANTED]
    saved = [_saved.paper_id == paper_id]
    if since is not None:
        wanted.append(_judgement.at > since)
        saved.append(_saved.at > since)
    return sa.or_(sa.exists().where(*wanted), sa.exists().where(*saved))


def follows(tx: Transaction, subscription: str, who: str, paper_id: int) -> bool:
    """Return whether a person, in small letters, follows a paper, or what it was merged into."""
    joined = schema.joined.c
    ids = {paper_id, *tx.scalars(sa.select(joined.paper_id).where(joined.id == paper_id))}
    return any(
        answer.who.casefold() == who and answer.subscription == subscription
        for answers in followers(tx, ids).values()
        for answer in answers
    )


def followers(tx: Transaction, paper_ids: Iterable[int]) -> dict[int, list[Judgement]]:
    """Return by paper who saved it or wants more like it, for which subscription, oldest first."""
    by_paper: dict[int, list[Judgement]] = defaultdict(list)
    for paper_id in paper_ids:
        for answer in of_paper(tx, paper_id):
            if answer.verdict in (SAVED, WANTED):
                by_paper[paper_id].append(answer)
    return dict(by_paper)


def move(tx: Transaction, into: Mapping[int, int]) -> None:
    """Give the answers to papers to those that they were merged into; of two the last counts."""
    for table in (schema.judgement, schema.saved_paper):
        lost = among(table.c.paper_id, into)
        rows = tx.execute(sa.select(table).where(lost).order_by(table.c.at)).all()
        for row in rows:
            moved = row._asdict() | {"paper_id": into[row.paper_id]}
            key = [table.c[name] == moved[name] for name in _KEY if name != "who"]
            key.append(sa.func.lower(table.c.who) == row.who.lower())
            tx.execute(sa.delete(table).where(*key, table.c.at <= row.at))
            if not tx.scalar(sa.select(sa.exists().where(*key))):
                insert_new(tx, table, [moved])


def _key(answer: Judgement) -> tuple[object, ...]:
    return tuple(getattr(answer, name) for name in _KEY)


def _row(answer: Judgement) -> dict[str, Any]:
    return dict(zip(_KEY, _key(answer), strict=True)) | {"at": answer.at, "how": answer.how}
