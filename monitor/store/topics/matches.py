"""Matches: changes to be matched, active topics, and matches, sent or not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, structs

from monitor.model import Change, ChangeKind, MatchRow, StoredPaper, Topic, UnsentMatch
from monitor.store.digests.deliveries import reaches_anyone
from monitor.store.engine import processes, schema
from monitor.store.engine.database import ACTIVATION_LOCK, Transaction, lock
from monitor.store.engine.sql import Earlier, Instant, among, fetch, insert_new, insert_or_update
from monitor.store.papers import papers, sightings
from monitor.store.topics import like_words, subscriptions, word_counts

LATELY = timedelta(days=7)
# Papers seldom change more often than this within a feed.
_CHANGES_EACH = 10

_paper = schema.paper.c
_change = schema.change.c
_match = schema.match.c
_topic = schema.topic.c
_TOPICS = "topics"
_has = schema.subscription_topic.c
_item = schema.digest_item.c
# About three kilobytes each.
MOST_CHANGES_READ = 16_384


class GrownPaper(Struct, frozen=True):
    """A paper with more votes or lists than when topics that ask for these last looked at it."""

    paper_id: int
    votes: int
    lists: int


# The paper's id, its revision, the kind of the change, and its time.
ChangeRow = tuple[int, int, str, datetime]

_CHANGES = sa.select(_change.paper_id, _change.revision, _change.kind, _change.at)
OF_CHANGE = sa.and_(_change.paper_id == _match.paper_id, _change.revision == _match.revision)


def changes_to_match(tx: Transaction, limit: int) -> list[Change]:
    """Return the next changes that were not matched yet, by paper and revision."""
    return _changes(tx, _change.matched_at.is_(None), limit)


def unmatched_since(tx: Transaction) -> datetime | None:
    """Return the time of the oldest change that waits to be matched, None if there is none."""
    # Grouped, since for a plain minimum SQLite walks through the index by time from its start.
    waits = _change.matched_at.is_(None)
    oldest = sa.select(sa.func.min(_change.at)).where(waits).group_by(_change.matched_at)
    return tx.execute(oldest).scalar()


def matched_news(
    tx: Transaction, at: datetime, after: tuple[int, int] | None, limit: int
) -> list[Change]:
    """Return the next matched changes since a time, `after` a (paper id, revision)."""
    wanted = sa.and_(_change.at >= at, _change.matched_at.is_not(None))
    if after is not None:
        wanted &= sa.tuple_(_change.paper_id, _change.revision) > sa.tuple_(*after)
    return _changes(tx, wanted, limit)


def grown_papers(tx: Transaction, limit: int) -> list[GrownPaper]:
    """Return the next papers whose votes or lists grew, for topics that ask for these."""
    grown = sa.select(schema.grown).order_by(schema.grown.c.paper_id).limit(limit)
    return fetch(tx, grown, GrownPaper)


def news_of(tx: Transaction, paper_ids: Iterable[int], since: datetime) -> list[Change]:
    wanted = sa.and_(among(_change.paper_id, paper_ids), _change.at >= since)
    return _read(tx, tx.execute(_CHANGES.where(wanted)).all())


def save_grown(
    tx: Transaction, grown: Iterable[GrownPaper], matches: Iterable[MatchRow], now: datetime
) -> None:
    """Write what matched because it grew; a row that changed meanwhile stays."""
    _insert(tx, matches, now, grown_at=now)
    done = [{"of": paper.paper_id, "had": paper.votes, "was_in": paper.lists} for paper in grown]
    if done:
        tx.execute(_SAME_SIZE, done)


_SAME_SIZE = sa.delete(schema.grown).where(
    schema.grown.c.paper_id == sa.bindparam("of"),
    schema.grown.c.votes == sa.bindparam("had"),
    schema.grown.c.lists == sa.bindparam("was_in"),
)


def add(tx: Transaction, matches: Iterable[MatchRow], now: datetime) -> None:
    """Write matches of changes that were matched before."""
    _insert(tx, matches, now)


def save(
    tx: Transaction, changes: Iterable[tuple[int, int]], matches: Iterable[MatchRow], now: datetime
) -> None:
    """Write, once, the matches of a batch of (paper id, revision), and mark these as matched."""
    done = [{"of": paper_id, "at_revision": revision} for paper_id, revision in changes]
    if done:
        marked = sa.update(schema.change).where(
            _change.paper_id == sa.bindparam("of"),
            _change.revision == sa.bindparam("at_revision"),
            _change.matched_at.is_(None),
        )
        tx.execute(marked.values(matched_at=now), done)
    _insert(tx, matches, now)


def difference(tx: Transaction, topics: Sequence[Topic]) -> tuple[list[Topic], list[str]]:
    """Return the topics that are new or changed, and the names of removed ones."""
    known = {row.name: row for row in tx.execute(sa.select(schema.topic))}
    changed = [
        topic
        for topic in topics
        if (row := known.pop(topic.name, None)) is None or _is_changed(row, topic)
    ]
    return changed, sorted(known)


def _is_changed(row: sa.Row[Any], topic: Topic) -> bool:
    ours = _row(topic)
    del ours["made_from"]
    is_same = like_words.is_made_from(row.made_from, topic.like)
    return not is_same or any(getattr(row, name) != ours[name] for name in ours)


def begin_activation(tx: Transaction) -> None:
    """Wait until no other process puts topics in force, and see what it did."""
    lock(tx, ACTIVATION_LOCK)


def activate_topics(
    tx: Transaction,
    changed: Iterable[Topic],
    gone: Collection[str],
    now: datetime,
    *,
    keep_matches: bool = False,
) -> None:
    """Activate new or changed topics, and deactivate all others.

    The matches of removed topics are deleted, unless these may soon return. Digests keep theirs.
    """
    if gone:
        if not keep_matches:
            tx.execute(sa.delete(schema.match).where(among(_match.topic, gone)))
        tx.execute(sa.delete(schema.topic).where(among(_topic.name, gone)))
    rows = [_row(topic) | {"in_force_since": now} for topic in changed]
    word_counts.forget(tx, [*gone, *(row["name"] for row in rows)])
    insert_or_update(tx, schema.topic, rows)
    mark_activated(tx)


def mark_activated(tx: Transaction) -> None:
    """Let every process on the store look again at what is in force."""
    processes.beat(tx, _TOPICS, datetime.now(UTC))


def activated_at(tx: Transaction) -> datetime | None:
    """Return a mark that changes whenever topics are activated; None at first."""
    return processes.last_beat(tx, _TOPICS)


def look_back(tx: Transaction, topics: Sequence[Topic], now: datetime) -> dict[str, datetime]:
    """Return from which time each new or changed topic is matched against stored papers.

    That is the time of its `since`, or earlier if a subscription still waits for something that it
    matched before: a monthly digest loses nothing when a topic is corrected.
    """
    starts = {topic.name: now - topic.since for topic in topics}
    for since in {topic.since for topic in topics}:
        is_of_these = among(_match.topic, (topic.name for topic in topics if topic.since == since))
        start = Earlier(_has.since, sa.literal(int(since.total_seconds())))
        oldest_unsent = (
            sa.select(_match.topic, sa.func.min(_change.at))
            .join_from(schema.match, schema.change, OF_CHANGE)
            .join(schema.subscription_topic, _has.topic == _match.topic)
            .where(is_of_these, _change.at >= start, ~announced(_has.subscription).exists())
        )
        for name, waiting in tx.execute(oldest_unsent.group_by(_match.topic)):
            starts[name] = min(starts[name], waiting)
    return starts


def announced(subscription: sa.ColumnElement[str]) -> sa.Select[Any]:
    """Select the items of a subscription's digests that have what a topic matched."""
    return sa.select(_item.paper_id).where(
        _item.subscription == subscription,
        _item.paper_id == _match.paper_id,
        _item.revision >= _match.revision,
    )


