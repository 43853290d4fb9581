"""Kind `oai`: any OAI-PMH 2.0 repository, with records in Dublin Core.

begin of the window ──> ListRecords ──> page ── resumption token ──> page ... ──> `until`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from pydantic import Field

from monitor.model import Document, Paper, Reading
from monitor.sources import arxiv_records
from monitor.sources.base import Found, SourceOptions
from monitor.sources.oai import dublin_core
from monitor.sources.oai.envelope import Record, local
from monitor.sources.oai.harvest import Harvester, Repository


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

    def read(self, document: Document) -> Reading:
        """Read all records; deleted ones are withdrawn papers."""
        return self.envelope(document.content).reading()

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Find the pages of what changed since the last whole reading."""
        url = self.options.url
        if not url or "verb" in parse_qs(urlsplit(url).query):
            yield from super().find(validators)
            return
        options = self.options if isinstance(self.options, OaiOptions) else OaiOptions(url=url)
        repository = Repository(url, options.prefix, options.sets)
        yield from self.harvest(repository, validators, timedelta(days=options.overlap_days))

    def convert(self, record: Record) -> Paper | str:
        """Read a record of any repository; arXiv's own formats are not Dublin Core."""
        if record.metadata is not None and local(record.metadata) in arxiv_records.FORMATS:
            return arxiv_records.paper(record, self._clock())
        return dublin_core.paper(record, self._clock())
