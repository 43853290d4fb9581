"""The envelope of OAI-PMH 2.0 responses (http://www.openarchives.org/OAI/openarchivesprotocol.html).

Every response, even an error, should have HTTP status 200:

    OAI-PMH: responseDate, request, and either
        error (code)                                         no record, or what went wrong
        ListRecords | GetRecord: record ..., resumptionToken
                      record: header (identifier, datestamp, status="deleted"), metadata
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from xml.etree.ElementTree import Element

from monitor.model import Paper, Reading, Rejected
from monitor.sources.api.values import NO_TITLE, NoPaperError
from monitor.sources.base import failure, reading
from monitor.sources.fields import MAX_ENTRY, markup
from monitor.sources.fields.dates import parse_date
from monitor.sources.xml_records import XmlError, read_elements
from monitor.text import whole_number

MAX_PARTS = 20_000  # of one record

_SPACES = ("{http://www.openarchives.org/OAI/2.0/}", "{https://www.openarchives.org/OAI/2.0/}", "")
_PARTS = ("responseDate", "error", "record", "resumptionToken")
NO_METADATA = "record has no metadata"
_POOR = (NO_TITLE, NO_METADATA)  # a list of such alone is poor, and read all the same


@dataclass(frozen=True, slots=True)
class Record:
    """A record; `metadata` is in the requested format."""

    identifier: str
    deleted: bool
    metadata: Element | None


class Envelope:
    """A response, with the records that `convert` can read. `token` requests the next page.

    `token` is "" on the last page; `total` is the number of records on all pages (0: unknown).
    `fault` is where the document is truncated or broken; `error` explains why there are no records,
    and is "" if there are some, or none are expected.
    """

    def __init__(self, content: bytes, convert: Callable[[Record], Paper]) -> None:
        self.records: list[Paper | Rejected] = []
        self.responded: datetime | None = None
        self.token = self.fault = ""
        self.total = 0
        self._convert = convert
        self._is_list = False
        self.errors: dict[str, str] = {}
        self._read(content)
        self.error = self._find_error()

    def reading(self) -> Reading:
        if self.error:
            return failure(self.error)
        return reading(self.records, not self.fault, _POOR)

    def _read(self, content: bytes) -> None:
        for element in read_elements(content, _PARTS, ("ListRecords",), spaces=_SPACES):
            where = f"record {len(self.records) + 1}"
            if not isinstance(element, XmlError):
                self._take(element, where)
            elif not self.fault:
                self.fault = str(element)
            else:
                self.records.append(Rejected(where, str(element)))

    def _take(self, element: Element, where: str) -> None:
        match local(element):
            case "record":
                self.records.append(self._record(element, where))
            case "responseDate":
                self.responded = parse_date(words(element))
            case "error":
                self.errors[element.get("code", "error")] = words(element)
            case "resumptionToken":
                self.token = (element.text or "").strip()
                self.total = whole_number(element.get("completeListSize", "")) or 0
            case "ListRecords":
                self._is_list = True

    def _record(self, element: Element, where: str) -> Paper | Rejected:
        header = element.find("{*}header")
        identifier = first(header, "identifier")
        if not identifier:
            return Rejected(where, "record has no identifier")
        deleted = header is not None and header.get("status") == "deleted"
        record = Record(identifier, deleted, element.find("{*}metadata/*"))
        try:
            _check_size(element)
            if record.metadata is None and not deleted:
                raise NoPaperError(NO_METADATA)
            return self._convert(record)
        except NoPaperError as reason:
            return Rejected(f"{where} ({identifier})", str(reason))

    def _find_error(self) -> str:
        if self.records:
            return ""
        for code, reason in self.errors.items():
            if code != "noRecordsMatch":
                return f"the repository answered {code}" + (f": {reason[:200]}" if reason else "")
        if self.fault or self.errors or self._is_list:
            return self.fault
        return "the document is not an OAI-PMH response with records"


def deleted_paper(record: Record, keys: Mapping[str, str], url: str = "") -> Paper:
    """Return a deleted record as a withdrawn paper; its identifier is all that is left of it."""
    name = record.identifier
    return Paper(name, url=url, keys=keys, withdrawn=True, raw_id=name)


def _check_size(element: Element) -> None:
    """Raise NoPaperError for a record with more in it than any paper has."""
    if sum(1 for _ in element.iter()) > MAX_PARTS:
        raise NoPaperError(f"record has more than {MAX_PARTS:,} elements")
    if sum(len(text) for text in element.itertext()) > MAX_ENTRY:
        raise NoPaperError(f"record is larger than {MAX_ENTRY:,} characters")


def local(element: Element | None) -> str:
    """Return the name of an element without its namespace; "" for none."""
    return "" if element is None else str(element.tag).rpartition("}")[2]


def words(element: Element | None) -> str:
    """Return the text of an element without mark-up, escaped or not."""
    return "" if element is None else markup.text("".join(element.itertext()))


def every(parent: Element | None, *names: str) -> Iterator[str]:
    """Yield the texts of all children with these local names, without empty ones."""
    for child in parent if parent is not None else ():
        if child.tag.rpartition("}")[2] in names and (text := words(child)):
            yield text


def first(parent: Element | None, *names: str) -> str:
    """Return the text of the first child of these local names that has one, or ""."""
    return next(every(parent, *names), "")
