"""Reads JSON responses of services: a list of records, a single record, or an error.

bytes ── decoded ──> JSON ──> Listing (of the kind) ──> each record ──> Paper or Rejected
                  └─ truncated: the whole records before the cut
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from monitor.model import Document, Paper, Reading, Rejected
from monitor.sources.api.values import NoPaperError, Record
from monitor.sources.api.windows import WEEK, ApiOptions, Outline, PageRequest, WindowSource
from monitor.sources.base import failure, reading
from monitor.sources.feed.json_feed import salvage
from monitor.sources.fields import markup
from monitor.sources.fields.encoding import decode, find_fault

MAX_BYTES = 64 * 1024 * 1024
MAX_RECORDS = 50_000
# Memory of a parsed document: some 200 bytes an object, 70 a list.
MAX_PARSED = 300 * 1024 * 1024

# A compressed file, a file of items alone, or a record a line: dumps, not responses.
_DUMP = re.compile(
    rb"\A(?:\x1f\x8b|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|\s*\{\s*\"items\"\s*:)|\}\s*\n\s*\{"
)
MAX_FIRST_RECORD_BYTES = 1024 * 1024
_NO_ERROR = frozenset({"ok", "success", "200"})
_ERRORS = ("errMsg", "error", "message", "messages", "errors", "detail", "reason", "status")


@dataclass(frozen=True, slots=True)
class Listing:
    """The records of one page of a response.

    `total` is the number of records on all pages (None: unknown), `begin` how many come before
    this page, `cursor` that of the next page ("": there is none, or pages are numbered).
    """

    items: Sequence[object] = ()
    total: int | None = None
    begin: int = 0
    cursor: str = ""
    error: str = ""


class ApiSource(WindowSource):
    """A kind that fetches JSON from its service.

    `lists`, `total_path`, `begin_path` and `cursor_path` say where a response has the values of a
    Listing. A response with all of the fields `single` is a record by itself. `preset` is that of
    the kind `jsonl` for dumps of the same records.
    """

    lists: ClassVar[tuple[str, ...]]
    total_path: ClassVar[str] = "total"
    begin_path: ClassVar[str] = "offset"
    cursor_path: ClassVar[str] = "next"
    single: ClassVar[tuple[str, ...]] = ()
    preset: ClassVar[str] = ""

    def read(self, document: Document) -> Reading:
        """Read all records; of a truncated response, those before the cut."""
        content = document.content
        if not content.strip(b"\xef\xbb\xbf \t\r\n\0"):
            return failure("the document is empty")
        if len(content) > MAX_BYTES:
            return failure(f"the document is larger than {MAX_BYTES:,} bytes")
        if content.count(b"{") * 200 + content.count(b"[") * 70 > MAX_PARSED:
            return failure("the JSON has more objects and lists than any answer")
        listing, whole = self._find_listing(decode(content)[0])
        if listing.error:
            return failure(listing.error + self._other_kind(content))
        now = self._clock()
        records = [self._record(item, n, now) for n, item in enumerate(listing.items, start=1)]
        return reading(records, whole)

    def listing(self, response: Record) -> Listing:
        """Find the records of a whole response."""
        if self.single and all(map(response.has, self.single)):
            return Listing((response.value,))
        lists = (response.at(path).value for path in self.lists)
        items = next((value for value in lists if isinstance(value, list)), None)
        total = response.number(self.total_path)
        if items is None and (total != 0 or _error_words(response.value)):
            return Listing(error=self.describe_error(response))
        begin, cursor = response.number(self.begin_path) or 0, response.text(self.cursor_path)
        return Listing(items or (), total, begin, cursor)

    @abstractmethod
    def paper(self, record: Record) -> Paper:
        """Turn one record into a paper; raises NoPaperError with the reason if it is none."""

    def _other_kind(self, content: bytes) -> str:
        """Name the kind for a document that is a dump of records instead of a response."""
        if not self.preset or not _DUMP.search(content, 0, MAX_FIRST_RECORD_BYTES):
            return ""
        return f"; read a dump of records with `kind: jsonl` and `preset: {self.preset}`"

    def describe_error(self, response: Record) -> str:
        """Explain what is wrong with a response that holds no list."""
        if words := _error_words(response.value):
            return f"{self.service} answered with an error: {words}"
        return f"the JSON is not a response of {self.service}: it has no list of records"

    def _find_listing(self, text: str) -> tuple[Listing, bool]:
        """Return the records of a document, and whether it is whole."""
        try:
            response = json.loads(text)
        except (ValueError, RecursionError) as fault:
            names = "|".join(re.escape(path.rpartition(".")[2]) for path in self.lists)
            begins = re.compile(rf'"(?:{names})"\s*:\s*\[|^\s*\[')
            cut = () if isinstance(fault, RecursionError) else tuple(salvage(text, begins))
            return (
                self._check(Listing(cut))
                if cut
                else Listing(error=find_fault(text, "JSON") or "the JSON cannot be read")
            ), False
        # Client programs of the services save a list of records alone.
        if isinstance(response, list) and response:
            return self._check(Listing(response)), True
        return self._check(self.listing(Record(response, self._clock()))), True

    def _check(self, listing: Listing) -> Listing:
        """Return a listing, as an error if it has too many records, or none where it should."""
        if len(listing.items) > MAX_RECORDS:
            return Listing(error=f"the answer has more than {MAX_RECORDS:,} records")
        if not listing.error and not listing.items and (listing.total or 0) > listing.begin:
            total = f"{listing.total:,}"
            return Listing(error=f"the answer is empty although it says that there are {total}")
        return listing

    def _record(self, item: object, number: int, now: datetime) -> Paper | Rejected:
        where = f"record {number}"
        if not isinstance(item, Mapping):
            return Rejected(where, "record is not an object")
        try:
            return self.paper(Record(item, now))
        except NoPaperError as why:
            return Rejected(where, str(why))

    @property
    def overlap(self) -> timedelta:
        options = self.options
        return timedelta(days=options.overlap_days) if isinstance(options, ApiOptions) else WEEK

    def following(self, listing: Listing, request: PageRequest) -> str:
        """Return the cursor of the next page, or else its offset; "" if this is the last."""
        seen = request.before + len(listing.items)
        ended = not listing.items or (listing.total is not None and seen >= listing.total)
        return "" if ended else listing.cursor if self.cursor_path else str(seen)

    def outline(self, document: Document, request: PageRequest) -> Outline:
        """Outline a page by the list in it."""
        reading = self.read(document)
        if not (document.complete and reading.complete):
            return Outline()
        listing, _ = self._find_listing(decode(document.content)[0])
        page_hash = hashlib.sha256(json.dumps(listing.items).encode()).hexdigest()
        following = self.following(listing, request)
        return Outline(True, len(listing.items), page_hash, following, listing.total or 0)


def _error_words(value: object, depth: int = 0) -> str:
    """Return the text of an error, wherever services put it."""
    if isinstance(value, str):
        words = markup.text(value[:1000])[:200]
        return "" if words.lower() in _NO_ERROR else words
    if depth > 3:
        return ""
    if isinstance(value, list):
        return next((words for part in value[:3] if (words := _error_words(part, depth + 1))), "")
    if isinstance(value, Mapping):
        texts = (_error_words(value.get(name), depth + 1) for name in _ERRORS)
        return next((words for words in texts if words), "")
    return ""
