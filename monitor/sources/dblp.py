"""Kind `dblp`: responses of dblp's search (JSON and XML), and records of dblp.xml.

https://dblp.org/faq/13501473.html (the search), https://dblp.org/faq/16154937.html (dblp.xml).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from xml.etree.ElementTree import Element

from pydantic import Field

from monitor.errors import DocumentError
from monitor.model import Authority, Document, Paper, Reading, Rejected
from monitor.sources import files
from monitor.sources.api.records import ApiSource, Listing
from monitor.sources.api.values import NoPaperError, Record, plain_text, terms
from monitor.sources.api.windows import PageRequest, Query, ServiceOptions
from monitor.sources.base import failure, reading
from monitor.sources.fields.dates import FIRST_ONLINE, parse_date, within_reason
from monitor.sources.fields.identifiers import identifier_pairs, keys_of, openreview_id
from monitor.sources.fields.links import first_link
from monitor.sources.xml_records import XmlError, read_elements

PAGE_RECORDS = 1_000  # the maximum of the search

# The names in the search for the elements of dblp.xml.
TYPES = {
    "article": "Journal Articles",
    "inproceedings": "Conference and Workshop Papers",
    "proceedings": "Editorship",
    "book": "Books and Theses",
    "incollection": "Parts in Books or Collections",
    "phdthesis": "Books and Theses",
    "mastersthesis": "Books and Theses",
    "data": "Data and Artifacts",
    "www": "home page",
}
_ROOTS = ("result", "dblp", "dblpperson", "bht", "hits", "hit", *TYPES)
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?!!doctype html|html)|\x1f\x8b", re.IGNORECASE)
_INFORMAL = "Informal and Other Publications"
_FULL_STOP = re.compile(r"(?<=[^.\s])\s*\.$")  # which dblp adds to every title
_HOMONYM = re.compile(r"(?<!\s)\s++\d{4}$")
_ARXIV_VOLUME = re.compile(r"abs/(.+)")


class DblpOptions(ServiceOptions):
    """A `query` in dblp's own syntax ("attention venue:NeurIPS:"), for the last `years`.

    With a query, `url` is another server of the same API; without one, it is one document.
    """

    query_settings = ("query",)
    exclusive = (("query", "path"),)
    reads_url = True

    query: Query = ""
    years: int = Field(2, ge=1, le=50, description="years to read, including this one")


class Dblp(ApiSource):
    """Reads dblp, which has only the year of a paper: its papers are never older."""

    kind = "dblp"
    assigns = ("dblp",)
    authority = Authority.EVERY
    Options = DblpOptions
    options: DblpOptions
    dated = False
    max_bytes = files.MAX_FILE_BYTES
    service = "dblp's search"
    lists = ("result.hits.hit",)
    singles = ("result.hits.hit",)
    record_id = "info"
    total_path = "result.hits.@total"
    cursor_path = ""
    address = "https://dblp.org/search/publ/api"
    longest = timedelta(days=36_500)  # each year is one list
    max_records = 10_000  # of one query, by its documentation

    def read(self, document: Document) -> Reading:
        if not _XML.match(document.content):
            return super().read(document)
        records: list[Paper | Rejected] = []
        whole = True
        now = self._clock()
        for element in read_elements(document.content, ("hit", *TYPES), ("status",), roots=_ROOTS):
            number = len(records) + 1
            if isinstance(element, XmlError):
                records.append(Rejected(f"record {number}", str(element)))
                whole = False
            elif element.tag != "status":
                records.append(self._record(_value_of(element), number, now))
            elif (code := element.get("code", "200")) != "200":
                return failure(f"{self.service} answered with an error: {code}")
        return reading(records, whole)

    def targets(self) -> Sequence[str]:
        """Return the last years: dblp has no search for what is new."""
        this_year = self._clock().year
        return [str(this_year - ago) for ago in range(self.options.years)]

    def page_name(self, request: PageRequest) -> str:
        return f"{request.target} from {request.cursor or 0}"

    def page_url(self, request: PageRequest) -> str:
        parameters = {
            "q": f"{self.options.query} year:{request.target}:",
            "h": PAGE_RECORDS,
            "f": request.cursor or 0,
            "c": 0,
            "format": "json",
        }
        return self.address_of("", parameters)

    def listing(self, response: Record) -> Listing:
        """Find the hits; an error has HTTP status 200."""
        code = response.text("result.status.@code")
        if code not in ("", "200"):
            words = plain_text(f"{code} {response.text('result.status.text')}")[:200]
            raise DocumentError(f"{self.service} answered with an error: {words}")
        return super().listing(response)

    def paper(self, record: Record) -> Paper:
        info = record.at("info") if record.has("info") else record
        type_ = info.text("type")
        key = info.plain("key", "@key")
        if type_ == TYPES["www"]:
            raise NoPaperError("record is a home page, not a paper")
        title = _FULL_STOP.sub("", info.title("title", "title.text"))
        names = info.names("authors.author", "author", "editor")
        venues = [*info.items("venue"), *info.items("journal")]
        venues = venues or info.items("booktitle", "school")
        links = [_word(link) for link in (*info.items("ee"), *info.items("url"))]
        own_page = f"https://dblp.org/rec/{key}" if re.fullmatch(r"[\w/.:-]+", key) else ""
        return Paper(
            title=title,
            authors=tuple(_HOMONYM.sub("", name) for name in names),
            venue=", ".join(filter(None, (plain_text(_word(venue)) for venue in venues))),
            year=info.year("year"),
            updated=within_reason(parse_date(info.text("@mdate")), record.now, FIRST_ONLINE),
            url=first_link([*links, own_page]),  # links are relative in dblp.xml
            keys=keys_of([("dblp", key), *_identifiers(info, links)]),
            categories=terms((type_,)),
            withdrawn="withdrawn" in (info.text("@publtype"), *type_.lower().split()),
            raw_id=key,
        )


def _value_of(element: Element) -> object:
    """Return the text of an element, or an object of its attributes and parts, as JSON has them."""
    if element.tag == "title" or not len(element):
        return "".join(element.itertext())
    parts: dict[str, list[object]] = {f"@{name}": [v] for name, v in element.attrib.items()}
    for child in element:
        parts.setdefault(child.tag, []).append(_value_of(child))
    value = {name: values[0] if len(values) == 1 else values for name, values in parts.items()}
    if element.tag in TYPES:
        informal = value.get("@publtype") == "informal"
        value.setdefault("type", _INFORMAL if informal else TYPES[element.tag])
    return value


def _word(value: Record) -> str:
    """Return a value that is a text, or an object with a text."""
    return value.text("", "text")


def _identifiers(info: Record, links: Sequence[str]) -> Iterator[tuple[str, str]]:
    volume = _ARXIV_VOLUME.fullmatch(info.text("volume"))
    dois = map(_word, info.items("doi"))
    yield from identifier_pairs((*dois, *links, f"arxiv:{volume[1]}" if volume else ""))
    yield "openreview", openreview_id(links)
