"""OpenAlex: works by the words of several titles, or by DOI, in one request.

https://developers.openalex.org: /works?filter=title.search:A|B and filter=doi:A|B. Commas and bars
part filters. A search costs ten times a filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from monitor.look_up.service import Service, own_identifier
from monitor.look_up.titles import phrases
from monitor.model import Paper
from monitor.sources.openalex import PAGE, OpenAlex
from monitor.text.registrants import ARXIV_PREFIX


class OpenAlexService(Service):
    """Takes up to ten titles, or fifty DOIs, a request; arXiv's are DOIs, too."""

    name = "openalex"
    title = "OpenAlex"
    schemes = ("doi", "arxiv")
    a_day = 800
    known = Paper("Deep learning", keys={"doi": "10.1038/nature14539"})
    reader = OpenAlex
    titles_at_once = 10
    identifiers_at_once = 50

    @property
    def credentials(self) -> Mapping[str, str]:
        return {"api_key": self.key} if self.key else {"mailto": self.contact}

    def identifier(self, paper: Paper) -> str:
        arxiv = own_identifier(paper, "arxiv")
        dois = (own_identifier(paper, "doi"), f"{ARXIV_PREFIX}{arxiv}" if arxiv else "")
        return next((doi for doi in dois if doi and not set(doi) & {",", "|"}), "")

    def identifier_url(self, identifiers: Sequence[str]) -> str:
        return self._works(f"doi:{'|'.join(identifiers)}")

    def sent_title(self, title: str) -> str:
        return " ".join(phrases(title))

    def title_url(self, titles: Sequence[str]) -> str:
        return self._works(f"title.search:{'|'.join(titles)}")

    def _works(self, wanted: str) -> str:
        return self.address_of("/works", {"filter": wanted, "per_page": PAGE})
