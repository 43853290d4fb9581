"""Kind `oai`: any OAI-PMH 2.0 repository, with records in Dublin Core.

begin of the window ──> ListRecords ──> page ── resumption token ──> page ... ──> `until`

The state is the time of the repository's first response to a window, because its clock makes the
datestamps. When a token has expired (arXiv's last a day), the list is requested again, once. A
token that is repeated means that the list has no end.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

from pydantic import Field

from monitor.errors import FetchError
from monitor.http.addresses import redact_url
from monitor.model import Document, Paper, Reading
from monitor.sources import arxiv_records
from monitor.sources.api.windows import WEEK, Outline, PageRequest, WindowSource
from monitor.sources.base import SourceOptions
from monitor.sources.oai import dublin_core
from monitor.sources.oai.envelope import Envelope, Record, local, says_error


class Harvester(WindowSource):
    """A kind that fetches from a repository, by day: the one granularity that all have.

    The targets are sets; without any, all records.
    """

    service = "the repository"
    first = WEEK
    max_pages = 2_000
    enough_pages = 100
    dates_changes = True

    @property
    def prefix(self) -> str:
        """The format of records to request."""
        return "oai_dc"

    @abstractmethod
    def convert(self, record: Record) -> Paper | str:
        """Turn a record into a paper, or return the reason why it is none."""

    def read(self, document: Document) -> Reading:
        """Read all records; deleted ones are withdrawn papers."""
        return Envelope(document.content, self.convert).reading()

    def page_url(self, request: PageRequest) -> str:
        """Return the address of a list, which the last window leaves open, or of its next page."""
        begin, end = request.window.days
        selected = {
            "metadataPrefix": self.prefix,
            "set": request.target,
            "from": begin,
            "until": "" if request.window.is_last else end,
        }
        selected = {"resumptionToken": request.cursor} if request.cursor else selected
        arguments = {"verb": "ListRecords", **{k: v for k, v in selected.items() if v}}
        return f"{self.base}{'&' if '?' in self.base else '?'}{urlencode(arguments)}"

    def outline(self, document: Document, request: PageRequest) -> Outline:
        """Outline a response by its token and date; the date is never far ahead of our clock."""
        envelope = Envelope(document.content, self.convert)
        if envelope.error or envelope.fault or not document.complete:
            return Outline(expired=envelope.expired)
        responded = min(envelope.responded or document.at, document.at + timedelta(days=1))
        token = envelope.token
        return Outline(True, page_hash=token, following=token, responded=responded)

    def fetch_page(self, request: PageRequest, name: str) -> Document:
        """Fetch a response; some repositories send errors of the protocol with a status of failure.

        Raises FetchError.
        """
        address = self.page_url(request)
        try:
            return replace(self.fetch(address), name=name)
        except FetchError as fault:
            if fault.retry_after is not None or not says_error(fault.body):
                raise
            return Document(name, fault.body, self._clock(), url=redact_url(address))


class OaiOptions(SourceOptions):
    """Settings: `url` is the base URL of a repository, or with a `verb=` a single response.

    `sets` are requested one after the other; without any, all records. `overlap_days` is by how
    many days a run overlaps with the previous one.
    """

    sets: tuple[str, ...] = ()
    prefix: str = Field(default="oai_dc", min_length=1)
    overlap_days: int = Field(default=7, ge=1, le=365)


class Oai(Harvester):
    """Reads repositories, which list every changed record, most of them old.

    A paper may be older by its date of publication.
    """

    kind = "oai"
    Options = OaiOptions
    options: OaiOptions

    @property
    def reads_documents(self) -> bool:
        url = self.options.url
        return not url or "verb" in parse_qs(urlsplit(url).query)

    @property
    def base(self) -> str:
        return self.options.url or ""

    @property
    def overlap(self) -> timedelta:
        return timedelta(days=self.options.overlap_days)

    @property
    def prefix(self) -> str:
        return self.options.prefix

    def targets(self) -> Sequence[str]:
        """Return the sets to request."""
        return self.options.sets or ("",)

    def convert(self, record: Record) -> Paper | str:
        """Read a record of any repository; arXiv's own formats are not Dublin Core."""
        if record.metadata is not None and local(record.metadata) in arxiv_records.FORMATS:
            return arxiv_records.paper(record, self._clock())
        return dublin_core.paper(record, self._clock())
