"""Kind `europepmc`: the search of Europe PMC (PubMed, PubMed Central, preprints, patents).

https://europepmc.org/RestfulWebService: /search with resultType=core and cursorMark paging; its
syntax: https://europepmc.org/searchsyntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from monitor.model import Authority, Paper
from monitor.sources.api.records import ApiSource
from monitor.sources.api.values import Record, doi_page, names_of, plain_text, terms
from monitor.sources.api.windows import PageRequest, QueryOptions
from monitor.sources.fields.affiliations import affiliations
from monitor.sources.fields.identifiers import keys_of
from monitor.sources.fields.publication_types import NOTICES, type_and_subject, type_of
from monitor.text import A_GENERATION

PAGE = 200

_LAST_NAME_FIRST = re.compile(
    rf"^(?P<last>\S.*?) (?P<initials>[^\W\d_a-z]{{1,4}})(?P<suffix> {A_GENERATION})?$"
)
_VENUES = ("journalInfo.journal.title", "journalTitle", "bookOrReportDetails.publisher")
_COMMENTS = "commentCorrectionList.commentCorrection"
_SCHEMES = {"MED": "pmid", "PMC": "pmcid"}
_WITHDRAWN = ("retracted publication", "preprint withdrawal", "preprint removal")


class EuropePmc(ApiSource):
    """Reads Europe PMC by the day on which a record first appeared (FIRST_IDATE)."""

    kind = "europepmc"
    authority = Authority.EVERY
    Options = QueryOptions
    options: QueryOptions
    service = "Europe PMC"
    lists = ("resultList.result",)
    singles = ("result",)
    total_path = "hitCount"
    cursor_path = "nextCursorMark"
    address = "https://www.ebi.ac.uk/europepmc/webservices/rest"

    def paper(self, record: Record) -> Paper:
        doi = record.text("doi").lower()
        published = record.date("firstPublicationDate")
        source = record.text("source")
        name = record.text("id")
        types = record.texts("pubTypeList.pubType") or record.text("pubType").split(";")
        types = [name.lower().replace("-", " ").strip() for name in types]
        comments = record.items(_COMMENTS)
        type_, about = type_and_subject(list(_notices(comments)), types)
        is_retracted = any(comment.text("type").lower() == "retraction in" for comment in comments)
        return Paper(
            title=record.title("title"),
            abstract=record.plain("abstractText"),
            authors=names_of(_authors(record)),
            affiliations=affiliations(_addresses(record)),
            venue=record.plain(*_VENUES),
            year=record.year("pubYear", "journalInfo.yearOfPublication", at=published),
            published=published,
            updated=record.date("dateOfRevision"),
            url=_page(doi, source, name),
            pdf_url=_pdf(record),
            keys=keys_of(_keys(record, doi)),
            categories=terms(record.texts("keywordList.keyword")),
            version=record.number("versionNumber"),
            withdrawn=is_retracted or any(name in _WITHDRAWN for name in types),
            raw_id=plain_text(f"{source}/{name}") if name else "",
            type=type_,
            about=about,
        )

    def page_url(self, request: PageRequest) -> str:
        first, last = request.window.days
        parameters = {
            "query": f"({self.options.query}) AND (FIRST_IDATE:[{first} TO {last}])",
            "resultType": "core",
            "format": "json",
            "pageSize": PAGE,
            "cursorMark": request.cursor or "*",
            "email": self.contact,
        }
        return self.address_of("/search", parameters)


def _authors(record: Record) -> Iterator[str]:
    """Yield first names first; the lite form has only "Doe J, Roe R." in one text."""
    people = record.items("authorList.author")
    for person in people:
        first = person.text("firstName", "initials")
        family = person.text("lastName")
        whole = person.text("collectiveName") or _given_first(person.text("fullName"))
        yield f"{first} {family}" if first and family else whole or family
    if not people:
        yield from map(_given_first, record.text("authorString").rstrip(".").split(", "))


def _addresses(record: Record) -> Iterator[str]:
    """Yield the affiliations of each author, else that of the first."""
    of_authors = [
        affiliation.text("affiliation")
        for person in record.items("authorList.author")
        for affiliation in person.items("authorAffiliationDetailsList.authorAffiliation")
    ]
    return iter(of_authors or record.texts("affiliation"))


def _given_first(name: str) -> str:
    match = None if name.isupper() else _LAST_NAME_FIRST.match(name.strip())
    return f"{match['initials']} {match['last']}{match['suffix'] or ''}" if match else name


def _notices(comments: Sequence[Record]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the type of a notice ("Erratum for"), and the identifier of its subject."""
    for comment in comments:
        mark = type_of([comment.text("type")])
        scheme = _SCHEMES.get(comment.text("source"), "")
        if mark in NOTICES:
            yield mark, [(scheme, comment.text("id"))] if scheme else []


def _keys(record: Record, doi: str) -> Iterator[tuple[str, str]]:
    """Yield identifiers, with the PMID of the journal article that a preprint became."""
    yield "doi", doi
    name = record.text("id") if record.text("source") == "MED" else ""
    yield "pmid", record.text("pmid") or name
    yield "pmcid", record.text("pmcid")
    for comment in record.items(_COMMENTS):
        if comment.text("type").lower() == "preprint of" and comment.text("source") == "MED":
            yield "pmid", comment.text("id")


def _page(doi: str, source: str, name: str) -> str:
    if doi:
        return doi_page(doi)
    return f"https://europepmc.org/article/{quote(source)}/{quote(name)}" if name else ""


def _pdf(record: Record) -> str:
    links = record.items("fullTextUrlList.fullTextUrl")
    free = (link for link in links if link.text("availabilityCode") in ("OA", "F"))
    return next((link.link("url") for link in free if link.text("documentStyle") == "pdf"), "")
