"""What is stored: searched with the topic language, and tried on before a topic is trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from heapq import nlargest
from itertools import chain, islice

from msgspec import structs

from monitor.commands.unseen_words import newest_papers, no_paper_has
from monitor.match import (
    Match,
    Query,
    TopicIndex,
    build_prefilter,
    find_unseen_words,
    parse_query,
    parse_topic,
    search_expression,
)
from monitor.match.tree import Label, every_leaf
from monitor.model import MatchReason, Paper, SearchExpr, Sighting, StoredPaper, Topic
from monitor.pipeline import Runtime
from monitor.store import papers
from monitor.store import search as search_index
from monitor.store.database import Transaction

PAGE = 100
LONGEST_PAGE = 2_000
# So many are named at once after the first page: to begin again costs the more the rarer they are.
AT_ONCE = 20_000
SAMPLE = 10
# The best are looked for among so many of the newest: a score takes longer than a match.
SCORED = 500
WIDE_SHARE = 0.05
# A topic is tried on the newest papers that are so many: that takes a few seconds.
MOST_MET = 5_000
MOST_NAMED = 50_000


@dataclass(frozen=True, slots=True)
class FoundPaper:
    """A stored paper and where each source told of it."""

    stored: StoredPaper
    sightings: tuple[Sighting, ...]


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search found, newest first; `more` where it stopped before the last."""

    papers: tuple[FoundPaper, ...]
    more: bool = False


def search(parts: Runtime, query: str, limit: int | None = None) -> Searched:
    """Return the newest papers that a query meets, or all; an empty one is met by every paper.

    The index names the papers that may meet it, and those are read. Raises QueryError for a
    query that cannot be understood.
    """
    asked = parse_query(query, parts.synonyms) if query.strip() else None
    with parts.database.reading() as tx:
        met = (stored for stored, _ in _meeting(tx, asked)) if asked else _every(tx)
        found = list(islice(met, None if limit is None else limit + 1))
        shown = found[:limit]
        seen = papers.sightings(tx, [stored.id for stored in shown])
    told = tuple(FoundPaper(stored, seen.get(stored.id, ())) for stored in shown)
    return Searched(told, len(found) > len(shown))


def _every(tx: Transaction) -> Iterator[StoredPaper]:
    return chain.from_iterable(page for _, page in _pages(tx, None))


def _meeting(tx: Transaction, query: Query) -> Iterator[tuple[StoredPaper, Match]]:
    """Yield the papers that meet a query, the newest first."""
    return chain.from_iterable(met for _, met in _met(tx, query))


def _met(
    tx: Transaction, query: Query
) -> Iterator[tuple[list[int], list[tuple[StoredPaper, Match]]]]:
    """Yield page by page what the index names, and the papers of it that meet a query."""
    index = TopicIndex({"": query})
    asks = _asks_of_sightings(query)
    for ids, page in _pages(tx, search_expression(query.root), build_prefilter(query.root)):
        seen = papers.sightings(tx, [stored.id for stored in page]) if asks else {}
        told = [_as_told(stored.paper, seen.get(stored.id, ())) for stored in page]
        sources = [_sources(seen.get(stored.id, ())) for stored in page]
        yield ids, [(page[hit.position], hit) for hit in index.match(told, sources=sources)]


def _pages(
    tx: Transaction, wanted: SearchExpr | None, may: Callable[[str, str], bool] | None = None
) -> Iterator[tuple[list[int], list[StoredPaper]]]:
    """Yield the papers that may have what is wanted, in ever longer pages.

    Of those that the index names, what is told at a glance not to meet it is not looked at.
    """
    for ids in _ids(tx, wanted):
        kept = {id for id, *text in papers.texts(tx, ids) if may(*text)} if may else set(ids)
        stored = papers.load(tx, kept) if kept else {}
        yield ids, [stored[id] for id in ids if id in stored and not stored[id].purged]


def _ids(tx: Transaction, wanted: SearchExpr | None) -> Iterator[list[int]]:
    """Yield what the index names, in ever longer pages; it is asked anew for each `AT_ONCE`."""
    below, most, size = None, PAGE, PAGE
    while named := search_index.newest(tx, wanted, below, most):
        below, most = named[-1], AT_ONCE
        while named:
            yield named[:size]
            named, size = named[size:], min(2 * size, LONGEST_PAGE)


def _asks_of_sightings(query: Query) -> bool:
    fields = {leaf.field for leaf in every_leaf(query.root) if isinstance(leaf, Label)}
    return not fields.isdisjoint(("source", "announce"))


def _sources(seen: Sequence[Sighting]) -> tuple[str, ...]:
    return tuple(sorted({sighting.source for sighting in seen}))


