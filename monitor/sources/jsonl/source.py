"""Kind `jsonl`: dumps of records, as JSON lines, a JSON list or a table, packed or not.

bytes ── Tape: unpacked, digested ──> rows: records and places ──> fields, or a preset ──> papers

A dump of any size is read in parts. Each part ends with a mark (the byte and the digest of all
before it), from which reading goes on after a crash, or when lines were added to the file.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Annotated, BinaryIO, ClassVar

from pydantic import BeforeValidator, Field, field_validator

from monitor.model import Document, Dump, DumpChunk, DumpCursor, FirstRun, Paper, Reading, Rejected
from monitor.sources.base import Found, Source, SourceOptions, documents_in
from monitor.sources.formats.api.records import NoPaperError
from monitor.sources.jsonl.decompress import ENDS_IN_THE_MIDDLE, Tape
from monitor.sources.jsonl.field_mapping import NAMES, Fields
from monitor.sources.jsonl.presets import PRESETS, Read, reader, recognised
from monitor.sources.jsonl.rows import CUT, HEAD, Row, Run, Unreadable, form_of

# What `read` shows of one document; an ingest has no such limits.
MAX_SHOWN = 100_000
MAX_SHOWN_BYTES = 128 * 1024 * 1024
PART_BYTES = 16 * 1024 * 1024
START = 4 * 1024

Names = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda told: (told,) if isinstance(told, str) else told),
    Field(min_length=1, max_length=20),
]


class JsonlOptions(SourceOptions):
    """`fields` says under which names the fields of a paper stand, `preset` knows a public dump.

    A field of `fields` is one of a paper, or `keys.SCHEME` for an identifier; its names are tried
    in order, and may be paths with dots into objects and lists.
    """

    preset: str = ""
    fields: Mapping[str, Names] = Field(default_factory=dict)

    @field_validator("preset")
    @classmethod
    def _known_preset(cls, preset: str) -> str:
        if preset and preset not in PRESETS:
            raise ValueError(f"there is no preset {preset!r}; there are: {', '.join(PRESETS)}")
        return preset

    @field_validator("fields")
    @classmethod
    def _known_fields(cls, fields: Mapping[str, Names]) -> Mapping[str, Names]:
        for field in fields:
            if field not in NAMES and not (field.startswith("keys.") and field[5:].isalnum()):
                ours = ", ".join(name for name in NAMES if "." not in name)
                raise ValueError(f"a paper has no field {field!r}; it has: {ours}, keys.SCHEME")
        return fields


class Jsonl(Source):
    """Reads dumps: the way in for any source that has no kind of its own."""

    kind: ClassVar[str] = "jsonl"
    Options: ClassVar[type[JsonlOptions]] = JsonlOptions
    default_first_run: ClassVar[FirstRun] = FirstRun.BASELINE
    dated: ClassVar[bool] = True

    def read(self, document: Document) -> Reading:
        """Read all records at once, as far as `read` shows them."""
        content = document.content
        dump = Dump(document.name, lambda: io.BytesIO(content), document.at, len(content))
        papers: list[Paper] = []
        rejected: list[Rejected] = []
        with closing(self.begin(dump, ())) as parts:
            while part := parts.take(1_000):
                papers += part.papers
                rejected += part.rejected
                if len(papers) + len(rejected) > MAX_SHOWN or part.mark.offset > MAX_SHOWN_BYTES:
                    error = f"only the first {len(papers):,} papers are shown of such a dump"
                    return Reading(tuple(papers), tuple(rejected), error, complete=False)
        error = parts.error
        if rejected and not papers:
            error = f"no record is a paper: {rejected[0].why}"
        whole = document.complete and not error
        told = "" if papers and error == ENDS_IN_THE_MIDDLE else error
        return Reading(tuple(papers), tuple(rejected), told, whole)

    def begin(self, dump: Dump, marks: Sequence[DumpCursor]) -> Parts:
        """Begin to read a dump behind the furthest of `marks` that it agrees with so far."""
        preset, fields = getattr(self.options, "preset", ""), getattr(self.options, "fields", {})
        return Parts(dump.open, marks, preset, fields, self._clock())

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Find dumps; FetchError when there is no place to look."""
        if self.options.path:
            yield from documents_in(self.options.path, dumps=True)
        elif self.options.url:
            url, known = self.options.url, dict(validators)
            page = self._page(url, known)
            with self._download_file() as file:
                yield replace(page, dump=partial(self._saved, url, known, file))


