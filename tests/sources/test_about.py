"""Asking services about the works of libraries: batches, notices, and what became of preprints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from monitor.errors import FetchError
from monitor.model import CONCERN, CORRECTION, RETRACTION, AskedWorks, Document, Paper
from monitor.setting_types import SettingsContext
from monitor.sources import sandbox
from monitor.sources.api.about import (
    MAX_BATCH,
    MAX_BATCH_CHARS,
    AboutOptions,
    AboutSource,
    batches,
    is_unanswered,
)
from monitor.sources.crossref import Crossref
from monitor.sources.pubmed import PubMed
from tests.servers.web import Answer
from tests.servers.works import Work, crossref, pubmed, update, work
from tests.sources.conftest import Service
from tests.sources.libraries import article
from tests.sources.scenario import NOW

Keys = Mapping[str, Sequence[str]]


def opened(service: Service, kind: type[AboutSource], **settings: object) -> AboutSource:
    written = {"url": service.web.url(""), "allow_private": True, "about": ["refs"], **settings}
    options = kind.Options.model_validate(written, context=SettingsContext(libraries=["refs"]))
    return kind("watch", options, service.door, lambda: NOW)


def asked(
    source: AboutSource, works: Sequence[Keys], state: Mapping[str, str] = {}
) -> list[Document]:
    found = [found.load() for found in source.find_about(works, state)]
    return [document for document in found if document]


def papers(source: AboutSource, *works: Keys) -> list[Paper]:
    [document] = asked(source, works)
    reading = sandbox.read(source, document)
    assert not reading.error and reading.complete
    return list(reading.papers)


# ── answers ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answered", "says_none", "assigned", "before", "is_one"),
    [
        ("a", False, "", "", True),
        ("ab", False, "", "abcd", True),
        ("a", False, "", "abcd", False),
        ("x", False, "", "", False),
        ("", False, "", "", False),
        ("", True, "", "", True),
        ("", True, "", "a", False),
        ("", True, "", "x", True),
        ("", True, "a", "", False),
    ],
)
def test_an_answer_is_about_most_works_that_were_known_or_says_that_it_has_none(
    answered: str, says_none: bool, assigned: str, before: str, is_one: bool
) -> None:
    works = AskedWorks(tuple("abcd"), frozenset(answered), says_none, tuple(assigned))
    assert is_unanswered(works, set(before)) is not is_one


# ── batches ─────────────────────────────────────────────────────────────────────────


def test_a_large_library_is_asked_about_in_batches(service: Service) -> None:
    crossref(service.web)
    source = opened(service, Crossref)
    works = [{"doi": (f"10.1000/{n:04}",)} for n in range(2_000)] + [{"arxiv": ("2401.00001",)}]
    documents = asked(source, works)
    assert len(documents) == 2_000 / MAX_BATCH
    dois = [doi for request in service.web.requests for doi in request.query["filter"].split(",")]
    assert sorted(dois) == [f"doi:10.1000/{n:04}" for n in range(2_000)]
    assert max(len(request.target) for request in service.web.requests) < 6_000


def test_long_identifiers_make_small_batches() -> None:
    names = [f"10.1000/{n:292}" for n in range(30)]
    parts = list(batches(names))
    assert [name for part in parts for name in part] == names
    assert max(sum(map(len, part)) for part in parts) <= MAX_BATCH_CHARS
    assert list(batches([])) == []


def test_a_batch_that_fails_stops_no_other_and_is_asked_about_again(service: Service) -> None:
    crossref(service.web)
    source = opened(service, Crossref)
    works = [{"doi": (f"10.1000/{n:03}",)} for n in range(120)]
    first, second, third = source.find_about(works, {})
    document = first.load()
    assert document and document.validators == {"after": "10.1000/049"}
    service.web.decides("*", lambda _: Answer(500))
    with pytest.raises(FetchError):
        second.load()
    crossref(service.web)
    document = third.load()
    assert document and document.validators == {"after": "10.1000/049"}
    del service.web.requests[:]
    documents = asked(source, works, document.validators)
    assert [request.query["rows"] for request in service.web.requests] == ["50", "20"]
    assert documents[-1].validators == {"after": ""}
    assert len(asked(source, works, documents[-1].validators)) == 3
    # A library that has nothing after the last of them is asked about from its start.
    assert len(asked(source, works[:20], {"after": "10.1000/049"})) == 1


def test_nothing_is_asked_about_works_without_an_identifier(service: Service) -> None:
    assert asked(opened(service, Crossref), [{"arxiv": ("2401.00001",)}, {}]) == []
    assert asked(opened(service, PubMed), [{"doi": ('10.1000/"x"',)}]) == []
    assert service.web.requests == []


def test_a_doi_with_a_comma_is_asked_about_alone(service: Service) -> None:
    crossref(service.web, work("10.1000/a,b"), work("10.1000/(sici)1<2:a>3.0;2-o&?"))
    source = opened(service, Crossref)
    dois = ["10.1000/(sici)1<2:a>3.0;2-o&?", "10.1000/a,b", "10.1000/gone,c"]
    assert [paper.raw_id for paper in papers(source, {"doi": dois})] == dois[:2]
    assert papers(source, {"doi": ["10.1000/gone,c"]}) == []
    service.web.decides("*", lambda _: Answer(500))
    with pytest.raises(FetchError):
        asked(source, [{"doi": ["10.1000/a,b"]}])


@pytest.mark.parametrize("body", [b"<html>busy</html>", b'{"status": "failed", "message": "no"}'])
def test_an_answer_that_is_none_is_a_failure(service: Service, body: bytes) -> None:
    service.web.decides("*", lambda _: Answer(body=body))
    source = opened(service, Crossref)
    [document] = asked(source, [{"doi": ["10.1000/a"]}])
    assert sandbox.read(source, document).error


# ── what Crossref says ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("type_", "mark"),
    [
        ("retraction", RETRACTION),
        ("withdrawal", RETRACTION),
        ("removal", RETRACTION),
        ("partial_retraction", CORRECTION),
        ("corrigendum", CORRECTION),
        ("erratum", CORRECTION),
        ("expression_of_concern", CONCERN),
    ],
)
def test_crossref_s_record_of_a_work_names_the_notices_about_it(
    service: Service, type_: str, mark: str
) -> None:
    crossref(service.web, work("10.1000/p", **{"updated-by": [update(type_, "10.1000/N")]}))
    notice, paper = papers(opened(service, Crossref), {"doi": ["10.1000/p"]})
    assert (notice.type, notice.about) == (mark, {"doi": "10.1000/p"})
    assert (notice.keys, notice.published) == (
        {"doi": "10.1000/n"},
        datetime(2025, 3, 4, tzinfo=UTC),
    )
    assert notice.title == f"{mark.capitalize()}: Sand Moves"
    assert (paper.raw_id, paper.withdrawn) == ("10.1000/p", mark == RETRACTION)


@pytest.mark.parametrize("type_", ["new_version", "new_edition", "68818", ""])
def test_other_updates_are_no_notices(service: Service, type_: str) -> None:
    crossref(service.web, work("10.1000/p", **{"updated-by": [update(type_, "10.1000/n")]}))
    [paper] = papers(opened(service, Crossref), {"doi": ["10.1000/p"]})
    assert not paper.withdrawn


def test_a_notice_under_the_doi_of_its_work_has_no_identifier(service: Service) -> None:
    crossref(service.web, work("10.1000/p", **{"updated-by": [update("correction", "10.1000/P")]}))
    notice, _ = papers(opened(service, Crossref), {"doi": ["10.1000/p"]})
    assert (notice.keys, notice.url, notice.about) == ({}, "", {"doi": "10.1000/p"})


def test_a_record_that_is_no_paper_costs_itself_only(service: Service) -> None:
    huge = update("retraction", "10.1000/n", label="x" * 300_000, type="x" * 300_000)
    bad = work("10.1000/bad", **{"updated-by": [huge]})
    crossref(service.web, bad, work("10.1000/p"), work("10.1000/untitled", ""))
    dois = ["10.1000/bad", "10.1000/p", "10.1000/untitled"]
    assert [paper.raw_id for paper in papers(opened(service, Crossref), {"doi": dois})] == [dois[1]]


def retracted_by(doi: str, of: str) -> tuple[Work, Work]:
    notice = work(doi, "Retraction: Sand Moves", **{"update-to": [update("retraction", of)]})
    return notice, work(of, **{"updated-by": [update("retraction", doi)]})


def test_a_retraction_whose_notice_is_retracted_is_none(service: Service) -> None:
    notice, retracted = retracted_by("10.1000/n", "10.1000/p")
    notice["updated-by"] = [update("retraction", "10.1000/m")]
    other = {"updated-by": [update("retraction", "10.1000/o"), update("erratum", "10.1000/e")]}
    crossref(service.web, notice, retracted, work("10.1000/q", **other))
    *notices, paper, second = papers(opened(service, Crossref), {"doi": ["10.1000/p", "10.1000/q"]})
    assert [one.raw_id for one in notices] == ["10.1000/o", "10.1000/e"]
    assert (paper.raw_id, paper.withdrawn) == ("10.1000/p", False)
    assert (second.raw_id, second.withdrawn) == ("10.1000/q", True)


@pytest.mark.parametrize("milder", ["expression_of_concern", "correction"])
@pytest.mark.parametrize("turn", [1, -1])
def test_of_two_types_of_one_record_of_retraction_watch_the_milder_counts(
    service: Service, milder: str, turn: int
) -> None:
    """https://community.crossref.org: six such works were there in September 2026."""
    same: Work = {"source": "retraction-watch", "record-id": "19937"}
    both = [update(type_, "10.1000/n", **same) for type_ in ("retraction", milder)][::turn]
    other = update("correction", "10.1000/c", **same | {"record-id": "19938"})
    crossref(service.web, work("10.1000/p", **{"updated-by": [*both, other]}))
    *notices, paper = papers(opened(service, Crossref), {"doi": ["10.1000/p"]})
    assert not paper.withdrawn and RETRACTION not in {notice.type for notice in notices}
    assert [notice.raw_id for notice in notices] == ["10.1000/n", "10.1000/c"]
    # The notice's own record says the same.
    crossref(
        service.web,
        work("10.1000/n", **{"update-to": [{**one, "DOI": "10.1000/p"} for one in both]}),
    )
    [notice] = papers(opened(service, Crossref), {"doi": ["10.1000/n"]})
    assert notice.type in (CONCERN, CORRECTION)


