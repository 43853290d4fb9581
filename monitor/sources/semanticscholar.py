"""Kind `semanticscholar`: papers from the Academic Graph of Semantic Scholar.

https://api.semanticscholar.org/api-docs/graph: /paper/search (offset, next) and
/paper/search/bulk (token); lists of /paper/batch, citations and single papers are read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from urllib.parse import urlencode, urlsplit

from pydantic import Field, SecretStr

from monitor.model import Paper
from monitor.sources.api.records import Listing
from monitor.sources.api.values import (
    Record,
    abstract_of,
    names_of,
    paper_date,
    plain_text,
    terms,
    title_of,
    year_of,
)
from monitor.sources.api.windows import ApiOptions, ApiSource, PageRequest
from monitor.sources.base import Terms
from monitor.sources.fields.dates import long_over
from monitor.sources.fields.identifiers import identifier_pairs, keys_of
from monitor.sources.fields.links import first_link, http_link

FIELDS = (
    "title,abstract,authors,venue,journal,year,publicationDate,externalIds,url,openAccessPdf,"
    "fieldsOfStudy,s2FieldsOfStudy"
)
_VENUES = (("venue",), ("journal", "name"), ("publicationVenue", "name"))


class SemanticScholarOptions(ApiOptions):
    """`query` is for the bulk search: words, "phrases", + | - and brackets."""

    query_settings = ("query",)

    query: str = ""
    fields_of_study: tuple[str, ...] = Field(default=(), max_length=30)
    api_key: SecretStr = SecretStr("")
    overlap_days: int = Field(default=30, ge=1, le=365)


class SemanticScholar(ApiSource):
    """Reads Semantic Scholar by the day of publication, with the bulk search."""

    kind = "semanticscholar"
    Options = SemanticScholarOptions
    options: SemanticScholarOptions
    service = "Semantic Scholar"
    lists = ("data", "recommendedPapers", "papers")
    address = "https://api.semanticscholar.org/graph/v1"

    def listing(self, response: Record) -> Listing:
        """Find the papers. `total` of a search is an estimate, and may be the only field."""
        if response.text("paperId"):
            return Listing((response.value,))
        total = response.number("total")
        if total == 0 and response.at("data").value is None and not response.at("error").value:
            return Listing(total=0)
        papers = super().listing(response)
        if papers.error:
            return papers
        begin = response.number("offset") or 0
        cursor = response.text("token") or response.text("next")
        return Listing(papers.items, total, begin, cursor)

    def following(self, listing: Listing, request: PageRequest) -> str:
        """Return the token of the next page; the last page has none."""
        return listing.cursor if listing.items else ""

    def paper(self, record: Record, now: datetime) -> Paper:
        """Convert a paper that stands alone, or in a citation or a snippet."""
        within = (record.at(name) for name in ("citingPaper", "citedPaper", "paper"))
        inner = next((paper for paper in within if paper.is_object), record)
        name = inner.text("paperId")
        published = paper_date(inner.text("publicationDate"), now)
        year = year_of(inner.text("year"), published)
        own_page = f"https://www.semanticscholar.org/paper/{name}" if name.isalnum() else ""
        studies = inner.texts("fieldsOfStudy")
        studies += [part.text("category") for part in inner.items("s2FieldsOfStudy")]
        return Paper(
            title=title_of(inner.text("title")),
            abstract=abstract_of(inner.text("abstract")),
            authors=names_of(part.text("name") or part.text() for part in inner.items("authors")),
            venue=plain_text(next(filter(None, (inner.text(*path) for path in _VENUES)), "")),
            year=year,
            published=published or long_over(year, now),
            url=first_link((inner.text("url"), own_page)),
            pdf_url=_pdf(inner),
            keys=keys_of(_keys(inner, name)),
            categories=terms(studies),
            raw_id=plain_text(name),
        )

    @property
    def terms(self) -> Terms:
        """Send the key in a header, and one request a second, the limit of a key."""
        key = self.options.api_key.get_secret_value()
        return Terms(
            headers={"x-api-key": key} if key else {},
            apart=timedelta(seconds=0 if self.options.url else 1),
        )

    def page_url(self, request: PageRequest) -> str:
        """Return the address of a page of the bulk search."""
        parameters = {
            "query": self.options.query,
            "publicationDateOrYear": ":".join(request.window.days),
            "fieldsOfStudy": ",".join(self.options.fields_of_study),
            "fields": FIELDS,
            "token": request.cursor,
        }
        used = {name: value for name, value in parameters.items() if value}
        return f"{self.base}/paper/search/bulk?{urlencode(used)}"


def _keys(record: Record, name: str) -> Iterator[tuple[str, str]]:
    """Yield identifiers under `externalIds`; an older API had arXiv id and DOI at the top level."""
    external = record.at("externalIds")
    yield "s2", name
    arxiv = external.text("ArXiv") or record.text("arxivId")
    doi = external.text("DOI") or record.text("doi")
    yield from identifier_pairs((f"arxiv:{arxiv}" if arxiv else "", doi))
    yield "pmid", external.text("PubMed")
    central = external.text("PubMedCentral").upper().removeprefix("PMC")
    yield "pmcid", f"PMC{central}" if central else ""
    yield "dblp", external.text("DBLP")
    yield "acl", external.text("ACL")


def _pdf(record: Record) -> str:
    """Return the address of a free copy; the page of a DOI is not a PDF."""
    link = http_link(record.text("openAccessPdf", "url"), "")
    return "" if urlsplit(link).hostname in ("doi.org", "dx.doi.org") else link
