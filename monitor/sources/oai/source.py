"""Kind `oai`: any OAI-PMH 2.0 repository, with records in Dublin Core.

The state is the time of the repository's first response to a window, because its clock makes the
datestamps. When a token has expired (arXiv's last a day), the list is requested again, once. A
token that is repeated means that the list has no end.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

from pydantic import Field

from monitor.model import Authority, Document, Paper, Reading
from monitor.setting_types import Unset
from monitor.sources import arxiv_records
from monitor.sources.api.windows import WEEK, ApiOptions, Outline, PageRequest, WindowSource
from monitor.sources.oai import dublin_core
from monitor.sources.oai.envelope import Envelope, Record, local


class OaiOptions(ApiOptions):
    """Settings: `url` is the base URL of a repository, or with a `verb=` a single response."""

    needs_address = True

    sets: Annotated[tuple[str, ...], Unset("all")] = Field(
        (), description="a list of the repository's sets, requested one after the other"
    )
    prefix: str = Field("oai_dc", min_length=1, description="the metadata format")

    @property
    def reads_documents(self) -> bool:
        return not self.url or "verb" in parse_qs(urlsplit(self.url).query)


class Oai(WindowSource):
    """Reads repositories, which list every changed record, most of them old.

    They are asked by day: the one granularity that all have. A paper may be older by its date of
    publication.
    """

    kind = "oai"
    authority = Authority.EVERY
    Options = OaiOptions
    options: OaiOptions
    service = "the repository"
    first = WEEK
    max_pages = 2_000
    enough_pages = 100
    dates_changes = True

    @property
    def base(self) -> str:
        return self.options.url or ""

    def targets(self) -> Sequence[str]:
        return self.options.sets or ("",)

    def convert(self, record: Record) -> Paper:
        """Turn a record into a paper; raises NoPaperError."""
        is_arxiv = record.identifier.lower().startswith(arxiv_records.IDENTIFIER)
        if is_arxiv or local(record.metadata) in arxiv_records.FORMATS:
            return arxiv_records.paper(record, self._clock())
        return dublin_core.paper(record, self._clock())

    def read(self, document: Document) -> Reading:
        """Read all records; deleted ones are withdrawn papers."""
        return Envelope(document.content, self.convert).reading()

    def page_url(self, request: PageRequest) -> str:
        """Return the address of a list, which the last window leaves open, or of its next page."""
        begin, end = request.window.days
        selected = {
            "metadataPrefix": self.options.prefix,
            "set": request.target,
            "from": begin,
            "until": "" if request.window.is_last else end,
        }
        selected = {"resumptionToken": request.cursor} if request.cursor else selected
        return self.address_of("", {"verb": "ListRecords", **selected})

    def outline(self, document: Document, request: PageRequest) -> Outline:
        """Outline a response by its token and date; the date is never far ahead of our clock."""
        envelope = Envelope(document.content, self.convert)
        if envelope.error or envelope.fault or not document.complete:
            return Outline(expired="badResumptionToken" in envelope.errors)
        return Outline(
            whole=True,
            records=len(envelope.records),
            page_hash=envelope.token,
            following=envelope.token,
            total=0 if envelope.token else envelope.total,
            responded=min(envelope.responded or document.at, document.at + timedelta(days=1)),
        )

    def is_answer(self, document: Document) -> bool:
        """Some repositories send errors of the protocol with a status of failure."""
        return bool(Envelope(document.content, self.convert).errors)
