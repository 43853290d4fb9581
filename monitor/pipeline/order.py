"""The order of a topic's papers: as readers' answers teach it, newest or trending first.

Which papers are in a digest and how many of each topic are shown in full does not depend on it:
within a group, the k-th paper takes the place of the k-th best score. Trending first also decides
which topic comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from math import inf
from operator import attrgetter

from msgspec import structs

from monitor.digest.about import join_words
from monitor.digest.excerpt import excerpt, headline
from monitor.digest.sections.lead import choose_lead
from monitor.digest.shown import readable_title
from monitor.digest.wording import format_count
from monitor.errors import QueryError
from monitor.identity.keys import with_keys
from monitor.match import parse_topic
from monitor.match.language.tree import Leaf, Like, Near, Words, leaves
from monitor.model import (
    UNJUDGED,
    WANTED,
    Change,
    Digest,
    DigestGroup,
    DigestPaper,
    LeadPaper,
    LeadReason,
    Paper,
    Placed,
    Topic,
    Verdict,
)
from monitor.pipeline.runtime import Subscription
from monitor.pipeline.topic_words import TopicWords
from monitor.rank import (
    MAX_JUDGED,
    Features,
    Judged,
    Matched,
    Ranking,
    features_of,
    learn,
    written_words,
)
from monitor.store.engine.database import Transaction
from monitor.store.papers import papers as stored_papers
from monitor.store.sources import collections
from monitor.store.topics import examples, judgements
from monitor.store.topics.examples import Example

LEARNED = "learned"
NEWEST = "newest"
TRENDING = "trending"
MAX_WORDS = 3
# Of a rank by a model beside one by words: `benchmarks/embeddings.py`.
MODEL_WEIGHT = 4
# Papers shown without an answer count for little; only the last ones are read.
MAX_SHOWN = 500
# About two kilobytes each.
MAX_READ = 32_768


@dataclass(frozen=True, slots=True)
class Order:
    """An order: by the words found, by rankings where a topic has one, or newest or trending first.

    `marked` counts the papers whose answers taught the rankings; `owned` are the titles of those of
    the subscription's library that did. `nearness` is how near papers are to the texts of topics by
    a model, by topic and paper; it counts beside the words.
    """

    kind: str = LEARNED
    rankings: Mapping[str, Ranking] = field(default_factory=dict)
    marked: int = 0
    owned: Collection[str] = ()
    nearness: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def place(self, topic: str, listed: Sequence[tuple[DigestPaper, Change]]) -> list[DigestPaper]:
        """Return the papers of a topic in this order."""
        if self.kind == NEWEST:
            return _by(listed, [Placed(score=change.at.timestamp()) for _, change in listed])
        if self.kind == TRENDING:
            return _by_signals(listed)
        near = self.nearness.get(topic)
        ranking = self.rankings.get(topic)
        scores = [entry.score for entry, _ in listed]
        if near:
            scores = _beside_words(scores, [near.get(entry.paper_id) for entry, _ in listed])
        if ranking:
            papers = [change.stored.paper for _, change in listed]
            return _by(listed, ranking.place(papers, scores))
        if near:
            return _by(listed, [Placed(score=score) for score in scores])
        return [entry for entry, _ in listed]

    def place_groups(self, groups: tuple[DigestGroup, ...]) -> tuple[DigestGroup, ...]:
        """Return the groups in this order: trending ones by their most votes, others as they are.

        Of all groups, papers with votes are then the best, by their votes.
        """
        if self.kind != TRENDING:
            return groups
        entries = [entry for group in groups for entry in group.entries]
        above = max((entry.standing for entry in entries), default=0.0)

        def by_votes(entry: DigestPaper) -> DigestPaper:
            votes = entry.paper.upvotes
            standing = above + votes if votes else entry.standing
            return structs.replace(entry, placed=structs.replace(entry.placed, standing=standing))

        placed = (replace(g, entries=tuple(map(by_votes, g.entries))) for g in groups)
        most = attrgetter("paper.upvotes")
        return tuple(
            sorted(placed, key=lambda group: -max(most(entry) or 0 for entry in group.entries))
        )

    def lead(
        self, groups: Sequence[DigestGroup], in_full: Collection[int], most: int
    ) -> tuple[LeadPaper, ...]:
        """Return the papers to read first in this order; newest first has none."""
        if self.kind == NEWEST:
            return ()
        by = LeadReason.VOTES if self.kind == TRENDING else LeadReason.WORDS
        return choose_lead(groups, in_full, most, by=by, rated=self.rankings)

    def explain(self, digest: Digest, in_full: Collection[int]) -> Digest:
        """Add to each paper shown in full why it ranks there, and how many ratings were used."""
        if not (self.marked or self.owned) or not digest.papers:
            return digest
        groups = []
        for group in digest.groups:
            if ranking := self.rankings.get(group.topic):
                entries = [
                    _explained(ranking, entry, self.owned) if entry.paper_id in in_full else entry
                    for entry in group.entries
                ]
                group = replace(group, entries=tuple(entries))
            groups.append(group)
        counts = {"of your library": len(self.owned), "you marked": self.marked}
        papers = [f"{format_count(n, 'paper')} {whose}" for whose, n in counts.items() if n]
        remark = f"Ordered by {join_words(papers)}."
        return replace(
            digest,
            groups=tuple(groups),
            notes=(*digest.notes, remark),
            remarks=(*digest.remarks, remark),
        )


class OrderCache:
    """Papers and words read in one run: several subscriptions have answered the same."""

    def __init__(self) -> None:
        # None where the text was purged.
        self.papers: dict[int, tuple[Paper, Features] | None] = {}
        self.words = TopicWords()
        # The subscriptions with examples, once they were read.
        self.with_examples: frozenset[str] | None = None
        self._entries: dict[tuple[str, ...], dict[int, Judged]] = {}

    def examples(self, tx: Transaction, subscription: str) -> dict[str, list[Example]]:
        """Return the examples of a subscription by topic, oldest first."""
        if self.with_examples is None:
            self.with_examples = examples.subscriptions(tx)
        by_topic: dict[str, list[Example]] = {}
        if subscription in self.with_examples:
            for example in examples.listing(tx, subscription):
                by_topic.setdefault(example.topic, []).append(example)
        return by_topic

    def entries(
        self, tx: Transaction, libraries: tuple[str, ...], now: datetime
    ) -> dict[int, Judged]:
        """Return the newest entries of libraries, oldest first, as wanted papers.

        More would not count: see MAX_JUDGED.
        """
        if libraries not in self._entries:
            self._entries[libraries] = {
                entry.id: _judged(entry.paper.title, entry.paper.abstract, WANTED)
                for entry in reversed(collections.entries(tx, libraries, now, MAX_JUDGED))
            }
        return self._entries[libraries]


def _unrated_entries(
    tx: Transaction,
    libraries: tuple[str, ...],
    answers: Mapping[str, Mapping[int, Verdict]],
    by_topic: Mapping[str, Sequence[Example]],
    cache: OrderCache,
    now: datetime,
) -> list[Judged]:
    """Return the papers of libraries as wanted, but for those with a rating."""
    entries = cache.entries(tx, libraries, now)
    rated = {id for of in answers.values() for id, verdict in of.items() if verdict != UNJUDGED}
    works = [stored.paper for stored in stored_papers.load(tx, rated).values()]
    works += [Paper(e.title, e.abstract) for examples in by_topic.values() for e in examples]
    same = collections.find(tx, libraries, list(map(with_keys, works)), now)
    known = {entry.id for found in same for entry in found}
    return [judged for id, judged in entries.items() if id not in known]


def order_of(
    tx: Transaction,
    subscription: Subscription,
    topics: Sequence[Topic],
    cache: OrderCache,
    now: datetime,
) -> Order:
    """Return the order of a subscription's papers."""
    kind = subscription.settings.order
    if kind != LEARNED:
        return Order(kind)
    answers = judgements.verdicts(tx, subscription.name)
    by_topic = cache.examples(tx, subscription.name)
    owned: list[Judged] = []
    if subscription.settings.examples and subscription.settings.libraries:
        libraries = subscription.settings.libraries
        owned = _unrated_entries(tx, libraries, answers, by_topic, cache, now)
    rankings: dict[str, Ranking] = {}
    marked: set[int | str] = set()
    for topic in topics if answers or by_topic or owned else ():
        verdicts = answers.get(topic.name, {})
        taught = by_topic.get(topic.name, [])
        wanted = WANTED in verdicts.values() or any(e.verdict == WANTED for e in taught)
        if topic.name in subscription.topics and (wanted or owned):
            read = [*owned, *(_judged(e.title, e.abstract, e.verdict) for e in taught)]
            ranking = _ranking(tx, subscription.name, topic, verdicts, read, cache)
            if ranking.wanted:
                rankings[topic.name] = ranking
                answered: list[int | str] = [example.title for example in taught]
                answered += [
                    id for id in verdicts if verdicts[id] != UNJUDGED and cache.papers.get(id)
                ]
                marked.update(answered[-MAX_JUDGED:])
    titles = {judged.paper.title for judged in owned}
    return Order(rankings=rankings, marked=len(marked), owned=titles) if rankings else Order()


