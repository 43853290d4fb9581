"""Reads JSON responses of services: a list of records, a single record, or an error."""

from __future__ import annotations

import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from monitor.errors import DocumentError
from monitor.model import Document, Paper, Reading, Rejected
from monitor.sources.api.values import NoPaperError, Record
from monitor.sources.api.windows import Outline, PageRequest, WindowSource
from monitor.sources.base import failure, reading
from monitor.sources.feed.json_feed import salvage
from monitor.sources.fields import markup
from monitor.sources.fields.encoding import decode, find_fault

MAX_RECORDS = 50_000
# Memory of a parsed document: some 200 bytes an object, 70 a list.
MAX_PARSED = 300 * 1024 * 1024

# A compressed file, a file of items alone, or a record a line: dumps, not responses.
_DUMP = re.compile(
    rb"\A(?:\x1f\x8b|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|\s*\{\s*\"items\"\s*:)|\}[^\S\n]*+\n\s*+\{"
)
MAX_FIRST_RECORD_BYTES = 1024 * 1024
_NO_ERROR = re.compile(
    r"(?:ok|success|200)$|.*\bno (?:posts|articles|papers|results) found", re.IGNORECASE
)
_ERRORS = ("errMsg", "error", "message", "messages", "errors", "detail", "reason", "status")


@dataclass(frozen=True, slots=True)
class Listing:
    """The records of one page of a response.

    `total` is the number of records on all pages (None: unknown), `cursor` that of the next page
    ("": there is none, or pages are numbered).
    """

    items: Sequence[object] = ()
    total: int | None = None
    cursor: str = ""


class ApiSource(WindowSource):
    """A kind that fetches JSON from its service.

    `lists`, `total_path` and `cursor_path` say where a response has the values of a Listing. At one
    of `singles` it may have a single record, with a `record_id`. `preset` is that of the kind
    `jsonl` for dumps of the same records.
    """

    lists: ClassVar[tuple[str, ...]]
    total_path: ClassVar[str] = "total"
    cursor_path: ClassVar[str] = "next"
    singles: ClassVar[tuple[str, ...]] = ("",)
    record_id: ClassVar[str] = "id"
    preset: ClassVar[str] = ""

    def read(self, document: Document) -> Reading:
        """Read all records; of a truncated response, those before the cut."""
        return self._read(document)[1]

    def _read(self, document: Document) -> tuple[Listing, Reading]:
        content = document.content
        try:
            listing, whole = self._find_listing(content)
        except DocumentError as fault:
            return Listing(), failure(f"{fault}{self._other_kind(content)}")
        now = self._clock()
        records = [self._record(item, n, now) for n, item in enumerate(listing.items, start=1)]
        return listing, reading(records, whole)

    def listing(self, response: Record) -> Listing:
        """Find the records of a whole response; DocumentError for one that has none."""
        for part in map(response.at, self.singles):
            if part.has(self.record_id):
                return Listing((part.value,))
        lists = (response.at(path).value for path in self.lists)
        items = next((value for value in lists if isinstance(value, list)), None)
        total = response.number(self.total_path)
        words = "" if items else _error_words(response.value)
        if words:
            raise DocumentError(f"{self.service} answered with an error: {words}")
        if items is None and total != 0:
            other = f"the JSON is not a response of {self.service}"
            raise DocumentError(f"{other}: it has no list of records")
        return Listing(items or (), total, response.text(self.cursor_path))

    @abstractmethod
    def paper(self, record: Record) -> Paper:
        """Turn one record into a paper; raises NoPaperError with the reason if it is none."""

    def _other_kind(self, content: bytes) -> str:
        """Name the kind for a document that is a dump of records instead of a response."""
        if not self.preset or not _DUMP.search(content, 0, MAX_FIRST_RECORD_BYTES):
            return ""
        return f"; read a dump of records with `kind: jsonl` and `preset: {self.preset}`"

    def _find_listing(self, content: bytes) -> tuple[Listing, bool]:
        """Return the records of a document, and whether it is whole."""
        if content.count(b"{") * 200 + content.count(b"[") * 70 > MAX_PARSED:
            raise DocumentError("the JSON has more objects and lists than any answer")
        text = decode(content)[0]
        whole = True
        try:
            response = json.loads(text)
        except (ValueError, RecursionError):
            names = "|".join(re.escape(path.rpartition(".")[2]) for path in self.lists)
            begins = re.compile(rf'"(?:{names})"\s*:\s*\[|^\s*\[')
            response = list(salvage(text, begins))
            whole = False
            if not response:
                fault = find_fault(text, "JSON")
                raise DocumentError(fault or "the JSON cannot be read") from None
        # Client programs of the services save a list of records alone.
        is_list = isinstance(response, list) and response
        listing = Listing(response) if is_list else self.listing(Record(response, self._clock()))
        if len(listing.items) > MAX_RECORDS:
            raise DocumentError(f"the answer has more than {MAX_RECORDS:,} records")
        return listing, whole

    def _record(self, item: object, number: int, now: datetime) -> Paper | Rejected:
        where = f"record {number}"
        if not isinstance(item, Mapping):
            return Rejected(where, "record is not an object")
        try:
            return self.paper(Record(item, now))
        except NoPaperError as why:
            return Rejected(where, str(why))

    def following(self, listing: Listing, request: PageRequest) -> str:
        """Return the cursor of the next page, or else its offset; "" if this is the last."""
        seen = request.before + len(listing.items)
        ended = not listing.items or (listing.total is not None and seen >= listing.total)
        return "" if ended else listing.cursor if self.cursor_path else str(seen)

    def outline(self, document: Document, request: PageRequest) -> Outline:
        listing, reading = self._read(document)
        if not (document.complete and reading.complete):
            return Outline()
        page_hash = hashlib.sha256(json.dumps(listing.items).encode()).hexdigest()
        following = self.following(listing, request)
        return Outline(True, len(listing.items), page_hash, following, listing.total or 0)


def _error_words(value: object, depth: int = 0) -> str:
    if isinstance(value, str):
        words = markup.text(value[:1000])[:200]
        return "" if _NO_ERROR.match(words) else words
    if depth > 3:
        return ""
    if isinstance(value, list):
        return next((words for part in value[:3] if (words := _error_words(part, depth + 1))), "")
    if isinstance(value, Mapping):
        texts = (_error_words(value.get(name), depth + 1) for name in _ERRORS)
        return next((words for words in texts if words), "")
    return ""
