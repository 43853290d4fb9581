"""Which papers a digest shows: each once, under the topic it fits best, best first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from operator import attrgetter

import msgspec

from monitor.digest.excerpt import EXCERPT_RULE
from monitor.digest.shown import shown_title
from monitor.model import (
    MODEL,
    Change,
    ChangeKind,
    DigestGroup,
    DigestPaper,
    GroupRule,
    MatchReason,
    Paper,
    SourceLabel,
    StoredPaper,
    TopicWhy,
    UnsentMatch,
    best_papers,
    share_places,
)

CAPACITY = 400
# Papers, by id, as they are and as the digests of one run list them; about half a kilobyte each.
Listed = dict[int, tuple[Paper, Paper]]
_MOST_LISTED = 16_384
_NO_RULE = GroupRule()
_NO_LABEL = SourceLabel()

# Orders the papers of a topic, each with its latest change; the same papers come back.
Order = Callable[[str, Sequence[tuple[DigestPaper, Change]]], Sequence[DigestPaper]]
# Orders the groups among each other, and may move papers between the best of all.
OrderGroups = Callable[[tuple[DigestGroup, ...]], tuple[DigestGroup, ...]]
# When several pieces of news about a paper are due at once, the first of these is what it is.
_PRECEDENCE = (ChangeKind.WITHDRAWN, ChangeKind.NEW, ChangeKind.OLDER, ChangeKind.REVISED)


@dataclass(frozen=True, slots=True)
class Draft:
    """The papers of a digest by topic; those `in_full` are not yet explained.

    These are the `full` best. `latest` is the newest change of each; `waiting` counts papers that
    did not fit.
    """

    groups: tuple[DigestGroup, ...]
    in_full: frozenset[int]
    full: int
    latest: Mapping[int, Change]
    waiting: int

    @property
    def revisions(self) -> dict[int, int]:
        """The revisions among the papers in full, by paper."""
        return {
            entry.paper_id: entry.revision
            for group in self.groups
            for entry in group.entries
            if entry.kind is ChangeKind.REVISED and entry.paper_id in self.in_full
        }


class _News(msgspec.Struct, frozen=True):
    """All that is news about one paper; its topics come best first."""

    latest: Change
    at: datetime
    kind: ChangeKind
    score: float
    topics: tuple[str, ...]
    # The models that added it, by topic.
    models: Mapping[str, str] = {}

    @property
    def rank(self) -> tuple[float, datetime, int]:
        """The best score is the highest; of equals, the newest."""
        return self.score, self.at, self.latest.stored.id


def _listed(stored: StoredPaper, papers: Listed) -> Paper:
    paper, title = papers.get(stored.id, (None, stored.paper))
    if paper is not stored.paper:
        if len(papers) >= _MOST_LISTED:
            papers.clear()
        title = shown_title(stored.paper)
        papers[stored.id] = stored.paper, title
    return title


def _titles_and_search(
    sources: Mapping[str, SourceLabel], names: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Return what people call sources, but for the only one, and where to search for papers."""
    labels = [sources.get(name, _NO_LABEL) for name in names]
    search = next((label.search for label in labels if label.search), "")
    if len(sources) == 1 and all(name in sources for name in names):
        return (), search
    titles = (label.title or name for label, name in zip(labels, names, strict=True))
    return tuple(titles), search


def draft(
    news: Sequence[UnsentMatch],
    full: int,
    late: datetime | None = None,
    capacity: int = CAPACITY,
    rules: Mapping[str, GroupRule] = {},
    sources: Mapping[str, SourceLabel] = {},
    order: Order | None = None,
    order_groups: OrderGroups | None = None,
    listed: Listed | None = None,
    each_topic: bool = False,
) -> Draft:
    """Choose the papers of a digest, their order, and the `full` best to show in full.

    They are more where `each_topic` is to have one. Both are shared among the topics by `rules`;
    `sources` are all that may have news. Papers beyond `capacity` wait for the next digest. What
    became news before `late` (after a long outage) is listed by title only. `order` is another
    order within each topic's group, and `order_groups` of the groups. `listed` has the papers of
    other digests of the same run.
    """
    by_paper: dict[int, list[UnsentMatch]] = defaultdict(list)
    for item in news:
        by_paper[item.change.stored.id].append(item)
    papers = sorted(map(_gather, by_paper.values()), key=attrgetter("rank"), reverse=True)
    kept = _share(papers, capacity, rules) if len(papers) > capacity else papers
    label = cache(partial(_titles_and_search, sources))

    @cache
    def topic(name: str, model: str | None) -> TopicWhy:
        return TopicWhy(name, added_by(model), rules.get(name, _NO_RULE).title)

    listed = {} if listed is None else listed
    entries = [
        _entry(
            paper, _listed(paper.latest.stored, listed), topic, label(paper.latest.sources), late
        )
        for paper in kept
    ]
    latest = {paper.latest.stored.id: paper.latest for paper in kept}
    groups = _sections(entries, rules, order, latest)
    groups = order_groups(groups) if order_groups else groups
    full = max(full, len(groups)) if each_topic else full
    return Draft(
        groups=groups,
        full=full,
        in_full=frozenset(entry.paper_id for entry in best_papers(groups, full)),
        latest=latest,
        waiting=len(papers) - len(kept),
    )