def _judged(title: str, abstract: str, verdict: Verdict) -> Judged:
    return Judged(Paper(title), verdict, features_of(title, abstract))


def _ranking(
    tx: Transaction,
    subscription: str,
    topic: Topic,
    verdicts: dict[int, Verdict],
    taught: Sequence[Judged],
    cache: OrderCache,
) -> Ranking:
    silent = judgements.shown(tx, subscription, topic.name, MAX_SHOWN)
    unjudged: dict[int, Verdict] = {id: UNJUDGED for id in silent if id not in verdicts}
    matched = cache.words.read(tx, topic.name)
    unrated = [w for id, w in matched.recent.items() if verdicts.get(id, UNJUDGED) == UNJUDGED]
    judged = [*taught, *_read(tx, unjudged | verdicts, cache.papers)]
    return learn(judged, words_of(topic), Matched(matched.factors, unrated, matched.trade))


def _read(
    tx: Transaction,
    verdicts: Mapping[int, Verdict],
    papers: dict[int, tuple[Paper, Features] | None],
) -> list[Judged]:
    """Return papers with their verdicts, but for those whose text was purged."""
    missing = [id for id in verdicts if id not in papers]
    if missing and len(papers) + len(missing) > MAX_READ:
        papers.clear()
        missing = list(verdicts)
    papers |= dict.fromkeys(missing)
    for id, (title, abstract) in stored_papers.texts(tx, missing).items():
        papers[id] = Paper(title), features_of(title, abstract)
    return [
        Judged(paper[0], verdict, paper[1])
        for id, verdict in verdicts.items()
        if (paper := papers[id])
    ]


