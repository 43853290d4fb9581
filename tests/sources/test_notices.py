"""What sources say of retraction notices, corrections and comments, and of withdrawn papers."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from monitor.model import CONCERN, Document, Paper
from monitor.sources import sandbox
from monitor.sources.base import Source
from monitor.sources.crossref import Crossref
from monitor.sources.europepmc import EuropePmc
from monitor.sources.feed.source import Feed
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.openalex import OpenAlex
from monitor.sources.pubmed import PubMed
from monitor.text import without_withdrawal
from tests.sources.libraries import article, articles
from tests.sources.scenario import opened

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def read(kind: type[Source], content: bytes | str) -> list[Paper]:
    data = content.encode() if isinstance(content, str) else content
    reading = sandbox.read(opened(kind, NOW), Document("d", data, NOW))
    assert not reading.error
    return list(reading.papers)


CITED = article(9, "Sand Moves", types=["Published Erratum"], refs={"ErratumFor": None})
JOURNAL = ["Journal Article"]


@pytest.mark.parametrize(
    ("types", "refs", "type_", "about", "withdrawn"),
    [
        ([*JOURNAL, "Review"], {}, "journal article", {}, False),
        (["Retraction of Publication"], {"RetractionOf": 7}, "retraction", {"pmid": "7"}, False),
        (["Published Erratum"], {"ErratumFor": 7, "Cites": 8}, "correction", {"pmid": "7"}, False),
        (["Published Erratum"], {}, "correction", {}, False),
        (
            ["Expression of Concern", *JOURNAL],
            {"ExpressionOfConcernFor": 7},
            "expression of concern",
            {"pmid": "7"},
            False,
        ),
        ([*JOURNAL, "Comment"], {"CommentOn": 7}, "comment", {"pmid": "7"}, False),
        (
            ["Comment", "Retraction of Publication"],
            {"CommentOn": 6, "RetractionOf": 7},
            "retraction",
            {"pmid": "7"},
            False,
        ),
        (JOURNAL, {"PartialRetractionOf": 7}, "correction", {"pmid": "7"}, False),
        (JOURNAL, {"CommentIn": 7, "ErratumIn": 8, "UpdateOf": 6}, "journal article", {}, False),
        (
            [*JOURNAL, "Retracted Publication"],
            {"RetractionIn": 7},
            "journal article",
            {},
            True,
        ),
    ],
)
def test_pubmed_says_what_a_notice_is_about(types, refs, type_, about, withdrawn) -> None:
    [paper] = read(PubMed, articles(article(9, "Sand Moves", types=types, refs=refs)))
    assert (paper.type, paper.about, paper.withdrawn) == (type_, about, withdrawn)


def test_the_doi_in_a_reference_of_pubmed_is_what_a_notice_is_about() -> None:
    record = CITED.replace("J Sand. 2020;1:1", "J Sand. 2020;1:1. doi: 10.1000/P.1.")
    [paper] = read(PubMed, articles(record))
    assert (paper.type, paper.about) == ("correction", {"doi": "10.1000/p.1"})


def update(type_: str, *dois: str) -> dict[str, object]:
    return {"update-to": [{"DOI": doi, "type": type_} for doi in dois]}


@pytest.mark.parametrize(
    ("fields", "type_", "about", "withdrawn"),
    [
        ({}, "journal article", {}, False),
        ({"type": "posted-content", "subtype": "preprint"}, "preprint", {}, False),
        (update("retraction", "10.1000/P"), "retraction", {"doi": "10.1000/p"}, False),
        (update("erratum", "10.1/p", "10.1/q"), "correction", {"doi": ("10.1/p", "10.1/q")}, False),
        (update("expression_of_concern", "10.1/p"), CONCERN, {"doi": "10.1/p"}, False),
        (update("new_version", "10.1/p"), "journal article", {}, False),
        (update("retraction", "10.1000/N"), "journal article", {}, True),  # its own DOI
        (
            {"relation": {"is-comment-on": [{"id-type": "doi", "id": "10.1000/P"}]}},
            "comment",
            {"doi": "10.1000/p"},
            False,
        ),
        (
            {"relation": {"is-review-of": {"id": "10.1000/P"}}, "type": "peer-review"},
            "comment",
            {"doi": "10.1000/p"},
            False,
        ),
        ({"update-to": "nonsense", "relation": [1]}, "journal article", {}, False),
    ],
)
def test_crossref_says_what_a_notice_is_about(fields, type_, about, withdrawn) -> None:
    record = {"DOI": "10.1000/n", "title": ["Sand Moves"], "type": "journal-article"} | fields
    [paper] = read(Crossref, json.dumps([record]))
    assert (paper.type, paper.about, paper.withdrawn) == (type_, about, withdrawn)


@pytest.mark.parametrize(
    ("types", "note", "type_", "about"),
    [
        (["Published Erratum"], ("7", "MED", "Erratum for"), "correction", {"pmid": "7"}),
        (
            ["retraction-of-publication", *JOURNAL],
            ("PMC7", "PMC", "Retraction of"),
            "retraction",
            {"pmcid": "PMC7"},
        ),
        (["research-article", *JOURNAL], ("7", "MED", "Comment in"), "research article", {}),
    ],
)
def test_europe_pmc_says_what_a_notice_is_about(types, note, type_, about) -> None:
    comments = [dict(zip(("id", "source", "type"), note, strict=True))]
    record = {"id": "9", "source": "MED", "title": "Sand Moves", "pubTypeList": {"pubType": types}}
    record["commentCorrectionList"] = {"commentCorrection": comments}
    [paper] = read(EuropePmc, json.dumps([record]))
    assert (paper.type, paper.about, paper.withdrawn) == (type_, about, False)


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
    [paper] = read(OpenAlex, json.dumps([record]))
    assert (paper.type, paper.withdrawn) == (type_, withdrawn)


# ── titles that begin with the mark of a withdrawn paper ────────────────────────────


@pytest.mark.parametrize(
    "mark",
    [
        "RETRACTED: ",
        "RETRACTED ARTICLE: ",
        "Retracted Article:",
        "WITHDRAWN: ",
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
