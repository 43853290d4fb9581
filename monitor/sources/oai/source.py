"""Kind `oai`: any OAI-PMH 2.0 repository, with records in Dublin Core.

begin of the window ──> ListRecords ──> page ── resumption token ──> page ... ──> `until`
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from pydantic import Field

from monitor.model import Paper
from monitor.sources import arxiv_records
from monitor.sources.base import SourceOptions
from monitor.sources.oai import dublin_core
from monitor.sources.oai.envelope import Record, local
from monitor.sources.oai.harvest import Harvester


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