@lru_cache(maxsize=1_024)
def words_of(topic: Topic) -> tuple[str, ...]:
    """Return the words that a topic looks for; none for one that is parked."""
    keys: dict[str, None] = {}
    try:
        root = parse_topic(topic).root
    except QueryError:
        return ()
    for leaf in leaves(root):
        match leaf:
            case Near():
                parts: Iterable[Leaf] = leaf.words
            case Like():
                parts = (word for word, _ in leaf.words)
            case _:
                parts = [leaf]
        for words in parts:
            if isinstance(words, Words):
                keys |= {edge.key: None for edge in words.edges if edge.end - edge.start == 1}
    return tuple(keys)


# Keeps equal scores in their order.
_LEAST_STEP = 1e-9


def _beside_words(scores: Sequence[float], near: Sequence[float | None]) -> list[float]:
    """Return the scores in the order of ranks by words, and `MODEL_WEIGHT` times by a model.

    The k-th gets the k-th best score, and no two get the same. A paper that the model has not seen
    has its rank by words in both.
    """
    by_words = _ranks(scores)
    seen = [at for at, nearness in enumerate(near) if nearness is not None]
    by_model = _ranks([near[at] or 0.0 for at in seen])
    sums = [(1.0 + MODEL_WEIGHT) * rank for rank in by_words]
    for at, rank in zip(seen, by_model, strict=True):
        # Of fewer papers, the ranks are spread over those of all.
        sums[at] = by_words[at] + MODEL_WEIGHT * rank * len(scores) / len(seen)
    placed = [0.0] * len(scores)
    order = sorted(range(len(scores)), key=lambda at: (sums[at], by_words[at]))
    for place, (at, score) in enumerate(zip(order, sorted(scores, reverse=True), strict=True)):
        placed[at] = score - place * _LEAST_STEP
    return placed


def _ranks(values: Sequence[float]) -> list[int]:
    """Return the rank of each value, 0 for the highest; of equal ones, the first is higher."""
    ranks = [0] * len(values)
    order = sorted(range(len(values)), key=lambda at: -values[at])
    for rank, at in enumerate(order):
        ranks[at] = rank
    return ranks


def _by_signals(listed: Sequence[tuple[DigestPaper, Change]]) -> list[DigestPaper]:
    """Order papers by votes, then by lists, then by their best rank; what is unknown comes last."""
    signals = [_signals(change.stored.paper) for _, change in listed]
    positions = {signal: at for at, signal in enumerate(sorted(set(signals)))}
    return _by(listed, [Placed(score=float(positions[signal])) for signal in signals])


def _signals(paper: Paper) -> tuple[int, int, float]:
    lists = paper.recent_lists
    rank = min((listed.rank for listed in lists if listed.rank), default=inf)
    return -1 if paper.upvotes is None else paper.upvotes, len(lists), -rank


def _by(
    listed: Sequence[tuple[DigestPaper, Change]], placed: Sequence[Placed]
) -> list[DigestPaper]:
    """Order papers by the scores that they are `placed` with; equal ones stay as they are."""
    standings = sorted((entry.score for entry, _ in listed), reverse=True)
    scored = sorted(zip(listed, placed, strict=True), key=lambda pair: -pair[1].score)
    return [
        structs.replace(entry, placed=structs.replace(place, standing=standing))
        for ((entry, _), place), standing in zip(scored, standings, strict=True)
    ]


def _explained(ranking: Ranking, entry: DigestPaper, owned: Collection[str]) -> DigestPaper:
    """Name the marked paper that counts most, and such words of the text shown."""
    shown = written_words(headline(entry).text, excerpt(entry).text)
    like, words = ranking.reason(entry.paper, shown, MAX_WORDS)
    title = readable_title(like.paper.title) if like else ""
    is_owned = like is not None and like.paper.title in owned
    placed = structs.replace(entry.placed, like=title, words=words, owned=is_owned)
    return structs.replace(entry, placed=placed)
