"""A topic tried on the stored papers: how many match it and each of its parts, and which best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import structs

from monitor.commands.paper_search import QueryMatcher, as_matched, batches, load_page
from monitor.commands.query_bounds import most_read, most_scored, refuse_too_many_words
from monitor.match import (
    Query,
    TopicIndex,
    find_unseen_words,
    parse_query,
    parse_topic,
    split_parts,
)
from monitor.model import DayCount, MatchReason, Paper, Topic, fill_days
from monitor.store.engine.database import Transaction
from monitor.store.papers import papers, search

if TYPE_CHECKING:
    from monitor.pipeline.runtime import Runtime

SAMPLE, NEWEST = 10, 15
WIDE_SHARE = 0.05


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
# Pages estimate from fewer papers.
NEAR = Reach(1_000, 20_000, bounded=True)


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
    """How many papers a topic matches that another does not (`gained`), and vice versa (`lost`)."""

    query: str
    papers: int
    gained: int
    lost: int
    gained_sample: tuple[Sample, ...]
    lost_sample: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """The matches of a topic among the stored papers; `per_day` leaves out quiet days.

    `newest` has the ids of the newest that match.
    """

    papers: int
    share: float
    per_day: tuple[Day, ...]
    sample: tuple[Sample, ...]
    warnings: tuple[str, ...]
    compare: Comparison | None = None
    newest: tuple[int, ...] = ()

    @property
    def days(self) -> tuple[DayCount, ...]:
        """The matches of each day up to the last one that had some."""
        counts = {date.fromisoformat(day.day): day.papers for day in self.per_day}
        return fill_days(counts, max(counts, default=date.min))


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
        matched = _find_matches(tx, QueryMatcher(parsed), reach)
        theirs = _find_matches(tx, QueryMatcher(beside), reach) if beside else None
        days = Counter(f"{day:%Y-%m-%d}" for day in matched.days.values())
        return Trial(
            papers=matched.papers,
            share=matched.share,
            per_day=tuple(Day(day, count) for day, count in sorted(days.items())),
            sample=_best(tx, matched, matched.days, reach.scored),
            warnings=tuple(_warnings(tx, query, parsed, matched)),
            compare=_comparison(tx, beside, matched, theirs) if beside and theirs else None,
            newest=tuple(islice(matched.days, NEWEST)),
        )


def _warnings(
    tx: Transaction, query: str | Topic, parsed: Query, matched: TrialMatches
) -> Iterator[str]:
    """Yield warnings of what is probably not intended in a query, and of the trial's own bounds."""
    if not isinstance(query, str):
        yield tried_as_topic(query)
    yield from map(str, parsed.warnings)
    if not matched.total:
        yield "the store is empty; run `paper-monitor run` to read the sources"
    newest = newest_papers(tx)
    for words in find_unseen_words({query: parsed}, newest).values() if newest else ():
        yield no_paper_has(words, len(newest))
    if matched.share > WIDE_SHARE:
        yield too_wide(matched.share)
    if matched.since:
        yield (
            f"only the newest {matched.looked_at:,} papers were searched: "
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
    for _, _, named in batches(tx, matcher):
        ids = named[: reach.named - looked_up]
        days |= {stored.id: stored.first_seen.date() for stored in matcher.match(tx, ids)}
        looked_up += len(ids)
        if len(days) >= reach.matching or looked_up >= reach.named:
            since = ids[-1]
            break
    total = papers.count(tx)
    return TrialMatches(matcher, days, since, papers.count(tx, since) if since else total, total)


def _best(
    tx: Transaction, matched: TrialMatches, ids: Iterable[int], scored: int = FAR.scored
) -> tuple[Sample, ...]:
    """Return the best of the newest matching papers, and why they matched."""
    newest = sorted(ids, reverse=True)[:scored]
    stored = papers.load(tx, newest)
    candidates, sources = as_matched(tx, [stored[id] for id in newest])
    index = matched.matcher.index
    positions, _, scores = index.scores(candidates, sources=sources)
    # Of equal scores, the newest is first.
    ranked = zip(scores.tolist(), (-positions).tolist(), strict=True)
    best = [-position for _, position in nlargest(SAMPLE, ranked)]
    return tuple(
        Sample(candidates[at].title, index.why("", candidates[at], sources[at])) for at in best
    )


def _comparison(
    tx: Transaction, beside: Query, matched: TrialMatches, theirs: TrialMatches
) -> Comparison:
    since = max(matched.since, theirs.since)
    ours, others = ({id for id in side.days if id >= since} for side in (matched, theirs))
    gained, lost = ours - others, others - ours
    return Comparison(
        query=beside.text,
        papers=theirs.papers,
        gained=len(gained),
        lost=len(lost),
        gained_sample=_best(tx, matched, gained),
        lost_sample=_best(tx, theirs, lost),
    )


# Papers in which the words of a query are looked up.
SPELLING_PAPERS = 2_000


def newest_papers(tx: Transaction) -> list[Paper]:
    """Return the newest papers that are stored: title and abstract of each."""
    ids = search.newest(tx, None, None, SPELLING_PAPERS)
    return [Paper(title, abstract=abstract) for title, abstract in papers.texts(tx, ids).values()]


def no_paper_has(words: Sequence[str], papers: int) -> str:
    """Name words that none of the newest papers has."""
    named = " or ".join(f"“{word}”" for word in words)
    among = (
        f"the newest {papers:,} papers" if papers == SPELLING_PAPERS else f"the {papers:,} papers"
    )
    return f"none of {among} stored has {named}; check the spelling"


NEARLY_ALL = 0.9
# Fewer papers say little about a part.
_ENOUGH = 20


@dataclass(frozen=True, slots=True)
class PartCount:
    """A part of a query as it is written, where it begins, and how many papers it matches.

    What is excluded is counted alike: these papers have it.
    """

    text: str
    position: int
    papers: int
    is_excluded: bool = False


@dataclass(frozen=True, slots=True)
class PartCounts:
    """The parts of a query in their order, and the whole; `looked_at` is how many were tried."""

    parts: tuple[PartCount, ...]
    papers: int
    looked_at: int

    @property
    def share(self) -> float:
        """Return which part of the papers looked at the whole query matches."""
        return self.papers / self.looked_at if self.looked_at >= _ENOUGH else 0.0

    def is_everywhere(self, part: PartCount) -> bool:
        """Return whether a part says next to nothing: nearly every paper matches it."""
        return self.looked_at >= _ENOUGH and part.papers >= NEARLY_ALL * self.looked_at


def count_parts(runtime: Runtime, query: str, most: int) -> PartCounts:
    """Count the papers of each part of a query, or of the topic of that name. Raises QueryError.

    Of the newest papers, `most` are looked at; fewer where each of them takes long.
    """
    whole = read_query(runtime, query)
    parts = split_parts(whole)
    index = TopicIndex({-1: whole, **{number: part.query for number, part in enumerate(parts)}})
    with runtime.database.reading() as tx:
        # Each part is matched twice, alone and in the whole.
        newest = search.newest(tx, None, None, min(most, max(most_read(whole) // 2, 1)))
        texts, sources = as_matched(tx, load_page(tx, newest))
    _, numbers = index.pairs(texts, sources)
    counts = Counter(index.name(number) for number in numbers.tolist())
    return PartCounts(
        parts=tuple(
            PartCount(part.text, part.position, counts[number], part.is_excluded)
            for number, part in enumerate(parts)
        ),
        papers=counts[-1],
        looked_at=len(newest),
    )
