"""Kind `pubmed`: records of PubMed, from a search of its API or from its update files.

    esearch (JSON, identifiers only) ──> efetch (XML, 100 records each) ──┐
    daily update files (XML, gzip, 30,000 records, deletions) ────────────┴──> Paper or Rejected

https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html names the elements,
https://www.ncbi.nlm.nih.gov/books/NBK25499/ the parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial

from monitor.errors import DocumentError
from monitor.model import (
    Document,
    Paper,
    Reading,
    Rejected,
)
from monitor.sources import sandbox
from monitor.sources.base import Found, Source, Terms, failure, reading
from monitor.sources.pubmed_records import read_record
from monitor.sources.pubmed_search import PubMedOptions, Search, read_search
from monitor.sources.xml.repair import read_elements
from monitor.sources.xml.safe_input import XmlError

MAX_FILE_BYTES = 128 * 1024 * 1024  # of a daily update file, compressed
_RECORDS = ("PubmedArticle", "PubmedBookArticle", "MedlineCitation", "DeleteCitation", "ERROR")
_OUTER = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation")
_ROOTS = (
    *("PubmedArticleSet", "PubmedBookArticleSet", "MedlineCitationSet", "DeleteCitation"),
    *("PubmedArticle", "PubmedBookArticle", "MedlineCitation", "ERROR", "eFetchResult"),
)


class PubMed(Source):
    """Reads PubMed. A record is announced on the day on which it was added."""

    kind = "pubmed"
    Options = PubMedOptions

    def read(self, document: Document) -> Reading:
        """Read all records; after a fault the reading is partial."""
        if document.content.lstrip()[:1] in (b"{", b"["):
            return failure(_describe_json(document.content))
        found: list[Paper | Rejected] = []
        whole = True
        for element in read_elements(
            document.content, _RECORDS, roots=_ROOTS, outer=_OUTER, bulk="PubmedArticle"
        ):
            where = f"record {len(found) + 1}"
            if isinstance(element, XmlError):
                whole = False
                found.append(Rejected(where, str(element)))
            else:
                found.extend(read_record(element, where, self._clock()))
        return reading(found, whole)

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Search day by day from the end of the last reading, and fetch the records."""
        if not isinstance(self.options, PubMedOptions) or not self.options.query:
            yield from super().find(validators)
            return
        read = partial(sandbox.read, self)
        search = Search(self.options, self.fetch, read, self._clock(), self.contact)
        yield from search.find(validators)

    @property
    def terms(self) -> Terms:
        """Three requests a second, ten with a key (NBK25497); an update file is large."""
        options = self.options
        if not isinstance(options, PubMedOptions) or not options.query:
            return Terms(max_bytes=MAX_FILE_BYTES, deadline=timedelta(minutes=10))
        rate = 10 if options.api_key.get_secret_value() else 3
        return Terms(apart=timedelta(0) if options.url else timedelta(seconds=1 / rate))


def _describe_json(content: bytes) -> str:
    try:
        ids, total, error = read_search(content)
    except DocumentError as fault:
        return str(fault)
    return error or f"the document is a search result with {len(ids)} of {total} PMIDs, no records"
