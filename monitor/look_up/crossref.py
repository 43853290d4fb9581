"""Crossref: works by the citation that a title is, or by DOI, several in one request.

https://api.crossref.org/swagger-ui: /works?query.bibliographic=, /works?filter=doi:A,doi:B. A
filter cannot have a DOI with a comma; /works/DOI can, and takes no `select`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from monitor.look_up.service import Service, own_identifier
from monitor.model import Paper
from monitor.sources.crossref import SELECT, Crossref

RECORDS = 5
# Beside these, an abstract and what has a copy of the work.
_SELECTED = f"{SELECT},abstract,link,group-title,event"


class CrossrefService(Service):
    """Takes one title, or fifty DOIs, a request."""

    name = "crossref"
    title = "Crossref"
    schemes = ("doi",)
    known = Paper("Deep learning", keys={"doi": "10.1038/nature14539"})
    reader = Crossref
    identifiers_at_once = 50

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Crossref-Plus-API-Token": f"Bearer {self.key}"} if self.key else {}

    @property
    def credentials(self) -> Mapping[str, str]:
        return {"mailto": self.contact}

    def identifier(self, paper: Paper) -> str:
        return own_identifier(paper, "doi")

    def stands_alone(self, identifier: str) -> bool:
        return "," in identifier

    def identifier_url(self, identifiers: Sequence[str]) -> str:
        if self.stands_alone(identifiers[0]):
            return self.address_of(f"/works/{quote(identifiers[0], safe='')}")
        filters = ",".join(f"doi:{doi}" for doi in identifiers)
        parameters = {"filter": filters, "rows": len(identifiers), "select": _SELECTED}
        return self.address_of("/works", parameters)

    def title_url(self, titles: Sequence[str]) -> str:
        parameters = {"query.bibliographic": titles[0], "rows": RECORDS, "select": _SELECTED}
        return self.address_of("/works", parameters)

    def says_none(self, body: bytes) -> bool:
        return body.startswith(b"Resource not found")
