"""What a source returns: documents, papers, dumps, and how a run ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import BinaryIO, Protocol

import msgspec

# Values of `Paper.type` that mark a record about another paper; all other types are free text.
RETRACTION = "retraction"
CORRECTION = "correction"
CONCERN = "expression of concern"
COMMENT = "comment"

_ARXIV_NUMBER = re.compile(
    r"(?:^|/)(?P<year>\d\d)(?P<month>0[1-9]|1[0-2])(?:\.\d{4,5}|\d{3})(?:v\d+)?$"
)


class ListedDay(msgspec.Struct, frozen=True, omit_defaults=True):
    """A day on which a list of a source had a paper; `year_guessed` where the list names no year.

    A source leaves `source` empty: what is stored has its name.
    """

    day: date
    source: str = ""
    year_guessed: bool = False


class Paper(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A paper as one record of one source describes it. Only the title is required.

    `keys` maps a scheme (arxiv, doi, openreview, pmid, s2, ...) to a value or a tuple of
    values; `announced` is when the source announced the paper, `announce` how
    (new, cross, replace, ...); `raw_id` is the source's own name for the record. `precision`
    is "month" where `published` is the first day of the only month known, and "bound" where it
    just tells how old the paper is at least.
    `listed` are days of lists, which are no dates of the paper.

    `type` is what kind of publication it is, in small letters ("journal article", "preprint");
    `RETRACTION`, `CORRECTION`, `CONCERN` and `COMMENT` mark a record about another paper, whose
    identifiers are in `about`, in the form of `keys`.

    `links` are addresses of what belongs to it (code, project), `upvotes` those of its source.

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
    links: Mapping[str, str] = {}
    upvotes: int | None = None
    precision: str = ""
    listed: tuple[ListedDay, ...] = ()

    @property
    def listed_at(self) -> datetime | None:
        """The beginning of the first day on which a list had it, in UTC."""
        days = [listed.day for listed in self.listed]
        return datetime.combine(min(days), time(), UTC) if days else None

    @property
    def day(self) -> datetime | None:
        """When it was published, if that is known to the day."""
        return None if self.precision else self.published

    @property
    def month(self) -> date | None:
        """The first day of its month, from its date, else from its arXiv id."""
        if self.published and self.precision != "bound":
            return self.published.date().replace(day=1)
        arxiv = self.keys.get("arxiv", ())
        ids = (arxiv,) if isinstance(arxiv, str) else arxiv
        return next(filter(None, map(arxiv_month, ids)), None)


def record_of(paper: Paper, source: str) -> Paper:
    """Return a record whose listed days name its source."""
    if not paper.listed:
        return paper
    listed = tuple(msgspec.structs.replace(day, source=source) for day in paper.listed)
    return msgspec.structs.replace(paper, listed=listed)


def arxiv_month(arxiv_id: str) -> date | None:
    """Return the first day of the month in which arXiv assigned an identifier.

    https://info.arxiv.org/help/arxiv_identifier.html: it begins with the year and the month.
    """
    number = _ARXIV_NUMBER.search(arxiv_id)
    if not number:
        return None
    year = int(number["year"]) + (1900 if number["year"] >= "91" else 2000)
    return date(year, int(number["month"]), 1)


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
    `lifetime` is how long the server says that its response stays the same.
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
    """What was read from a document: nothing is dropped without a `Rejected`.

    `error` is why the document as a whole could not be read; `complete` is false when it
    ends in the middle, so that nothing may be concluded from what is not there.
    """

    papers: tuple[Paper, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    error: str = ""
    complete: bool = True


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
    """The next papers of a dump, and the rejected records between them, up to `mark`."""

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
        """Return the next chunk, of at most `most` records."""
        ...

    def close(self) -> None: ...


class RunOutcome(StrEnum):
    """What became of a run. `RETRIED` read no document: it decided records again that it kept."""

    OK = "ok"
    UNCHANGED = "unchanged"
    PARTIAL = "partial"
    FAILED = "failed"
    RETRIED = "retried"


class Run(msgspec.Struct, frozen=True):
    """One attempt at one document of one source, kept whatever came of it.

    `fresh` counts what this source had not reported before, even if others had; `set_aside` are
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


class SourceDay(msgspec.Struct, frozen=True):
    """What a source brought on one day.

    `asked` counts its answers; `offered` says that one of them held papers, new or not;
    `fresh` counts the papers and revisions that it had not reported before.
    """

    asked: int = 0
    offered: bool = False
    fresh: int = 0


class FirstRun(StrEnum):
    """What the first reading of a source is worth."""

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
