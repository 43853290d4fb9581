"""Reads JSON responses of services: a list of records, a single record, or an error.

bytes ── decoded ──> JSON ──> Listing (of the kind) ──> each record ──> Paper or Rejected
                  └─ truncated: the whole records before the cut
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from monitor.model import Document, Paper, Reading, Rejected
from monitor.sources.api.values import NoPaperError, Record
from monitor.sources.base import Source, failure, reading
from monitor.sources.feed.json_feed import salvage
from monitor.sources.fields import markup
from monitor.sources.fields.encoding import decode, looks_binary

MAX_BYTES = 64 * 1024 * 1024
MAX_RECORDS = 50_000
# What a document may cost once it is parsed: some 200 bytes an object, 70 a list.
MAX_PARSED = 300 * 1024 * 1024

_MARKUP = re.compile(r"\s*<(?:!doctype|html|\?xml|\w)", re.IGNORECASE)
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


class JsonSource(Source):
    """A kind whose documents are JSON responses of one service.

    `lists` are the names under which responses hold records; `preset` is that of the kind `jsonl`
    for dumps of the same records.
    """

    service: ClassVar[str]
    lists: ClassVar[tuple[str, ...]]
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
        text, _ = decode(content)
        response, cut = _parse(text, self.lists)
        listing = self._find_listing(response, cut, text)
        if listing.error:
            return failure(listing.error + self._other_kind(content))
        now = self._clock()
        records = [self._record(item, n, now) for n, item in enumerate(listing.items, start=1)]
        return reading(records, whole=cut is None)

    def listing(self, response: Record) -> Listing:
        """Find the records of a whole response."""
        lists = (response.at(name).value for name in self.lists)
        items = next((value for value in lists if isinstance(value, list)), None)
        return Listing(error=self.describe_error(response)) if items is None else Listing(items)

    @abstractmethod
    def paper(self, record: Record, now: datetime) -> Paper:
        """Turn one record into a paper; raises NoPaperError with the reason if it is none."""

    def _other_kind(self, content: bytes) -> str:
        """Name the kind for a document that is a dump of records instead of a response."""
        if not self.preset or not _DUMP.search(content, 0, MAX_FIRST_RECORD_BYTES):
            return ""
        return f"; read a dump of records with `kind: jsonl` and `preset: {self.preset}`"

    def describe_error(self, response: Record) -> str:
        """Explain what is wrong with a response that holds no list."""
        words = _error_words(response.value, 0)
        if words:
            return f"{self.service} answered with an error: {words}"
        return f"the JSON is not a response of {self.service}: it has no list of records"

    def _find_listing(self, response: object, cut: Sequence[object] | None, text: str) -> Listing:
        if cut is not None:
            return self._check(Listing(cut)) if cut else Listing(error=_unreadable(text))
        # Client programs of the services save a list of records alone.
        if isinstance(response, list) and response:
            return self._check(Listing(response))
        return self._check(self.listing(Record(response)))

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
            return self.paper(Record(item), now)
        except NoPaperError as why:
            return Rejected(where, str(why))


# ── documents ───────────────────────────────────────────────────────────────────────


def value_of(content: bytes) -> object:
    """Return the JSON value of a whole document, and None of anything else."""
    try:
        return json.loads(decode(content)[0])
    except (ValueError, RecursionError):
        return None


def _parse(text: str, lists: Iterable[str]) -> tuple[object, Sequence[object] | None]:
    """Return the value of a whole document, or else the records before the cut."""
    try:
        return json.loads(text), None
    except RecursionError:
        return None, ()
    except ValueError:
        names = "|".join(map(re.escape, lists))
        return None, tuple(salvage(text, re.compile(rf'"(?:{names})"\s*:\s*\[|^\s*\[')))


def _unreadable(text: str) -> str:
    if _MARKUP.match(text):
        return "the document is HTML or XML, not JSON"
    if looks_binary(text):
        return "the document is not text"
    return "the JSON cannot be read"


def _error_words(value: object, depth: int) -> str:
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
