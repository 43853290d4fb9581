"""What a digest shows, and what a channel makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from monitor.errors import Fault
from monitor.model.clock import Json
from monitor.model.identity import ChangeKind
from monitor.model.sources import Paper
from monitor.model.topics import Change, MatchReason


@dataclass(frozen=True, slots=True)
class UnsentMatch:
    """An unsent match with all that a digest may show of it."""

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

    @property
    def reasons(self) -> tuple[MatchReason, ...]:
        """Why all its topics match it."""
        return tuple([why for matched in self.matched for why in matched.why])


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
    """The digest of one subscription for one period: frozen once it is in the store.

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

    def best(self, count: int) -> list[DigestPaper]:
        """Return the `count` best papers, best first, but for those that are late."""
        return best_papers(self.groups, count)


def best_papers(groups: Iterable[DigestSection], count: int) -> list[DigestPaper]:
    """Return the `count` best papers of all groups, best first, but for those that are late."""
    entries = [entry for group in groups for entry in group.entries if not entry.late]
    return sorted(entries, key=lambda entry: -entry.score)[:count]


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
