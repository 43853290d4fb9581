"""What goes in a digest: each paper once, under the topic it fits best, best first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from msgspec import structs

from monitor.digest.excerpt import LONG_TITLE
from monitor.digest.latex_to_text import to_readable_text
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
    best_papers,
)
from monitor.text import clean

CAPACITY = 400
# A digest shows two sentences of an abstract, and looks for them in this many characters.
MAX_ABSTRACT_LENGTH = 20_000
# The longest titles have some five hundred characters.
MAX_TITLE_LENGTH = 2_000

Whys = Callable[[str, Paper, Sequence[str]], tuple[MatchReason, ...]]

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


def draft(
    news: Sequence[UnsentMatch],
    full: int,
    late: datetime | None = None,
    capacity: int = CAPACITY,
) -> Draft:
    """Choose the papers of a digest, their order, and the `full` best to show in full.

    Papers beyond `capacity` wait for the next digest. What became news before `late` (after a long
    outage) is listed by title only.
    """
    papers = sorted(_by_paper(news), key=_best_first)
    kept = papers[:capacity]
    groups = _sections([_title_of(found, late) for found in kept])
    return Draft(
        groups=groups,
        in_full=frozenset(entry.paper_id for entry in best_papers(groups, full)),
        news={found[0].change.stored.id: found for found in kept},
        waiting=len(papers) - len(kept),
    )


def compose(  # noqa: PLR0913 - all that a digest is made from
    draft: Draft,
    *,
    subscription: str,
    slot: Slot,
    timezone: str,
    covers_from: datetime | None,
    composed_at: datetime,
    whys: Whys,
    report: Sequence[SourceReport],
    notes: Sequence[str],
    full: int,
    other_titles: Mapping[int, tuple[OtherTitle, ...]],
) -> Digest:
    """Compose a digest of the papers of a draft.

    `whys(topic, paper, sources)` returns why the topic matches the paper. It is called for the
    papers in full, as the digest shows them, so that its spans are positions in the text shown.
    (And for long titles, of which the part that matched is shown.) `other_titles` are those under
    which papers were seen, by paper id.
    """
    return Digest(
        subscription=subscription,
        period=slot.period,
        due_at=slot.due_at,
        timezone=timezone,
        covers_from=covers_from,
        composed_at=composed_at,
        groups=tuple(
            replace(
                group,
                entries=tuple(_entry(one, draft, whys, other_titles) for one in group.entries),
            )
            for group in draft.groups
        ),
        report=tuple(report),
        full=full,
        waiting=draft.waiting,
        notes=tuple(notes),
    )


def _entry(
    listed: DigestPaper,
    draft: Draft,
    whys: Whys,
    other_titles: Mapping[int, tuple[OtherTitle, ...]],
) -> DigestPaper:
    in_full = listed.paper_id in draft.in_full
    if not in_full and len(listed.paper.title) <= LONG_TITLE:
        return listed
    source = _latest(draft.news[listed.paper_id]).stored.paper
    explained = _explain(listed, source, whys, other_titles.get(listed.paper_id, ()))
    return explained if in_full else replace(explained, paper=listed.paper)


def explain_again(digest: Digest, whys: Whys) -> Digest:
    """Return a digest whose texts were removed, of papers as they are now, explained again."""
    in_full = {entry.paper_id for entry in digest.best(digest.full)}

    def entry(one: DigestPaper) -> DigestPaper:
        if one.paper_id in in_full:
            return _explain(one, one.paper, whys, one.also)
        return replace(one, paper=shown_title(one.paper))

    groups = (replace(group, entries=tuple(map(entry, group.entries))) for group in digest.groups)
    return replace(digest, groups=tuple(groups))


def shown(paper: Paper) -> Paper:
    """Return the paper as a digest shows it: clean Unicode, mathematics readable."""
    return structs.replace(
        shown_title(paper), abstract=_shown_abstract(paper.abstract[:MAX_ABSTRACT_LENGTH])
    )


def shown_title(paper: Paper) -> Paper:
    """Return the paper as a digest lists it by title: without its abstract."""
    return structs.replace(
        paper,
        title=_shown(paper.title[:MAX_TITLE_LENGTH]),
        abstract="",
        authors=_shown_authors(paper.authors),
        venue=_shown(paper.venue),
    )


# Papers are in the digests of several subscriptions. A title takes some hundred bytes, an abstract
# a few thousand.
@lru_cache(maxsize=16_384)
def _shown(text: str) -> str:
    source = clean(text)
    return clean(to_readable_text(source)) or source


@lru_cache(maxsize=16_384)
def _shown_authors(authors: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_shown.__wrapped__, authors))


_shown_abstract = lru_cache(maxsize=1_024)(_shown.__wrapped__)


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


def _title_of(found: Sequence[UnsentMatch], late: datetime | None) -> DigestPaper:
    latest = _latest(found)
    return DigestPaper(
        paper_id=latest.stored.id,
        revision=latest.revision,
        kind=min((item.change.kind for item in found), key=_PRECEDENCE.index),
        paper=shown_title(latest.stored.paper),
        first_seen=latest.stored.first_seen,
        sources=latest.sources,
        score=max(item.score for item in found),
        matched=tuple(TopicWhy(topic, ()) for topic in _topics(found)),
        late=late is not None and _arrival_time(latest) < late,
    )


def _explain(
    entry: DigestPaper, source: Paper, whys: Whys, also: Sequence[OtherTitle]
) -> DigestPaper:
    paper = shown(source)

    def why(topic: str) -> tuple[MatchReason, ...]:
        found = whys(topic, paper, entry.sources)
        return found or _without_spans(whys(topic, source, entry.sources))

    return replace(
        entry,
        paper=paper,
        matched=tuple(TopicWhy(one.topic, why(one.topic)) for one in entry.matched),
        also=tuple(
            OtherTitle(_shown(other.title[:MAX_TITLE_LENGTH]), other.source) for other in also
        ),
    )


def _latest(found: Sequence[UnsentMatch]) -> Change:
    return max(found, key=lambda item: item.change.revision).change


def _arrival_time(change: Change) -> datetime:
    """Return when a paper became news; when it was announced during an outage, that time."""
    announced = change.stored.paper.announced
    return min(announced, change.at) if announced and change.kind is ChangeKind.NEW else change.at


def _without_spans(why: Iterable[MatchReason]) -> tuple[MatchReason, ...]:
    """Keep the words of a reason without spans: they occur only in the source of a formula."""
    return tuple(replace(each, spans=()) for each in why)


def _topics(found: Sequence[UnsentMatch]) -> list[str]:
    """The topics that found a paper, best first."""
    best: dict[str, float] = {}
    for item in found:
        best[item.topic] = max(item.score, best.get(item.topic, item.score))
    return sorted(best, key=lambda topic: (-best[topic], topic))


def _sections(entries: Sequence[DigestPaper]) -> tuple[DigestSection, ...]:
    """Entries come best first, so groups do, too."""
    groups: dict[str, list[DigestPaper]] = defaultdict(list)
    for entry in entries:
        groups[entry.matched[0].topic].append(entry)
    return tuple(DigestSection(topic, tuple(members)) for topic, members in groups.items())
