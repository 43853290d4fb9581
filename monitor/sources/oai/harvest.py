"""Fetches what changed in an OAI-PMH repository: windows of time, sets, pages by resumption token.

The state is the time of the repository's first response to a window, because its clock makes the
datestamps. When a token has expired (arXiv's last a day), the list is requested again, once. A
token that is repeated means that the list has no end.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlencode

from monitor.errors import FetchError
from monitor.http.addresses import redact_url
from monitor.model import Document, Paper, Reading
from monitor.sources.api.windows import WEEK, Outline, PageRequest, WindowSource
from monitor.sources.oai.envelope import Record, read_envelope, says_error


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
        return read_envelope(document.content, self.convert).reading()

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
        envelope = read_envelope(document.content, self.convert)
        if envelope.error or envelope.fault or not document.complete:
            return Outline(expired=envelope.expired)
        responded = min(envelope.responded or document.at, document.at + timedelta(days=1))
        token = envelope.token
        return Outline(True, mark=token, following=token, responded=responded)

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
