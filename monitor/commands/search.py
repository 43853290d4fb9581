"""What is stored: searched with the topic language, and tried on before a topic is trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from heapq import nlargest
from itertools import chain, islice
from typing import TYPE_CHECKING

from msgspec import structs

from monitor.commands.query_bounds import (
    most_read,
    most_scored,
    refuse_too_many_words,
    too_many_papers,
)
from monitor.commands.stored_matches import (
    QueryMatcher,
    load_page,
    name_pages,
    source_names,
    with_latest_announce,
)
from monitor.commands.unseen_words import newest_papers, no_paper_has
from monitor.match import Query, find_unseen_words, parse_query, parse_topic
from monitor.model import MatchReason, Sighting, StoredPaper, Topic
from monitor.store import papers
from monitor.store.database import Transaction

if TYPE_CHECKING:
    from monitor.pipeline.runtime import Runtime

SAMPLE, NEWEST = 10, 15
WIDE_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class FoundPaper:
    """A stored paper with its sightings."""

    stored: StoredPaper
    sightings: tuple[Sighting, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """How many matches, or papers that may match, a trial of a topic looks at, the newest first.

    The best of `scored` matches are shown: a score takes longer than a match.
    """

    matching: int = 5_000
    named: int = 50_000
    scored: int = 500
    bounded: bool = False


# Takes a few seconds in a very large store.
FAR = Reach()
# Who opens a page waits: what a topic matches is estimated from fewer papers.
NEAR = Reach(1_000, 20_000, bounded=True)


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search found, newest first; `more` where it stopped before the last."""

    papers: tuple[FoundPaper, ...]
    more: bool = False


def search(
    runtime: Runtime, query: str, limit: int | None = None, *, bounded: bool = False
) -> Searched:
    """Return the newest papers that a query matches, or all; an empty one matches every paper.

    The index names the papers that may match, and those are read. Raises QueryError for a
    query that cannot be understood or, where it is `bounded`, is too wide for pages.
    """
    parsed = parse_query(query, runtime.synonyms) if query.strip() else None
    with runtime.database.reading() as tx:
        matching = _matching(tx, parsed, bounded) if parsed else _every(tx)
        found = list(islice(matching, None if limit is None else limit + 1))
        shown = found[:limit]
        seen = papers.sightings(tx, [stored.id for stored in shown])
    results = tuple(FoundPaper(stored, seen.get(stored.id, ())) for stored in shown)
    return Searched(results, len(found) > len(shown))


def _matching(tx: Transaction, query: Query, bounded: bool) -> Iterator[StoredPaper]:
    if bounded:
        refuse_too_many_words(tx, query)
    matcher = QueryMatcher(query)
    left = most_read(query)
    for ids in name_pages(tx, matcher.expression):
        left -= len(ids)
        if bounded and left < 0:
            raise too_many_papers(tx, query)
        yield from (stored for stored, _ in matcher.match(tx, ids))


def _every(tx: Transaction) -> Iterator[StoredPaper]:
    return chain.from_iterable(load_page(tx, ids) for ids in name_pages(tx, None))


@dataclass(frozen=True, slots=True)
class Day:
    day: str
    papers: int


