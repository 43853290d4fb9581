"""Matches: changes to be matched, active topics, and which topics matched which changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from msgspec import structs

from monitor.model import Change, ChangeKind, MatchRow, StoredPaper, Topic
from monitor.store.engine import heartbeats, schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_new, insert_or_update
from monitor.store.engine.sql import among, earlier, fetch
from monitor.store.papers import papers, sightings
from monitor.store.topics import subscriptions

LATELY = timedelta(days=7)
# Papers seldom change more often than this within a feed.
_CHANGES_EACH = 10

_paper = schema.paper.c
_change = schema.change.c
_match = schema.match.c
_topic = schema.topic.c
_TOPICS = "topics"
_has = schema.subscription_topic.c
# About three kilobytes each.
MOST_CHANGES_READ = 16_384
# The paper's id, its revision, the kind of the change, and its time.
ChangeRow = tuple[int, int, str, datetime]

OF_CHANGE = sa.and_(_change.paper_id == _match.paper_id, _change.revision == _match.revision)


def changes_to_match(tx: Transaction, limit: int) -> list[Change]:
    """Return the next changes that were not matched yet, by paper and revision."""
    return _changes(tx, _change.matched_at.is_(None), limit)


def unmatched_since(tx: Transaction) -> datetime | None:
    """Return the time of the oldest change that waits to be matched, None if there is none."""
    # Grouped, since for a plain minimum SQLite walks through the index by time from its start.
    waits = _change.matched_at.is_(None)
    oldest = sa.select(sa.func.min(_change.at)).where(waits).group_by(_change.matched_at)
    since: datetime | None = tx.scalar(oldest)
    return since


def matched_news(
    tx: Transaction, at: datetime, after: tuple[int, int] | None, limit: int
) -> list[Change]:
    """Return the changes since a time that were matched, page by page.

    `after` is the (paper id, revision) of the last one on the page before.
    """
    wanted = sa.and_(_change.at >= at, _change.matched_at.is_not(None))
    if after is not None:
        wanted &= sa.tuple_(_change.paper_id, _change.revision) > sa.tuple_(*after)
    return _changes(tx, wanted, limit)


def newest(tx: Transaction, limit: int) -> list[Change]:
    """Return a change of each of the newest papers that were news."""
    ids = sa.select(_change.paper_id).distinct().order_by(_change.paper_id.desc()).limit(limit)
    newest_ids = tx.scalars(ids).all()
    rows = tx.execute(sa.select(schema.change).where(among(_change.paper_id, newest_ids)))
    return load(tx, list({row.paper_id: row for row in rows}.values()))


def save(
    tx: Transaction,
    changes: Iterable[tuple[int, int]],
    matches: Iterable[MatchRow],
    now: datetime,
) -> None:
    """Write the matches of a batch of (paper id, revision), and mark these as matched.

    A second call changes nothing.
    """
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
    changed = [topic for topic in topics if _differs(known.pop(topic.name, None), _row(topic))]
    return changed, sorted(known)


def queries(tx: Transaction) -> dict[str, str]:
    """Return the query of each active topic by name. Stores of every version have these."""
    return {row.name: row.query for row in tx.execute(sa.select(_topic.name, _topic.query))}


def activate_topics(
    tx: Transaction,
    changed: Iterable[Topic],
    gone: Collection[str],
    now: datetime,
    *,
    keep_matches: bool = False,
) -> None:
    """Activate new or changed topics, and deactivate all others.

    The matches of removed topics are deleted, unless these may soon return; digests with them stay
    as they are.
    """
    if gone:
        if not keep_matches:
            tx.execute(sa.delete(schema.match).where(among(_match.topic, gone)))
        tx.execute(sa.delete(schema.topic).where(among(_topic.name, gone)))
    rows = [_row(topic) | {"in_force_since": now} for topic in changed]
    insert_or_update(tx, schema.topic, rows)
    heartbeats.beat(tx, _TOPICS, datetime.now(UTC))


def activated_at(tx: Transaction) -> datetime | None:
    """Return a mark that changes whenever topics are activated; None at first."""
    return heartbeats.last_beat(tx, _TOPICS)


def look_back(tx: Transaction, topics: Sequence[Topic], now: datetime) -> dict[str, datetime]:
    """Return from which time each new or changed topic is matched against stored papers.

    That is the time of its `since`, or earlier if a subscription still waits for something that it
    matched before: a monthly digest loses nothing when a topic is corrected. The topics need not be
    active yet. Takes one statement for each `since`.
    """
    starts = {topic.name: now - topic.since for topic in topics}
    for since in {topic.since for topic in topics}:
        names = [topic.name for topic in topics if topic.since == since]
        for name, waiting in tx.execute(_waiting(names, since)):
            starts[name] = min(starts[name], waiting)
    return starts


def _waiting(names: Iterable[str], since: timedelta) -> sa.Select[Any]:
    """Select the oldest unsent change that each topic matched."""
    start = earlier(_has.since, sa.literal(int(since.total_seconds())))
    return (
        sa.select(_match.topic, sa.func.min(_change.at))
        .join_from(schema.match, schema.change, OF_CHANGE)
        .join(schema.subscription_topic, _has.topic == _match.topic)
        .where(among(_match.topic, names), _change.at >= start, ~_announced())
        .group_by(_match.topic)
    )


def _announced() -> sa.Exists:
    item = schema.digest_item.c
    return sa.exists().where(
        item.subscription == _has.subscription,
        item.paper_id == _match.paper_id,
        item.revision >= _match.revision,
    )


def replace_unsent(
    tx: Transaction, starts: Mapping[str, datetime], matches: Iterable[MatchRow], now: datetime
) -> None:
    """Replace the matches of topics since their `look_back`.

    Matches in a digest that was sent stay sent: `unsent_matches` leaves them out. Takes one
    statement for each time.
    """
    for start in set(starts.values()):
        names = [name for name, its in starts.items() if its == start]
        again = sa.select(_change.paper_id).where(OF_CHANGE, _change.at >= start)
        of_topics = among(_match.topic, names)
        tx.execute(sa.delete(schema.match).where(of_topics, again.exists()))
    _insert(tx, matches, now)


def moments(tx: Transaction, topic: str, since: datetime) -> list[tuple[int, datetime]]:
    """Return the papers that a topic matched since a time, with the time of each change."""
    query = sa.select(_match.paper_id, _change.at).join_from(schema.match, schema.change, OF_CHANGE)
    rows = tx.execute(query.where(_match.topic == topic, _change.at >= since))
    return [(row.paper_id, row.at) for row in rows]


def of_paper(tx: Transaction, paper_id: int) -> list[MatchRow]:
    """Return the topics that each revision of a paper matched."""
    of_paper = sa.select(schema.match).filter_by(paper_id=paper_id)
    return fetch(tx, of_paper.order_by(_match.revision, _match.topic), MatchRow)


def recent_counts(tx: Transaction, now: datetime) -> Mapping[str, int]:
    """Return how many papers first seen in the last seven days each topic matched."""
    first = tx.scalar(
        sa.select(_paper.id)
        .where(_paper.first_seen_at > now - LATELY)
        .order_by(_paper.first_seen_at, _paper.id)
        .limit(1)
    )
    if first is None:
        return {}
    counted = sa.select(_match.topic, sa.func.count(_match.paper_id.distinct()))
    rows = tx.execute(counted.where(_match.paper_id >= first).group_by(_match.topic))
    return {row[0]: row[1] for row in rows}


def newest_papers(tx: Transaction, topic: str, limit: int) -> list[StoredPaper]:
    """Return the newest papers that a topic matched, newest first."""
    ids = sa.select(_match.paper_id).where(_match.topic == topic).distinct()
    newest = list(tx.scalars(ids.order_by(_match.paper_id.desc()).limit(limit)))
    stored = papers.load(tx, newest)
    return [stored[id] for id in newest if id in stored]


def newest_news(
    tx: Transaction, topics: Collection[str], since: datetime, limit: int
) -> list[tuple[StoredPaper, datetime]]:
    """Return the papers whose changes since a time some topics matched, with the time of the last.

    The newest change comes first.
    """
    matched = sa.exists().where(OF_CHANGE, among(_match.topic, topics))
    rows = tx.execute(
        sa.select(_change.paper_id, _change.at)
        .where(_change.at >= since, matched)
        .order_by(_change.at.desc(), _change.paper_id.desc())
        .limit(_CHANGES_EACH * limit)
    )
    last: dict[int, datetime] = {}
    for row in rows:
        if len(last) < limit:
            last.setdefault(row.paper_id, row.at)
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
    }


def _differs(known: Any, row: dict[str, Any]) -> bool:
    return known is None or any(getattr(known, name) != value for name, value in row.items())


def _insert(tx: Transaction, matches: Iterable[MatchRow], now: datetime) -> None:
    """Write matches, except of papers that were merged or purged meanwhile."""
    matches = list(matches)
    changed = sa.select(_change.paper_id, _change.revision).where(
        among(_change.paper_id, (match.paper_id for match in matches))
    )
    there = set(map(tuple, tx.execute(changed.with_for_update(key_share=True, read=True))))
    rows: list[dict[str, Any]] = [
        structs.asdict(match) | {"matched_at": now}
        for match in matches
        if (match.paper_id, match.revision) in there
    ]
    insert_new(tx, schema.match, rows)
    if rows:
        subscriptions.wake_immediate(tx, {row["topic"] for row in rows}, now)


def _changes(tx: Transaction, wanted: sa.ColumnElement[bool], limit: int) -> list[Change]:
    ordered = sa.select(schema.change).where(wanted).order_by(_change.paper_id, _change.revision)
    return load(tx, tx.execute(ordered.limit(limit)).all())


class ChangesRead:
    """Changes read in one run: several subscriptions have the same in their digests."""

    def __init__(self) -> None:
        self._known: dict[ChangeRow, Change] = {}

    def read(self, tx: Transaction, rows: Sequence[ChangeRow]) -> list[Change]:
        """Return changes with their papers as they are now, or were in this run."""
        missing = [row for row in rows if row not in self._known]
        if len(self._known) + len(missing) > MOST_CHANGES_READ:
            self._known, missing = {}, list(rows)
        self._known.update(zip(missing, _read(tx, missing), strict=True))
        return [self._known[row] for row in rows]


def load(tx: Transaction, rows: Iterable[Any]) -> list[Change]:
    """Return rows of the change table with their papers as they are now."""
    return _read(tx, [(row.paper_id, row.revision, row.kind, row.at) for row in rows])


def _read(tx: Transaction, rows: Sequence[ChangeRow]) -> list[Change]:
    """Return changes with their papers, whose `announce` is that of the source seen last."""
    ids = {row[0] for row in rows}
    stored_papers, seen = papers.load(tx, ids), sightings.last_announcements(tx, ids)
    read = {}
    for id, stored in stored_papers.items():
        announce, sources = seen.get(id, ("", ()))
        paper = structs.replace(stored.paper, announce=announce) if announce else stored.paper
        read[id] = structs.replace(stored, paper=paper), sources
    return [
        Change(read[id][0], revision, ChangeKind(kind), at, read[id][1])
        for id, revision, kind, at in rows
    ]
