"""One paper: where it came from, why it was news, which topics it met, where it went out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from monitor.errors import UsageError
from monitor.identity.keys import identifiers
from monitor.match import build_index
from monitor.model import (
    MatchReason,
    Paper,
    Sighting,
    StoredPaper,
)
from monitor.pipeline import Runtime
from monitor.store import digests, identity_rulings, matches, merge_papers, papers
from monitor.store.database import Transaction
from monitor.store.papers import ChangeRow
from monitor.text import title_key


@dataclass(frozen=True, slots=True)
class TopicMet:
    topic: str
    revision: int
    score: float
    why: tuple[MatchReason, ...]


@dataclass(frozen=True, slots=True)
class ToldIn:
    subscription: str
    period: str
    revision: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A paper that turned out to be this one: its number was its own before."""

    id: int
    at: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a person has said of two names of records."""

    one: str
    other: str
    verdict: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where a paper came from, why it was news, which topics it met, and where it went out.

    The `why` of a source says by what its record was recognised, "" for who told of it first.
    """

    id: int
    title: str
    keys: Mapping[str, str | tuple[str, ...]]
    first_seen: datetime
    news_at: datetime | None
    withdrawn: bool
    sources: tuple[Sighting, ...]
    changes: tuple[ChangeRow, ...]
    topics: tuple[TopicMet, ...]
    digests: tuple[ToldIn, ...]
    joined: tuple[Joined, ...]
    rulings: tuple[Ruling, ...]


def explain(parts: Runtime, wanted: str) -> Explanation:
    """Explain the paper with this id, identifier, link or title. Raises UsageError."""
    with parts.database.reading() as tx:
        stored = named(tx, wanted)
        origin = papers.origin(tx, stored.id)
        assert origin is not None, "the paper was found in this very transaction"
        met = matches.of_paper(tx, stored.id)
        told = digests.of_paper(tx, stored.id)
        joined = merge_papers.into(tx, stored.id)
        ruled = identity_rulings.of_names(tx, identity_rulings.names_of(tx, [stored.id])[stored.id])
    names = {row.topic for row in met}
    index = build_index(topic for topic in parts.topics if topic.name in names)
    sources = [sighting.source for sighting in origin.sightings]
    return Explanation(
        id=stored.id,
        title=stored.paper.title,
        keys=stored.paper.keys,
        first_seen=stored.first_seen,
        news_at=stored.news_at,
        withdrawn=stored.paper.withdrawn,
        sources=origin.sightings,
        changes=origin.changes,
        topics=tuple(
            TopicMet(
                row.topic, row.revision, row.score, index.why(row.topic, stored.paper, sources)
            )
            for row in met
        ),
        digests=tuple(ToldIn(*row) for row in told),
        joined=tuple(Joined(id, at, why) for id, why, at in joined),
        rulings=tuple(Ruling(*row) for row in ruled),
    )


def named(tx: Transaction, wanted: str) -> StoredPaper:
    """Return the paper with this id, identifier, link or title. Raises UsageError."""
    found = _candidates(tx, wanted)
    if not found:
        raise UsageError(
            f"no paper found for {wanted!r}",
            "use an id shown by `paper-monitor papers`, an identifier, a link or a title",
        )
    if len(found) > 1:
        ids = ", ".join(str(stored.id) for stored in found)
        raise UsageError(f"several papers match {wanted!r}", f"choose one by its id: {ids}")
    return found[0]


def _candidates(tx: Transaction, wanted: str) -> list[StoredPaper]:
    number = int(wanted) if wanted.isdecimal() and len(wanted) < 19 else 0
    if number and (stored := papers.get(tx, merge_papers.led_to(tx, number))):
        return [stored]
    scheme, _, value = wanted.partition(":")
    told = Paper("", url=wanted, keys={"arxiv": wanted, "doi": wanted, scheme.lower(): value})
    by_key = (papers.by_key(tx, *pair) for pair in identifiers(told))
    found = {stored.id: stored for stored in by_key if stored}
    for pair in identifiers(told) if not found else ():
        found |= {stored.id: stored for stored in papers.by_common_key(tx, *pair)}
    if not found:
        found = {stored.id: stored for stored in papers.by_title_key(tx, title_key(wanted))}
    return list(found.values())
