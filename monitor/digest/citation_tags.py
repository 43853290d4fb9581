"""A paper for reference managers that look at a page: metadata in its head, COinS beside its title.

https://scholar.google.com/intl/en/scholar/inclusion.html#indexing names the metadata, which all of
them read; https://groups.niso.org/higherlogic/ws/public/download/14833 (ANSI/NISO Z39.88) the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlencode

from monitor.digest.citation import Author, Citation, WorkType, cite, keywords, one_line
from monitor.digest.links import page_url, pdf_url
from monitor.model import Paper

# Where the venue of a work is; a type that is not here has a publisher.
_VENUE_TAGS = {
    WorkType.ARTICLE: "citation_journal_title",
    WorkType.CONFERENCE_PAPER: "citation_conference_title",
    WorkType.CHAPTER: "citation_inbook_title",
    WorkType.THESIS: "citation_dissertation_institution",
    WorkType.REPORT: "citation_technical_report_institution",
}
# Of works that these names of metadata do not tell apart, the type as Zotero calls it.
_DUBLIN_CORE_TYPES = {
    WorkType.PREPRINT: "preprint",
    WorkType.BOOK: "book",
    WorkType.DATASET: "dataset",
    WorkType.OTHER: "document",
}
# The format and the genre of a work, and the name of its title and of its venue.
_OPEN_URL = {
    WorkType.ARTICLE: ("journal", "article", "atitle", "jtitle"),
    WorkType.CONFERENCE_PAPER: ("book", "proceeding", "atitle", "btitle"),
    WorkType.CHAPTER: ("book", "bookitem", "atitle", "btitle"),
    WorkType.BOOK: ("book", "book", "btitle", "pub"),
    WorkType.REPORT: ("book", "report", "btitle", "pub"),
    WorkType.THESIS: ("dissertation", "", "title", "inst"),
}
# No list of authors makes a page long.
_MOST_AUTHORS = 50


def citation_tags(paper: Paper) -> Iterator[tuple[str, str]]:
    """Yield the names and contents of the metadata of a paper's page."""
    citation = cite(paper)
    tags = [
        ("citation_title", one_line(paper.title)),
        *(("citation_author", _inverted(author)) for author in citation.authors),
        ("citation_publication_date", "/".join(f"{part:02}" for part in citation.date)),
        (_VENUE_TAGS.get(citation.type, "citation_publisher"), citation.server or citation.venue),
        ("citation_doi", citation.doi),
        ("citation_arxiv_id", citation.arxiv),
        ("citation_pmid", citation.pmid),
        ("citation_pdf_url", pdf_url(paper)),
        ("citation_abstract_html_url", page_url(paper)),
        ("citation_abstract", one_line(paper.abstract)),
        *(("citation_keywords", word) for word in keywords(paper)),
        ("dc.type", _DUBLIN_CORE_TYPES.get(citation.type, "")),
    ]
    yield from ((name, content) for name, content in tags if content)


def context_object(paper: Paper) -> str:
    """Return the `title` of a COinS span: a paper as a query of OpenURL 1.0."""
    citation = cite(paper)
    scheme, genre, title, venue = _OPEN_URL.get(citation.type, ("dc", "", "title", "publisher"))
    fields = [
        ("ctx_ver", "Z39.88-2004"),
        ("rft_val_fmt", f"info:ofi/fmt:kev:mtx:{scheme}"),
        ("rft.genre", genre),
        (f"rft.{title}", one_line(paper.title)),
        (f"rft.{venue}", citation.server or citation.venue),
        ("rft.type", _DUBLIN_CORE_TYPES.get(citation.type, "") if scheme == "dc" else ""),
        ("rft.date", "-".join(f"{part:02}" for part in citation.date)),
        # The format of Dublin Core has no `au`.
        *(
            ("rft.creator" if scheme == "dc" else "rft.au", _inverted(author))
            for author in citation.authors[:_MOST_AUTHORS]
        ),
        *(("rft_id", name) for name in _names(paper, citation)),
    ]
    return urlencode([(name, value) for name, value in fields if value], quote_via=quote)


def _names(paper: Paper, citation: Citation) -> Iterator[str]:
    if citation.doi:
        yield f"info:doi/{citation.doi}"
    if citation.pmid:
        yield f"info:pmid/{citation.pmid}"
    if url := page_url(paper):
        yield url


def _inverted(author: Author) -> str:
    parts = (author.family, author.given, author.suffix)
    return ", ".join(part for part in parts if part)