def added_by(model: str | None) -> tuple[MatchReason, ...]:
    """Return the reason of a paper that a model added just below a bar, () of any other paper."""
    return (MatchReason(MODEL, (model,)),) if model else ()


def _gather(matches: Sequence[UnsentMatch]) -> _News:
    models = {item.topic: item.added_by for item in matches if item.added_by}
    if len(matches) == 1:  # as most are
        change = matches[0].change
        return _News(change, change.at, change.kind, matches[0].score, (matches[0].topic,), models)
    return _News(
        latest=max(matches, key=lambda item: item.change.revision).change,
        at=max(item.change.at for item in matches),
        kind=min((item.change.kind for item in matches), key=_PRECEDENCE.index),
        score=max(item.score for item in matches),
        topics=_topics(matches),
        models=models,
    )


def _topics(matches: Sequence[UnsentMatch]) -> tuple[str, ...]:
    """The topics that found a paper, best first."""
    best = {item.topic: item.score for item in sorted(matches, key=attrgetter("score"))}
    return tuple(sorted(best, key=lambda topic: (-best[topic], topic)))


def _share(papers: Sequence[_News], count: int, rules: Mapping[str, GroupRule]) -> list[_News]:
    """Return `count` of the papers, of each topic its share of the best, in their order."""
    sizes = Counter(paper.topics[0] for paper in papers)
    weights = [rules.get(topic, _NO_RULE).weight for topic in sizes]
    left = dict(zip(sizes, share_places(count, list(sizes.values()), weights), strict=True))
    kept = []
    for paper in papers:
        if left[paper.topics[0]]:
            left[paper.topics[0]] -= 1
            kept.append(paper)
    return kept


def _entry(
    news: _News,
    paper: Paper,
    topic: Callable[[str, str | None], TopicWhy],
    label: tuple[tuple[str, ...], str],
    late: datetime | None,
) -> DigestPaper:
    stored = news.latest.stored
    titles, search = label
    return DigestPaper(
        paper_id=stored.id,
        revision=news.latest.revision,
        kind=news.kind,
        paper=paper,
        first_seen=stored.first_seen,
        sources=news.latest.sources,
        score=news.score,
        matched=tuple(map(topic, news.topics, map(news.models.get, news.topics))),
        late=late is not None and _arrival_time(news.latest) < late,
        source_titles=titles,
        search=search,
        excerpt_rule=EXCERPT_RULE,
        lists=len(stored.paper.recent_lists) if stored.paper.listed else 0,
    )


def _arrival_time(change: Change) -> datetime:
    """Return when a paper became news; if announced or listed during an outage, that time."""
    paper = change.stored.paper
    announced = paper.announced or paper.listed_at
    return min(announced, change.at) if announced and change.kind is ChangeKind.NEW else change.at


def _sections(
    entries: Sequence[DigestPaper],
    rules: Mapping[str, GroupRule],
    order: Order | None,
    latest: Mapping[int, Change],
) -> tuple[DigestGroup, ...]:
    """Entries come best first, so groups do, too, whatever the `order` within them is."""
    by_topic: dict[str, list[DigestPaper]] = defaultdict(list)
    for entry in entries:
        by_topic[entry.matched[0].topic].append(entry)
    groups = []
    for topic, members in by_topic.items():
        listed = [(entry, latest[entry.paper_id]) for entry in members]
        ordered = order(topic, listed) if order else members
        groups.append(DigestGroup(topic, tuple(ordered), rules.get(topic, _NO_RULE)))
    return tuple(groups)
