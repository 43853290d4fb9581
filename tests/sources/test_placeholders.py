"""No source takes "N/A" or "." for an abstract."""

from __future__ import annotations

import json

import pytest

from monitor.sources import sandbox
from monitor.sources.base import Source
from monitor.sources.bibtex import BibTex
from monitor.sources.crossref import Crossref
from monitor.sources.europepmc import EuropePmc
from monitor.sources.feed.source import Feed
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.oai.source import Oai
from monitor.sources.openalex import OpenAlex
from monitor.sources.openreview import OpenReview
from monitor.sources.pubmed import PubMed
from monitor.sources.ris import Ris
from monitor.sources.semanticscholar import SemanticScholar
from tests.sources.pubmedxml import article, articles
from tests.sources.scenario import read
from tests.sources.test_feed import rss
from tests.sources.test_oai import dublin, oai, record

DOI = "10.1000/sand"
DUBLIN_CORE = record(dublin("Sand", "<description>WORDS</description>"))
# Each has the abstract WORDS.
DOCUMENTS: list[tuple[type[Source], object]] = [
    (Feed, rss("<title>Sand</title><guid>g</guid><description>WORDS</description>")),
    (BibTex, "@article{k, title = {Sand}, abstract = {WORDS}}"),
    (Ris, "TY  - JOUR\nTI  - Sand\nAB  - WORDS\nER  - \n"),
    (Ris, "PMID- 38000001\nTI  - Sand\nAB  - WORDS\n"),
    (PubMed, articles(article(1, "Sand", "WORDS"))),
    (Oai, oai(f"<ListRecords>{DUBLIN_CORE}</ListRecords>").decode()),
    (Jsonl, {"id": "1", "title": "Sand", "abstract": "WORDS"}),
    (Jsonl, {"id": "1", "title": "Sand", "abstract": ["WORDS"]}),
    (Crossref, [{"DOI": DOI, "title": ["Sand"], "abstract": "WORDS"}]),
    (EuropePmc, [{"id": "1", "title": "Sand", "abstractText": "WORDS"}]),
    (OpenAlex, [{"display_name": "Sand", "abstract_inverted_index": {"WORDS": [0]}}]),
    (OpenReview, [{"id": "n", "content": {"title": {"value": "Sand"}, "abstract": "WORDS"}}]),
    (SemanticScholar, [{"paperId": "a", "title": "Sand", "abstract": "WORDS"}]),
]


@pytest.mark.parametrize(("kind", "document"), DOCUMENTS)
@pytest.mark.parametrize(
    ("written", "abstract"), [("N/A", ""), ("Abstract", ""), (".", ""), ("Sand.", "Sand.")]
)
def test_a_placeholder_is_no_abstract(
    kind: type[Source], document: object, written: str, abstract: str
) -> None:
    content = document if isinstance(document, str) else json.dumps(document)
    [paper] = sandbox.normalise(read(kind, content.replace("WORDS", written).encode()).papers)
    assert (paper.title.rstrip("."), paper.abstract) == ("Sand", abstract)
