"""No kind keeps a date that no paper can have; what it may have is kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from monitor.model import Paper
from monitor.sources.arxiv import Arxiv
from monitor.sources.base import Source
from monitor.sources.biorxiv import BioRxiv
from monitor.sources.crossref import Crossref
from monitor.sources.dblp import Dblp
from monitor.sources.europepmc import EuropePmc
from monitor.sources.feed.source import Feed
from monitor.sources.huggingface import HuggingFace
from monitor.sources.oai.source import Oai
from monitor.sources.openalex import OpenAlex
from monitor.sources.openreview import OpenReview
from monitor.sources.pubmed import PubMed
from monitor.sources.semanticscholar import SemanticScholar
from tests.sources.scenario import read

Day = tuple[int, int, int]


def oai(metadata: str, identifier: str) -> str:
    return (
        '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords><record><header>'
        f"<identifier>{identifier}</identifier></header><metadata>{metadata}</metadata></record>"
        "</ListRecords></OAI-PMH>"
    )


def arxiv(form: str, dates: str) -> str:
    metadata = f"<id>2403.00001</id><title>T</title><authors>A</authors>{dates}"
    return oai(
        f'<{form} xmlns="http://arxiv.org/OAI/{form}/">{metadata}</{form}>', "oai:arXiv.org:x"
    )


def dublin(day: str, identifier: str) -> str:
    metadata = f"<title>T</title><date>{day}</date>"
    return oai(f'<dc xmlns="http://purl.org/dc/elements/1.1/">{metadata}</dc>', identifier)


def parts(day: Day) -> str:
    return f"<Year>{day[0]}</Year><Month>{day[1]}</Month><Day>{day[2]}</Day>"


def article(day: Day) -> str:
    history = f"<History><PubMedPubDate PubStatus='entrez'>{parts(day)}</PubMedPubDate></History>"
    return (
        f"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><DateRevised>{parts(day)}"
        "</DateRevised><Article><ArticleTitle>T</ArticleTitle><Journal><JournalIssue><PubDate>"
        f"{parts(day)}</PubDate></JournalIssue></Journal></Article></MedlineCitation><PubmedData>"
        f"{history}</PubmedData></PubmedArticle></PubmedArticleSet>"
    )


def book(day: Day) -> str:
    return (
        "<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID>1</PMID><ArticleTitle>T"
        f"</ArticleTitle><ContributionDate>{parts(day)}</ContributionDate><DateRevised>"
        f"{parts(day)}</DateRevised></BookDocument></PubmedBookArticle></PubmedArticleSet>"
    )


def record_with(kind: type[Source], day: Day) -> str:
    """Return a document of one paper, all of whose dates are this day."""
    iso = "{:04}-{:02}-{:02}".format(*day)
    match kind.kind:
        case "biorxiv":
            row = {"doi": "10.1101/1", "title": "T", "date": iso, "version": "1"}
            return json.dumps({"messages": [{"status": "ok"}], "collection": [row]})
        case "crossref":
            return json.dumps(
                {"DOI": "10.1000/x", "title": ["T"], "posted": {"date-parts": [list(day)]}}
            )
        case "dblp":
            return f"<dblp><article key='k' mdate='{iso}'><title>T</title></article></dblp>"
        case "europepmc":
            record = {"title": "T", "firstPublicationDate": iso, "dateOfRevision": iso}
            return json.dumps({"resultList": {"result": [record]}})
        case "feed":
            return json.dumps([{"title": "T", "date_published": iso, "date_modified": iso}])
        case "huggingface":
            return json.dumps([{"paper": {"id": "2403.00001", "title": "T", "publishedAt": iso}}])
        case "openalex":
            return json.dumps({"results": [{"title": "T", "publication_date": iso}]})
        case "openreview":
            at = (datetime(*day, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
            note = {"id": "n", "pdate": at * 1000, "mdate": at * 1000}
            return json.dumps({"notes": [{**note, "content": {"title": "T"}}]})
        case _:
            return json.dumps({"data": [{"title": "T", "publicationDate": iso}]})


def forms(day: Day) -> list[tuple[type[Source], str]]:
    iso = "{:04}-{:02}-{:02}".format(*day)
    version = f'<version version="v1"><date>{day[2]} Mar {day[0]:04} 12:00:00 GMT</date></version>'
    kinds: tuple[type[Source], ...] = (
        *(BioRxiv, Crossref, Dblp, EuropePmc, Feed, HuggingFace, OpenAlex, OpenReview),
        SemanticScholar,
    )
    return [
        *((kind, record_with(kind, day)) for kind in kinds),
        (PubMed, article(day)),
        (PubMed, book(day)),
        (Oai, dublin(iso, "oai:x:1")),
        (Arxiv, dublin(iso, "oai:arXiv.org:2403.00001")),
        (Arxiv, arxiv("arXiv", f"<created>{iso}</created><updated>{iso}</updated>")),
        (Arxiv, arxiv("arXivRaw", version)),
    ]


def dates(paper: Paper) -> set[datetime]:
    return {at for at in (paper.published, paper.updated, paper.announced) if at}


@pytest.mark.parametrize("form", range(len(forms((2025, 3, 1)))))
def test_F13_dates_that_no_paper_can_have_are_dropped(form: int) -> None:
    for day in ((2099, 3, 1), (1400, 3, 1)):
        kind, content = forms(day)[form]
        (paper,) = read(kind, content.encode()).papers
        assert dates(paper) == set()
    kind, content = forms((2025, 3, 1))[form]
    (paper,) = read(kind, content.encode()).papers
    assert {f"{at:%Y-%m-%d}" for at in dates(paper)} == {"2025-03-01"}


def test_F13_a_year_that_is_not_yet_is_no_year_of_a_record() -> None:
    for year, year_read in ((2099, None), (2025, 2025)):
        (paper,) = read(Oai, dublin(f"{year}", "oai:x:1").encode()).papers
        assert paper.year == year_read