@dataclass(frozen=True, slots=True)
class Sample:
    title: str
    why: tuple[MatchReason, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a topic finds beside another: `gained` the other lacks, `lost` only the other has."""

    query: str
    papers: int
    gained: int
    lost: int
    gained_sample: tuple[Sample, ...]
    lost_sample: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a topic would have found in the papers stored; `per_day` leaves out quiet days.

    `newest` has the ids of the newest that match.
    """

    papers: int
    share: float
    per_day: tuple[Day, ...]
    sample: tuple[Sample, ...]
    warnings: tuple[str, ...]
    compare: Comparison | None = None
    newest: tuple[int, ...] = ()


def try_topic(
    runtime: Runtime,
    query: str | Topic,
    beside: Query | None = None,
    threshold: float = 0.0,
    reach: Reach = FAR,
) -> Trial:
    """Try a query or a topic on all papers stored, beside another one where it is given.

    Raises QueryError, also for a query that is too wide for a `reach` that is bounded.
    """
    if isinstance(query, str):
        parsed = parse_query(query, runtime.synonyms, threshold)
    else:
        parsed = parse_topic(structs.replace(query, threshold=threshold or query.threshold))
    with runtime.database.reading() as tx:
        if reach.bounded:
            refuse_too_many_words(tx, parsed)
            named, scored = most_read(parsed), most_scored(parsed)
            reach = Reach(reach.matching, min(reach.named, named), min(reach.scored, scored))
        found = _find_matches(tx, QueryMatcher(parsed), reach)
        theirs = _find_matches(tx, QueryMatcher(beside), reach) if beside else None
        days = Counter(f"{day:%Y-%m-%d}" for day in found.days.values())
        return Trial(
            papers=found.papers,
            share=found.share,
            per_day=tuple(Day(day, count) for day, count in sorted(days.items())),
            sample=_best(tx, found, found.days, reach.scored),
            warnings=tuple(_warnings(tx, query, parsed, found)),
            compare=_comparison(tx, beside, found, theirs) if beside and theirs else None,
            newest=tuple(islice(found.days, NEWEST)),
        )


def _warnings(
    tx: Transaction, query: str | Topic, parsed: Query, found: TrialMatches
) -> Iterator[str]:
    """Yield what a trial says of a query that is probably not intended, and of its own reach."""
    if not isinstance(query, str):
        yield tried_as_topic(query)
    yield from map(str, parsed.warnings)
    if not found.total:
        yield "the store is empty; run `paper-monitor run` to read the sources"
    newest = newest_papers(tx)
    for words in find_unseen_words({query: parsed}, newest).values() if newest else ():
        yield no_paper_has(words, len(newest))
    if found.share > WIDE_SHARE:
        yield too_wide(found.share)
    if found.since:
        yield (
            f"only the newest {found.looked_at:,} papers were searched: "
            "the count and the share are estimated from them"
        )


def too_wide(share: float) -> str:
    return f"matches {share:.0%} of the stored papers: probably more than anyone wants to read"


def tried_as_topic(topic: Topic) -> str:
    return (
        f"“{topic.name}” is a topic name, so its query was tested: {topic.query} "
        f"(to test the words themselves, write '\"{topic.name}\"')"
    )


def find_topic(runtime: Runtime, name: str) -> Topic | None:
    """Return the configured topic of this name."""
    return next((topic for topic in runtime.topics if topic.name == name), None)


def read_query(runtime: Runtime, query: str) -> Query:
    """Read a query, or the topic that has this name. Raises QueryError."""
    topic = find_topic(runtime, query)
    return parse_topic(topic) if topic else parse_query(query, runtime.synonyms)


@dataclass(frozen=True, slots=True)
class TrialMatches:
    """When each paper that `matcher` matches was first seen, by its id; the newest first.

    `since` is the id of the oldest paper that was looked at, 0 for all; `looked_at` and `total`
    count the papers from there on, and all that are stored.
    """

    matcher: QueryMatcher
    days: Mapping[int, date]
    since: int
    looked_at: int
    total: int

    @property
    def share(self) -> float:
        return len(self.days) / self.looked_at if self.looked_at else 0.0

    @property
    def papers(self) -> int:
        return round(self.share * self.total)


def _find_matches(tx: Transaction, matcher: QueryMatcher, reach: Reach) -> TrialMatches:
    """Find the papers that a query matches: all, or the newest if there are very many."""
    days: dict[int, date] = {}
    looked_up = since = 0
    for named in name_pages(tx, matcher.expression):
        ids = named[: reach.named - looked_up]
        days |= {stored.id: stored.first_seen.date() for stored, _ in matcher.match(tx, ids)}
        looked_up += len(ids)
        if len(days) >= reach.matching or looked_up >= reach.named:
            since = ids[-1]
            break
    total = papers.count(tx)
    return TrialMatches(matcher, days, since, papers.count(tx, since) if since else total, total)


def _best(
    tx: Transaction, found: TrialMatches, ids: Iterable[int], scored: int = FAR.scored
) -> tuple[Sample, ...]:
    """Return the best of the newest matching papers, and why they matched."""
    newest = sorted(ids, reverse=True)[:scored]
    stored = papers.load(tx, newest)
    seen = papers.sightings(tx, newest)
    index = found.matcher.index
    candidates = [with_latest_announce(stored[id].paper, seen.get(id, ())) for id in newest]
    sources = [source_names(seen.get(id, ())) for id in newest]
    at, _, scores = index.scores(candidates, sources=sources)
    ranked = zip(scores.tolist(), at.tolist(), strict=True)
    best = nlargest(SAMPLE, ranked, key=lambda one: (one[0], newest[one[1]]))
    return tuple(
        Sample(candidates[place].title, index.why("", candidates[place], sources[place]))
        for _, place in best
    )


def _comparison(
    tx: Transaction, beside: Query, found: TrialMatches, theirs: TrialMatches
) -> Comparison:
    since = max(found.since, theirs.since)
    ours, others = ({id for id in one.days if id >= since} for one in (found, theirs))
    gained, lost = ours - others, others - ours
    return Comparison(
        query=beside.text,
        papers=theirs.papers,
        gained=len(gained),
        lost=len(lost),
        gained_sample=_best(tx, found, gained),
        lost_sample=_best(tx, theirs, lost),
    )