def replace_unsent(
    tx: Transaction, starts: Mapping[str, datetime], matches: Iterable[MatchRow], now: datetime
) -> None:
    """Replace the matches of topics since their `look_back`; `unsent` leaves out what was sent."""
    for start in set(starts.values()):
        names = [name for name, its in starts.items() if its == start]
        again = sa.exists().where(OF_CHANGE, _change.at >= start)
        tx.execute(sa.delete(schema.match).where(among(_match.topic, names), again))
    _insert(tx, matches, now)


def moments(tx: Transaction, topic: str, since: datetime) -> list[tuple[int, datetime]]:
    """Return the papers that a topic matched since a time, with the time of each change."""
    query = sa.select(_match.paper_id, _change.at).join_from(schema.match, schema.change, OF_CHANGE)
    return list(map(tuple, tx.execute(query.where(_match.topic == topic, _change.at >= since))))


def of_paper(tx: Transaction, paper_id: int) -> list[MatchRow]:
    """Return the topics that each revision of a paper matched."""
    of_paper = sa.select(schema.match).filter_by(paper_id=paper_id)
    return fetch(tx, of_paper.order_by(_match.revision, _match.topic), MatchRow)


def recent_counts(tx: Transaction, now: datetime) -> Mapping[str, int]:
    """Return how many papers first seen in the last seven days each topic matched."""
    lately = sa.select(_paper.id).where(_paper.first_seen_at > now - LATELY)
    first = lately.order_by(_paper.first_seen_at, _paper.id).limit(1).scalar_subquery()
    counted = sa.select(_match.topic, sa.func.count(_match.paper_id.distinct()))
    recent = counted.where(_match.paper_id >= first).group_by(_match.topic)
    return dict(map(tuple, tx.execute(recent)))


