"""JSON answers of services: a list of records, one record, an error in words, or cut off.

bytes ── decoded ──> JSON ──> Listing (of the kind) ──> each record ──> Paper or Rejected
                  └─ cut: the whole records before the cut
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import ClassVar
from urllib.parse import quote

from monitor.model import Document, Paper, Reading, Rejected
from monitor.sources.base import Source
from monitor.sources.feed.json_feed import salvage
from monitor.sources.fields import markup
from monitor.sources.fields.dates import parse_date, within_print_era, within_reason
from monitor.sources.fields.encoding import decode, looks_binary
from monitor.sources.fields.limits import MAX_CATEGORIES, MAX_ENTRY
from monitor.text import clean

MAX_BYTES = 64 * 1024 * 1024
MAX_RECORDS = 50_000
# What a document may cost once it is parsed: some 200 bytes an object, 70 a list.
MAX_PARSED = 300 * 1024 * 1024
MAX_NAMES = 10_000

Record = Mapping[str, object]
Keys = Mapping[str, str | tuple[str, ...]]

_MARKUP = re.compile(r"\s*<(?:!doctype|html|\?xml|\w)", re.IGNORECASE)
# A packed file, a file of items alone, or a record a line: dumps, and no answer of a service.
_DUMP = re.compile(
    rb"\A(?:\x1f\x8b|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|\s*\{\s*\"items\"\s*:)|\}\s*\n\s*\{"
)
MAX_OF_FIRST = 1024 * 1024  # bytes of a first record
_NO_ERROR = frozenset({"ok", "success", "200"})
_ERRORS = ("errMsg", "error", "message", "messages", "errors", "detail", "reason", "status")
_SUFFIX = re.compile(r"^(?:jr|sr|ii|iii|iv|v|phd|md)\.?$", re.IGNORECASE)


class NoPaperError(Exception):
    """Why a record is no paper; it never leaves a reading."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a service answered: the records of one page, and what it says of the others.

    `total` is the number of records on all pages (None: unknown), `begin` how many come before
    this page, `cursor` what to ask for the next one with ("": there is none, or it is counted).
    """

    items: Sequence[object] = ()
    total: int | None = None
    begin: int = 0
    cursor: str = ""
    error: str = ""


class JsonSource(Source):
    """A kind whose documents are JSON answers of one service.

    `lists` are the names under which its answers hold records; `preset` is that of the kind
    `jsonl` for dumps of the same records.
    """

    service: ClassVar[str]
    lists: ClassVar[tuple[str, ...]]
    preset: ClassVar[str] = ""

    def read(self, document: Document) -> Reading:
        """Read all records; of an answer that is cut off, those before the cut."""
        content = document.content
        if not content.strip(b"\xef\xbb\xbf \t\r\n\0"):
            return _failed("the document is empty")
        if len(content) > MAX_BYTES:
            return _failed(f"the document is larger than {MAX_BYTES:,} bytes")
        if content.count(b"{") * 200 + content.count(b"[") * 70 > MAX_PARSED:
            return _failed("the JSON has more objects and lists than any answer")
        text, _ = decode(content)
        response, cut = _parsed(text, self.lists)
        listing = self._check(response, cut, text)
        if listing.error:
            return _failed(listing.error + self._other_kind(content))
        papers, rejected = self._papers(listing.items)
        error = "" if papers or not rejected else f"no record is a paper: {rejected[0].why}"
        return Reading(papers, rejected, error, complete=cut is None and not error)

    def listing(self, response: object) -> Listing:
        """Find the records of a whole answer, which is what `json.loads` made of it."""
        found = next((v for n in self.lists if isinstance(v := member(response, n), list)), None)
        if found is None:
            return Listing(error=self.describe_error(response))
        return Listing(found)

    @abstractmethod
    def paper(self, record: Record, now: datetime) -> Paper:
        """Turn one record into a paper; NoPaperError says why it is none."""

    def _other_kind(self, content: bytes) -> str:
        """Name the kind that reads what is no answer of a service, but a dump of its records."""
        if not self.preset or not _DUMP.search(content, 0, MAX_OF_FIRST):
            return ""
        return f"; read a dump of records with `kind: jsonl` and `preset: {self.preset}`"

    def describe_error(self, response: object) -> str:
        """Say what is wrong with an answer that holds no list."""
        words = _error_words(response, 0)
        if words:
            return f"{self.service} answered with an error: {words}"
        return f"the JSON is not a response of {self.service}: it has no list of records"

    def _check(self, response: object, cut: Sequence[object] | None, text: str) -> Listing:
        if cut is None:
            # Programs that ask the services save a list of records alone.
            listing = (
                Listing(response)
                if isinstance(response, list) and response
                else self.listing(response)
            )
        elif cut:
            listing = Listing(cut)
        else:
            return Listing(error=_unreadable(text))
        if len(listing.items) > MAX_RECORDS:
            return Listing(error=f"the answer has more than {MAX_RECORDS:,} records")
        if not listing.error and not listing.items and (listing.total or 0) > listing.begin:
            total = f"{listing.total:,}"
            return Listing(error=f"the answer is empty although it says that there are {total}")
        return listing

    def _papers(self, items: Sequence[object]) -> tuple[tuple[Paper, ...], tuple[Rejected, ...]]:
        now = self._clock()
        found = [self._record(item, n, now) for n, item in enumerate(items, start=1)]
        papers = tuple(one for one in found if isinstance(one, Paper))
        return papers, tuple(one for one in found if isinstance(one, Rejected))

    def _record(self, item: object, number: int, now: datetime) -> Paper | Rejected:
        where = f"record {number}"
        if not isinstance(item, Mapping):
            return Rejected(where, "record is not an object")
        try:
            return self.paper(item, now)
        except NoPaperError as why:
            return Rejected(where, str(why))


def _failed(error: str) -> Reading:
    return Reading(error=error, complete=False)


# ── documents ───────────────────────────────────────────────────────────────────────


def value_of(content: bytes) -> object:
    """Return the JSON value of a whole document, and None of anything else."""
    try:
        return json.loads(decode(content)[0])
    except (ValueError, RecursionError):
        return None


def _parsed(text: str, lists: Iterable[str]) -> tuple[object, Sequence[object] | None]:
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
    """The words of an error body, wherever services put them."""
    if isinstance(value, str):
        words = markup.text(value[:1000])[:200]
        return "" if words.lower() in _NO_ERROR else words
    if depth > 3:
        return ""
    if isinstance(value, list):
        return next((words for one in value[:3] if (words := _error_words(one, depth + 1))), "")
    if isinstance(value, Mapping):
        found = (_error_words(value.get(name), depth + 1) for name in _ERRORS)
        return next((words for words in found if words), "")
    return ""


# ── values of any type ──────────────────────────────────────────────────────────────


def member(value: object, *path: str) -> object:
    """Return what stands at a path of names, or None."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def many(value: object, *path: str) -> list[object]:
    """Return a list at a path; of one value, a list of it; of none, an empty one."""
    found = member(value, *path)
    if isinstance(found, list):
        return found
    return [] if found is None else [found]