def _as_told(paper: Paper, seen: Sequence[Sighting]) -> Paper:
    """A paper's `announce` is what the source that saw it last said of it."""
    last = max(seen, key=lambda sighting: sighting.last_seen, default=None)
    return structs.replace(paper, announce=last.announce) if last else paper


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
    """What a topic would have found in the papers stored; `per_day` leaves out quiet days."""

    papers: int
    share: float
    per_day: tuple[Day, ...]
    sample: tuple[Sample, ...]
    warnings: tuple[str, ...]
    compare: Comparison | None = None


def try_topic(
    parts: Runtime, query: str | Topic, beside: Query | None = None, threshold: float = 0.0
) -> Trial:
    """Try a query or a topic on all papers stored, beside another one where it is given.

    Raises QueryError.
    """
    if isinstance(query, str):
        asked = parse_query(query, parts.synonyms, threshold)
    else:
        asked = parse_topic(replace(query, threshold=threshold or query.threshold))
    with parts.database.reading() as tx:
        found = _found(tx, asked)
        theirs = _found(tx, beside) if beside else None
        days = Counter(f"{day:%Y-%m-%d}" for day in found.days.values())
        warnings = [*map(str, asked.warnings)]
        if not found.total:
            warnings.append("the store is empty; run `paper-monitor run` to read the sources")
        if not isinstance(query, str):
            warnings.insert(0, tried_as_topic(query))
        newest = newest_papers(tx)
        for words in find_unseen_words({query: asked}, newest).values() if newest else ():
            warnings.append(no_paper_has(words, len(newest)))
        if found.share > WIDE_SHARE:
            warnings.append(too_wide(found.share))
        if found.since:
            warnings.append(
                f"only the newest {found.looked_at:,} papers were searched: "
                "the count and the share are estimated from them"
            )
        return Trial(
            papers=found.papers,
            share=found.share,
            per_day=tuple(Day(day, count) for day, count in sorted(days.items())),
            sample=_best(tx, asked, found.days),
            warnings=tuple(warnings),
            compare=_comparison(tx, asked, beside, found, theirs) if beside and theirs else None,
        )


def too_wide(share: float) -> str:
    return f"matches {share:.0%} of the stored papers: probably more than anyone wants to read"


def tried_as_topic(topic: Topic) -> str:
    return (
        f"“{topic.name}” is a topic name, so its query was tested: {topic.query} "
        f"(to test the words themselves, write '\"{topic.name}\"')"
    )


def topic_named(parts: Runtime, name: str) -> Topic | None:
    """Return the configured topic of this name."""
    return next((topic for topic in parts.topics if topic.name == name), None)


def named(parts: Runtime, query: str) -> Query:
    """Read a query, or the topic that has this name. Raises QueryError."""
    topic = topic_named(parts, query)
    return parse_topic(topic) if topic else parse_query(query, parts.synonyms)


@dataclass(frozen=True, slots=True)
class _Found:
    """When each paper that a query met was first seen, by its id; the newest first.

    `since` is the id of the oldest paper that was looked at, 0 for all; `looked_at` and `total`
    count the papers from there on, and all that are stored.
    """

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


def _found(tx: Transaction, query: Query) -> _Found:
    """Find the papers that meet a query: all, or the newest where they or their words are many."""
    days: dict[int, date] = {}
    named = since = 0
    for ids, met in _met(tx, query):
        days |= {stored.id: stored.first_seen.date() for stored, _ in met}
        named += len(ids)
        if len(days) >= MOST_MET or named >= MOST_NAMED:
            since = ids[-1]
            break
    total = papers.count(tx)
    return _Found(days, since, papers.count(tx, since) if since else total, total)


def _best(tx: Transaction, query: Query, ids: Iterable[int]) -> tuple[Sample, ...]:
    """Return the best of the newest papers that met the query, and why they did."""
    newest = sorted(ids, reverse=True)[:SCORED]
    stored = papers.load(tx, newest)
    seen = papers.sightings(tx, newest)
    index = TopicIndex({"": query})
    told = [_as_told(stored[id].paper, seen.get(id, ())) for id in newest]
    hits = list(index.match(told, sources=[_sources(seen.get(id, ())) for id in newest]))
    best = nlargest(SAMPLE, hits, key=lambda hit: (hit.score, newest[hit.position]))
    return tuple(Sample(hit.paper.title, hit.why) for hit in best)


def _comparison(
    tx: Transaction, asked: Query, beside: Query, found: _Found, theirs: _Found
) -> Comparison:
    since = max(found.since, theirs.since)
    ours, others = ({id for id in one.days if id >= since} for one in (found, theirs))
    gained, lost = ours - others, others - ours
    return Comparison(
        query=beside.text,
        papers=theirs.papers,
        gained=len(gained),
        lost=len(lost),
        gained_sample=_best(tx, asked, gained),
        lost_sample=_best(tx, beside, lost),
    )