def test_what_a_preprint_became_is_asked_about_and_comes_first(service: Service) -> None:
    became = {"relation": {"is-preprint-of": [{"id-type": "doi", "id": "10.1000/J"}]}}
    preprint = work("10.1101/p", "Sand moves", type="posted-content", **became)
    day = {"date-parts": [[2025, 2, 1]]}
    journal = {"container-title": ["Journal of Sand"], "published-online": day}
    crossref(service.web, preprint, work("10.1000/j", "How Dunes Move", **journal))
    paper, before = papers(opened(service, Crossref), {"doi": ["10.1101/p"]})
    assert (paper.venue, paper.keys) == ("Journal of Sand", {"doi": ("10.1000/j", "10.1101/p")})
    assert paper.published == datetime(2025, 2, 1, tzinfo=UTC)
    assert before.keys == {"doi": ("10.1101/p", "10.1000/j")}


def test_only_identifiers_are_sent_and_fields_that_can_be_selected(service: Service) -> None:
    crossref(service.web)
    asked(opened(service, Crossref), [{"doi": ["10.1000/p"], "arxiv": ["2401.00001"]}])
    [request] = service.web.requests
    assert request.query.keys() == {"filter", "rows", "select"}
    assert request.query["filter"] == "doi:10.1000/p"
    refused = {"subtype", "institution", "reference", "abstract"}
    assert refused.isdisjoint(request.query["select"].split(","))


