"""What sources say of retraction notices, corrections and comments, and of withdrawn papers."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from monitor.model import Document, Paper
from monitor.sources import sandbox
from monitor.sources.base import Source
from monitor.sources.crossref import Crossref
from monitor.sources.europepmc import EuropePmc
from monitor.sources.feed.source import Feed
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.openalex import OpenAlex
from monitor.sources.pubmed import PubMed
from monitor.text import without_withdrawal
from tests.sources.pubmedxml import article, articles

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def read(kind: type[Source], content: bytes | str) -> list[Paper]:
    source = kind("s", kind.Options.model_validate({"path": "-"}), None, lambda: NOW)
    data = content.encode() if isinstance(content, str) else content
    reading = sandbox.read(source, Document("d", data, NOW))
    assert not reading.error
    return list(reading.papers)


def crossref(**fields: object) -> Paper:
    record = {"DOI": "10.1000/n", "title": ["Sand Moves"], "type": "journal-article"} | fields
    [paper] = read(Crossref, json.dumps({"message": {"total-results": 1, "items": [record]}}))
    return paper


def europepmc(types: list[str], *notes: dict[str, str]) -> Paper:
    record = {"id": "9", "source": "MED", "title": "Sand Moves"}
    record |= {"pubTypeList": {"pubType": types}}  # type: ignore[dict-item]
    record |= {"commentCorrectionList": {"commentCorrection": notes}}  # type: ignore[dict-item]
    [paper] = read(EuropePmc, json.dumps({"hitCount": 1, "resultList": {"result": [record]}}))
    return paper


@pytest.mark.parametrize(
    ("types", "refs", "type_", "about"),
    [
        (["Journal Article", "Review"], {}, "journal article", {}),
        (["Retraction of Publication"], {"RetractionOf": 7}, "retraction", {"pmid": "7"}),
        (["Retraction Notice"], {"RetractionOf": 7}, "retraction", {"pmid": "7"}),
        (["Published Erratum"], {"ErratumFor": 7, "Cites": 8}, "correction", {"pmid": "7"}),
        (["Published Erratum"], {}, "correction", {}),
        (
            ["Expression of Concern", "Journal Article"],
            {"ExpressionOfConcernFor": 7},
            "expression of concern",
            {"pmid": "7"},
        ),
        (["Journal Article", "Comment"], {"CommentOn": 7}, "comment", {"pmid": "7"}),
        (
            ["Comment", "Retraction of Publication"],
            {"CommentOn": 6, "RetractionOf": 7},
            "retraction",
            {"pmid": "7"},
        ),
        (["Journal Article"], {"PartialRetractionOf": 7}, "correction", {"pmid": "7"}),
        (
            ["Journal Article"],
            {"CommentIn": 7, "ErratumIn": 8, "UpdateOf": 6},
            "journal article",
            {},
        ),
    ],
)
def test_pubmed_says_what_a_notice_is_about(types, refs, type_, about) -> None:
    [paper] = read(PubMed, articles(article(9, "Sand Moves", types=types, refs=refs)))
    assert (paper.type, paper.about, paper.withdrawn) == (type_, about, False)


def test_pubmed_says_that_an_article_is_retracted() -> None:
    types = ["Journal Article", "Retracted Publication"]
    [paper] = read(
        PubMed, articles(article(9, "Sand Moves", types=types, refs={"RetractionIn": 7}))
    )
    assert (paper.type, paper.about, paper.withdrawn) == ("journal article", {}, True)


def test_the_doi_in_a_reference_of_pubmed_is_what_a_notice_is_about() -> None:
    record = article(9, "Sand Moves", types=["Published Erratum"], refs={"ErratumFor": None})
    record = record.replace("J Sand. 2020;1:1", "J Sand. 2020;1:1. doi: 10.1000/P.1.")
    [paper] = read(PubMed, articles(record))
    assert (paper.type, paper.about) == ("correction", {"doi": "10.1000/p.1"})


@pytest.mark.parametrize(
    ("fields", "type_", "about"),
    [
        ({}, "journal article", {}),
        ({"type": "posted-content", "subtype": "preprint"}, "preprint", {}),
        (
            {"update-to": [{"DOI": "10.1000/P", "type": "retraction"}]},
            "retraction",
            {"doi": "10.1000/p"},
        ),
        (
            {"update-to": [{"DOI": f"10.1000/{n}", "type": "erratum"} for n in "pq"]},
            "correction",
            {"doi": ("10.1000/p", "10.1000/q")},
        ),
        (
            {"update-to": [{"DOI": "10.1000/p", "type": "expression_of_concern"}]},
            "expression of concern",
            {"doi": "10.1000/p"},
        ),
        (
            {"update-to": [{"DOI": "10.1000/p", "type": "new_version"}]},
            "journal article",
            {},
        ),
        (
            {"relation": {"is-comment-on": [{"id-type": "doi", "id": "10.1000/P"}]}},
            "comment",
            {"doi": "10.1000/p"},
        ),
        (
            {"relation": {"is-review-of": {"id": "10.1000/P"}}, "type": "peer-review"},
            "comment",
            {"doi": "10.1000/p"},
        ),
        ({"update-to": "nonsense", "relation": [1]}, "journal article", {}),
    ],
)
def test_crossref_says_what_a_notice_is_about(fields, type_, about) -> None:
    paper = crossref(**fields)
    assert (paper.type, paper.about, paper.withdrawn) == (type_, about, False)


def test_a_retraction_under_the_doi_of_the_article_itself_withdraws_it() -> None:
    paper = crossref(**{"update-to": [{"DOI": "10.1000/N", "type": "retraction"}]})
    assert (paper.type, paper.about, paper.withdrawn) == ("journal article", {}, True)


def test_europe_pmc_says_what_a_notice_is_about() -> None:
    note = {"id": "7", "source": "MED", "type": "Erratum for"}
    paper = europepmc(["Published Erratum"], note)
    assert (paper.type, paper.about, paper.withdrawn) == ("correction", {"pmid": "7"}, False)
    note = {"id": "PMC7", "source": "PMC", "type": "Retraction of"}
    paper = europepmc(["retraction-of-publication", "Journal Article"], note)
    assert (paper.type, paper.about, paper.withdrawn) == ("retraction", {"pmcid": "PMC7"}, False)
    note = {"id": "7", "source": "MED", "type": "Comment in"}
    paper = europepmc(["research-article", "Journal Article"], note)
    assert (paper.type, paper.about) == ("research article", {})


@pytest.mark.parametrize(
    ("fields", "type_", "withdrawn"),
    [
        ({"type": "article"}, "article", False),
        ({"type": "article", "is_retracted": True}, "article", True),
        ({"type": "retraction", "is_retracted": True}, "retraction", False),
        ({"type": "erratum"}, "correction", False),
        ({"type": None}, "", False),
    ],
)
def test_openalex_says_what_kind_of_work_it_is(fields, type_, withdrawn) -> None:
    record = {"id": "https://openalex.org/W1", "title": "Sand Moves"} | fields
    [paper] = read(OpenAlex, json.dumps({"results": [record]}))
    assert (paper.type, paper.withdrawn) == (type_, withdrawn)


# ── titles that begin with the mark of a withdrawn paper ────────────────────────────


@pytest.mark.parametrize(
    "mark",
    [
        "Retracted: ",
        "RETRACTED: ",
        "RETRACTED ARTICLE: ",
        "Retracted Article:",
        "WITHDRAWN: ",
        "Withdrawn Paper : ",
        "REMOVED: ",
        "[Retracted] ",
        "[RETRACTED ARTICLE]: ",
        "(Withdrawn) ",
        "*Retracted* ",
    ],
)
def test_the_mark_of_a_withdrawn_paper_is_no_part_of_its_title(mark: str) -> None:
    assert without_withdrawal(f"{mark}Sand Moves") == "Sand Moves"


@pytest.mark.parametrize(
    "title",
    [
        "Retracted Articles in Surgery",
        "Withdrawn children at school",
        "Retraction: Sand Moves",
        "Retraction Note: Sand Moves",
        "RETRACTED:",
        "Sand Moves (retracted: see text)",
        "[Removed sand moves]",
        "",
    ],
)
def test_other_titles_stay_as_they_are(title: str) -> None:
    assert without_withdrawal(title) == title


FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>J</title><link>https://j.example</link>
<item><title>RETRACTED: Sand Moves</title><link>https://j.example/1</link></item>
<item><title>Sand Stays</title><link>https://j.example/2</link></item></channel></rss>"""


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (Feed, FEED),
        (Jsonl, '{"title": "RETRACTED: Sand Moves"}\n{"title": "Sand Stays"}\n'),
        (PubMed, articles(article(1, "RETRACTED: Sand Moves"), article(2, "Sand Stays"))),
    ],
)
def test_a_marked_title_means_withdrawn_from_every_source(kind: type[Source], content: str) -> None:
    papers = [(paper.title.rstrip("."), paper.withdrawn) for paper in read(kind, content)]
    assert papers == [("Sand Moves", True), ("Sand Stays", False)]