def newest_ids(tx: Transaction, topic: str, limit: int) -> list[int]:
    """Return the newest papers that a topic matched, newest first."""
    ids = sa.select(_match.paper_id).where(_match.topic == topic).distinct()
    return list(tx.scalars(ids.order_by(_match.paper_id.desc()).limit(limit)))


def newest_news(
    tx: Transaction, topics: Collection[str], since: datetime, limit: int
) -> list[tuple[StoredPaper, datetime]]:
    """Return papers with the time of the last change that some topics matched, newest first."""
    matched = sa.exists().where(OF_CHANGE, among(_match.topic, topics))
    query = sa.select(_change.paper_id, _change.at).where(_change.at >= since, matched)
    newest_first = query.order_by(_change.at.desc(), _change.paper_id.desc())
    last: dict[int, datetime] = {}
    for id, at in tx.execute(newest_first.limit(_CHANGES_EACH * limit)):
        if len(last) < limit:
            last.setdefault(id, at)
    stored = papers.load(tx, last)
    return [(stored[id], at) for id, at in last.items() if id in stored and not stored[id].purged]


def _row(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "query": topic.query,
        "sources": sorted(topic.sources),
        "news": sorted(topic.news),
        "since_seconds": int(topic.since.total_seconds()),
        "threshold": topic.threshold,
        "synonyms": [list(group) for group in topic.synonyms] or None,
        "made_from": like_words.as_stored(topic.like) if topic.like else None,
    }


def _insert(
    tx: Transaction,
    matches: Iterable[MatchRow],
    now: datetime,
    grown_at: datetime | None = None,
) -> None:
    """Write matches, except of papers that were merged or purged meanwhile."""
    matches = list(matches)
    changed = sa.select(_change.paper_id, _change.revision).where(
        among(_change.paper_id, (match.paper_id for match in matches))
    )
    there = set(map(tuple, tx.execute(changed.with_for_update(key_share=True, read=True))))
    matches = [match for match in matches if (match.paper_id, match.revision) in there]
    times = {"matched_at": now, "grown_at": grown_at}
    rows = [structs.asdict(match) | times for match in matches]
    insert_new(tx, schema.match, rows)
    if matches:
        subscriptions.wake_immediate(tx, {match.topic for match in matches}, now)


def _changes(tx: Transaction, wanted: sa.ColumnElement[bool], limit: int) -> list[Change]:
    ordered = _CHANGES.where(wanted).order_by(_change.paper_id, _change.revision)
    return _read(tx, tx.execute(ordered.limit(limit)).all())


class ChangesRead:
    """Changes read in one run: several subscriptions have the same in their digests."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ChangeRow, Change]] = {}  # by the paper's id

    def read(self, tx: Transaction, rows: Sequence[ChangeRow]) -> list[Change]:
        """Return changes of different papers, with these as they are now, or were in this run."""
        known = self._known
        missing = [row for row in rows if row[0] not in known or known[row[0]][0] != row]
        if len(known) + len(missing) > MOST_CHANGES_READ:
            known.clear()
            missing = list(rows)
        for row, change in zip(missing, _read(tx, missing), strict=True):
            known[row[0]] = row, change
        return [known[row[0]][1] for row in rows]


def _read(tx: Transaction, rows: Sequence[Any]) -> list[Change]:
    """Return changes with their papers as they are now, announced as the source seen last does."""
    ids = {row[0] for row in rows}
    stored_papers = papers.load(tx, ids)
    seen = sightings.last_announcements(tx, ids)
    read = {}
    for id, stored in stored_papers.items():
        announce, sources = seen.get(id, ("", ()))
        paper = structs.replace(stored.paper, announce=announce) if announce else stored.paper
        read[id] = structs.replace(stored, paper=paper), sources
    return [
        Change(read[id][0], revision, ChangeKind(kind), at, read[id][1])
        for id, revision, kind, at in rows
    ]


def unsent(
    tx: Transaction, subscription: str, now: datetime, known: ChangesRead | None = None
) -> list[UnsentMatch]:
    """Return the matches that a subscription has not been sent, by paper and topic.

    They count from the look-back before it got each topic, and from then on where a paper matched
    because its votes or lists grew. Matches in a digest that reached no recipient are unsent,
    however old, unless they were left out. Several changes of a paper are one piece of news: its
    matches carry the newest change with the kind of the first, so that a paper never sent is new.
    Sending a revision also sends the earlier ones. `known` are changes read for other
    subscriptions.
    """
    rows = tx.execute(_UNSENT, {"subscription": subscription, "now": now}).all()
    return _news(tx, rows, known or ChangesRead())


def has_fresh(tx: Transaction, subscription: str, now: datetime) -> bool:
    """Return whether a subscription has an unsent match that is in no digest."""
    return tx.execute(_FRESH, {"subscription": subscription, "now": now}).first() is not None


def returned(tx: Transaction, subscription: str, since: datetime) -> list[StoredPaper]:
    """Return the papers of a subscription's digests that came into further lists since a time."""
    recent = sa.select(_paper.id).where(_paper.relisted_at > since)
    # SQLite would begin with all items of the subscription.
    relisted = recent.cte("relisted").prefix_with("MATERIALIZED")
    own = sa.exists().where(_item.subscription == subscription, _item.paper_id == relisted.c.id)
    shown = own.where(_item.shown_under.is_distinct_from(""))
    ids = tx.scalars(sa.select(relisted.c.id).where(shown)).all()
    stored = papers.load(tx, ids) if ids else {}  # as in most digests
    return [paper for paper in stored.values() if not paper.purged]


