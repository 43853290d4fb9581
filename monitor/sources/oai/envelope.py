"""The envelope of OAI-PMH 2.0 responses (http://www.openarchives.org/OAI/openarchivesprotocol.html).

Every response, even an error, should have HTTP status 200:

    OAI-PMH: responseDate, request, and either
        error (code)                                         no record, or what went wrong
        ListRecords | GetRecord: record ..., resumptionToken
                      record: header (identifier, datestamp, status="deleted"), metadata
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from xml.etree.ElementTree import Element

from monitor.model import Paper, Reading, Rejected
from monitor.sources.fields import MAX_ENTRY, markup
from monitor.sources.fields.dates import parse_date
from monitor.sources.xml_records import XmlError, read_elements
from monitor.text import whole_number

MAX_BYTES = 64 * 1024 * 1024
MAX_TAGS = 3_000_000
MAX_PARTS = 20_000  # of one record

_SPACES = ("{http://www.openarchives.org/OAI/2.0/}", "{https://www.openarchives.org/OAI/2.0/}", "")
_PARTS = ("responseDate", "error", "record", "resumptionToken")
_VERBS = (
    "ListRecords",
    "GetRecord",
    "ListIdentifiers",
    "ListSets",
    "ListMetadataFormats",
    "Identify",
)
NO_TITLE = "record has no title"
NO_METADATA = "record has no metadata"
_POOR = (NO_TITLE, NO_METADATA)  # a list of such alone is poor, and read all the same
_NO_RECORDS = "noRecordsMatch"
_BAD_TOKEN = "badResumptionToken"
_ERROR = re.compile(
    rb"<(?:\w{1,20}:)?OAI-PMH[\s>].{0,20000}?<(?:\w{1,20}:)?error\s[^<>]{0,200}\bcode\s*=",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Record:
    """A record; `metadata` is in the requested format."""

    identifier: str
    deleted: bool
    metadata: Element | None


Convert = Callable[[Record], Paper | str]
"""Turns a record into a paper, or returns the reason why it is none."""


class Envelope:
    """A response, with the records that can be read. `token` requests the next page.

    `token` is "" on the last page; `fault` is where the document is truncated or broken; `error`
    explains why there are no records, and is "" if there are some, or none are expected.
    """

    def __init__(self, content: bytes, convert: Convert) -> None:
        self.records: list[Paper | Rejected] = []
        self.responded: datetime | None = None
        self.token = self.fault = self.error = ""
        self._convert = convert
        self._verb = ""
        self._total = self._before = 0
        self._errors: dict[str, str] = {}
        if len(content) > MAX_BYTES:
            self.error = f"the document is larger than {MAX_BYTES:,} bytes"
        elif content.count(b"<") > MAX_TAGS:
            self.error = f"the document has more than {MAX_TAGS:,} tags"
        else:
            self._read(content)
            self.error = self._find_error()

    @property
    def expired(self) -> bool:
        """Whether the repository does not know the token of the request (any more)."""
        return _BAD_TOKEN in self._errors

    def reading(self) -> Reading:
        papers = tuple(record for record in self.records if isinstance(record, Paper))
        rejected = tuple(record for record in self.records if isinstance(record, Rejected))
        error = self.error
        if not error and not papers:
            bad = next((record.why for record in rejected if record.why not in _POOR), "")
            error = f"no record is a paper: {bad}" if bad else self.fault
        return Reading(papers, rejected, error, complete=not (error or self.fault))

    def _read(self, content: bytes) -> None:
        for element in read_elements(content, _PARTS, _VERBS, spaces=_SPACES):
            if not isinstance(element, XmlError):
                self._take(element)
            elif not self.fault:
                self.fault = str(element)
            else:
                self.records.append(Rejected(f"record {len(self.records) + 1}", str(element)))

    def _take(self, element: Element) -> None:
        match local(element):
            case "record":
                self.records.append(self._record(element))
            case "responseDate":
                self.responded = parse_date(words(element))
            case "error":
                self._errors[element.get("code", "error")] = words(element)
            case "resumptionToken":
                self.token = (element.text or "").strip()
                self._total = whole_number(element.get("completeListSize", "")) or 0
                self._before = whole_number(element.get("cursor", "")) or 0
            case verb:
                self._verb = verb

    def _record(self, element: Element) -> Paper | Rejected:
        where = f"record {len(self.records) + 1}"
        header = element.find("{*}header")
        identifier = first(header, "identifier")
        if not identifier:
            return Rejected(where, "record has no identifier")
        deleted = header is not None and header.get("status") == "deleted"
        record = Record(identifier, deleted, element.find("{*}metadata/*"))
        outcome = _find_fault(element, record) or self._convert(record)
        return (
            outcome if isinstance(outcome, Paper) else Rejected(f"{where} ({identifier})", outcome)
        )

    def _find_error(self) -> str:
        bad = {code: reason for code, reason in self._errors.items() if code != _NO_RECORDS}
        if bad and not self.records:
            code, reason = next(iter(bad.items()))
            return f"the repository answered {code}" + (f": {reason[:200]}" if reason else "")
        if self.records or self._errors or self.fault:
            return ""
        if self._verb == "ListRecords":
            is_missing = self._total > self._before and not self.token
            error = f"the list is empty although it says {self._total:,} records"
            return error if is_missing else ""
        if self._verb:
            return f"the answer to {self._verb} holds no records"
        return "the document is not an OAI-PMH response"


def says_error(content: bytes) -> bool:
    """Whether a document is an OAI-PMH response with an error, whatever its HTTP status."""
    return bool(_ERROR.search(content))


def deleted_paper(record: Record, keys: Mapping[str, str], url: str = "") -> Paper:
    """Return a deleted record as a withdrawn paper; its identifier is all that is left of it."""
    return Paper(
        title=record.identifier,
        url=url,
        keys=keys,
        withdrawn=True,
        raw_id=record.identifier,
    )


def _find_fault(element: Element, record: Record) -> str:
    """Explain why a record cannot be read, or return ""."""
    if sum(1 for _ in element.iter()) > MAX_PARTS:
        return f"record has more than {MAX_PARTS:,} elements"
    if sum(len(text) for text in element.itertext()) > MAX_ENTRY:
        return f"record is larger than {MAX_ENTRY:,} characters"
    return "" if record.deleted or record.metadata is not None else NO_METADATA


# ── elements ────────────────────────────────────────────────────────────────────────


def local(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def words(element: Element | None) -> str:
    """Return the text of an element as clean text: mark-up, escaped or not, is gone."""
    return "" if element is None else markup.text("".join(element.itertext()))


def every(parent: Element | None, *names: str) -> Iterator[str]:
    """Yield the texts of all children with these local names, without empty ones."""
    for child in parent if parent is not None else ():
        if child.tag.rpartition("}")[2] in names and (text := words(child)):
            yield text


def first(parent: Element | None, *names: str) -> str:
    """Return the text of the first child of these local names that has one, or ""."""
    return next(every(parent, *names), "")
