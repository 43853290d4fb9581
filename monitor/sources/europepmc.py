"""Kind `europepmc`: the search of Europe PMC (PubMed, PubMed Central, preprints, patents).

https://europepmc.org/RestfulWebService: /search with resultType=core and cursorMark paging.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import quote, urlencode

from monitor.model import Paper
from monitor.sources.api.records import Listing
from monitor.sources.api.values import (
    Record,
    abstract_of,
    bounded,
    doi_page,
    many,
    member,
    names_of,
    number,
    prose,
    raw,
    terms,
    title_of,
    when,
    year_of,
)
from monitor.sources.api.windows import ApiOptions, ApiSource, PageRequest
from monitor.sources.fields.identifiers import keys_of
from monitor.sources.fields.links import http_link
from monitor.sources.fields.publication_types import NOTICES, type_and_subject, type_of

PAGE = 200

_LAST_NAME_FIRST = re.compile(
    r"^(?P<last>\S.*?) (?P<initials>[^\W\d_a-z]{1,4})(?P<suffix> (?:[JS]r|I{2,3}|IV|2nd|3rd))?$"
)
_WITHDRAWN = ("retracted publication", "preprint withdrawal", "preprint removal")


class EuropePmcOptions(ApiOptions):
    """`query` is in Europe PMC's own syntax: https://europepmc.org/searchsyntax."""

    query_settings = ("query",)

    query: str = ""


class EuropePmc(ApiSource):
    """Reads Europe PMC by the day on which a record first appeared (FIRST_IDATE)."""

    kind = "europepmc"
    Options = EuropePmcOptions
    options: EuropePmcOptions
    service = "Europe PMC"
    lists = ("result",)
    address = "https://www.ebi.ac.uk/europepmc/webservices/rest"

    def listing(self, response: object) -> Listing:
        """Find the results, their number and the cursor of the next page."""
        found = member(response, "resultList", "result")
        count = number(response, "hitCount")
        if found is None and count == 0 and not raw(response, "errMsg"):
            found = []
        if found is None and isinstance(member(response, "result"), dict):
            found = [member(response, "result")]  # the response for a single article
        if not isinstance(found, list):
            return Listing(error=self.describe_error(response))
        return Listing(found, count, cursor=raw(response, "nextCursorMark"))

    def paper(self, record: Record, now: datetime) -> Paper:
        """Turn a result, core or lite, into a paper."""
        doi = raw(record, "doi").lower()
        published = when(raw(record, "firstPublicationDate"), now)
        source, name = raw(record, "source"), raw(record, "id")
        year = raw(record, "pubYear") or raw(record, "journalInfo", "yearOfPublication")
        journal = raw(record, "journalInfo", "journal", "title") or raw(record, "journalTitle")
        book = raw(record, "bookOrReportDetails", "publisher")
        type_, about = type_and_subject(list(_notices(record)), _types(record))
        return Paper(
            title=title_of(raw(record, "title")),
            abstract=abstract_of(raw(record, "abstractText")),
            authors=names_of(_authors(record)),
            venue=prose(journal or book),
            year=year_of(year, published),
            published=published,
            updated=when(raw(record, "dateOfRevision"), now),
            url=_page(doi, source, name),
            pdf_url=_pdf(record),
            keys=keys_of(_keys(record, doi)),
            categories=terms(raw(word) for word in many(record, "keywordList", "keyword")),
            version=number(record, "versionNumber"),
            withdrawn=_is_withdrawn(record),
            raw_id=prose(f"{source}/{name}") if name else "",
            type=type_,
            about=about,
        )

    def page_url(self, request: PageRequest) -> str:
        """Return the address of a page of the search."""
        first, last = request.window.days
        parameters = {
            "query": f"({self.options.query}) AND (FIRST_IDATE:[{first} TO {last}])",
            "resultType": "core",
            "format": "json",
            "pageSize": PAGE,
            "cursorMark": request.cursor or "*",
        } | ({"email": self.contact} if self.contact else {})
        return f"{self.base}/search?{urlencode(parameters)}"


def _authors(record: Record) -> Iterator[str]:
    """Yield first names first; the lite form has only "Doe J, Roe R." in one text."""
    people = many(record, "authorList", "author")
    for one in people:
        first = raw(one, "firstName") or raw(one, "initials")
        family = raw(one, "lastName")
        whole = raw(one, "collectiveName") or _given_first(raw(one, "fullName"))
        yield f"{first} {family}" if first and family else whole or family
    if not people:
        yield from map(_given_first, bounded(raw(record, "authorString")).rstrip(".").split(", "))


def _given_first(name: str) -> str:
    found = None if name.isupper() else _LAST_NAME_FIRST.match(name.strip())
    return f"{found['initials']} {found['last']}{found['suffix'] or ''}" if found else name


def _is_withdrawn(record: Record) -> bool:
    """Whether its type or a retraction notice shows that it is withdrawn."""
    notes = many(record, "commentCorrectionList", "commentCorrection")
    retracted = any(raw(one, "type").lower() == "retraction in" for one in notes)
    return retracted or any(kind in _WITHDRAWN for kind in _types(record))


def _notices(record: Record) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the type of a notice ("Erratum for"), and the identifier of its subject."""
    for one in many(record, "commentCorrectionList", "commentCorrection"):
        relation, scheme = raw(one, "type").lower(), _SCHEMES.get(raw(one, "source"), "")
        mark = type_of([relation]) if relation.endswith((" of", " for", " on")) else ""
        if mark in NOTICES:
            yield mark, [(scheme, raw(one, "id"))] if scheme else []


_SCHEMES = {"MED": "pmid", "PMC": "pmcid"}


def _types(record: Record) -> Iterator[str]:
    types = many(record, "pubTypeList", "pubType")
    for one in types or raw(record, "pubType").split(";"):
        yield raw(one).lower().replace("-", " ").strip()


def _keys(record: Record, doi: str) -> Iterator[tuple[str, str]]:
    """Yield identifiers, with the PMID of the journal article that a preprint became."""
    yield "doi", doi
    name = raw(record, "id") if raw(record, "source") == "MED" else ""
    yield "pmid", raw(record, "pmid") or name
    yield "pmcid", raw(record, "pmcid")
    for one in many(record, "commentCorrectionList", "commentCorrection"):
        if raw(one, "type").lower() == "preprint of" and raw(one, "source") == "MED":
            yield "pmid", raw(one, "id")


def _page(doi: str, source: str, name: str) -> str:
    if doi:
        return doi_page(doi)
    return f"https://europepmc.org/article/{quote(source)}/{quote(name)}" if name else ""


def _pdf(record: Record) -> str:
    links = many(record, "fullTextUrlList", "fullTextUrl")
    free = (one for one in links if raw(one, "availabilityCode") in ("OA", "F"))
    found = (raw(one, "url") for one in free if raw(one, "documentStyle") == "pdf")
    return http_link(next(found, ""), "")
