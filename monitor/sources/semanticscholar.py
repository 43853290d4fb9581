"""Kind `semanticscholar`: papers from the Academic Graph of Semantic Scholar.

https://api.semanticscholar.org/api-docs/graph: /paper/search (offset, next) and
/paper/search/bulk (token); lists of /paper/batch, citations and single papers are read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from monitor.http import Limits
from monitor.model import Paper, SiteNote
from monitor.setting_types import Unset
from monitor.sources.api.records import ApiSource, Listing
from monitor.sources.api.values import Record, plain_text, terms, words_in
from monitor.sources.api.windows import ApiKey, OverlapDays, PageRequest, QueryOptions
from monitor.sources.fields.dates import long_over
from monitor.sources.fields.identifiers import identifier_pairs, keys_of

FIELDS = (
    "title,abstract,authors,venue,journal,year,publicationDate,externalIds,url,openAccessPdf,"
    "fieldsOfStudy,s2FieldsOfStudy"
)


class SemanticScholarOptions(QueryOptions):
    """A `query` is for the bulk search: words, "phrases", + | - and brackets."""

    fields_of_study: Annotated[tuple[str, ...], Unset("all")] = Field(
        (), max_length=30, description="a list, such as `[Biology]`"
    )
    api_key: ApiKey = SecretStr("")
    overlap_days: OverlapDays = 30


class SemanticScholar(ApiSource):
    """Reads Semantic Scholar by the day of publication, with the bulk search."""

    kind = "semanticscholar"
    assigns = ("s2",)
    Options = SemanticScholarOptions
    options: SemanticScholarOptions
    service = "Semantic Scholar"
    lists = ("data", "recommendedPapers", "papers")
    cursor_path = "token"
    record_id = "paperId"
    address = "https://api.semanticscholar.org/graph/v1"

    def following(self, listing: Listing, request: PageRequest) -> str:
        """Return the token of the next page: the total is an estimate."""
        return listing.cursor if listing.items else ""

    def paper(self, record: Record) -> Paper:
        """Convert a paper that stands alone, or in a citation or a snippet."""
        within = filter(record.has, ("citingPaper", "citedPaper", "paper"))
        inner = record.at(next(within, ""))
        name = inner.text("paperId")
        published = inner.date("publicationDate")
        year = inner.year("year", at=published)
        own_page = f"https://www.semanticscholar.org/paper/{name}" if name.isalnum() else ""
        line = inner.plain("tldr.text")
        studies = (inner.at(name).value for name in ("fieldsOfStudy", "s2FieldsOfStudy"))
        return Paper(
            title=inner.title("title"),
            abstract=inner.plain("abstract"),
            authors=inner.names("authors"),
            venue=inner.plain("venue", "journal.name", "publicationVenue.name"),
            year=year,
            published=published or long_over(year, record.now),
            url=inner.link("url") or own_page,
            pdf_url=_pdf(inner),
            keys=keys_of(_keys(inner, name)),
            categories=terms(word for values in studies for word in words_in(values)),
            raw_id=plain_text(name),
            site_note=SiteNote(self.service, own_page, line) if line else None,
        )

    @property
    def limits(self) -> Limits:
        """Send the key in a header, and one request a second, the limit of a key."""
        key = self.options.api_key.get_secret_value()
        return {
            "headers": {"x-api-key": key} if key else {},
            "apart": timedelta(seconds=0 if self.options.url else 1),
        }

    def page_url(self, request: PageRequest) -> str:
        parameters = {
            "query": self.options.query,
            "publicationDateOrYear": ":".join(request.window.days),
            "fieldsOfStudy": ",".join(self.options.fields_of_study),
            "fields": FIELDS,
            "token": request.cursor,
        }
        return self.address_of("/paper/search/bulk", parameters)


def _keys(record: Record, name: str) -> Iterator[tuple[str, str]]:
    """Yield identifiers; an older API had arXiv id and DOI at the top level."""
    yield "s2", name
    arxiv = record.text("externalIds.ArXiv", "arxivId")
    doi = record.text("externalIds.DOI", "doi")
    yield from identifier_pairs((f"arxiv:{arxiv}" if arxiv else "", doi))
    yield "pmid", record.text("externalIds.PubMed")
    central = record.text("externalIds.PubMedCentral").upper().removeprefix("PMC")
    yield "pmcid", f"PMC{central}" if central else ""
    yield "dblp", record.text("externalIds.DBLP")
    yield "acl", record.text("externalIds.ACL")


def _pdf(record: Record) -> str:
    """Return the address of a free copy; the page of a DOI is not a PDF."""
    link = record.link("openAccessPdf.url")
    return "" if urlsplit(link).hostname in ("doi.org", "dx.doi.org") else link
