"""Kind `jsonl`: dumps of records, as JSON lines, a JSON list or a table, compressed or not.

A dump of any size is read in parts. Each part ends with a cursor (an offset and the digest of all
bytes before it), from which reading resumes after a crash, or when lines were appended to the file.

Presets for public dumps:

    arxiv-snapshot          arXiv's metadata on Kaggle: kaggle.com/datasets/Cornell-University/arxiv
    openalex                works of the snapshot: developers.openalex.org/download/snapshot-format
    crossref                the public data file: crossref.org/documentation, "public data files"
    semanticscholar-papers  the dataset `papers`: api.semanticscholar.org/api-docs/datasets
    s2orc                   `metadata` of S2ORC: github.com/allenai/s2orc
    retraction-watch        `retraction_watch.csv`: gitlab.com/crossref/retraction-watch-data
    cord-19                 `metadata.csv` of CORD-19: github.com/allenai/cord19
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Annotated, BinaryIO

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from monitor.model import (
    Authority,
    Document,
    Dump,
    DumpChunk,
    DumpCursor,
    FirstRun,
    Paper,
    Reading,
    Rejected,
)
from monitor.setting_types import Unset, one_or_more
from monitor.sources import files
from monitor.sources.api.records import ApiSource
from monitor.sources.api.values import NoPaperError, Record
from monitor.sources.arxiv_records import paper_of_fields
from monitor.sources.base import DumpSource, SourceOptions, reading
from monitor.sources.crossref import Crossref
from monitor.sources.fields.encoding import ENDS_IN_THE_MIDDLE, describe_nulls
from monitor.sources.jsonl import retraction_watch
from monitor.sources.jsonl.decompress import Tape
from monitor.sources.jsonl.field_mapping import NAMES, Fields
from monitor.sources.jsonl.rows import CUT, HEAD_BYTES, Row, Unreadable, detect_form
from monitor.sources.openalex import OpenAlex

# How much of a document `read` shows; ingesting has no such limits.
MAX_SHOWN = 100_000
MAX_SHOWN_BYTES = 128 * 1024 * 1024
PART_BYTES = 16 * 1024 * 1024
START_BYTES = 4 * 1024

Convert = Callable[[Mapping[str, object], datetime], Paper]

_SERVICES: Mapping[str, type[ApiSource]] = {"openalex": OpenAlex, "crossref": Crossref}
_FIELDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "semanticscholar-papers": {
        "categories": ("s2fieldsofstudy",),
        "type": ("publicationtypes",),
        "raw_id": ("corpusid",),
        "keys.corpusid": ("corpusid",),
    },
    "s2orc": {"url": ("s2_url",), "keys.acl": ("acl_id",), "keys.corpusid": ("paper_id",)},
    "cord-19": {"raw_id": ("cord_uid",), "keys.corpusid": ("s2_id",)},
}
# Names that all records of a preset have, and few other records have together.
_SIGNATURES: Mapping[str, Sequence[bytes]] = {
    "arxiv-snapshot": (b'"authors_parsed"', b'"versions"', b'"update_date"', b'"submitter"'),
    "openalex": (b'"authorships"', b'"abstract_inverted_index"', b'"primary_location"'),
}
PRESETS = ("arxiv-snapshot", *sorted({*_SERVICES, *_FIELDS, retraction_watch.PRESET}))

Names = Annotated[
    tuple[str, ...],
    BeforeValidator(one_or_more),
    Field(min_length=1, max_length=20),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class JsonlOptions(SourceOptions):
    """Settings: what the fields of a record are called.

    A key of `fields` is a field of a paper, or `keys.SCHEME` for an identifier. Its names are tried
    in order, and may be paths with dots into objects and lists.
    """

    preset: str = Field(
        "",
        description="a known dump: " + ", ".join(f"`{name}`" for name in PRESETS),
    )
    fields: Annotated[
        Mapping[str, Names],
        Unset("[common names](sources.md#jsonl-dumps-and-any-source-that-has-no-kind-of-its-own)"),
    ] = Field(default_factory=dict, description="where each field of a paper is found")

    @field_validator("preset")
    @classmethod
    def _check_preset(cls, preset: str) -> str:
        if preset and preset not in PRESETS:
            raise ValueError(f"there is no preset {preset!r}; there are: {', '.join(PRESETS)}")
        return preset

    @field_validator("fields")
    @classmethod
    def _check_fields(cls, fields: Mapping[str, Names]) -> Mapping[str, Names]:
        for field in fields:
            if field not in NAMES and not (field.startswith("keys.") and field[5:].isalnum()):
                allowed = ", ".join(name for name in NAMES if "." not in name)
                raise ValueError(f"a paper has no field {field!r}; it has: {allowed}, keys.SCHEME")
        return fields


class Jsonl(DumpSource):
    """Reads dumps, and thereby any source that has no kind of its own."""

    kind = "jsonl"
    authority = Authority.WITH_DOI
    Options = JsonlOptions
    options: JsonlOptions
    default_first_run = FirstRun.BASELINE
    max_bytes = files.MAX_FILE_BYTES

    def read(self, document: Document) -> Reading:
        """Read all records at once, up to the limits above."""
        content = document.content
        dump = Dump(document.name, lambda: io.BytesIO(content), document.at, len(content))
        papers: list[Paper] = []
        rejected: list[Rejected] = []
        error = ""
        with closing(self.begin(dump, ())) as parts:
            while not error and (part := parts.take(1_000)):
                papers += part.papers
                rejected += part.rejected
                if len(papers) + len(rejected) > MAX_SHOWN or part.cursor.offset > MAX_SHOWN_BYTES:
                    error = f"only the first {len(papers):,} papers are shown of such a dump"
        error = error or parts.error
        result = reading([*papers, *rejected], document.complete and not error)
        if result.error or (papers and error == ENDS_IN_THE_MIDDLE):
            return result
        return replace(result, error=error)

    def begin(self, dump: Dump, cursors: Sequence[DumpCursor]) -> DumpReader:
        """Begin to read a dump after the furthest of `cursors` whose digest it still has."""
        return DumpReader(dump.open, cursors, self.options, self._clock())


class DumpReader:
    """Reads a dump part by part, from `begin` on; `error` explains why it ended too early."""

    def __init__(
        self,
        open_file: Callable[[], BinaryIO],
        cursors: Sequence[DumpCursor],
        options: JsonlOptions,
        now: datetime,
    ) -> None:
        self._file = open_file()
        self._tape = Tape(self._file)
        self._now = now
        self._tape.skip_nulls()
        self._first = self._tape.offset
        head = self._tape.peek(HEAD_BYTES)
        self._start = head[:START_BYTES]
        fault = "" if head else self._tape.fault
        alike = (name for name, words in _SIGNATURES.items() if all(word in head for word in words))
        preset = options.preset or ("" if options.fields else next(alike, ""))
        self._convert, titles = converter_for(preset, options.fields)
        form = detect_form(head, titles)
        self.begin = self._find_resume_cursor(cursors)
        if self._tape.offset != self.begin.offset:
            self.close()
            self._file = open_file()
            self._tape = Tape(self._file)
        self._tape.skip(self.begin.offset or self._first + form.begin)
        self._last = self.begin
        self._rows = form.rows(self._tape, self.begin.number)
        self._unit = form.unit
        self.error = fault or form.error
        if self._first and not (self.begin.offset or form.error):
            leading = Row(1, 0, 0, Unreadable(describe_nulls(self._first)))
            self._rows = chain((leading,), self._rows)

    def take(self, most: int) -> DumpChunk | None:
        """Return the next part, of at most `most` records; None at the end."""
        papers: list[Paper] = []
        rejected: list[Rejected] = []
        offset = self._last.offset
        number = self._last.number
        enough = offset + PART_BYTES
        for row in self._rows:
            if row.record is CUT:
                rejected.append(self._reject(row, CUT.reason))
                self.error = ENDS_IN_THE_MIDDLE
                self._rows = iter(())  # NUL bytes may follow
                break
            if row.end > row.begin:
                offset = row.end
                number = row.number
            try:
                papers.append(self._paper(row.record))
            except NoPaperError as fault:
                rejected.append(self._reject(row, str(fault)))
            if len(papers) + len(rejected) >= most or offset > enough:
                break
        else:
            self.error = self.error or self._tape.fault
        if not papers and not rejected:
            return None
        digest = self._tape.digest(offset)
        start = self._start_digest(offset)
        self._last = DumpCursor(offset, number, digest, start)
        return DumpChunk(tuple(papers), tuple(rejected), self._last)

    def close(self) -> None:
        self._file.close()

    def _paper(self, record: object) -> Paper:
        if isinstance(record, dict):
            try:
                return self._convert(record, self._now)
            except RecursionError as fault:
                raise NoPaperError("record is nested too deep") from fault
        if isinstance(record, Unreadable):
            raise NoPaperError(record.reason)
        raise NoPaperError("record is not an object")

    def _reject(self, row: Row, reason: str) -> Rejected:
        return Rejected(f"{self._unit} {row.number}, byte {row.begin}", reason)

    def _start_digest(self, offset: int) -> str:
        """Return the digest of the first bytes before `offset`, without NUL bytes at the start."""
        return hashlib.sha256(self._start[: max(offset - self._first, 0)]).hexdigest()

    def _find_resume_cursor(self, cursors: Sequence[DumpCursor]) -> DumpCursor:
        """Find the furthest cursor whose digest is that of the same bytes of this dump."""
        best = DumpCursor()
        alike = (cursor for cursor in cursors if cursor.start == self._start_digest(cursor.offset))
        for cursor in sorted(alike, key=lambda cursor: cursor.offset):
            if not self._tape.skip(cursor.offset):
                break
            if self._tape.digest(cursor.offset) == cursor.digest:
                best = cursor
        return best


def converter_for(preset: str, names: Mapping[str, Sequence[str]]) -> tuple[Convert, Sequence[str]]:
    """Return what converts the records of a preset, and the names that a title column may have.

    `names` of fields override those of a preset that only names fields.
    """
    if preset == "arxiv-snapshot":
        return lambda record, now: paper_of_fields(Record(record, now)), ("title",)
    if preset == retraction_watch.PRESET:
        return retraction_watch.notice_of, ("title",)
    if kind := _SERVICES.get(preset):
        source = kind(preset, kind.Options(path="-"), None, datetime.now)
        return lambda record, now: source.paper(Record(record, now)), ("title",)
    fields = Fields({**_FIELDS.get(preset, {}), **names})
    return fields.paper, fields.titles