# ── what PubMed says ────────────────────────────────────────────────────────────────


def test_pubmed_is_asked_by_pmid_and_else_by_doi_and_then_about_notices(service: Service) -> None:
    records = {
        "1": article(1, "Sand Moves", refs={"RetractionIn": 7}, types=["Retracted Publication"]),
        "2": article(2, "Dunes Sing", doi="10.1000/two", refs={"ErratumIn": 8, "CommentIn": 9}),
        "7": article(7, "Retraction: Sand", refs={"RetractionOf": 1}, types=["Retraction Notice"]),
        "8": article(8, "Erratum", refs={"ErratumFor": 2}, types=["Published Erratum"]),
    }
    pubmed(service.web, records, {"10.1000/two": "2"})
    works = [{"pmid": ["1"], "doi": ["10.1000/one"]}, {"doi": ["10.1000/two", "10.1000/none"]}]
    found = papers(opened(service, PubMed), *works)
    assert [(p.raw_id, p.type, p.about, p.withdrawn) for p in found] == [
        ("7", RETRACTION, {"pmid": "1"}, False),
        ("8", CORRECTION, {"pmid": "2", "doi": "10.1000/two"}, False),
        ("1", "", {}, True),
        ("2", "journal article", {}, False),
    ]
    search, *fetches = service.web.requests
    assert search.query["term"] == '"10.1000/none"[doi] OR "10.1000/two"[doi]'
    assert [request.query["id"] for request in fetches] == ["1,2", "1,2,7,8"]


