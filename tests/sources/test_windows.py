"""Asking services for windows of time, on a local server: pages, pieces, state, failures."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError

from monitor.errors import DocumentError, FetchError, MonitorError
from monitor.http.client import HttpClient
from monitor.model import Document
from monitor.sources.api.records import ApiSource
from monitor.sources.api.windows import PageRequest, Window
from monitor.sources.arxiv import Arxiv
from monitor.sources.base import Source
from monitor.sources.biorxiv import BioRxiv, MedRxiv
from monitor.sources.crossref import Crossref
from monitor.sources.dblp import Dblp
from monitor.sources.europepmc import EuropePmc
from monitor.sources.feed.source import Feed
from monitor.sources.huggingface import HuggingFace
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.oai.source import Oai
from monitor.sources.openalex import OpenAlex
from monitor.sources.openreview import OpenReview
from monitor.sources.pubmed import PubMed
from monitor.sources.semanticscholar import SemanticScholar
from tests.servers.web import Answer, MisbehavingServer
from tests.servers.web import Asked as Request
from tests.sources.answers import answer
from tests.sources.conftest import Service
from tests.sources.scenario import NOW
from tests.sources.test_oai import oai

YESTERDAY = {"until": (NOW - timedelta(days=1)).isoformat()}
DONE = {"until": NOW.isoformat()}


def loaded(source: Source, state: dict[str, str]) -> list[Document]:
    """All documents of a run, up to the first that cannot be had."""
    return [document for found in source.find(state) if (document := found.load())]


def pages(web: MisbehavingServer, *pages: bytes | Answer) -> None:
    """Answer one request after the other, whatever is asked."""
    left = (page if isinstance(page, Answer) else Answer(body=page) for page in pages)
    web.decides("*", lambda _: next(left))


# ── windows ─────────────────────────────────────────────────────────────────────────

WEEK = timedelta(days=7)
FORTNIGHT = timedelta(days=14)


@pytest.mark.parametrize("days", [-400, 0, 1, 6, 7, 8, 30, 365])
def test_the_pieces_leave_no_gap_and_overlap_what_was_read(days: int) -> None:
    """A state from the future asks for the present."""
    until = NOW - timedelta(days=days)
    source = BioRxiv("daily", BioRxiv.Options(), None, lambda: NOW)
    found = list(source.windows({"until": until.isoformat()}))
    assert found[0].begin == min(until, NOW) - WEEK and found[-1].end == NOW
    assert all(before.end == after.begin for before, after in pairwise(found))
    assert all(window.end - window.begin <= FORTNIGHT for window in found)
    assert len(found) == (1 if days <= 7 else len(found))


# ── pages ───────────────────────────────────────────────────────────────────────────


def test_only_the_last_page_carries_the_new_state(service: Service) -> None:
    pages(
        service.web,
        answer(Crossref, 2, 0, **{"total-results": 5, "next-cursor": "a b"}),
        answer(Crossref, 2, 2, **{"total-results": 5, "next-cursor": "a b"}),
        answer(Crossref, 1, 4, **{"total-results": 5, "next-cursor": "a b"}),
    )
    documents = loaded(service.open(Crossref, query="roots"), YESTERDAY)
    assert [document.validators for document in documents] == [YESTERDAY, YESTERDAY, DONE]
    assert [request.query["cursor"] for request in service.web.requests] == ["*", "a b", "a b"]
    assert documents[1].name == f"{service.web.url('')} 2025-05-24..2025-06-01 page 2"


def test_a_first_run_looks_back_as_far_as_the_overlap(service: Service) -> None:
    pages(service.web, answer(EuropePmc, 0))
    (document,) = loaded(service.open(EuropePmc, query="a OR b", overlap_days=3), {})
    asked = service.web.requests[0].query["query"]
    assert asked == "(a OR b) AND (FIRST_IDATE:[2025-05-29 TO 2025-06-01])"
    assert document.validators == DONE


def test_nothing_is_fetched_before_it_is_loaded(service: Service) -> None:
    assert len(list(service.open(Crossref, query="x").find({}))) == 1
    assert service.web.requests == []


def test_an_outage_of_weeks_is_filled_in_pieces_that_survive_a_restart(service: Service) -> None:
    service.web.decides("*", lambda _: Answer(body=answer(BioRxiv)))
    source = service.open(BioRxiv)
    state = {"until": "2025-04-20T00:00:00+00:00"}
    first = next(source.find(state)).load()
    assert first is not None and first.validators == {"until": "2025-04-27T00:00:00+00:00"}
    documents = loaded(source, dict(first.validators))
    days = [urlsplit(request.target).path.split("/")[3:5] for request in service.web.requests]
    assert days[0] == ["2025-04-13", "2025-04-27"] and days[1][0] == "2025-04-20"
    assert all(before[1] == after[0] for before, after in pairwise(days[1:]))
    assert days[-1][1] == "2025-06-01" and documents[-1].validators == DONE


def test_F01_F02_a_failed_page_ends_the_run_and_moves_nothing(service: Service) -> None:
    end = answer(Crossref, 2, 2, **{"total-results": 4})
    whole = answer(Crossref, 2, **{"total-results": 4, "next-cursor": "c"})
    for broken in (
        b"<html>502</html>",
        b'{"status": "failed", "message": "no"}',
        end[:-20],
        Answer(body=end, length=len(end) + 9),  # the transfer is cut
        b"",
    ):
        pages(service.web, whole, broken)
        documents = loaded(service.open(Crossref, query="x"), YESTERDAY)
        assert [document.validators for document in documents] == [YESTERDAY, YESTERDAY]


@pytest.mark.parametrize(
    ("kind", "settings", "body"),
    [
        (BioRxiv, {}, {"messages": [{"status": "ok", "total": "9"}], "collection": []}),
        (EuropePmc, {"query": "x"}, {"hitCount": 9, "resultList": {"result": []}}),
        (Crossref, {"query": "x"}, {"message": {"total-results": 9, "items": []}}),
        (OpenAlex, {"query": "x"}, {"meta": {"count": 9}, "results": []}),
        (SemanticScholar, {"query": "x"}, {"total": 9, "data": []}),
        (OpenReview, {"venues": ["A.cc"]}, {"notes": [], "count": 9}),
        (Dblp, {"query": "x"}, {"result": {"hits": {"@total": "9", "hit": []}}}),
        (Oai, {}, oai('<ListRecords><resumptionToken completeListSize="9"/></ListRecords>')),
    ],
)
def test_F01_an_empty_page_of_a_service_that_reports_papers_is_a_failure(
    service: Service, kind: type[Source], settings: dict[str, object], body: object
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    service.web.decides("*", lambda _: Answer(body=content))
    with pytest.raises(DocumentError, match="empty although it says that there are 9"):
        loaded(service.open(kind, **settings), {})


def test_F01_a_piece_that_failed_is_not_passed_over(service: Service) -> None:
    service.web.decides("*", lambda _: Answer(503, headers={"Retry-After": "90"}))
    found = service.open(BioRxiv).find({"until": "2025-03-01T00:00:00+00:00"})
    with pytest.raises(FetchError, match="503"):
        next(found).load()
    assert list(found) == []


def test_F09_a_service_that_repeats_a_page_is_stopped(service: Service) -> None:
    same = answer(OpenAlex, 2, count=90, next_cursor="again")
    service.web.decides("*", lambda _: Answer(body=same))
    with pytest.raises(DocumentError, match="the same page again and again"):
        loaded(service.open(OpenAlex, query="x", overlap_days=7), {})
    assert len(service.web.requests) == 2


def endless(kind: type[Source], **extra: object) -> Callable[[Request], Answer]:
    made = iter(range(10_000))
    return lambda _: Answer(body=answer(kind, 2, 2 * next(made), **extra))


def test_more_pages_than_a_run_may_ask_for_are_a_failure_in_words(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SemanticScholar, "max_pages", 3)
    service.web.decides("*", endless(SemanticScholar, total=9_999, token="t"))
    with pytest.raises(MonitorError, match=r"more than 3 pages .* \(narrow the request\)"):
        loaded(service.open(SemanticScholar, query="x", overlap_days=7), {})
    assert len(service.web.requests) == 3


def test_a_run_ends_after_the_piece_that_fills_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BioRxiv, "enough_pages", 2)
    service.web.decides("*", lambda _: Answer(body=answer(BioRxiv)))
    documents = loaded(service.open(BioRxiv), {"until": "2024-06-01T00:00:00+00:00"})
    assert len(documents) == 2
    assert documents[-1].validators == {"until": "2024-06-22T00:00:00+00:00"}


# ── what each service is asked ──────────────────────────────────────────────────────

WINDOW = Window(datetime(2025, 5, 20, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("kind", "settings", "page", "address"),
    [
        (
            MedRxiv,
            {},
            PageRequest(WINDOW, "infectious diseases"),
            "https://api.biorxiv.org/details/medrxiv/2025-05-20/2025-06-01/0/json"
            "?category=infectious%20diseases",
        ),
        (
            HuggingFace,
            {},
            PageRequest(WINDOW, cursor="1"),
            "https://huggingface.co/api/daily_papers?date=2025-06-01&limit=100&p=1",
        ),
        (
            Crossref,
            {"filter": "issn:1234-5678"},
            PageRequest(WINDOW),
            "https://api.crossref.org/works?filter=from-created-date%3A2025-05-20%2C"
            "until-created-date%3A2025-06-01%2Cissn%3A1234-5678&rows=200&cursor=%2A",
        ),
        (
            OpenAlex,
            {"query": "roots", "api_key": "hush"},
            PageRequest(WINDOW, cursor="Il="),
            "https://api.openalex.org/works?filter=from_publication_date%3A2025-05-20%2C"
            "to_publication_date%3A2025-06-01&search=roots&per_page=100&cursor=Il%3D&api_key=hush",
        ),
        (
            OpenReview,
            {"venues": ["A.cc/2025"]},
            PageRequest(WINDOW, "content.venueid=A.cc/2025", "1000"),
            "https://api2.openreview.net/notes?content.venueid=A.cc%2F2025"
            "&sort=tmdate%3Adesc&limit=1000&offset=1000",
        ),
    ],
)
def test_addresses(
    kind: type[ApiSource], settings: dict[str, object], page: PageRequest, address: str
) -> None:
    source = kind("daily", kind.Options.model_validate(settings), None, lambda: NOW)
    assert source.page_url(page) == address


def test_categories_are_asked_for_one_after_the_other(service: Service) -> None:
    service.web.decides("*", lambda _: Answer(body=answer(BioRxiv)))
    source = service.open(BioRxiv, categories=["cell biology", "zoology"])
    documents = loaded(source, YESTERDAY)
    assert [r.query["category"] for r in service.web.requests] == ["cell biology", "zoology"]
    assert [document.validators for document in documents] == [YESTERDAY, DONE]


def test_pages_of_preprints_go_on_from_what_came(service: Service) -> None:
    pages(service.web, answer(BioRxiv, 3, 0, total=5), answer(BioRxiv, 2, 3, total=5, cursor=3))
    assert len(loaded(service.open(BioRxiv), YESTERDAY)) == 2
    assert [r.target.split("/")[5] for r in service.web.requests] == ["0", "3"]


def test_daily_papers_are_asked_for_day_by_day(service: Service) -> None:
    service.web.decides(
        "*", lambda r: Answer(body=answer(HuggingFace, 100 if "p" not in r.query else 1))
    )
    source = service.open(HuggingFace, overlap_days=1)
    documents = loaded(source, YESTERDAY)
    asked = [(r.query["date"], r.query.get("p", "0")) for r in service.web.requests]
    assert asked == [(day, p) for day in ("2025-05-31", "2025-06-01") for p in ("0", "1")]
    assert [document.validators for document in documents] == [YESTERDAY] * 3 + [DONE]


def test_notes_are_asked_for_until_they_are_older_than_the_window(service: Service) -> None:
    service.web.decides("*", endless(OpenReview, count=99))
    now = datetime.fromtimestamp(1_748_700_000_000 / 1000, UTC) + timedelta(days=1)
    source = service.open(OpenReview, now, venues=["A.cc"], overlap_days=1)
    until = (now - timedelta(milliseconds=6)).isoformat()
    documents = loaded(source, {"until": until})
    assert len(documents) == 4 and documents[-1].validators == {"until": now.isoformat()}


@pytest.mark.parametrize(
    ("kind", "settings", "why"),
    [
        (Feed, {}, "either `url:` or `path:`"),
        (Feed, {"url": "http://x", "path": "y"}, "either `url:` or `path:`"),
        (Feed, {"url": "file:///x"}, "must begin with http"),
        (Feed, {"url": "dumps/*.txt"}, "use `path:` for files"),
        (Feed, {"path": "x", "colour": "red"}, "Extra inputs"),
        (Jsonl, {"path": "x", "fields": {"titel": "t"}}, "no field 'titel'; it has: title"),
        (Jsonl, {"path": "x", "fields": {"title": []}}, "at least 1"),
        (Jsonl, {"path": "x", "preset": "arxiv"}, "no preset 'arxiv'; there are: arxiv-snapshot"),
        (Crossref, {}, "needs `query:` or `filter:`"),
        (OpenReview, {}, "needs `venues:` or `invitations:`"),
        (EuropePmc, {"url": "https://mirror.example.org"}, "needs `query:`"),
        (BioRxiv, {"overlap_days": 0}, "greater than or equal to 1"),
        (HuggingFace, {"queries": "x"}, "Extra inputs"),
        (PubMed, {}, "needs `query:`"),
        (PubMed, {"query": "x", "path": "*.xml"}, "either `query:` or `path:`"),
        (Dblp, {}, "needs `query:`"),
        (Dblp, {"query": "x", "years": 0}, "greater than or equal to 1"),
        (Arxiv, {}, "needs `categories:` or `query:`"),
        (Arxiv, {"categories": ["cs.LG/"]}, "not an arXiv category"),
        (Arxiv, {"categories": ["biology"]}, "not an arXiv category"),
        (Arxiv, {"query": "x", "categories": ["cs.LG"]}, "either `categories:` or `query:`"),
        (Arxiv, {"query": "x", "path": "y"}, "or `path:`"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    kind: type[Source], settings: dict[str, object], why: str
) -> None:
    with pytest.raises(ValidationError, match=why):
        kind.Options.model_validate(settings)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(Crossref, "mailto"), (OpenAlex, "mailto"), (EuropePmc, "email"), (PubMed, "email")],
)
@pytest.mark.parametrize(
    ("contact", "mail"),
    [
        ("ops@example.org", "ops@example.org"),
        ("mailto:ops@example.org", "ops@example.org"),
        ("https://example.org/bot", ""),
        ("Ada Byron ada@example.org", ""),
        ("", ""),
    ],
)
def test_F16_services_that_want_an_address_of_mail_receive_the_contact_if_it_is_one(
    web: MisbehavingServer, tmp_path: Path, kind: type[Source], name: str, contact: str, mail: str
) -> None:
    web.decides("*", lambda _: Answer(500))
    service = Service(web, HttpClient(version="1", contact=contact, gate_dir=tmp_path))
    with pytest.raises(FetchError):
        loaded(service.open(kind, query="x"), {})
    assert web.requests[0].query.get(name, "") == mail
    if kind is PubMed:
        with pytest.raises(FetchError):
            loaded(service.open(kind, query="x", email="me@example.org"), {})
        assert web.requests[1].query["email"] == "me@example.org"


@pytest.mark.parametrize("kind", [OpenAlex, PubMed, SemanticScholar])
def test_a_key_is_sent_and_never_shown(service: Service, kind: type[Source]) -> None:
    service.web.decides("*", lambda _: Answer(400))
    source = service.open(kind, query="x", api_key="hush")
    with pytest.raises(FetchError) as fault:
        loaded(source, {})
    (request,) = service.web.requests
    in_header = kind is SemanticScholar
    assert request.headers.get("x-api-key") == ("hush" if in_header else None)
    assert request.query.get("api_key") == (None if in_header else "hush")
    options = source.options
    assert "hush" not in f"{fault.value}{options!r}{options.model_dump_json()}"


@pytest.mark.parametrize(
    ("kind", "settings", "apart"),
    [
        (PubMed, {"query": "x"}, 1 / 3),
        (PubMed, {"query": "x", "api_key": "k"}, 1 / 10),
        (PubMed, {"query": "x", "url": "https://mirror.example.org"}, 0),
        (SemanticScholar, {"query": "x"}, 1),
        (Crossref, {"query": "x"}, 0),
    ],
)
def test_services_are_asked_as_often_as_they_allow(
    kind: type[Source], settings: dict[str, object], apart: float
) -> None:
    source = kind("daily", kind.Options.model_validate(settings), None, lambda: NOW)
    assert source.limits.get("apart", timedelta(0)) == timedelta(seconds=apart)


def test_an_update_file_of_pubmed_may_be_larger_than_a_feed(service: Service) -> None:
    body = b"<PubmedArticleSet>" + b" " * (16 * 1024 * 1024) + b"</PubmedArticleSet>"
    service.web.answers("/file.xml", body=body)
    (document,) = loaded(service.open(PubMed, url=service.web.url("/file.xml")), {})
    assert len(document.content) == len(body)


def test_a_service_that_refuses_is_quoted(service: Service) -> None:
    body = b'{"error": "Invalid filter", "message": "Unknown filter field: author_name"}'
    service.web.decides("*", lambda _: Answer(400, body=body))
    source = service.open(OpenAlex, filter="author_name:x")
    (document,) = loaded(source, {})
    assert source.read(document).error == "OpenAlex answered with an error: Invalid filter"
    service.web.decides("*", lambda _: Answer(400, body=b"<html>no</html>"))
    with pytest.raises(FetchError, match=r"400 Bad Request$"):
        loaded(service.open(OpenAlex, filter="author_name:x"), {})
