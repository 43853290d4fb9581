"""Topics on the stored papers: what one and each of its parts match, and which are too wide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import date
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import structs

from monitor.clocks import SystemClock
from monitor.commands.paper_search import QueryMatcher, as_matched, batches, load_page
from monitor.commands.query_bounds import most_read, most_scored, refuse_too_many_words
from monitor.config import Settings, synonyms_of
from monitor.config.content import is_file
from monitor.errors import Fault, QueryError, StoreError
from monitor.match import (
    Query,
    QueryPart,
    TopicIndex,
    find_unseen_words,
    learned_from_text,
    parse_topic,
    split_parts,
    suggest,
)
from monitor.match.language.tree import every_leaf
from monitor.match.suggestions import Suggestion, Text, widen
from monitor.model import DayCount, MatchReason, Paper, Topic, fill_days
from monitor.pipeline import like_topics
from monitor.store.engine import schema
from monitor.store.engine.database import Database, Transaction, schema_version
from monitor.store.papers import papers, search
from monitor.store.topics import like_words

if TYPE_CHECKING:
    from monitor.pipeline.runtime import Runtime

SAMPLE = 10
NEWEST = 15
WIDE_SHARE = 0.05
WIDE_COUNT = 100
# How many matches, and papers that may match, a trial looks at, the newest first: some seconds in a
# very large store. Pages estimate from fewer papers.
MATCHING = 5_000
MATCHING_ON_PAGE = 1_000
NAMED = 50_000
NAMED_ON_PAGE = 20_000
# The best of at most 500 matches are shown: a score takes longer than a match.
SCORED = 500
# How many papers suggestions are counted among, the newest that have the words; and in how many of
# the newest, and of the newest matches, words, definitions and forms are looked for.
COUNTED = 4_000
COUNTED_ON_PAGE = 400
READ = 2_000
READ_ON_PAGE = 500
SUGGESTED = 8


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
    """The matches among the stored papers: `per_day` without quiet days, the `newest` as ids."""

    papers: int
    share: float
    per_day: Mapping[date, int]
    sample: tuple[Sample, ...]
    warnings: tuple[str, ...]
    suggestions: tuple[Suggestion, ...] = ()
    compare: Comparison | None = None
    newest: tuple[int, ...] = ()

    @property
    def days(self) -> tuple[DayCount, ...]:
        """The matches of each day up to the last one that had some."""
        return fill_days(self.per_day, max(self.per_day, default=date.min))


def try_topic(
    runtime: Runtime, topic: Topic, beside: Query | None = None, *, bounded: bool = False
) -> Trial:
    """Try a topic on all papers stored, beside another one where it is given.

    Raises QueryError, with `bounded` also for a query that is too wide for pages.
    """
    parsed = parse_topic(topic)
    with runtime.database.reading() as tx:
        matching = MATCHING
        named = NAMED
        scored = SCORED
        if bounded:
            refuse_too_many_words(tx, parsed)
            matching = MATCHING_ON_PAGE
            named = min(NAMED_ON_PAGE, most_read(parsed))
            scored = min(SCORED, most_scored(parsed))
        matched = _find_matches(tx, QueryMatcher(parsed), matching, named)
        newest = [*papers.texts(tx, search.newest(tx, None, None, READ)).values()]
        read, counted = (READ_ON_PAGE, COUNTED_ON_PAGE) if bounded else (READ, COUNTED)
        examples = papers.texts(tx, islice(matched.days, read))
        suggested = []
        for each in suggest(parsed, newest[:read], [*examples.values()]):
            with suppress(QueryError):
                suggested.append((each, parse_topic(structs.replace(topic, query=each.query))))
        theirs = _find_matches(tx, QueryMatcher(beside), matching, named) if beside else None
        return Trial(
            papers=matched.papers,
            share=matched.share,
            per_day=Counter(matched.days.values()),
            sample=_best(tx, matched, matched.days, scored),
            warnings=tuple(_warnings(topic, parsed, matched, newest)),
            suggestions=_suggestions(tx, parsed, suggested, min(counted, named)),
            compare=_comparison(tx, beside, matched, theirs) if beside and theirs else None,
            newest=tuple(islice(matched.days, NEWEST)),
        )


def _warnings(
    topic: Topic, parsed: Query, matched: TrialMatches, newest: Sequence[Text]
) -> Iterator[str]:
    """Yield warnings of what is probably not intended in a query, and of the trial's own bounds."""
    if topic.name:
        yield (
            f"“{topic.name}” is a topic name, so its query was tested: {topic.query} "
            f"(to test the words themselves, write '\"{topic.name}\"')"
        )
    yield from map(str, parsed.warnings)
    if not matched.total:
        yield "the store is empty; run `paper-monitor run` to read the sources"
    texts = [Paper(title, abstract=abstract) for title, abstract in newest]
    for words in find_unseen_words({"": parsed}, texts).values() if texts else ():
        yield no_paper_has(words, len(newest))
    if wide := too_wide(matched.papers, matched.total):
        yield wide
    if matched.since:
        yield (
            f"only the newest {matched.looked_at:,} papers were searched: "
            "the count and the share are estimated from them"
        )


