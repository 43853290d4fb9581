"""The contents of a digest, and its form on a channel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Any, Protocol

import msgspec

from monitor.errors import Fault
from monitor.model.identity import ChangeKind, Revision
from monitor.model.paper import Paper, SiteNote
from monitor.model.topics import OPERATOR_NAME, Change, MatchReason

Json = Mapping[str, Any]


class UnsentMatch(msgspec.Struct, frozen=True):
    """An unsent match with all that a digest may show of it; `added_by` as in `MatchRow`."""

    topic: str
    score: float
    change: Change
    added_by: str | None = None


class TopicWhy(msgspec.Struct, frozen=True, omit_defaults=True, cache_hash=True):
    """Why a topic matches a paper; `title` is what people call the topic."""

    topic: str
    why: tuple[MatchReason, ...]
    title: str = ""


class OtherTitle(msgspec.Struct, frozen=True):
    """Another title of a paper, of a record that was recognised by likeness, and its source."""

    title: str
    source: str


class WithdrawnBy(msgspec.Struct, frozen=True):
    """Who says that a paper is withdrawn: the title of a source, and the link of its record."""

    source: str
    url: str = ""


class FromLibrary(msgspec.Struct, frozen=True):
    """The fields of a paper, and schemes of its keys, that are from a library of its readers."""

    library: str
    fields: tuple[str, ...]
    schemes: tuple[str, ...] = ()


class Formula(msgspec.Struct, frozen=True):
    """A formula of a title or abstract: as the text shown has it, and in LaTeX."""

    text: str
    tex: str


class Placed(msgspec.Struct, frozen=True):
    """The place of a paper in its group where ratings decide it, and why.

    `standing` is the score whose place it takes, None where ratings are not in use; `score` comes
    from readers' ratings. It is `like` a rated paper of this title, because of `words` of its own;
    if `owned`, that one is in a library of the subscription instead.
    `likely`: most papers with such a score were wanted; `folded`: it is listed by title only.
    """

    standing: float | None = None
    score: float = 0.0
    like: str = ""
    words: tuple[str, ...] = ()
    likely: bool = False
    folded: bool = False
    owned: bool = False


BY_SCORE = Placed()


class DigestPaper(msgspec.Struct, frozen=True, omit_defaults=True):
    """One paper of a digest: it stands once, under its best topic, and names the others.

    One that is `late` came so long before its digest that its title is enough. `also` are other
    titles under which it was seen. `source_titles` are what people call its sources, empty where
    all papers have the same one, None as in older digests; `search` is the site (see
    `monitor.digest.links`) on which it is searched for where nothing leads to it. `revised` says of
    a revision shown in full what it changed. `excerpt_rule` is the rule (see
    `monitor.digest.excerpt`) by which its excerpt is chosen, 0 in older digests. `lists`
    counts the last lists of its sources. `owned`: it is in a library of the subscription. Of a
    withdrawal, `withdrawn_by` is its source, None in older digests. `unmarked` are the matched
    words that every title of its group has: they are not marked. `note` is what a site adds to its
    record, with a line only if it may be shown. Of `paper`, what it lacked may be `from_library`.

    Fields with their defaults are not stored.
    """

    paper_id: int
    revision: int
    kind: ChangeKind
    paper: Paper
    first_seen: datetime
    sources: tuple[str, ...]
    score: float
    matched: tuple[TopicWhy, ...]
    late: bool = False
    also: tuple[OtherTitle, ...] = ()
    source_titles: tuple[str, ...] | None = None
    search: str = ""
    placed: Placed = BY_SCORE
    revised: Revision | None = None
    formulas: tuple[Formula, ...] = ()
    excerpt_rule: int = 0
    lists: int = 0
    owned: bool = False
    withdrawn_by: WithdrawnBy | None = None
    unmarked: tuple[str, ...] = ()
    note: SiteNote | None = None
    from_library: FromLibrary | None = None

    @property
    def standing(self) -> float:
        """The score that decides its place among the papers of all groups."""
        return self.score if self.placed.standing is None else self.placed.standing

    @property
    def addresses(self) -> tuple[object, ...]:
        paper = self.paper
        return paper.url, paper.pdf_url, (*paper.keys.items(),), (*paper.links.items(),)

    @property
    def reasons(self) -> tuple[MatchReason, ...]:
        return tuple([why for matched in self.matched for why in matched.why])


class LeadReason(StrEnum):
    """The order by which a paper leads its digest."""

    VOTES = "votes"
    RATINGS = "ratings"
    WORDS = "words"


class LeadPaper(msgspec.Struct, frozen=True):
    """A paper to read first: by votes the `place`-th of all in the digest, else of its topic."""

    paper_id: int
    reason: LeadReason
    place: int


class ReturnedPaper(msgspec.Struct, frozen=True):
    """A paper of an earlier digest that is in further lists."""

    title: str
    lists: int


class ReferenceChange(StrEnum):
    """How a paper that a person has was changed, the most important first."""

    RETRACTED = "retracted"
    MISTAKEN = "withdrawn by mistake"
    REPORTED = "reported as retracted"
    CONCERN = "expression of concern"
    CORRECTED = "corrected"
    PUBLISHED = "published"
    NEW_VERSION = "new version"


class NoticeText(msgspec.Struct, frozen=True, omit_defaults=True):
    """The beginning of a notice, or the reasons for it that its source lists."""

    text: str
    source: str
    is_reasons: bool = False


class LibraryEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of a library: the library, its file, and the key of the entry in this file."""

    library: str
    file: str = ""
    key: str = ""


class ReferenceEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a reference: the paper as libraries have it, with the identifiers of all.

    Two events of one kind and work are one if they share something of `identity`. `before` and
    `after` are what is replaced and what replaces it, or the notice; `dated` is its day, month or
    year in ISO 8601 (`3 March 2026` in older digests), `url` its page, `venue` and `doi` those of
    the notice or publication, `text` what the notice says. `title_after` is another title of a new
    version or of the record. `others` are later reports of it. Of a publication that no identifier
    leads to `perhaps` is true, and `title_after` its title. One that is `void` was mistaken: it is
    not sent, and the same report is no new event. A correction goes to an `audience` of
    subscriptions alone. `entries` are those of the readers' libraries, in digests alone. A change
    of a paper that a reader saved, number `saved` of the store, is for that `reader` of the
    `audience` alone, a name in small letters.

    Fields with their defaults are not stored.
    """

    change: ReferenceChange
    work: Paper
    identity: tuple[str, ...]
    at: datetime
    source: str
    before: str = ""
    after: str = ""
    dated: str = ""
    url: str = ""
    title_after: str = ""
    perhaps: bool = False
    id: int = 0
    others: tuple[ReferenceEvent, ...] = ()
    void: bool = False
    audience: tuple[str, ...] = ()
    venue: str = ""
    doi: str = ""
    text: NoticeText | None = None
    entries: tuple[LibraryEntry, ...] = ()
    reader: str = ""
    saved: int = 0

    @property
    def change_name(self) -> str:
        """`perhaps published` of a publication that no identifier leads to."""
        return f"perhaps {self.change}" if self.perhaps else self.change.value

    def is_for(self, who: str) -> bool:
        """Whether a person may see the event."""
        return self.reader in ("", who.casefold())


class Audience(msgspec.Struct, frozen=True):
    """The recipients (channel, recipient) of a subscription, and which of them is the operator.

    `operators` is its only recipient, if one person reads what that is sent, else nothing.
    """

    recipients: frozenset[tuple[str, str]]
    operators: frozenset[tuple[str, str]] = frozenset()

    def of(self, event: ReferenceEvent) -> frozenset[tuple[str, str]]:
        """Return whom an event is for: all, or its reader alone, by the address."""
        if not event.reader:
            return self.recipients
        own = frozenset((channel, to) for channel, to in self.recipients if event.is_for(to))
        return own or (self.operators if event.is_for(OPERATOR_NAME) else frozenset())


class SourceLabel(msgspec.Struct, frozen=True):
    """The title of a source, and the site on which its papers are searched for."""

    title: str = ""
    search: str = ""


@dataclass(frozen=True, slots=True)
class GroupRule:
    """How a topic is shown: what people call it, and its share of the papers in full."""

    title: str = ""
    max: int | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class DigestGroup:
    """The papers of one topic, best first; `more` counts those that are not among `entries`."""

    topic: str
    entries: tuple[DigestPaper, ...]
    rule: GroupRule = GroupRule()
    more: int = 0

    @property
    def heading(self) -> str:
        return self.rule.title or self.topic

    @property
    def papers(self) -> int:
        return len(self.entries) + self.more


@dataclass(frozen=True, slots=True)
class SourceWarning:
    """A problem of a source that answers: stale, thin, silent, a gap not filled."""

    kind: str
    since: datetime
    text: str


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The readings of one source between two digests.

    `failing_since` and `error` are set while the last attempts failed; `title` is its shown name.
    One that does not `announces` papers was asked about references.
    """

    source: str
    seen: int
    new: int
    last_read: datetime | None
    failing_since: datetime | None = None
    error: str = ""
    troubles: tuple[SourceWarning, ...] = ()
    title: str = ""
    announces: bool = True


