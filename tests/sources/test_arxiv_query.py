"""Asking arXiv's query API, on a local server that counts results as it does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from monitor.sources import arxiv
from monitor.sources.arxiv import Arxiv, ArxivOptions
from tests.servers.web import Answer, Asked
from tests.sources.conftest import Service
from tests.sources.scenario import read
from tests.sources.test_harvest import Reader

NOW = datetime(2025, 6, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arxiv, "PAGE_SIZE", 2)


class Api:
    """`days` are those on which papers 0, 1, 2, ... were submitted."""

    def __init__(self, *days: str) -> None:
        self.days = days
        self.asked: list[dict[str, str]] = []

    def answer(self, request: Asked) -> Answer:
        parts = urlsplit(request.target)
        assert parts.path == "/api/query"
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.asked.append(asked)
        first, last = asked["search_query"].partition("submittedDate:[")[2][:-1].split(" TO ")
        found = [n for n, day in enumerate(self.days) if first[:8] <= day <= last[:8]]
        begin = int(asked["start"])
        part = found[begin : begin + int(asked["max_results"])]
        return Answer(body=page(part, len(found), begin))


def page(numbers: list[int], total: int, begin: int = 0) -> bytes:
    entries = "".join(
        f"<entry><id>http://arxiv.org/abs/2505.{n:05}v1</id><title>Paper {n}</title>"
        f"<published>2025-05-28T09:00:00Z</published><summary>About {n}.</summary></entry>"
        for n in numbers
    )
    return (
        '<feed xmlns="http://www.w3.org/2005/Atom" '
        'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"><title>ArXiv Query</title>'
        f"<opensearch:totalResults>{total}</opensearch:totalResults>"
        f"<opensearch:startIndex>{begin}</opensearch:startIndex>{entries}</feed>"
    ).encode()


def reader(service: Service, overlap_days: int = 1) -> Reader:
    options = ArxivOptions(
        query="all:root AND cat:cs.LG",
        url=service.web.url(""),
        allow_private=True,
        overlap_days=overlap_days,
    )
    return Reader(Arxiv("arxiv", options, service.door, lambda: NOW))


def test_all_pages_of_a_query_are_read_and_the_last_moves_the_state(service: Service) -> None:
    api = Api("20250527", "20250528", "20250528", "20250530", "20250602")
    service.web.decides("*", api.answer)
    found = reader(service)
    assert found.run() == [f"Paper {n}" for n in range(5)] and not found.errors
    assert [asked["start"] for asked in api.asked] == ["0", "2", "4"]
    assert api.asked[0]["search_query"] == (
        "(all:root AND cat:cs.LG) AND submittedDate:[202505260000 TO 202506022359]"
    )
    assert found.state == {"until": NOW.isoformat()}
    longer = reader(service, overlap_days=14)
    longer.state = found.state
    longer.run()
    assert "submittedDate:[202505190000 TO" in api.asked[-1]["search_query"]


def test_no_results_are_a_success(service: Service) -> None:
    service.web.decides("*", Api().answer)
    found = reader(service)
    assert found.run() == [] and not found.errors
    assert found.state == {"until": NOW.isoformat()}


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (page([], 0, 2), "application/atom+xml"),
        (page([], 5, 2), ""),
        (page([2, 3], 5, 2).replace(b"totalResults", b"results"), ""),
        (page([2, 3], 5, 2), "text/html; charset=utf-8"),
        (b"<html>Rate exceeded.</html>", "text/html"),
        (b"Rate exceeded.", "text/plain"),
        (b"", ""),
        (page([2, 3], 5, 2)[:-60], ""),
    ],
)
def test_F01_an_empty_or_false_page_in_the_middle_moves_nothing(
    service: Service, body: bytes, content_type: str
) -> None:
    api = Api(*["20250528"] * 5)
    false = Answer(body=body, headers={"Content-Type": content_type})
    service.web.decides("*", lambda a: false if "start=2" in a.target else api.answer(a))
    found = reader(service)
    found.state = before = {"until": (NOW - DAY).isoformat()}
    found.run()
    assert found.state == before and len(service.web.requests) == 2
    service.web.decides("*", api.answer)
    found.run()
    assert set(found.papers) == {f"Paper {n}" for n in range(5)}
    assert found.state == {"until": NOW.isoformat()}


def test_more_results_than_can_be_asked_for_are_refused(service: Service) -> None:
    service.web.decides("*", lambda _: Answer(body=page([1], 10_001)))
    found = reader(service)
    found.run()
    assert "narrow the query" in found.errors[0] and found.state == {}


@pytest.mark.parametrize(
    ("announce", "day"),
    [
        ("new", datetime(2025, 5, 30, tzinfo=UTC)),
        ("cross", datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)),
        ("replace", datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_what_is_announced_again_is_as_old_as_its_identifier(announce: str, day: datetime) -> None:
    feed = (
        '<rss version="2.0" xmlns:arxiv="http://arxiv.org/schemas/atom"><channel><item>'
        "<title>T</title><guid>oai:arXiv.org:2402.00001v1</guid>"
        f"<arxiv:announce_type>{announce}</arxiv:announce_type>"
        "<pubDate>Fri, 30 May 2025 00:00:00 +0000</pubDate></item></channel></rss>"
    )
    (paper,) = read(Arxiv, feed.encode()).papers
    assert paper.announced == day