def raw(value: object, *path: str) -> str:
    """Return a text or number at a path as text; the first one of a list; else ""."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else member(value, name)
        if value is None:
            return ""
    for one in value if isinstance(value, list) else (value,):
        if isinstance(one, (str, int, float)) and not isinstance(one, bool):
            word = str(one).strip() if isinstance(one, str) or abs(one) < 1e18 else ""
            if word and (word.isprintable() or (word := clean(word))):
                return word
    return ""


def bounded(marked: str) -> str:
    """Return a text field as it is; NoPaperError when it is larger than any paper's."""
    if len(marked) > MAX_ENTRY:
        raise NoPaperError(f"record is larger than {MAX_ENTRY:,} characters")
    return marked


def prose(marked: str) -> str:
    """Return a text field without mark-up."""
    return markup.text(bounded(marked))


def in_order(index: object) -> str:
    """Return the text of an inverted index: {"deep": [0, 3], "learning": [1]}.

    Positions are only compared, so a false one costs nothing; the number of words is bounded.
    """
    if not isinstance(index, Mapping):
        return ""
    words: list[tuple[int, str]] = []
    for word, places in index.items():
        if len(words) + len(many(places)) > MAX_ENTRY:
            raise NoPaperError(f"record is larger than {MAX_ENTRY:,} characters")
        words += [(at, str(word)) for at in many(places) if type(at) is int]
    return " ".join(word for _, word in sorted(words))


def title_of(*titles: str) -> str:
    """Return the first title that has any words in it; NoPaperError when there is none."""
    title = next((words for one in titles if (words := prose(one))), "")
    if not title:
        raise NoPaperError("record has no title")
    return title


def number(value: object, *path: str) -> int | None:
    """Return a whole number at a path, also one written as text."""
    word = raw(value, *path)
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else None


def when(text: str, now: datetime) -> datetime | None:
    """Read a date that a paper may have."""
    return within_print_era(parse_date(text), now)


def at_milliseconds(value: object, now: datetime) -> datetime | None:
    """Read a date given as milliseconds since 1970."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < 1e14:
        return None
    return within_reason(datetime.fromtimestamp(value / 1000, UTC), now)


def year_of(text: str, at: datetime | None = None) -> int | None:
    """Return the year in a text, else that of a date."""
    found = re.match(r"(?:1[5-9]|20|21)\d\d(?!\d)", text)
    return int(found.group()) if found else at.year if at else None


def names_of(marked_up: Iterable[str]) -> tuple[str, ...]:
    """Return clean names, in order, without those that have no letter."""
    bounded_names = [bounded(name) for name in islice(marked_up, MAX_NAMES)]
    found = markup.names(bounded_names)
    return tuple(name for name in found if name[:1].isalpha() or any(map(str.isalpha, name)))


def natural(name: str) -> str:
    """Turn "Doe, J. R." into "J. R. Doe"; what is no such name stays as it is."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 3 and _SUFFIX.match(parts[2]):
        return f"{parts[1]} {parts[0]}, {parts[2]}"
    if len(parts) != 2 or not all(parts) or _SUFFIX.match(parts[1]):
        return name
    return f"{parts[1]} {parts[0]}"


def doi_page(doi: str) -> str:
    """Return the address of a DOI, which may hold any sign (`<` of old ones)."""
    return f"https://doi.org/{quote(doi, safe='/();:')}"


def terms(words: Iterable[str]) -> tuple[str, ...]:
    """Return categories or keywords, each once."""
    found = dict.fromkeys(markup.text(term[:1000]) for term in words)
    return tuple(term for term in found if 0 < len(term) <= 100)[:MAX_CATEGORIES]


def keys_of(pairs: Iterable[tuple[str, str]]) -> Keys:
    """Collect identifiers by scheme: one value, or a tuple of several."""
    found: dict[str, dict[str, None]] = {}
    for scheme, value in pairs:
        if value and len(value) <= 300:
            found.setdefault(scheme, {})[markup.text(value)] = None
    return {scheme: v[0] if len(v := tuple(values)) == 1 else v for scheme, values in found.items()}
