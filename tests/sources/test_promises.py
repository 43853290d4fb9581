"""What docs/sources.md promises of single kinds, where no fixture shows it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from monitor.errors import DocumentError
from monitor.model import Paper, record_of
from monitor.sources import pubmed as pubmed_kind
from monitor.sources.api.records import ApiSource
from monitor.sources.biorxiv import BioRxiv
from monitor.sources.crossref import Crossref
from monitor.sources.dblp import Dblp
from monitor.sources.europepmc import EuropePmc
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.oai.source import Oai
from monitor.sources.openalex import OpenAlex
from monitor.sources.openreview import OpenReview
from monitor.sources.pubmed import PubMed
from monitor.sources.ris import Ris
from monitor.sources.semanticscholar import SemanticScholar
from tests.servers.web import Answer
from tests.sources import libraries
from tests.sources.conftest import Service
from tests.sources.scenario import NOW, only, read
from tests.sources.test_apis import note, works
from tests.sources.test_libraries import loaded
from tests.sources.test_oai import dublin, oai, record

# ── services that are asked ─────────────────────────────────────────────────────────


def test_a_withdrawn_row_of_biorxiv_needs_no_mark_in_its_title() -> None:
    row = {"doi": "10.1101/2025.05.20.1", "title": "Sand", "type": "WITHDRAWN", "version": "2"}
    assert only(BioRxiv, [row]).withdrawn and only(BioRxiv, [row]).title == "Sand"


@pytest.mark.parametrize("relation", ["is-preprint-of", "has-preprint"])
def test_a_work_has_the_doi_of_its_preprint_or_article(relation: str) -> None:
    related = {"relation": {relation: [{"id-type": "doi", "id": "10.1000/OTHER"}]}}
    assert only(Crossref, works(**related)).keys == {"doi": ("10.1000/x", "10.1000/other")}


@pytest.mark.parametrize("kind", [OpenAlex, SemanticScholar])
def test_works_that_are_added_late_are_found_for_thirty_days(kind: type[ApiSource]) -> None:
    source = kind("daily", kind.Options.model_validate({"query": "roots"}), None, lambda: NOW)
    assert source.options.overlap == timedelta(days=30)
    (found,) = source.find({"until": NOW.isoformat()})
    assert "2025-05-02..2025-06-01 page 1" in found.name


def test_semantic_scholar_names_papers_by_all_identifiers() -> None:
    names = {"ArXiv": "2505.00010v2", "DOI": "10.1000/X", "PubMed": 7, "PubMedCentral": "8"}
    names |= {"ACL": "P19-1", "DBLP": "c/x"}
    record = {"paperId": "a1", "title": "Sand", "externalIds": names}
    snippet = {"data": [{"score": 1, "snippet": {"text": "..."}, "paper": record}]}
    assert only(SemanticScholar, snippet).keys == {
        "s2": "a1", "arxiv": "2505.00010", "doi": "10.1000/x", "pmid": "7", "pmcid": "PMC8",
        "dblp": "c/x", "acl": "P19-1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("dates", "day"),
    [
        ({"tcdate": 4, "cdate": 3, "odate": 2, "pdate": 1}, 1),
        ({"tcdate": 4, "cdate": 3, "odate": 2}, 2),
        ({"tcdate": 4, "cdate": 3}, 3),
    ],
)
def test_a_note_is_published_when_openreview_says_or_when_it_was_public(
    dates: dict[str, int], day: int
) -> None:
    times = {name: (1_735_689_600 + 86_400 * n) * 1000 for name, n in dates.items()}
    published = only(OpenReview, {"id": "n", "content": {"title": "T"}} | times).published
    assert published and f"{published:%Y-%m-%d}" == f"2025-01-{day + 1:02}"


def test_a_deleted_note_is_a_withdrawn_paper() -> None:
    deleted = {"id": "n", "ddate": 1_748_000_000_000, "content": {"title": "T"}}
    assert only(OpenReview, deleted).withdrawn


def test_anonymous_authors_have_no_names() -> None:
    assert note(authors=["Anonymous"]).authors == ()
    assert note(authors={"value": ["Anonymous Authors", "Jane Doe"]}).authors == ("Jane Doe",)


def test_a_short_answer_of_europe_pmc_is_read() -> None:
    lite = {"id": "1", "source": "MED", "title": "T", "authorString": "Doe J.", "pubYear": "2024"}
    paper = only(EuropePmc, [lite | {"journalTitle": "Sand", "pmcid": "PMC1", "doi": "10.1000/A"}])
    assert (paper.authors, paper.venue, paper.year) == (("J Doe",), "Sand", 2024)
    assert paper.keys == {"doi": "10.1000/a", "pmid": "1", "pmcid": "PMC1"}


# ── libraries ───────────────────────────────────────────────────────────────────────


def test_a_day_that_pubmed_cannot_list_is_refused(service: Service) -> None:
    service.web.decides("*", lambda _: Answer(body=libraries.searched(total=5_001)))
    with pytest.raises(DocumentError, match=r"5,001 records for 2025-05-02.*narrow the query"):
        loaded(service.open(PubMed, query="water"), {})


def test_a_run_fetches_no_more_batches_of_pubmed_than_it_may(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PubMed, "enough_pages", 2)
    monkeypatch.setattr(pubmed_kind, "MAX_WINDOW_RECORDS", 200)

    def answers(asked: Any) -> Answer:
        if "efetch" in asked.target:
            return Answer(body=libraries.pubmed(range(3)))
        many = "mindate=2025%2F05%2F02&maxdate=2025%2F06%2F01" in asked.target
        return Answer(body=libraries.searched(range(150), total=900 if many else 150))

    service.web.decides("*", answers)
    first, second = loaded(service.open(PubMed, query="water"), {})
    assert not first.validators and second.validators == {"until": "2025-05-17T00:00:00+00:00"}


def test_a_record_of_dblp_has_its_type_and_the_identifiers_of_its_links() -> None:
    info = {
        "key": "conf/x/1", "title": "Sand.", "type": "Conference and Workshop Papers",
        "ee": ["https://openreview.net/forum?id=aB-1", "https://arxiv.org/abs/2401.00001"],
    }  # fmt: skip
    paper = only(Dblp, [{"info": info}])
    assert paper.categories == ("Conference and Workshop Papers",) and paper.published is None
    assert paper.keys == {"dblp": "conf/x/1", "openreview": "aB-1", "arxiv": "2401.00001"}


def of_repository(more: str) -> Paper:
    return only(Oai, oai(f"<ListRecords>{record(dublin('Sand', more))}</ListRecords>"))


def test_a_note_about_a_record_is_no_abstract() -> None:
    long = "Sand flows over sand, and the dunes that it makes move with the wind. " * 2
    notes = "Submitted by Jane Doe on 2 May", "Comment: 12 pages", "Short.", long
    paper = of_repository("".join(f"<description>{one}</description>" for one in notes))
    assert paper.abstract == long.strip()


def test_the_venue_of_a_repository_ends_at_the_first_semicolon() -> None:
    more = "<source>ISSN 1234-5678</source><source>Journal of Sand; Vol. 2 (2020); 1-9</source>"
    assert of_repository(more).venue == "Journal of Sand"


@pytest.mark.parametrize(("year", "older"), [(2020, True), (2025, False)])
def test_of_a_year_alone_a_paper_of_a_repository_is_older_if_it_is_long_over(
    year: int, older: bool
) -> None:
    paper = of_repository(f"<date>{year}</date>")
    assert (paper.year, record_of(paper, "repository").day) == (year, None)
    assert (paper.published is not None) == older


def test_the_earliest_date_of_a_repository_is_that_of_publication() -> None:
    dates = "2025-05-02", "2024-11", "info:eu-repo/date/embargoEnd/2024-01-01"
    more = "".join(f"<date>{one}</date>" for one in dates)
    assert f"{of_repository(more).published:%Y-%m-%d}" == "2024-11-01"


# ── references ──────────────────────────────────────────────────────────────────────


def reference(*lines: str, end: str = "ER  - \n") -> bytes:
    return ("TY  - JOUR\n" + "".join(f"{line}\n" for line in lines) + end).encode()


def test_a_reference_that_stops_inside_a_line_is_rejected() -> None:
    content = reference("TI  - Sand") + reference("TI  - Du", end="")
    reading = read(Ris, content.rstrip())
    assert [paper.title for paper in reading.papers] == ["Sand"] and not reading.complete
    assert reading.rejected[0].why == "the document ends inside this reference"


# ── dumps ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    [
        *("papers", "items", "entries", "articles", "records", "results", "data", "works"),
        *("notes", "documents", "collection"),
    ],
)
def test_a_list_of_records_is_found_under_its_name(name: str) -> None:
    assert only(Jsonl, {"total": 1, name: [{"title": "Sand"}]}).title == "Sand"
