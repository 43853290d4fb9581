"""Hugging Face: papers of arXiv that are listed or linked there, with their code.

https://huggingface.co/.well-known/openapi.json: /api/papers/search (q, limit), a list of objects
with `paper`, and /api/papers/ID, that object alone; 404 for one that it does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from monitor.look_up.service import Service, error_in, own_identifier
from monitor.model import Paper
from monitor.sources.huggingface import HuggingFace

RECORDS = 10


class HuggingFaceService(Service):
    """Takes one title, or one arXiv id, a request."""

    name = "huggingface"
    title = "Hugging Face"
    schemes = ("arxiv",)
    has_changes = False
    known = Paper("Attention Is All You Need", keys={"arxiv": "1706.03762"})
    reader = HuggingFace

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def identifier(self, paper: Paper) -> str:
        return own_identifier(paper, "arxiv")

    def identifier_url(self, identifiers: Sequence[str]) -> str:
        return self.address_of(f"/api/papers/{quote(identifiers[0], safe='')}")

    def title_url(self, titles: Sequence[str]) -> str:
        return self.address_of("/api/papers/search", {"q": titles[0], "limit": RECORDS})

    def says_none(self, body: bytes) -> bool:
        return bool(error_in(body))