class Parts:
    """A dump that is being read: `begin` is where, `error` why it ended before it was whole."""

    def __init__(
        self,
        opens: Callable[[], BinaryIO],
        marks: Sequence[DumpCursor],
        preset: str,
        fields: Mapping[str, Sequence[str]],
        now: datetime,
    ) -> None:
        self._file = opens()
        self._tape = Tape(self._file)
        self._now = now
        self._read: Read
        head = self._tape.peek(HEAD)
        read = reader(preset or ("" if fields else recognised(head)), fields)
        self._start = head[:START]
        if isinstance(read, Fields):
            self._read = read.paper
            form = form_of(head, read.titles, partial(read.papers, now=now))
        else:
            self._read = read
            form = form_of(head, ("title",))
        self.begin = self._furthest(marks)
        if self._tape.given != self.begin.offset:
            self.close()
            self._file = opens()
            self._tape = Tape(self._file)
        self._tape.skip(self.begin.offset or form.begin)
        self._at = self.begin
        self._rows = form.rows(self._tape, self.begin.number)
        self._left: tuple[Row, ...] = ()
        self._unit = form.unit
        self.error = form.error or ("" if head else self._tape.fault)

    def take(self, most: int) -> DumpChunk | None:
        """Return the next part, of at most so many records; None at the end."""
        papers: list[Paper] = []
        rejected: list[Rejected] = []
        offset, number = self._at.offset, self._at.number
        enough = offset + PART_BYTES
        rows, self._left = chain(self._left, self._rows), ()
        for number, begin, end, told, plain in rows:
            if told is CUT:
                self._rejects(rejected, number, begin, CUT.why)
                self.error = ENDS_IN_THE_MIDDLE
                number -= 1
                break
            offset = end
            if isinstance(told, Run):
                room = most - len(papers) - len(rejected)
                papers += told.papers[:room]
                if left := told.papers[room:]:
                    offset = told.begin + told.ends[room - 1]
                    rest = Run(left, told.begin, told.ends[room:])
                    self._left = ((number, offset, end, rest, plain),)
                    number -= len(left)
                self._tape.passed(offset)
            elif isinstance(told, dict):
                try:
                    papers.append(self._read(told, self._now, plain))
                except NoPaperError as fault:
                    self._rejects(rejected, number, begin, str(fault))
                except RecursionError:
                    self._rejects(rejected, number, begin, "record is nested too deep")
            else:
                why = told.why if isinstance(told, Unreadable) else "record is not an object"
                self._rejects(rejected, number, begin, why)
            if len(papers) + len(rejected) >= most or end > enough:
                break
        else:
            self.error = self.error or self._tape.fault
        if not papers and not rejected:
            return None
        self._at = self._mark(offset, number)
        return DumpChunk(tuple(papers), tuple(rejected), self._at)

    def close(self) -> None:
        self._file.close()

    def _rejects(self, rejected: list[Rejected], number: int, begin: int, why: str) -> None:
        rejected.append(Rejected(f"{self._unit} {number}, byte {begin}", why))

    def _mark(self, offset: int, number: int) -> DumpCursor:
        start = hashlib.sha256(self._start[:offset]).hexdigest()
        return DumpCursor(offset, number, self._tape.digest(offset), start)

    def _furthest(self, marks: Sequence[DumpCursor]) -> DumpCursor:
        """Find the furthest mark whose digest is that of our own first bytes."""
        best = DumpCursor()
        starts = {m: hashlib.sha256(self._start[: m.offset]).hexdigest() for m in marks}
        alike = (mark for mark, start in starts.items() if mark.start == start)
        for mark in sorted(alike, key=lambda mark: mark.offset):
            if not self._tape.skip(mark.offset):
                break
            if self._tape.digest(mark.offset) == mark.digest:
                best = mark
        return best
