"""Recorded documents of real sources give the papers that are in them."""

from __future__ import annotations

import csv
from datetime import UTC, datetime

import pytest

from monitor.sources.arxiv import Arxiv
from monitor.sources.base import Source
from monitor.sources.bibtex import BibTex
from monitor.sources.biorxiv import BioRxiv
from monitor.sources.crossref import Crossref
from monitor.sources.dblp import Dblp
from monitor.sources.europepmc import EuropePmc
from monitor.sources.fields.dates import parse_date
from monitor.sources.huggingface import HuggingFace
from monitor.sources.oai.source import Oai
from monitor.sources.openalex import OpenAlex
from monitor.sources.openreview import OpenReview
from monitor.sources.pubmed import PubMed
from monitor.sources.ris import Ris
from monitor.sources.semanticscholar import SemanticScholar
from monitor.text.tracking import without_tracking
from tests.samples.folder import SAMPLES, needs_samples
from tests.sources import test_feed as feed
from tests.sources import test_jsonl as jsonl
from tests.sources.scenario import NOW, read

pytestmark = needs_samples


def test_the_recorded_snapshot_reads_as_it_should():
    content = (SAMPLES / "kaggle-arxiv-jsonl" / "rows.jsonl").read_bytes()
    reading = jsonl.read(content, preset="arxiv-snapshot")
    assert len(reading.papers) == 80 and reading.complete and reading.rejected == ()
    first = reading.papers[0]
    assert first.title.startswith("Calculation of prompt diphoton production cross sections at")
    assert first.authors == ("C. Balázs", "E. L. Berger", "P. M. Nadolsky", "C.-P. Yuan")
    assert first.published == datetime(2007, 4, 2, 19, 18, 42, tzinfo=UTC)
    assert all("arxiv" in paper.keys and "\n" not in paper.abstract for paper in reading.papers)


# Kind, document, papers in it, how the title of the first begins, and the schemes of its keys.
RECORDED: list[tuple[type[Source], str, int, str, str]] = [
    (HuggingFace, "hf-daily-papers-json/sotawhat*", 30, "On the Limits of LLM", "arxiv"),
    (BioRxiv, "biorxiv-api-json/fastpaper*", 100, "Adaptation to heavy-metal", "doi"),
    (BioRxiv, "biorxiv-api-json/findpapers*", 50, "Characterization of cell-to-cell", "doi"),
    (BioRxiv, "biorxiv-rss/*", 1, "Complete genome of the Medicago", "doi"),
    (EuropePmc, "other-api/*europepmc*", 3, "Object tracking algorithm", "pmid doi"),
    (Crossref, "crossref-json/*", 3, "Face Attention Tracker", "doi"),
    (OpenAlex, "openalex-json/*", 3, "A review on the attention", "openalex doi"),
    (SemanticScholar, "semanticscholar-json/fast*", 3, "A review on the", "s2 doi dblp"),
    (SemanticScholar, "semanticscholar-json/find*", 50, "Auxiliary Stacked", "s2 doi dblp"),
    (OpenReview, "openreview-json/*", 3, "Inter-sentence Relation", "openreview doi"),
    (PubMed, "pubmed-xml/*efetch.xml", 3, "Neural dynamics", "pmid doi pmcid"),
    (Dblp, "dblp-xml/*", 3, "Rethinking Attention", "dblp doi"),
    (BibTex, "bibtex-ris/*.bib", 1, "Automated quant", "doi"),
    (Ris, "bibtex-ris/*.ris", 1, "Automated quant", "doi"),
]


@pytest.mark.parametrize(("kind", "document", "count", "title", "schemes"), RECORDED)
def test_recorded_documents(
    kind: type[Source], document: str, count: int, title: str, schemes: str
) -> None:
    (path,) = SAMPLES.glob(document)
    reading = read(kind, path.read_bytes(), now=NOW.replace(year=2027))
    assert not reading.error and reading.complete and reading.rejected == ()
    first = reading.papers[0]
    assert len(reading.papers) == count and first.title.startswith(title)
    assert set(first.keys) == set(schemes.split()) and first.authors
    assert all(paper.title and paper.url for paper in reading.papers)


@pytest.mark.parametrize(
    ("folder", "kind", "counts"),
    [
        ("arxiv-rss", Arxiv, [4, 3, 7]),
        ("arxiv-api-atom", Arxiv, [3]),
        ("arxiv-oai", Arxiv, [100, 1, 2]),
        ("arxiv-oai", Oai, [100, 1, 2]),
        ("oai-protocol", Oai, [2, 2, 2, 1, 0, 0]),
    ],
)
def test_recorded_documents_give_their_papers(
    folder: str, kind: type[Source], counts: list[int]
) -> None:
    readings = [read(kind, path.read_bytes()) for path in sorted((SAMPLES / folder).glob("*.xml"))]
    assert [len(reading.papers) for reading in readings] == counts
    errors = [reading.error for reading in readings if reading.error]
    assert all("badResumptionToken" in error for error in errors)
    assert len(errors) == (folder == "oai-protocol")


@pytest.mark.parametrize("folder", ["json-feed", "arxiv-rss", "biorxiv-rss", "arxiv-api-atom"])
def test_recorded_feeds_are_read_as_their_manifest_says(folder: str) -> None:
    with (SAMPLES / "MANIFEST.tsv").open() as manifest:
        rows = [
            row
            for row in csv.DictReader(manifest, delimiter="\t")
            if row["file"].startswith(folder)
        ]
    assert rows
    for row in rows:
        late = datetime(2026, 10, 1, tzinfo=UTC)
        reading = feed.read((SAMPLES / row["file"]).read_bytes(), now=late)
        first = reading.papers[0]
        assert (len(reading.papers), reading.complete) == (int(row["entries"]), True), row["file"]
        assert row["first_title"].startswith(first.title)
        link = without_tracking(row["first_link"])
        assert link in ("", first.url) and first.published == parse_date(row["first_date"])
        assert all(name in row["first_authors"] for name in first.authors)