def waiting(tx: Transaction, subscription: str, now: datetime) -> int:
    """Return how many papers are unsent."""
    return tx.scalar(_WAITING, {"subscription": subscription, "now": now}) or 0


def newest_waiting(tx: Transaction, subscription: str, now: datetime, limit: int) -> list[int]:
    """Return the newest papers that are unsent, newest first."""
    ids = _unsent(_change.paper_id).distinct().order_by(_change.paper_id.desc()).limit(limit)
    return list(tx.scalars(ids, {"subscription": subscription, "now": now}))


def waits_since(tx: Transaction, subscription: str, now: datetime) -> datetime | None:
    """Return the time of the oldest match that is in no digest, None if there is none."""
    oldest = _unsent(sa.func.min(_match.matched_at), fresh=True)
    return tx.execute(oldest, {"subscription": subscription, "now": now}).scalar()


def _unsent(*columns: sa.ColumnElement[Any], fresh: bool = False) -> sa.Select[Any]:
    """Select unsent changes and matches of active topics, by parameters `subscription`, `now`."""
    asked = _active_topics()
    in_digest = announced(sa.bindparam("subscription"))
    settled = sa.or_(_item.shown_under == "", reaches_anyone(_item.digest_id))
    sent = in_digest if fresh else in_digest.where(settled)
    return (
        sa.select(*columns)
        .select_from(schema.change)
        .join(schema.match, OF_CHANGE)
        .join(asked, asked.c.topic == _match.topic)
        .where(
            sa.or_(
                _change.at >= asked.c.start,
                _match.grown_at >= asked.c.since,
                in_digest.exists(),
            ),
            ~sent.exists(),
        )
    )


def _active_topics() -> sa.CTE:
    """Return the active topics of a subscription, and from when each counts."""
    now = sa.bindparam("now", type_=Instant)
    since = sa.case((_has.since < now, _has.since), else_=now)
    start = Earlier(since, _topic.since_seconds).label("start")
    asked = sa.select(_has.topic, start, _has.since).join(schema.topic, _topic.name == _has.topic)
    of_subscription = asked.where(_has.subscription == sa.bindparam("subscription"))
    # SQLite would work out the time again for each match.
    return of_subscription.cte("asked").prefix_with("MATERIALIZED")


# Built once: SQLAlchemy takes as long to build them as SQLite to answer them for a small digest.
_UNSENT = _unsent(
    _change.paper_id,
    _change.revision,
    _change.kind,
    _change.at,
    _match.topic,
    _match.score,
    _match.added_by,
).order_by(_change.paper_id, _change.revision, _match.topic)
_WAITING = _unsent(sa.func.count(_change.paper_id.distinct()))
_FRESH = _unsent(_change.paper_id, fresh=True).limit(1)


def _news(tx: Transaction, rows: Sequence[Any], known: ChangesRead) -> list[UnsentMatch]:
    """Return matches by paper and topic; `rows` are in the order of papers and revisions."""
    newest: dict[int, ChangeRow] = {}
    scores: dict[tuple[int, str], float] = {}
    models: dict[tuple[int, str], str] = {}
    # Once, and by position: there are hundreds of thousands.
    for paper_id, revision, kind, at, topic, score, added_by in rows:
        earlier = newest.get(paper_id)
        if earlier is None:
            newest[paper_id] = paper_id, revision, kind, at
        elif earlier[1] != revision:
            newest[paper_id] = paper_id, revision, earlier[2], at
        match = paper_id, topic
        scores[match] = max(scores.get(match, 0.0), score)
        if added_by:
            models[match] = added_by
    changes = dict(zip(newest, known.read(tx, list(newest.values())), strict=True))
    return [
        UnsentMatch(match[1], score, changes[match[0]], models.get(match))
        for match, score in sorted(scores.items())
    ]
