"""One good answer of five papers of each service that speaks JSON, for the contract tests."""

from __future__ import annotations

import json
from collections.abc import Callable

from monitor.sources.base import Source
from monitor.sources.biorxiv import BioRxiv, MedRxiv
from monitor.sources.crossref import Crossref
from monitor.sources.europepmc import EuropePmc
from monitor.sources.huggingface import HuggingFace
from monitor.sources.openalex import OpenAlex
from monitor.sources.openreview import OpenReview
from monitor.sources.semanticscholar import SemanticScholar

Record = dict[str, object]


def answer(kind: type[Source], size: int = 5, first: int = 0, /, **beside: object) -> bytes:
    """Return a page of `size` records, counted on from `first`; `beside` goes beside the list."""
    records = [RECORDS[kind](number) for number in range(first, first + size)]
    return json.dumps(_within(kind, records, beside)).encode()


def _within(kind: type[Source], records: list[Record], beside: dict[str, object]) -> object:
    if kind is HuggingFace:
        return records
    if kind is Crossref:
        return {"status": "ok", "message": {"items": records} | beside}
    if kind is EuropePmc:
        return {"hitCount": len(records), "resultList": {"result": records}} | beside
    if kind is OpenAlex:
        return {"meta": {"count": len(records)} | beside, "results": records}
    if kind is SemanticScholar:
        return {"total": len(records), "data": records} | beside
    if kind is OpenReview:
        return {"notes": records, "count": len(records)} | beside
    messages = {"status": "ok", "cursor": 0, "total": str(len(records))} | beside
    return {"messages": [messages], "collection": records}


def _preprint(n: int) -> Record:
    name = f"10.1101/2025.05.20.{600000 + n}"
    return {"doi": name, "title": f"Paper {n}", "date": "2025-05-20", "version": "1"}


def _note(n: int) -> Record:
    content = {"title": {"value": f"Paper {n}"}}
    return {"id": f"n{n}", "forum": f"n{n}", "tmdate": 1_748_700_000_000 - n, "content": content}


def _daily(n: int) -> Record:
    return {"paper": {"id": f"2505.{n:05}", "title": f"Paper {n}", "authors": [{"name": "A B"}]}}


RECORDS: dict[type[Source], Callable[[int], Record]] = {
    BioRxiv: _preprint,
    MedRxiv: _preprint,
    HuggingFace: _daily,
    Crossref: lambda n: {"DOI": f"10.1000/{n}", "title": [f"Paper {n}"], "abstract": "<p>T.</p>"},
    EuropePmc: lambda n: {"id": f"{n}", "source": "MED", "pmid": f"{n}", "title": f"Paper {n}"},
    OpenAlex: lambda n: {"id": f"https://openalex.org/W{n}", "title": f"Paper {n}"},
    SemanticScholar: lambda n: {"paperId": f"{n:040}", "title": f"Paper {n}"},
    OpenReview: _note,
}
KINDS: list[tuple[type[Source], bytes]] = [(kind, answer(kind)) for kind in RECORDS]