@pytest.mark.parametrize(
    ("said", "mark"),
    [
        ("ErratumIn", CORRECTION),
        ("CorrectedandRepublishedIn", CORRECTION),
        ("PartialRetractionIn", CORRECTION),
        ("ExpressionOfConcernIn", CONCERN),
        ("RetractionIn", RETRACTION),
        ("UpdateIn", ""),
        ("RepublishedIn", ""),
        ("CommentIn", ""),
    ],
)
def test_a_notice_without_a_record_of_its_own_is_told_by_its_paper(
    service: Service, said: str, mark: str
) -> None:
    record = article(1, "Sand Moves", refs={said: None})
    record = record.replace("J Sand. 2020;1:1", "J Sand. 2020;1:1. doi: 10.1000/N.")
    pubmed(service.web, {"1": record}, {})
    *notices, paper = papers(opened(service, PubMed), {"pmid": ["1"]})
    assert [(n.type, n.about, n.keys) for n in notices] == (
        [(mark, {"pmid": "1"}, {"doi": "10.1000/n"})] if mark else []
    )
    assert paper.withdrawn == (mark == RETRACTION)


def test_works_that_pubmed_does_not_have_are_no_fault(service: Service) -> None:
    pubmed(service.web, {}, {})
    assert papers(opened(service, PubMed), {"doi": ["10.1000/none"]}) == []
    assert len(service.web.requests) == 1


# ── settings ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [Crossref, PubMed])
def test_a_source_that_is_asked_about_works_asks_nothing_else(kind: type[AboutSource]) -> None:
    context = SettingsContext(libraries=["refs"])
    with pytest.raises(ValidationError, match="give either"):
        kind.Options.model_validate({"about": "refs", "query": "x"}, context=context)
    saved = kind.Options.model_validate({"about": "refs", "path": "x"}, context=context)
    assert isinstance(saved, AboutOptions) and saved.reads_documents
    with pytest.raises(ValidationError, match="no library “ref”; did you mean “refs”"):
        kind.Options.model_validate({"about": "ref"}, context=context)
    options = kind.Options.model_validate({"about": "refs"}, context=context)
    limits = kind("watch", options, None, lambda: NOW).limits
    assert limits["apart"].total_seconds() > 0.3
