"""What goes in a digest: each paper once, under the topic it fits best, best first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from msgspec import structs

from monitor.digest.latex_to_text import readable
from monitor.digest.schedule import Slot
from monitor.model import (
    Change,
    ChangeKind,
    Digest,
    DigestPaper,
    DigestSection,
    MatchReason,
    OtherTitle,
    Paper,
    SourceReport,
    TopicWhy,
    UnsentMatch,
)
from monitor.text import clean

CAPACITY = 400
# A digest shows two sentences of an abstract, and looks for them in this many characters.
MOST_OF_AN_ABSTRACT = 20_000
# The longest titles have some five hundred characters.
MOST_OF_A_TITLE = 2_000

Whys = Callable[[str, Paper, Sequence[str]], tuple[MatchReason, ...]]

# When several pieces of news about a paper are due at once, the first of these is what it is.
_PRECEDENCE = (ChangeKind.WITHDRAWN, ChangeKind.NEW, ChangeKind.OLDER, ChangeKind.REVISED)


def compose(  # noqa: PLR0913 - all that a digest is made from
    *,
    subscription: str,
    slot: Slot,
    timezone: str,
    covers_from: datetime | None,
    composed_at: datetime,
    news: Sequence[UnsentMatch],
    whys: Whys,
    report: Sequence[SourceReport],
    notes: Sequence[str],
    full: int,
    capacity: int = CAPACITY,
    late: datetime | None = None,
    other_titles: Mapping[int, tuple[OtherTitle, ...]] | None = None,
) -> Digest:
    """Make a digest of unsent matches; what is over `capacity` papers waits for the next one.

    `whys(topic, paper, sources)` tells what of the topic is in the paper: it is asked about the
    paper as the digest shows it, so that the places it gives are places in the text shown.
    What became news before `late` is told by its title: it is the rest of a long time of being
    down. `other_titles` are those under which papers were seen, by their id.
    """
    papers = sorted(_by_paper(news), key=_best_first)
    entries = [_entry(found, whys, late, other_titles or {}) for found in papers[:capacity]]
    return Digest(
        subscription=subscription,
        period=slot.period,
        due_at=slot.due_at,
        timezone=timezone,
        covers_from=covers_from,
        composed_at=composed_at,
        groups=_groups(entries),
        report=tuple(report),
        full=full,
        waiting=max(0, len(papers) - capacity),
        notes=tuple(notes),
    )


def shown(paper: Paper) -> Paper:
    """Return the paper as a digest shows it: clean Unicode, mathematics readable."""
    return structs.replace(
        paper,
        title=_shown(paper.title[:MOST_OF_A_TITLE]),
        abstract=_shown(paper.abstract[:MOST_OF_AN_ABSTRACT]),
        authors=tuple(_shown(author) for author in paper.authors),
        venue=_shown(paper.venue),
    )


def _shown(text: str) -> str:
    source = clean(text)
    return clean(readable(source)) or source


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


def _entry(
    found: Sequence[UnsentMatch],
    whys: Whys,
    late: datetime | None,
    other_titles: Mapping[int, tuple[OtherTitle, ...]],
) -> DigestPaper:
    latest = max(found, key=lambda item: item.change.revision).change
    source = latest.stored.paper
    paper = shown(source)

    def why(topic: str) -> tuple[MatchReason, ...]:
        found = whys(topic, paper, latest.sources)
        return found or _unplaced(whys(topic, source, latest.sources))

    return DigestPaper(
        paper_id=latest.stored.id,
        revision=latest.revision,
        kind=min((item.change.kind for item in found), key=_PRECEDENCE.index),
        paper=paper,
        first_seen=latest.stored.first_seen,
        sources=latest.sources,
        score=max(item.score for item in found),
        matched=tuple(TopicWhy(topic, why(topic)) for topic in _topics(found)),
        late=late is not None and _arrived(latest) < late,
        also=tuple(
            OtherTitle(_shown(other.title[:MOST_OF_A_TITLE]), other.source)
            for other in other_titles.get(latest.stored.id, ())
        ),
    )


def _arrived(change: Change) -> datetime:
    """Return when something became news: what was announced while nobody read, at that time."""
    announced = change.stored.paper.announced
    return min(announced, change.at) if announced and change.kind is ChangeKind.NEW else change.at


def _unplaced(why: Iterable[MatchReason]) -> tuple[MatchReason, ...]:
    """What was found only in the source of a formula has words, but no place in what is shown."""
    return tuple(replace(each, spans=()) for each in why)


def _topics(found: Sequence[UnsentMatch]) -> list[str]:
    """The topics that found a paper, best first."""
    best: dict[str, float] = {}
    for item in found:
        best[item.topic] = max(item.score, best.get(item.topic, item.score))
    return sorted(best, key=lambda topic: (-best[topic], topic))


def _groups(entries: Sequence[DigestPaper]) -> tuple[DigestSection, ...]:
    """Entries come best first, so groups do, too."""
    groups: dict[str, list[DigestPaper]] = defaultdict(list)
    for entry in entries:
        groups[entry.matched[0].topic].append(entry)
    return tuple(DigestSection(topic, tuple(members)) for topic, members in groups.items())
