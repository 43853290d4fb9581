"""The values that pass between the stages: frozen, one for each boundary.

    Document -> Reading(Paper, Rejected)          a source reads; a Dump -> Part, one after another
    Keyed, Candidate -> Decision                  diff decides
    Change, Stored, Topic -> Match                match finds
    News -> Digest -> Rendered                    digest composes, a channel renders
    Delivery -> Outcome                           deliver sends

Every `datetime` is aware and in UTC unless its name says local.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, BinaryIO, Protocol, TypeAlias

import msgspec

from monitor.errors import Fault

Json = Mapping[str, Any]


class Clock(Protocol):
    """The calendar: due times, periods, dates, first-seen and next attempts come from here.

    Owners, locks, host gates and timeouts use the real clock instead.
    """

    def now(self) -> datetime: ...


# ── a source reads ──────────────────────────────────────────────────────────────────

# Values of `Paper.type` that mark a record about another paper; all other types are free text.
RETRACTION = "retraction"
CORRECTION = "correction"
CONCERN = "expression of concern"
COMMENT = "comment"


class Paper(msgspec.Struct, frozen=True, gc=False):
    """A paper as one record of one source tells it. Only the title is required.

    `keys` maps a scheme (arxiv, doi, openreview, pmid, s2, ...) to a value or a tuple of
    values; `announced` is when a source says it announced the paper, `announce` how
    (new, cross, replace, ...); `raw_id` is the source's own name for the record.

    `type` is what kind of publication it is, in small letters ("journal article", "preprint");
    `RETRACTION`, `CORRECTION`, `CONCERN` and `COMMENT` mark a record about another paper, whose
    identifiers are in `about`, in the form of `keys`.

    Dumps hold millions: a Struct of msgspec is made in a tenth of a frozen dataclass's time.
    """

    title: str
    abstract: str = ""
    authors: tuple[str, ...] = ()
    venue: str = ""
    year: int | None = None
    published: datetime | None = None
    updated: datetime | None = None
    announced: datetime | None = None
    url: str = ""
    pdf_url: str = ""
    keys: Mapping[str, str | tuple[str, ...]] = {}
    categories: tuple[str, ...] = ()
    announce: str = ""
    version: int | None = None
    withdrawn: bool = False
    raw_id: str = ""
    type: str = ""
    about: Mapping[str, str | tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True)
class Rejected:
    """A part of a document that gave no paper: `where` is a place ("line 12"), `why` a reason."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Document:
    """Bytes as they came. `at` is the file's time or the time of the fetch.

    `complete` is false for a transfer that was cut.
    `validators` (etag, last_modified) are kept only once the papers are.
    `lifetime` is for how long the same address is said to answer the same.
    """

    name: str
    content: bytes
    at: datetime
    content_type: str = ""
    url: str = ""
    validators: Mapping[str, str] = field(default_factory=dict, hash=False)
    complete: bool = True
    lifetime: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a source understood of a document: nothing is dropped without a `Rejected`.

    `error` says why the document as a whole could not be read; `complete` is false when it
    ends in the middle, so that nothing may be concluded from what is not there.
    """

    papers: tuple[Paper, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    error: str = ""
    complete: bool = True


@dataclass(frozen=True, slots=True)
class DumpCursor:
    """How far a dump is read, and what was read: enough to go on in the same one, or a longer one.

    `offset` counts the bytes of what it unpacks to, `number` its lines or records; `digest` is
    that of all these bytes, and `start` that of the first of them alone.
    """

    offset: int = 0
    number: int = 0
    digest: str = ""
    start: str = ""


@dataclass(frozen=True, slots=True)
class Dump:
    """A document that may be larger than memory, and is read in parts.

    `open` gives its bytes as they lie there, packed or not; `size` is theirs. When `modified`
    (nanoseconds since 1970; None: nobody knows) and `size` are as they were, so is the document.
    The rest is as of a Document.
    """

    name: str
    open: Callable[[], BinaryIO]
    at: datetime
    size: int
    modified: int | None = None
    url: str = ""
    validators: Mapping[str, str] = field(default_factory=dict, hash=False)
    complete: bool = True
    lifetime: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class DumpChunk:
    """The next papers of a dump and what was set aside between them, up to `mark`."""

    papers: tuple[Paper, ...]
    rejected: tuple[Rejected, ...]
    mark: DumpCursor


class DumpReading(Protocol):
    """A dump that is being read from `begin` on.

    When `take` returns None, `error` says why that is not the end of a whole document, or "".
    """

    begin: DumpCursor
    error: str

    def take(self, most: int) -> DumpChunk | None:
        """Return the next part, of at most so many records."""
        ...

    def close(self) -> None: ...


class RunOutcome(StrEnum):
    OK = "ok"
    UNCHANGED = "unchanged"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt at one document of one source, kept whatever came of it.

    `fresh` counts what this source had not told of before, whoever else had; `set_aside` are
    the first of what was rejected.
    """

    source: str
    document: str | None
    outcome: RunOutcome
    started: datetime
    finished: datetime | None = None
    seen: int = 0
    new: int = 0
    revised: int = 0
    known: int = 0
    rejected: int = 0
    fresh: int = 0
    error: str = ""
    set_aside: tuple[Rejected, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceDay:
    """What a source brought on one day.

    `asked` counts its answers; `offered` says that one of them held papers, new or not;
    `fresh` counts the papers and revisions that it had not told of before.
    """

    asked: int = 0
    offered: bool = False
    fresh: int = 0


class FirstRun(StrEnum):
    """What the first reading of a source is worth."""

    DELIVER = "deliver"
    RECENT = "recent"
    BASELINE = "baseline"


# ── diff decides ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class IncomingPaper:
    """A paper with what it can be recognised by.

    `keys` are normalised identifiers, `title_key` a candidate only, `raw_id` the source's own
    name for the record (or a hash of it), `fingerprint` changes when the text does; `blocks`
    are numbers of which near copies share one, `mark` is one that changes with anything said.
    `about` are the normalised identifiers of what a notice or comment is about, `common` those
    of the record that clearly different works carry: data, by which nothing is recognised.
    """

    paper: Paper
    keys: tuple[tuple[str, str], ...]
    title_key: str
    raw_id: str
    fingerprint: str
    blocks: tuple[int, ...] = ()
    mark: int | None = None
    about: tuple[tuple[str, str], ...] = ()
    common: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SightingText:
    """Title, authors, venue, year, type and normalised identifiers as one record gave them."""

    title: str
    authors: tuple[str, ...] = ()
    venue: str = ""
    year: int | None = None
    type: str = ""
    keys: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one source last said of a paper, and in which document it first did.

    `past` are the last fingerprints before this one, the latest first; `why` says by what the
    paper was recognised when this source first told of it. `text` is None where it was not asked
    for, and for records last read before texts were stored.
    """

    source: str
    raw_id: str
    version: int | None
    announce: str
    fingerprint: str
    first_seen: datetime
    last_seen: datetime
    document: str = ""
    past: tuple[str, ...] = ()
    why: str = ""
    text: SightingText | None = None


@dataclass(frozen=True, slots=True)
class StoredPaper:
    """A paper of the store. `news_at` is None when it was stored silently.

    Of one that is `purged` only what it is recognised by is left.
    """

    id: int
    paper: Paper
    first_seen: datetime
    news_at: datetime | None
    revision: int
    purged: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored paper that an incoming one may be, and by what it was found.

    `found_by` holds "key", "raw_id", "title" or "block"; `keys` are all identifiers of the stored
    paper, but for those that are `common` to clearly different works; `sightings` are this
    source's sightings of it. `ruled` is "same" or "different" where a person has said so, else "".
    """

    stored: StoredPaper
    keys: tuple[tuple[str, str], ...]
    found_by: frozenset[str]
    sightings: tuple[Sighting, ...] = ()
    ruled: str = ""
    common: tuple[tuple[str, str], ...] = ()


class ChangeKind(StrEnum):
    """Kinds of news, as a topic's `news:` names them."""

    NEW = "new"
    REVISED = "revised"
    WITHDRAWN = "withdrawn"
    OLDER = "older"


@dataclass(frozen=True, slots=True)
class Effect:
    """What a notice means for the papers it is about: withdrawn or revised, and why in words.

    `papers` are those that are stored; without `news` it is noted silently.
    """

    kind: ChangeKind
    papers: tuple[int, ...] = ()
    news: bool = True
    why: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be written for one incoming paper.

    `kind` is None when the paper is known and unchanged. `paper_id` is the stored paper it is,
    `twin` the position of an earlier decision of the same chunk that it repeats; both None
    means a paper that the store has never seen. `news` is false for what is stored silently;
    `retold` says that the text is to be taken over although it is no news. `joins` are stored
    papers, and `twin_joins` papers of earlier decisions, that are proven to be this one, too.
    `why` is the reason in words, `recognised` by what a known paper was recognised.

    `effect` is what a notice means for other papers. `disowned` are identifiers that turned up on
    a clearly different work: from now on nothing is recognised by them.
    """

    keyed: IncomingPaper
    kind: ChangeKind | None
    paper_id: int | None = None
    earlier_in_chunk: int | None = None
    news: bool = True
    why: str = ""
    text_changed_silently: bool = False
    joins: tuple[int, ...] = ()
    twin_joins: tuple[int, ...] = ()
    recognised: str = ""
    effect: Effect | None = None
    disowned: tuple[tuple[str, str], ...] = ()


# ── match finds ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Change:
    """A piece of news waiting to be matched, with the paper as it now stands."""

    stored: StoredPaper
    revision: int
    kind: ChangeKind
    at: datetime
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A stored question. Empty `sources` means all; `since` is how far a new topic looks back.

    `threshold` is the least that the weights of what is met have to sum up to, 0 for none;
    `synonyms` are the groups of words with one meaning that bear on its query.
    """

    name: str
    query: str
    sources: tuple[str, ...] = ()
    news: frozenset[ChangeKind] = frozenset({ChangeKind.NEW})
    since: timedelta = timedelta(days=7)
    threshold: float = 0.0
    synonyms: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word, name or label that the search index has, or with `prefix` a beginning of some."""

    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Keywords:
    """Keywords of which a paper has all, or at least one; `parts` is never empty."""

    every: bool
    parts: tuple[Keyword | Keywords, ...]


SearchExpr: TypeAlias = Keyword | Keywords


@dataclass(frozen=True, slots=True)
class MatchReason:
    """Which words of a topic were found in which field.

    `words` are as the paper writes them; `spans` are (start, end) positions in that field's text.
    """

    field: str
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A row of the match table: which topic met which revision of which paper."""

    topic: str
    paper_id: int
    revision: int
    score: float


# ── digest composes, a channel renders ──────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class UnsentMatch:
    """An unsent match with all that a digest may say of it."""

    topic: str
    score: float
    change: Change


@dataclass(frozen=True, slots=True)
class TopicWhy:
    topic: str
    why: tuple[MatchReason, ...]


@dataclass(frozen=True, slots=True)
class OtherTitle:
    """Another title of a paper, of a record that was recognised by likeness, and its source."""

    title: str
    source: str


@dataclass(frozen=True, slots=True)
class DigestPaper:
    """One paper of a digest: it stands once, under its best topic, and names the others.

    One that is `late` came so long before its digest that its title is enough. `also` are other
    titles under which it was seen.
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


@dataclass(frozen=True, slots=True)
class DigestSection:
    """The papers of one topic, best first."""

    topic: str
    entries: tuple[DigestPaper, ...]


@dataclass(frozen=True, slots=True)
class SourceWarning:
    """What is wrong with a source although it answers: stale, thin, silent, a gap not filled."""

    kind: str
    since: datetime
    text: str


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What was read of one source between two digests.

    `failing_since` and `error` are set while the last attempts failed.
    """

    source: str
    seen: int
    new: int
    last_read: datetime | None
    failing_since: datetime | None = None
    error: str = ""
    troubles: tuple[SourceWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class Digest:
    """What one subscription is told for one period: frozen once it is in the store.

    `period` is the scheduled local date (for cron, date and time; for `immediately`, a number);
    `covers_from` is when the last digest was due, None for the first; `waiting` counts papers
    that did not fit and come next time; `notes` are sentences about faults (a parked topic).
    """

    subscription: str
    period: str
    due_at: datetime
    timezone: str
    covers_from: datetime | None
    composed_at: datetime
    groups: tuple[DigestSection, ...]
    report: tuple[SourceReport, ...]
    full: int = 25
    waiting: int = 0
    notes: tuple[str, ...] = ()

    @property
    def papers(self) -> int:
        return sum(len(group.entries) for group in self.groups)


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to the operator: an incident that began or ended."""

    subject: str
    lines: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Rendered:
    """One part of a digest in one channel's form, ready to be sent; `body` is plain JSON."""

    part: int
    body: Json = field(hash=False)


class Templates(Protocol):
    """What a channel's `render` is handed; raises `TemplateError`."""

    def render(self, name: str, **values: object) -> str: ...

    def faults(self) -> Sequence[Fault]:
        """Return what is wrong with the user's templates, as far as it shows without a digest."""
        ...


# ── deliver sends ───────────────────────────────────────────────────────────────────


class DeliveryState(StrEnum):
    """The life of a delivery."""

    PLANNED = "planned"
    CLAIMED = "claimed"
    HANDING_OFF = "handing_off"
    SENT = "sent"
    RETRY = "retry"
    FAILED = "failed"
    UNKNOWN = "unknown"
    SUPPRESSED = "suppressed"
    SUPERSEDED = "superseded"


# The name until 0.1.0, for channels from packages; goes with the release after the next.
State = DeliveryState


@dataclass(frozen=True, slots=True)
class Delivery:
    """One part of one digest for one recipient on one channel.

    `parent` is the provider reference of part 0, for channels that thread; `rendered` is what
    was frozen when the digest was composed; `changed_at` is since when `state` is what it is.

    `handed_off_at` is when the last byte of its first hand-off without a clear end left: it may
    have arrived then. A person who has it sent again starts this anew. `resent` says that nothing
    hands it off once more by itself: that was done, or refused for good, or given up.
    """

    id: int
    digest_id: int
    subscription: str
    period: str
    channel: str
    recipient: str
    part: int
    state: DeliveryState
    attempts: int
    message_id: str
    created_at: datetime
    next_attempt_at: datetime | None
    rendered: Rendered
    parent: str = ""
    reference: str = ""
    error: str = ""
    owner: str = ""
    resent: bool = False
    handed_off_at: datetime | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attempt to send.

    `state` is SENT, RETRY, FAILED or UNKNOWN. `channel_down` means that the fault is the
    channel's, not this recipient's: its other deliveries wait and nobody is marked as failed.
    """

    state: DeliveryState
    error: str = ""
    reference: str = ""
    retry_after: timedelta | None = None
    channel_down: bool = False


class Channel(Protocol):
    """A way out: `render` is pure, `send` does the I/O and never raises for what a server says.

    `line` names what is down when the channel is (all e-mail of one server is one line).
    `handing_off` commits that the last byte is about to leave: it returns False when the
    claim is no longer ours, and then nothing may be sent. `apart` is how many seconds two
    messages of one channel are to be apart.
    """

    name: str
    line: str
    apart: float

    def recipients(self) -> tuple[str, ...]: ...

    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]: ...

    def render_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]: ...

    def send(self, delivery: Delivery, commit_handoff: Callable[[], bool]) -> Outcome: ...

    def reconcile(self, delivery: Delivery) -> Outcome | None:
        """Find out what became of an `unknown` delivery; None when this channel cannot know.

        A RETRY (it is not there) with a `retry_after` is believed only so long after the hand-off.
        """
        ...

    def check(self) -> str:
        """Look whether the channel could send now, sending nothing; return what is wrong, or ""."""
        ...

    def close(self) -> None: ...
