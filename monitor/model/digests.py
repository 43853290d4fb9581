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

    Fields with their defaults are not stored.
    """

    # The number in the store when the digest was composed; a merge may have changed it since.
    paper_id: int
    # The number, from 1, of the newest change that the digest reports; servers count versions of
    # their own.
    revision: int
    # If several changes were not sent before, the first of withdrawn, new, older and revised.
    kind: ChangeKind
    # The texts as the digest shows them: formulas in Unicode, long texts cut, no abstract if the
    # paper is listed by title. Empty once clean-up has removed them.
    paper: Paper
    # When its first source had the paper; shown if neither record nor list has a date.
    first_seen: datetime
    # The names of its sources in the configuration, in alphabetical order.
    sources: tuple[str, ...]
    # The score by the best topic, from 0 to 7.5: see `monitor.match.meaning.explain.score`.
    score: float
    # The topics that found it, best first; without reasons if the paper is listed by title.
    matched: tuple[TopicWhy, ...]
    # It came so long before the digest, as during an outage, that its title is enough.
    late: bool = False

    # Other titles, of records that were recognised as this paper by likeness.
    also: tuple[OtherTitle, ...] = ()
    # The shown names of its sources; empty where all papers have the same one, None in older
    # digests.
    source_titles: tuple[str, ...] | None = None
    # The site (see `monitor.digest.links`) on which it is searched for where nothing leads to it.
    search: str = ""
    # Its place by readers' ratings; `BY_SCORE` where these are not in use.
    placed: Placed = BY_SCORE
    # The changes of a revision that is shown in full.
    revised: Revision | None = None
    # The LaTeX of formulas, for pages, which show MathML; none for a formula of one sign.
    formulas: tuple[Formula, ...] = ()
    # The rule (see `monitor.digest.excerpt`) that chooses its excerpt; 0 in older digests.
    excerpt_rule: int = 0
    # The number of its lists of 30 days, up to the last of them.
    lists: int = 0
    # It is in a library of the subscription, whose setting is `owned: mark`.
    owned: bool = False
    # The source that reports a withdrawal; None in older digests.
    withdrawn_by: WithdrawnBy | None = None
    # Matched words that every title of its group has: they are not marked.
    unmarked: tuple[str, ...] = ()
    # Words of a site about the paper; with a line only where title and abstract bear it out.
    note: SiteNote | None = None
    # The parts of `paper` that a library of the readers gave, as its sources did not.
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
    """A change of a reference, or of a paper that a reader saved.

    Two events of one kind and work are one if they share something of `identity`. Fields with their
    defaults are not stored.
    """

    # The kind, without the doubt of `perhaps`: see `change_name`.
    change: ReferenceChange
    # The paper as libraries have it, without an abstract, with the identifiers of all of them.
    work: Paper
    # Names of a report: "doi:10.1/x", "paper:7", "record:NAME" or "mark:SOURCE:NAME"; of a new
    # version its number. "" is for changes that a work can have only once.
    identity: tuple[str, ...]
    # When the change was recorded; `dated` is when it happened.
    at: datetime
    # The name of a source or service; in digests, its title.
    source: str

    # The preprint ("arXiv 2401.01234") or version that is replaced or withdrawn; "" for none.
    before: str = ""
    # The publication ("in Nature, doi:10.1/x") or version that replaces it. Of a notice: its
    # identifier, else its title.
    after: str = ""
    # The day, month or year of the notice or publication in ISO 8601 (`3 March 2026` in older
    # digests).
    dated: str = ""
    # The page of the notice or publication.
    url: str = ""
    # A title that differs from that of `work`: of a new version, of the record that reports a
    # withdrawal, or of a publication that is only supposed (`perhaps`).
    title_after: str = ""
    # No identifier leads to the publication: title and authors alone suggest it.
    perhaps: bool = False
    # The row of `reference_event`, 0 until the event is stored.
    id: int = 0
    # Further reports of the same change, which count if this one is withdrawn; digests have none.
    others: tuple[ReferenceEvent, ...] = ()
    # The report was mistaken: it is not sent, and the same report is no new event.
    void: bool = False
    # Subscriptions, if the event is for these alone: those that were sent a mistake, or those of
    # `reader`. Otherwise it is for all that guard a library with the work.
    audience: tuple[str, ...] = ()
    # The journal of the notice or publication, in the words of the record.
    venue: str = ""
    # The DOI of the notice or publication, normalised.
    doi: str = ""
    # The beginning of the notice, or the reasons for it that a site lists.
    text: NoticeText | None = None
    # The entries of the readers' libraries; set in digests alone.
    entries: tuple[LibraryEntry, ...] = ()
    # The name, in small letters, of the only reader that the event is for; "" for all readers.
    reader: str = ""
    # The number of the paper that `reader` saved, 0 for a change of a reference.
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
    """The readings of one source between two digests."""

    # The name in the configuration.
    source: str
    # The sum of `Run.seen`: known papers are counted, too.
    seen: int
    # The sum of `Run.new`: papers that no source had reported before.
    new: int
    # The end of the last run that did not fail, even if it was before this time; None for none.
    last_read: datetime | None
    # Set while the last attempts failed, with `error`.
    failing_since: datetime | None = None
    # The error of these attempts, in one line.
    error: str = ""
    # Its other open incidents, and the gaps that were found in this time.
    troubles: tuple[SourceWarning, ...] = ()
    # The name that people know, "" to show that of the configuration.
    title: str = ""
    # False for a source that was asked about references alone.
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
    """The subscription of a digest, and the contact that removes a reader from it."""

    # The setting; "" where the name of the subscription is shown.
    title: str = ""
    # The titles of all its topics, also of those without a paper in this digest.
    topics: tuple[str, ...] = ()
    # As the configuration writes it.
    schedule: str = ""
    # The first mail address of the operator, else the sender of mails.
    contact: str = ""
    # A recipient also gets the digests of another subscription, so messages name this one.
    shares_recipients: bool = False

    # The page on which a reader stops the digests; in mails alone, "" without `public_url`.
    stop_url: str = ""
    # The page on which a reader sees this digest; in mails alone.
    view_url: str = ""
    # The beginning of the addresses by which a reader rates papers; in mails, and on the page of
    # `view_url`.
    rate_url: str = ""
    # The beginning of the address of each paper; on the service's own pages alone.
    papers_url: str = ""
    # The page of this digest for readers who may log in, "" without `public_url`.
    archive_url: str = ""

    # The digest after this one; None in older digests.
    upcoming: NextDigest | None = None
    # The digest also has changes of the readers' references.
    guards: bool = False


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of one subscription for one period: frozen once it is in the store."""

    # The name in the configuration; for notices and tests, see `monitor.model.delivery`.
    subscription: str
    # The scheduled local date; for cron and early digests, date and time; for `immediately`, a
    # number. A subscription has one digest of each period.
    period: str
    # The scheduled time; for `immediately` and early digests, the time of composing.
    due_at: datetime
    # The zone of the subscription, by its name in the tz database.
    timezone: str
    # When the last digest was composed, None for the first.
    covers_from: datetime | None
    # Papers, readings and recipients are those of this moment.
    composed_at: datetime
    # In the order of their best papers, unless ratings or the setting `order` decide.
    groups: tuple[DigestGroup, ...]
    # The sources that may have news for it, and those that are asked about its references.
    report: tuple[SourceReport, ...]

    # How many papers are shown in full, the best first.
    full: int = 25
    # How many papers did not fit and come next time.
    waiting: int = 0
    # Sentences, most of them about faults (a parked topic).
    notes: tuple[str, ...] = ()
    # How many papers after the `full` ones are shown in a line each.
    titles: int = 60
    # The settings as they were when it was composed.
    about: AboutSubscription = AboutSubscription()
    # Papers of earlier digests that are in lists again. They are not counted.
    returned: tuple[ReturnedPaper, ...] = ()
    # The most papers that a message shows; None for as many as fit.
    at_most: int | None = None
    # Changes of the readers' own papers, the most important first.
    references: tuple[ReferenceEvent, ...] = ()
    # How many other changes come next time.
    more_references: int = 0
    # Papers (id, revision) that are not shown since a library of the subscription has them.
    left_out: tuple[tuple[int, int], ...] = ()

    # It lists, for one recipient, the papers of a pause that has ended. It is not stored.
    was_missed: bool = False
    # The sentences of `notes` that report no fault.
    remarks: tuple[str, ...] = ()
    # Papers to read first; they are also in full in `groups`.
    lead: tuple[LeadPaper, ...] = ()
    # It was asked for between two slots, and takes the place of none.
    early: bool = False
    # Clean-up removed the texts: its papers are shown as they are now. Set when it is read.
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
    """A digest as the archive lists it, without its content."""

    # Lists are in this order; the next page of a list begins below it.
    id: int
    # A name that the configuration may no longer have.
    subscription: str
    # As in `Digest`; the address of its page ends in it.
    period: str
    # As in `Digest`.
    due_at: datetime
    # As in `Digest`.
    composed_at: datetime
    # The papers of all groups, also those that messages leave to the archive.
    papers: int
    # The number of changes of references.
    changes: int
    # It reached no recipient, and a later digest has its papers.
    superseded: bool
    # How many of `papers` are notices; 0 unless `with_notices` counted them, and once texts are
    # removed.
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
