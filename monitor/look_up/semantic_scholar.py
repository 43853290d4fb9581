"""Semantic Scholar: the paper with the closest title, or that of an identifier.

https://api.semanticscholar.org/api-docs/graph: /paper/search/match?query= has one record, or 404;
/paper/ARXIV:ID and /paper/DOI:ID too. A word with a hyphen matches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from monitor.look_up.service import Service, error_in, own_identifier
from monitor.look_up.titles import plain_title
from monitor.model import Paper
from monitor.sources.semanticscholar import FIELDS, SemanticScholar

_SELECTED = f"{FIELDS},tldr"
_DASHES = str.maketrans("-‐‑–—", "     ")


class SemanticScholarService(Service):
    """Takes one title, or one identifier, a request; asks for its summary in one line, too."""

    name = "semantic-scholar"
    title = "Semantic Scholar"
    schemes = ("arxiv", "doi", "pmid")
    known = Paper("Attention Is All You Need", keys={"arxiv": "1706.03762"})
    reader = SemanticScholar

    @property
    def headers(self) -> Mapping[str, str]:
        return {"x-api-key": self.key} if self.key else {}

    def identifier(self, paper: Paper) -> str:
        names = (
            f"{prefix}:{name}"
            for scheme, prefix in (("arxiv", "ARXIV"), ("doi", "DOI"), ("pmid", "PMID"))
            if (name := own_identifier(paper, scheme))
        )
        return next(names, "")

    def identifier_url(self, identifiers: Sequence[str]) -> str:
        path = f"/paper/{quote(identifiers[0], safe=':/')}"
        return self.address_of(path, {"fields": _SELECTED})

    def sent_title(self, title: str) -> str:
        return " ".join(plain_title(title).translate(_DASHES).split())

    def title_url(self, titles: Sequence[str]) -> str:
        return self.address_of("/paper/search/match", {"query": titles[0], "fields": _SELECTED})

    def says_none(self, body: bytes) -> bool:
        return "not found" in error_in(body).casefold()
