"""Which papers a digest shows: each once, under the topic it fits best, best first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from monitor.digest.shown import shown_title
from monitor.model import (
    Change,
    ChangeKind,
    DigestPaper,
    DigestSection,
    SectionRule,
    SourceLabel,
    TopicWhy,
    UnsentMatch,
    best_papers,
    share_places,
)

CAPACITY = 400
_NO_RULE = SectionRule()
_NO_LABEL = SourceLabel()

# Orders the papers of a topic, each with its latest change; the same papers come back.
Order = Callable[[str, Sequence[tuple[DigestPaper, Change]]], Sequence[DigestPaper]]
# When several pieces of news about a paper are due at once, the first of these is what it is.
_PRECEDENCE = (ChangeKind.WITHDRAWN, ChangeKind.NEW, ChangeKind.OLDER, ChangeKind.REVISED)


@dataclass(frozen=True, slots=True)
class Draft:
    """The papers of a digest by topic; those `in_full` are not yet explained.

    `news` has what is unsent of each paper; `waiting` counts papers that did not fit.
    """

    groups: tuple[DigestSection, ...]
    in_full: frozenset[int]
    news: Mapping[int, Sequence[UnsentMatch]]
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


@dataclass(frozen=True, slots=True)
class _Labels:
    """What topics and sources are called in a digest."""

    rules: Mapping[str, SectionRule]
    sources: Mapping[str, SourceLabel]

    def titles_of(self, names: Sequence[str]) -> tuple[str, ...] | None:
        """Return what people call some sources; nothing for the only one that there is."""
        if len(self.sources) == 1 and all(name in self.sources for name in names):
            return ()
        return tuple([self._of(name).title or name for name in names])

    def search_of(self, names: Sequence[str]) -> str:
        return next((site for name in names if (site := self._of(name).search)), "")

    def _of(self, name: str) -> SourceLabel:
        return self.sources.get(name, _NO_LABEL)


def draft(
    news: Sequence[UnsentMatch],
    full: int,
    late: datetime | None = None,
    capacity: int = CAPACITY,
    rules: Mapping[str, SectionRule] = {},
    sources: Mapping[str, SourceLabel] = {},
    order: Order | None = None,
) -> Draft:
    """Choose the papers of a digest, their order, and the `full` best to show in full.

    Both are shared among the topics by `rules`; `sources` are all that are read. Papers beyond
    `capacity` wait for the next digest. What became news before `late` (after a long outage) is
    listed by title only. `order` is another order within each topic's group.
    """
    papers = sorted(_by_paper(news), key=_best_first)
    kept = _share(papers, capacity, rules) if len(papers) > capacity else papers
    labels = _Labels(rules, sources)
    groups = _sections([_title_of(found, late, labels) for found in kept], rules)
    if order:
        latest = {found[0].change.stored.id: latest_change(found) for found in kept}
        groups = tuple(_in_order(group, order, latest) for group in groups)
    return Draft(
        groups=groups,
        in_full=frozenset(entry.paper_id for entry in best_papers(groups, full)),
        news={found[0].change.stored.id: found for found in kept},
        waiting=len(papers) - len(kept),
    )


def _by_paper(news: Iterable[UnsentMatch]) -> list[list[UnsentMatch]]:
    papers: dict[int, list[UnsentMatch]] = defaultdict(list)
    for item in news:
        papers[item.change.stored.id].append(item)
    return list(papers.values())


def _best_first(found: Sequence[UnsentMatch]) -> tuple[float, float, int]:
    """Best score first; of equals, the newest."""
    best = max(item.score for item in found)
    newest = max(item.change.at for item in found)
    return (-best, -newest.timestamp(), -found[0].change.stored.id)


def _share(
    papers: Sequence[list[UnsentMatch]], count: int, rules: Mapping[str, SectionRule]
) -> list[list[UnsentMatch]]:
    """Return `count` of the papers, of each topic its share of the best, in their order."""
    topics = [_topics(found)[0] for found in papers]
    sizes = Counter(topics)
    weights = [rules.get(topic, _NO_RULE).weight for topic in sizes]
    left = dict(zip(sizes, share_places(count, list(sizes.values()), weights), strict=True))
    kept = []
    for topic, found in zip(topics, papers, strict=True):
        if left[topic]:
            left[topic] -= 1
            kept.append(found)
    return kept


def _title_of(found: Sequence[UnsentMatch], late: datetime | None, labels: _Labels) -> DigestPaper:
    latest = latest_change(found)
    return DigestPaper(
        paper_id=latest.stored.id,
        revision=latest.revision,
        kind=min((item.change.kind for item in found), key=_PRECEDENCE.index),
        paper=shown_title(latest.stored.paper),
        first_seen=latest.stored.first_seen,
        sources=latest.sources,
        score=max(item.score for item in found),
        matched=tuple(
            TopicWhy(topic, (), labels.rules.get(topic, _NO_RULE).title) for topic in _topics(found)
        ),
        late=late is not None and _arrival_time(latest) < late,
        source_titles=labels.titles_of(latest.sources),
        search=labels.search_of(latest.sources),
    )


def latest_change(found: Sequence[UnsentMatch]) -> Change:
    return max(found, key=lambda item: item.change.revision).change


def _arrival_time(change: Change) -> datetime:
    """Return when a paper became news; when it was announced during an outage, that time."""
    announced = change.stored.paper.announced
    return min(announced, change.at) if announced and change.kind is ChangeKind.NEW else change.at


def _topics(found: Sequence[UnsentMatch]) -> list[str]:
    """The topics that found a paper, best first."""
    best: dict[str, float] = {}
    for item in found:
        best[item.topic] = max(item.score, best.get(item.topic, item.score))
    return sorted(best, key=lambda topic: (-best[topic], topic))


def _in_order(group: DigestSection, order: Order, latest: Mapping[int, Change]) -> DigestSection:
    listed = [(entry, latest[entry.paper_id]) for entry in group.entries]
    return replace(group, entries=tuple(order(group.topic, listed)))


def _sections(
    entries: Sequence[DigestPaper], rules: Mapping[str, SectionRule]
) -> tuple[DigestSection, ...]:
    """Entries come best first, so groups do, too."""
    groups: dict[str, list[DigestPaper]] = defaultdict(list)
    for entry in entries:
        groups[entry.matched[0].topic].append(entry)
    return tuple(
        DigestSection(topic, tuple(members), rules.get(topic, _NO_RULE))
        for topic, members in groups.items()
    )