class NextKind(StrEnum):
    """Whether a next digest comes."""

    SCHEDULED = "scheduled"
    DUE = "due"
    IMMEDIATE = "immediate"
    PAUSED = "paused"
    STOPPED = "stopped"


class NextDigest(msgspec.Struct, frozen=True):
    """The next digest of a subscription or recipient.

    `at` is its slot: past for one that is due, None for `immediately` and where none comes. `until`
    is the end of a pause.
    """

    kind: NextKind
    at: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class AboutSubscription:
    """The subscription of a digest, and the contact that removes a reader from it.

    `topics` are the titles of all its topics. `shares_recipients`: a recipient also gets the
    digests of another subscription. `stop_url`, `view_url` and `rate_url` are pages where a
    reader stops the digests, reads this one and rates papers, empty where there are none;
    `archive_url` is its page for who may log in; `papers_url` is the beginning of the address of
    each paper, on pages alone. `upcoming` is the digest after this one, None in older digests;
    `guards`: it also has changes of the readers' references.
    """

    title: str = ""
    topics: tuple[str, ...] = ()
    schedule: str = ""
    contact: str = ""
    shares_recipients: bool = False
    stop_url: str = ""
    view_url: str = ""
    rate_url: str = ""
    papers_url: str = ""
    archive_url: str = ""
    upcoming: NextDigest | None = None
    guards: bool = False


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of one subscription for one period: frozen once it is in the store."""

    subscription: str
    # The scheduled local date; for cron and early digests, date and time; for `immediately`, a
    # number.
    period: str
    due_at: datetime
    timezone: str
    # When the last digest was composed, None for the first.
    covers_from: datetime | None
    composed_at: datetime
    groups: tuple[DigestGroup, ...]
    report: tuple[SourceReport, ...]
    # How many papers are shown in full, the best first.
    full: int = 25
    # How many papers did not fit and come next time.
    waiting: int = 0
    # Sentences, most of them about faults (a parked topic).
    notes: tuple[str, ...] = ()
    # How many papers after the `full` ones are shown in a line each.
    titles: int = 60
    about: AboutSubscription = AboutSubscription()
    # Papers of earlier digests that are in lists again. They are not counted.
    returned: tuple[ReturnedPaper, ...] = ()
    # The most papers that a message shows.
    at_most: int | None = None
    # Changes of the readers' own papers; `more_references` others come next time.
    references: tuple[ReferenceEvent, ...] = ()
    more_references: int = 0
    # Papers (id, revision) that are not shown since a library of the subscription has them.
    left_out: tuple[tuple[int, int], ...] = ()
    # It lists, for one recipient, what came while they had paused. It is not stored.
    was_missed: bool = False
    # Those of `notes` that report no fault.
    remarks: tuple[str, ...] = ()
    # Papers to read first; they are among those in full of `groups`.
    lead: tuple[LeadPaper, ...] = ()
    # It was asked for between two slots, and neither takes the place of one.
    early: bool = False
    # Clean-up removed the texts: its papers are as they are now.
    texts_removed: bool = False

    @property
    def has_news(self) -> bool:
        """Whether it has papers, or changes of references: `deliveries.has_news` in SQL."""
        return bool(self.papers or self.changes)

    @property
    def papers(self) -> int:
        return sum(group.papers for group in self.groups)

    @property
    def changes(self) -> int:
        """How many changes of references it has."""
        return len(self.references)

    @property
    def more(self) -> int:
        """How many of its papers are not among the entries of its groups."""
        return sum(group.more for group in self.groups)

    @property
    def heading(self) -> str:
        return self.about.title or self.subscription

    def best(self, count: int) -> list[DigestPaper]:
        """Return the `count` papers to show in full, best first: see `best_papers`."""
        return best_papers(self.groups, count)


def best_papers(groups: Iterable[DigestGroup], count: int) -> list[DigestPaper]:
    """Return `count` papers, best first: of each group its share of those not late or folded."""
    rules = []
    ranked = []
    for group in groups:
        rules.append(group.rule)
        entries = (entry for entry in group.entries if not (entry.late or entry.placed.folded))
        ranked.append(sorted(entries, key=attrgetter("standing"), reverse=True)[: group.rule.max])
    shares = share_places(count, list(map(len, ranked)), [rule.weight for rule in rules])
    chosen = [e for entries, share in zip(ranked, shares, strict=True) for e in entries[:share]]
    return sorted(chosen, key=attrgetter("standing"), reverse=True)


class ListedDigest(msgspec.Struct, frozen=True):
    """A digest as the archive lists it; `notices` of its papers are notices, as far as counted."""

    id: int
    subscription: str
    period: str
    due_at: datetime
    composed_at: datetime
    papers: int
    changes: int  # of references
    superseded: bool
    notices: int = 0

    @property
    def has_news(self) -> bool:
        """Whether it has what `Digest.has_news` asks for."""
        return bool(self.papers or self.changes)


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to the operator: an incident that began or ended, and a page about it, if any."""

    subject: str
    lines: tuple[str, ...]
    at: datetime
    url: str = ""
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Rendered:
    """One part of a digest in one channel's form, ready to be sent; `body` is plain JSON."""

    part: int
    body: Json = field(hash=False)


class Templates(Protocol):
    """The templates that a channel's `render` is given; raises `TemplateError`."""

    def render(self, name: str, **values: object) -> str: ...

    def release(self) -> None:
        """Let go of what is kept for the digests of one run."""

    def faults(self) -> Sequence[Fault]:
        """Return what is wrong with the user's templates, as far as it shows without a digest."""
        ...


def share_places(count: int, sizes: Sequence[int], weights: Sequence[float]) -> list[int]:
    """Return how many of `count` places each of several lists gets, by weight.

    What a list does not need goes to the others; of equals the first is served first.
    """
    shares = [0] * len(sizes)
    if sum(sizes) <= count:
        return list(sizes)
    waiting = [(0.0, at) for at, size in enumerate(sizes) if size]
    heapify(waiting)
    for _ in range(count):
        _, at = heappop(waiting)
        shares[at] += 1
        if shares[at] < sizes[at]:
            heappush(waiting, (shares[at] / weights[at], at))
    return shares
