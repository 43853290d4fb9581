"""Read first: the few papers that lead a digest. They stay in the groups of their topics, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from monitor.digest.sections.kind import SectionKind
from monitor.digest.wording import format_ordinal, shorten_text
from monitor.identity.notices import notice
from monitor.model import (
    ChangeKind,
    Digest,
    DigestGroup,
    DigestPaper,
    LeadPaper,
    LeadReason,
)
from monitor.text import clean

# A digest of fewer papers is read whole.
MIN_PAPERS = 8
_LONGEST_TOPIC = 60
_KINDS = (ChangeKind.NEW, ChangeKind.OLDER)


# ── which papers lead ───────────────────────────────────────────────────────────────


def choose_lead(
    groups: Sequence[DigestGroup],
    in_full: Collection[int],
    most: int,
    *,
    by: LeadReason,
    rated: Collection[str] = (),
) -> tuple[LeadPaper, ...]:
    """Return at most `most` papers to read first, out of those `in_full`.

    By votes they are those with the most. Otherwise they are the first paper of each topic, then
    the second, topics of a larger weight first and of equal weight in the order of the groups. Of
    the topics that are `rated`, whose order is learned, only likely papers lead.
    """
    if sum(group.papers for group in groups) < MIN_PAPERS:
        return ()
    candidates = [
        (group, [e for e in group.entries if e.paper_id in in_full and _may_lead(e)])
        for group in groups
    ]
    if by is LeadReason.VOTES:
        voted = [entry for _, entries in candidates for entry in entries if _votes(entry)]
        voted.sort(key=_votes, reverse=True)
        return tuple(LeadPaper(e.paper_id, by, n) for n, e in enumerate(voted[:most], 1))
    of_topics = []
    for group, entries in sorted(candidates, key=lambda item: -item[0].rule.weight):
        is_rated = group.topic in rated
        reason = LeadReason.RATINGS if is_rated else LeadReason.WORDS
        leading = [e for e in entries if e.placed.likely or not is_rated]
        of_topics.append([LeadPaper(e.paper_id, reason, n) for n, e in enumerate(leading, 1)])
    by_round = chain.from_iterable(zip_longest(*of_topics))
    return tuple([paper for paper in by_round if paper][:most])


def _may_lead(entry: DigestPaper) -> bool:
    paper = entry.paper
    return entry.kind in _KINDS and not paper.withdrawn and not notice(paper)


def _votes(entry: DigestPaper) -> int:
    return entry.paper.upvotes or 0


# ── as a digest shows them ──────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ShownLead:
    """A paper of the lead, the heading of its topic, and its reason if no other has the same."""

    entry: DigestPaper
    topic: str
    reason: str

    @property
    def paper_id(self) -> int:
        return self.entry.paper_id


def leading(digest: Digest, in_full: Collection[int]) -> list[ShownLead]:
    """Return the lead of a digest, as far as it is among the papers shown in full."""
    there = {
        entry.paper_id: (entry, group)
        for group in (digest.groups if digest.lead else ())
        for entry in group.entries
        if entry.paper_id in in_full
    }
    shown = [lead for lead in digest.lead if lead.paper_id in there]
    reasons = Counter(map(_reason, shown))
    return [
        ShownLead(
            entry,
            shorten_text(clean(group.heading), _LONGEST_TOPIC),
            _reason(lead) if reasons[_reason(lead)] == 1 else "",
        )
        for lead in shown
        for entry, group in [there[lead.paper_id]]
    ]


def _reason(lead: LeadPaper) -> str:
    ordinal = "" if lead.place == 1 else f"{format_ordinal(lead.place)} "
    match lead.reason:
        case LeadReason.VOTES:
            return f"{ordinal}most votes"
        case LeadReason.RATINGS:
            return f"{ordinal or 'first '}in your learned order"
    return f"{ordinal}best match"


def first_papers(digest: Digest, count: int) -> list[DigestPaper]:
    """Return the papers that a preview of a digest names: its lead, else the best."""
    lead = leading(digest, {entry.paper_id for entry in digest.best(digest.full)})
    above = {first.paper_id for first in lead}
    others = [entry for entry in digest.best(count) if entry.paper_id not in above]
    return [*(first.entry for first in lead), *others][:count]


LEAD = SectionKind(
    "lead",
    is_in=lambda digest: bool(digest.lead),
    filters={"lead": leading, "first_papers": first_papers},
)