def too_wide(matching: int, papers: int) -> str:
    """Return the warning of a topic that matches most of what comes; "" for any other."""
    share = matching / max(papers, 1)
    if share <= WIDE_SHARE or matching <= WIDE_COUNT:
        return ""
    return f"matches {share:.0%} of the stored papers: probably more than anyone wants to read"


def find_topic(runtime: Runtime, name: str) -> Topic | None:
    current = like_topics.find_current(runtime)
    return next((topic for topic in current if topic.name == name), None)


def unnamed_topic(runtime: Runtime, query: str) -> Topic:
    return Topic("", query, synonyms=runtime.synonyms.groups)


def topic_of(runtime: Runtime, text: str) -> Topic:
    """Return the topic with this name, else one with this query."""
    return find_topic(runtime, text) or unnamed_topic(runtime, text)


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


def _find_matches(tx: Transaction, matcher: QueryMatcher, most: int, named: int) -> TrialMatches:
    """Find the papers that a query matches: all, or the newest if there are very many."""
    days: dict[int, date] = {}
    looked_up = since = 0
    for _, _, batch in batches(tx, matcher):
        ids = batch[: named - looked_up]
        days |= {stored.id: stored.first_seen.date() for stored in matcher.match(tx, ids)}
        looked_up += len(ids)
        if len(days) >= most or looked_up >= named:
            since = ids[-1]
            break
    total = papers.count(tx)
    return TrialMatches(matcher, days, since, papers.count(tx, since) if since else total, total)


