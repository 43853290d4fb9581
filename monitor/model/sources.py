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
    """Bytes as they came."""

    # A path, an address without password and query, or the request to an API; shown and stored.
    name: str
    # Without the compression of HTTP; a packed file is still packed.
    content: bytes
    # The file's time, or the time of the fetch.
    at: datetime
    # The header of the response, "" for files.
    content_type: str = ""
    # The address after redirects, the base of relative links; "" for files.
    url: str = ""
    # `etag` and `last_modified`, or the state of an API; kept only once the papers are.
    validators: Mapping[str, str] = field(default_factory=dict, hash=False)
    # False for a transfer that was cut.
    complete: bool = True
    # How long the server or the feed says that it stays the same.
    lifetime: timedelta = timedelta(0)
    # The works that a service was asked about, None for other documents.
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

    When `modified` and `size` are unchanged, so is the document.
    """

    # As in `Document`.
    name: str
    # Returns the stored bytes from the first on, packed or not. Two readers of a download share a
    # position.
    open: Callable[[], BinaryIO]
    # As in `Document`.
    at: datetime
    # The number of stored bytes.
    size: int
    # Nanoseconds since 1970; None for a download, whose time is not known.
    modified: int | None = None
    # As in `Document`.
    url: str = ""
    # As in `Document`.
    validators: Mapping[str, str] = field(default_factory=dict, hash=False)
    # As in `Document`.
    complete: bool = True
    # As in `Document`.
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
    """One attempt at one document of one source, kept whatever came of it."""

    # The name in the configuration.
    source: str
    # Its name, None if the run failed before there was one, or found none.
    document: str | None
    # FAILED while the run is open; the store has null then.
    outcome: RunOutcome
    # The run is stored at this time, before anything is fetched.
    started: datetime
    # None while the run is open.
    finished: datetime | None = None

    # Records that gave a paper, also those that could not be decided.
    seen: int = 0
    # Papers that no source had reported before, also those stored silently or as older.
    new: int = 0
    # Revisions and withdrawals, also those that a notice reports.
    revised: int = 0
    # Records that were no news of a known paper.
    known: int = 0
    # Records that gave no paper, and those of `seen` that could not be decided.
    rejected: int = 0
    # Papers that this source had not reported before, even if others had, and revisions.
    fresh: int = 0
    # Why the run failed or is partial, "" for no error.
    error: str = ""
    # The first 20 of the rejected records.
    set_aside: tuple[Rejected, ...] = ()
    # A person has to confirm the reading first. It is not stored.
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
    """A record that raised an error when it was decided, kept to be tried again."""

    # The name in the configuration.
    source: str
    # A hash of `text` without votes and dates, which may be those of the source's own run.
    record_hash: str
    # The source's name for the record, else its link, or "".
    raw_id: str
    # The name of the document in which it was read first.
    document: str
    # All of the record as JSON, even values of a wrong type.
    text: str
    # The type and message of the last error, 500 characters at most.
    error: str
    # The version of the program that tried it last: another one tries it again.
    version: str
    # As what papers of the first reading of the source were stored, or those that `--accept`
    # admitted; else None.
    first_run: FirstRun | None
    # When it was read first.
    at: datetime
    # When it was tried last.
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
