"""Results of a source: documents, readings, dumps, how a run ended, and usual counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import BinaryIO, Protocol

import msgspec

from monitor.model.paper import Paper


@dataclass(frozen=True, slots=True)
class Rejected:
    """A part of a document that gave no paper: `where` is a place ("line 12"), `why` a reason."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class AskedWorks:
    """The identifiers of works that a service was asked about, and those that its answer has.

    `says_none`: by its own words the service has none of them. `assigned` are identifiers that the
    service gives itself, so that it has their records.
    """

    asked: tuple[str, ...]
    answered: frozenset[str] = frozenset()
    says_none: bool = False
    assigned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """Bytes as they came. `at` is the file's time or the time of the fetch.

    `complete` is false for a transfer that was cut; `validators` (etag, last_modified) are kept
    only once the papers are; `lifetime` is how long the server says that it stays the same. `works`
    are those that a service was asked about, None for other documents.
    """

    name: str
    content: bytes
    at: datetime
    content_type: str = ""
    url: str = ""
    validators: Mapping[str, str] = field(default_factory=dict, hash=False)
    complete: bool = True
    lifetime: timedelta = timedelta(0)
    works: AskedWorks | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The papers of a document, with a `Rejected` for each record that gave none.

    `error` is why the document as a whole could not be read; `complete` is false when it
    ends in the middle, so that nothing may be concluded from what is not there. `doubt` is why its
    papers are probably none: they are stored only on request.
    """

    papers: tuple[Paper, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    error: str = ""
    complete: bool = True
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class DumpCursor:
    """How far a dump has been read: enough to continue in the same file, or a longer one.

    `offset` counts the bytes of what it unpacks to, `number` its lines or records; `digest` is
    that of all these bytes, and `start` that of the first of them alone.
    """

    offset: int = 0
    number: int = 0
    digest: str = ""
    start: str = ""


@dataclass(frozen=True, slots=True)
class Dump:
    """A document that may be larger than memory, and is read in chunks.

    `open` gives its stored bytes, packed or not; `size` counts them. When `modified`
    (nanoseconds since 1970; None: unknown) and `size` are unchanged, so is the document. The other
    fields are as in a Document.
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
    """The next papers of a dump, and the rejected records between them, up to `cursor`."""

    papers: tuple[Paper, ...]
    rejected: tuple[Rejected, ...]
    cursor: DumpCursor


class DumpReading(Protocol):
    """A dump that is being read from `begin` on.

    When `take` returns None, `error` says why that is not the end of a whole document, or "".
    """

    begin: DumpCursor
    error: str

    def take(self, most: int) -> DumpChunk | None:
        """Return the next chunk, of at most `most` records."""
        ...

    def close(self) -> None: ...


class RunOutcome(StrEnum):
    """The result of a run. `RETRIED` read no document: it decided kept records again."""

    OK = "ok"
    UNCHANGED = "unchanged"
    PARTIAL = "partial"
    FAILED = "failed"
    RETRIED = "retried"


class Run(msgspec.Struct, frozen=True):
    """One attempt at one document of one source, kept whatever came of it.

    `fresh` counts what this source had not reported before, even if others had; `set_aside` are
    the first of what was rejected. `is_held`, which is not stored with it, says that a person has
    to confirm it first.
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
    is_held: bool = False


class SourceDay(msgspec.Struct, frozen=True):
    """The answers and papers of a source on one day.

    `asked` counts its answers; `offered` says that one of them held papers, new or not;
    `fresh` counts the papers and revisions that it had not reported before.
    """

    asked: int = 0
    offered: bool = False
    fresh: int = 0


class Role(StrEnum):
    """The purpose of a source: news, a library of papers people have, or a list for look-up."""

    NEWS = "news"
    LIBRARY = "library"
    REFERENCE = "reference"


class FirstRun(StrEnum):
    """How the papers of the first reading of a source are treated."""

    DELIVER = "deliver"
    RECENT = "recent"
    BASELINE = "baseline"


class UndecidedRecord(msgspec.Struct, frozen=True):
    """A record that raised an error when it was decided, kept to be tried again.

    `text` is all of it as JSON, `record_hash` a hash of that without its dates, and `raw_id` the
    source's name for it, or "". It would have been worth `first_run`. `version` is that of the
    program that tried it last, at `tried_at`; `at` is when it was read first.
    """

    source: str
    record_hash: str
    raw_id: str
    document: str
    text: str
    error: str
    version: str
    first_run: FirstRun | None
    at: datetime
    tried_at: datetime


class UsualCount(msgspec.Struct, frozen=True):
    """How many papers a weekday brings as a rule: the median, and the range of half the days."""

    low: float
    median: float
    high: float


class DayCount(msgspec.Struct, frozen=True):
    """The papers of one day; None for a gap, a day without a request for papers.

    `usual` is what that weekday brings, None where it is not known; `is_thin` marks far fewer.
    """

    day: date
    papers: int | None
    usual: UsualCount | None = None
    is_thin: bool = False


def fill_days(counts: Mapping[date, int], last: date) -> tuple[DayCount, ...]:
    """Return the days from the first that has a count to the last, quiet days among them."""
    if not counts:
        return ()
    days = (last - timedelta(days=n) for n in reversed(range((last - min(counts)).days + 1)))
    return tuple(DayCount(day, counts.get(day, 0)) for day in days)