def _best(
    tx: Transaction, matched: TrialMatches, ids: Iterable[int], scored: int = SCORED
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


def _suggestions(
    tx: Transaction, query: Query, changes: Sequence[tuple[Suggestion, Query]], counted: int
) -> tuple[Suggestion, ...]:
    """Return the suggestions that add papers, those that add most first."""
    own = set(every_leaf(query.root))
    leaves = [(each, set(every_leaf(changed.root)) - own) for each, changed in changes]
    if not any(added for _, added in leaves):
        return ()
    matcher = QueryMatcher(Query("", widen(query.root, leaves)))
    ids = search.newest(tx, matcher.expression, None, counted)
    texts, sources = as_matched(tx, load_page(tx, ids))
    by_root = {changed.root: each for each, changed in reversed(changes)}
    queries: dict[Hashable, Query] = {changed.root: changed for _, changed in changes}
    index = TopicIndex(queries | {query.root: query})
    counts = Counter(index.name(number) for number in index.pairs(texts, sources)[1].tolist())
    matched = counts[query.root]
    added = (
        each._replace(papers=counts[root] - matched, looked_at=len(ids))
        for root, each in by_root.items()
        if counts[root] > matched
    )
    return tuple(sorted(added, key=lambda each: -each.papers)[:SUGGESTED])


def _comparison(
    tx: Transaction, beside: Query, matched: TrialMatches, theirs: TrialMatches
) -> Comparison:
    since = max(matched.since, theirs.since)
    ours, others = ({id for id in side.days if id >= since} for side in (matched, theirs))
    gained = ours - others
    lost = others - ours
    return Comparison(
        query=beside.text,
        papers=theirs.papers,
        gained=len(gained),
        lost=len(lost),
        gained_sample=_best(tx, matched, gained),
        lost_sample=_best(tx, theirs, lost),
    )


def no_paper_has(words: Sequence[str], papers: int) -> str:
    """Name words that none of the newest papers has."""
    named = " or ".join(f"“{word}”" for word in words)
    return f"none of the newest {papers:,} papers has {named}; check the spelling"


# The newest papers among which parts are counted, few enough that a page is made at once.
TRIED = 500
NEARLY_ALL = 0.9
# Fewer papers say little about a part.
_ENOUGH = 20


@dataclass(frozen=True, slots=True)
class PartCounts:
    """How many of `looked_at` papers have each part of a query, and match the whole query."""

    parts: tuple[tuple[QueryPart, int], ...]
    papers: int
    looked_at: int

    def is_nearly_all(self, papers: int) -> bool:
        """Return whether a part with this number of papers says next to nothing."""
        return self.looked_at >= _ENOUGH and papers >= NEARLY_ALL * self.looked_at


def count_parts(runtime: Runtime, whole: Query) -> PartCounts:
    """Count the newest papers of each part of a query."""
    parts = split_parts(whole)
    index = TopicIndex({-1: whole, **{number: part.query for number, part in enumerate(parts)}})
    with runtime.database.reading() as tx:
        # Each part is matched twice, alone and in the whole.
        newest = search.newest(tx, None, None, min(TRIED, max(most_read(whole) // 2, 1)))
        texts, sources = as_matched(tx, load_page(tx, newest))
    _, numbers = index.pairs(texts, sources)
    counts = Counter(index.name(number) for number in numbers.tolist())
    return PartCounts(
        parts=tuple((part, counts[number]) for number, part in enumerate(parts)),
        papers=counts[-1],
        looked_at=len(newest),
    )


# Fewer papers than these say little about a topic.
LEAST = 100
# To read more topics again would take longer than to check all of them.
MOST_TOPICS = 5_000
# Seconds that a check waits for a store which another process holds.
PATIENCE = 2.0


def topic_warnings(settings: Settings) -> list[Fault]:
    """Return a warning for each topic that matches too much, or has a word that no paper has.

    Topics whose examples cannot be read, or are not stored, have one, too. All but the first of
    these need a store that is there, and can be read at once.
    """
    unread = _find_unread_examples(settings)
    of_files = [_warning(settings, name, message) for name, message in unread.items()]
    try:
        with closing(Database(settings.store, PATIENCE)) as store:
            is_current = schema_version(store) == schema.VERSION
            stored = _check_topics(settings, store, unread) if is_current else []
    except StoreError:
        stored = []
    return sorted((*of_files, *stored), key=lambda fault: (fault.file, fault.line))


def _find_unread_examples(settings: Settings) -> dict[str, str]:
    """Return what is wrong with the files of examples as they are now, by topic."""
    unread = {}
    for topic in settings.topics.values():
        # That there is no such file is a warning of the configuration already.
        if not (topic.like and topic.like.file):
            continue
        file = settings.path_of_examples(topic.like.file)
        if is_file(file):
            _, fault = like_topics.read_examples(file, SystemClock())
            if fault:
                unread[topic.name] = f"like: {file}: {fault}; see topics relearn"
    return unread


def _check_topics(settings: Settings, store: Database, unread: Collection[str] = ()) -> list[Fault]:
    """Return the warnings that a store gives rise to; those of `unread` files are given already."""
    with store.reading() as tx:
        newest = search.newest(tx, None, None, READ)
        papers, sources = as_matched(tx, load_page(tx, newest))
        synonyms = synonyms_of(settings)
        written = [topic.topic(synonyms) for topic in settings.topics.values()]
        current = like_topics.with_words(tx, written)
    missing = [
        _warning(settings, topic.name, f"like: has no example {name}; see topics relearn")
        for topic in current
        for name in (topic.words.missing if topic.words else ())
        if not (topic.name in unread and topic.like and like_words.names_file_of(name, topic.like))
    ]
    if len(papers) < LEAST:
        return missing
    topics: dict[Hashable, Query] = {}
    for topic in current:
        # A topic whose examples are not stored yet is parked.
        with suppress(QueryError):
            topics[topic.name] = parse_topic(topic)
    index = TopicIndex(topics)
    _, numbers = index.pairs(papers, sources)
    counts = Counter(index.name(number) for number in numbers.tolist())
    warnings = [
        _warning(settings, name, wide)
        for name, count in counts.items()
        if (wide := too_wide(count, len(papers)))
    ]
    warnings += missing
    silent = [
        topic for topic in current if topic.like and topic.name in topics and not counts[topic.name]
    ]
    for of_topic, message in _silent_likes(silent[:_MOST_SILENT], papers):
        warnings.append(_warning(settings, of_topic, message))
    unseen = find_unseen_words(topics, papers) if len(topics) <= MOST_TOPICS else {}
    for name, words in unseen.items():
        warnings.append(_warning(settings, name, no_paper_has(words, len(papers))))
    return warnings


# Of texts that no paper is near to, the first are looked at, some at once: each is compared with
# each paper.
_MOST_SILENT = 500
_COMPARED = 50


def _silent_likes(topics: Sequence[Topic], papers: Sequence[Paper]) -> Iterator[tuple[str, str]]:
    """Yield topics that are like a text which no paper is near to, with what is said of each.

    Where papers are near enough, and a query leaves them out, nothing is said.
    """
    for first in range(0, len(topics), _COMPARED):
        words = {
            topic.name: topic.words or learned_from_text(topic.like)
            for topic in topics[first : first + _COMPARED]
            if topic.like
        }
        near = like_topics.nearness(
            {name: structs.replace(each, bar=0.0) for name, each in words.items()}, papers
        )
        for name, each in words.items():
            closest = max(near[name], default=0.0)
            none = f"like: none of the newest {len(papers):,} papers"
            if not closest:
                heaviest = ", ".join(word.written for word in each.words[:3])
                yield name, f"{none} has any of its words ({heaviest}, …)"
            elif closest < each.bar:
                nearness = f"the nearest paper scores {closest:.3f}"
                yield name, f"{none} reaches its bar of {each.bar:.3g}; {nearness}"


def _warning(settings: Settings, name: Hashable, message: str) -> Fault:
    position = settings.places[str(name)]
    return Fault(position.file, position.line, f"topics.{name}", message)
