"""Asking arXiv and repositories for what is new, on a local server that replays their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

import pytest

from monitor.errors import MonitorError
from monitor.sources import arxiv as arxiv_kind
from monitor.sources.arxiv import Arxiv, ArxivOptions, is_gap, sets
from monitor.sources.base import Source
from monitor.sources.oai.source import Oai
from tests.servers.web import Answer, Asked
from tests.sources.conftest import Service
from tests.sources.scenario import read
from tests.sources.test_oai import oai as oai_pmh

MONDAY = datetime(2025, 6, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)


# ── a repository, and one who asks it every day ─────────────────────────────────────


@dataclass
class Shelf:
    """What a server knows: papers by the day they were announced, on pages of two."""

    papers: dict[date, list[int]] = field(default_factory=dict)
    now: datetime = MONDAY
    asked: list[dict[str, str]] = field(default_factory=list)
    token: Callable[[int, str], str] = lambda page, _: f"t{page}"
    size: int = 2

    def oai(self, request: Asked) -> Answer:
        self.asked.append(request.query)
        return Answer(body=self.answer(request.query))

    def answer(self, query: dict[str, str]) -> bytes:
        if "resumptionToken" in query:
            number = int(query["resumptionToken"].lstrip("t"))
        else:
            self.since = query["from"]
            number = 0
            self.until = query.get("until", "9999")
        until = min(self.until, f"{self.now.date()}")
        days = sorted(day for day in self.papers if self.since <= f"{day}" <= until)
        found = [paper for day in days for paper in self.papers[day]]
        part = found[number * self.size :][: self.size]
        if not part:
            return envelope('<error code="noRecordsMatch"/>', self.now)
        more = len(found) > (number + 1) * self.size
        token = self.token(number + 1, query.get("resumptionToken", "")) if more else ""
        return envelope(listed(part, token), self.now)

    def rss(self, _: Asked) -> Answer:
        """The feed of the latest publishing day, which is empty at weekends."""
        today = self.now.date()
        items = "".join(
            f"<item><title>Paper {n}</title><guid>oai:arXiv.org:2505.{n:05}v1</guid></item>"
            for n in self.papers.get(today, [])
        )
        return Answer(body=feed(today, items).encode())


def envelope(inside: str, at: datetime) -> bytes:
    return oai_pmh(f"<responseDate>{at:%Y-%m-%dT%H:%M:%SZ}</responseDate>{inside}")


def listed(papers: Sequence[int], token: str) -> str:
    records = "".join(
        f"<record><header><identifier>oai:arXiv.org:2505.{n:05}</identifier></header><metadata>"
        f'<arXivRaw xmlns="http://arxiv.org/OAI/arXivRaw/"><id>2505.{n:05}</id>'
        f'<version version="v1"><date>Wed, 28 May 2025 09:00:00 GMT</date></version>'
        f"<title>Paper {n}</title></arXivRaw></metadata></record>"
        for n in papers
    )
    return f"<ListRecords>{records}<resumptionToken>{token}</resumptionToken></ListRecords>"


def feed(day: date, items: str = "") -> str:
    head = f"<title>cs.LG updates</title><pubDate>{day:%a, %d %b %Y} 00:00:00 -0400</pubDate>"
    return f'<rss version="2.0"><channel>{head}{items}</channel></rss>'


@dataclass
class Reader:
    """Ingests as the pipeline does: the state moves with whole readings only."""

    source: Source
    state: dict[str, str] = field(default_factory=dict)
    papers: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def run(self) -> list[str]:
        """Return the papers of one run."""
        found = []
        self.errors = []
        documents = self.source.find(dict(self.state))
        while True:
            try:
                document = next(documents).load()
            except StopIteration:
                break
            except MonitorError as fault:
                self.errors.append(str(fault))
                continue
            if document is None:
                continue
            reading = self.source.read(document)
            found += [paper.title for paper in reading.papers]
            if reading.error:
                self.errors.append(reading.error)
            if document.complete and reading.complete and not reading.error:
                self.state = dict(document.validators)
        self.papers += found
        return found


def arxiv(shelf: Shelf, service: Service) -> Reader:
    service.web.decides("/rss/cs.LG", shelf.rss)
    service.web.decides("*", shelf.oai)
    options = ArxivOptions(categories=("cs.LG",), url=service.web.url(""), allow_private=True)
    return Reader(Arxiv("arxiv", options, service.door, lambda: shelf.now))


def oai(shelf: Shelf, service: Service, **options: object) -> Reader:
    service.web.decides("*", shelf.oai)
    settings = {"url": service.web.url("/oai"), "allow_private": True, "overlap_days": 1} | options
    options = Oai.Options.model_validate(settings)
    return Reader(Oai("oai", options, service.door, lambda: shelf.now))


def numbered(first: int, last: int) -> list[str]:
    return [f"Paper {n}" for n in range(first, last + 1)]


def month(after: int = 0) -> Shelf:
    """Three papers each day from Monday to Friday, numbered on, in four weeks from 2 June.

    The shelf is asked so many days `after` its first.
    """
    days = [date(2025, 6, 2) + DAY * n for n in range(26)]
    working = [day for day in days if day.weekday() < 5]
    papers = {day: [3 * n + k for k in range(3)] for n, day in enumerate(working)}
    return Shelf(papers, MONDAY + after * DAY)


# ── arXiv ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def followed(service: Service) -> tuple[Shelf, Reader]:
    """Return arXiv and a reader that read the feed of its first day."""
    shelf = month()
    reader = arxiv(shelf, service)
    reader.run()
    shelf.asked.clear()
    return shelf, reader


def test_F11_a_daily_reader_needs_the_feed_alone(followed: tuple[Shelf, Reader]) -> None:
    shelf, reader = followed
    for _ in range(11):  # over two weekends
        shelf.now += DAY
        reader.run()
    assert shelf.asked == [] and reader.errors == []
    assert set(reader.papers) == set(numbered(0, 29))


def test_seven_days_down_then_the_gap_is_filled(followed: tuple[Shelf, Reader]) -> None:
    shelf, reader = followed
    shelf.now += 8 * DAY
    reader.run()
    assert set(reader.papers) == set(numbered(0, 20))
    assert shelf.asked[-1]["verb"] == "ListRecords"
    assert {asked["set"] for asked in shelf.asked if "set" in asked} == {"cs:cs:LG"}
    assert reader.state == {"day": "2025-06-10", "until": shelf.now.isoformat()}
    shelf.asked.clear()
    assert reader.run() == numbered(18, 20) and shelf.asked == []


@pytest.mark.parametrize("status", [200, 500])
def test_oai_stands_in_for_a_feed_that_is_down_or_stays_the_same(
    service: Service, followed: tuple[Shelf, Reader], status: int
) -> None:
    shelf, reader = followed
    service.web.answers("/rss/cs.LG", status=status, body=feed(date(2025, 6, 2)).encode())
    shelf.now += 2 * DAY
    found = reader.run()
    assert set(found) >= set(numbered(3, 8))
    assert ["500" in error for error in reader.errors] == [True] * (status == 500)
    shelf.asked.clear()
    shelf.now += timedelta(hours=1)
    assert reader.run() == [] and shelf.asked == []


def test_a_failing_archive_leaves_the_gap_open(
    service: Service, followed: tuple[Shelf, Reader]
) -> None:
    shelf, reader = followed
    before = dict(reader.state)
    service.web.decides("*", lambda _: Answer(503, headers={"Retry-After": "120"}))
    shelf.now += 3 * DAY
    assert reader.run() == numbered(9, 11)  # of the feed
    assert "503" in reader.errors[0] and reader.state == before
    service.web.decides("*", shelf.oai)
    assert set(reader.run()) >= set(numbered(3, 11)) and not reader.errors


def test_an_unchanged_feed_is_no_gap(service: Service, followed: tuple[Shelf, Reader]) -> None:
    shelf, reader = followed
    reader.state["etag"] = '"1"'
    service.web.answers("/rss/cs.LG", status=304)
    assert reader.run() == [] and shelf.asked == [] and not reader.errors


@pytest.mark.parametrize(
    ("state", "day", "gap"),
    [
        ({}, "2025-06-02", True),
        ({"until": "2025-06-02T10:00:00Z", "day": "2025-06-02"}, "2025-06-02", False),
        ({"until": "2025-05-30T10:00:00Z", "day": "2025-05-30"}, "2025-06-02", False),
        ({"until": "2025-05-29T10:00:00Z", "day": "2025-05-29"}, "2025-06-02", True),
        ({"until": "2025-06-02T10:00:00Z", "day": "2025-05-29"}, "2025-06-02", True),
        ({"until": "2025-06-01T13:00:00Z", "day": "2025-05-30"}, None, False),
        ({"until": "2025-06-01T11:00:00Z", "day": "2025-05-30"}, None, True),
        ({"until": "2025-05-30T10:00:00Z", "day": "2025-05-29"}, "2025-05-29", True),
    ],
)
def test_when_a_gap_is_one(state: dict[str, str], day: str | None, gap: bool) -> None:
    assert is_gap(state, date.fromisoformat(day) if day else None, MONDAY) is gap


def test_categories_are_sets() -> None:
    categories = ("cs.LG", "hep-th", "cond-mat.str-el", "q-bio.NC", "math", "physics.ao-ph")
    assert sets(categories) == (
        "cs:cs:LG",
        "physics:hep-th",
        "physics:cond-mat:str-el",
        "q-bio:q-bio:NC",
        "math:math",
        "physics:physics:ao-ph",
    )


# ── repositories ────────────────────────────────────────────────────────────────────


def test_pages_follow_their_tokens_and_the_last_moves_the_state(service: Service) -> None:
    shelf = month(after=4)
    reader = oai(shelf, service)
    assert set(reader.run()) == set(numbered(0, 14))
    assert reader.state == {"until": shelf.now.isoformat()}
    first, *others = shelf.asked
    assert first == {"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "2025-05-30"}
    assert all(set(asked) == {"verb", "resumptionToken"} for asked in others)


@pytest.mark.parametrize(("days", "until"), [(-0.5, MONDAY - DAY / 2), (400, MONDAY + DAY)])
def test_the_state_is_the_repository_s_time_and_never_far_ahead(
    service: Service, days: float, until: datetime
) -> None:
    reader = oai(Shelf(), service)
    service.web.answers("*", body=envelope("<ListRecords/>", MONDAY + days * DAY))
    reader.run()
    assert reader.state == {"until": until.isoformat()}


@pytest.mark.parametrize("status", [200, 400, 404, 410, 422, 500])
def test_F09_a_token_that_expired_begins_the_list_again(service: Service, status: int) -> None:
    """From the committed `from`, not from where the token was: the list may have changed."""
    shelf = month(after=4)
    expired = iter([True])

    def answers(asked: Asked) -> Answer:
        if "resumptionToken=t2" in asked.target and next(expired, False):
            error = '<error code="badResumptionToken">expired</error>'
            return Answer(status, body=envelope(error, shelf.now))
        return shelf.oai(asked)

    reader = oai(shelf, service)
    service.web.decides("*", answers)
    assert set(reader.run()) == set(numbered(0, 14)) and not reader.errors
    assert [asked["from"] for asked in shelf.asked if "from" in asked] == ["2025-05-30"] * 2
    assert reader.state == {"until": shelf.now.isoformat()}


@pytest.mark.parametrize("status", [200, 400, 403, 500])
def test_an_error_of_the_protocol_is_reported_whatever_its_status(
    service: Service, status: int
) -> None:
    reader = oai(Shelf(), service)
    reader.state = before = {"until": (MONDAY - DAY).isoformat()}
    error = envelope('<error code="badArgument">no such set</error>', MONDAY)
    service.web.decides("*", lambda _: Answer(status, body=error))
    assert reader.run() == [] and reader.state == before
    assert reader.errors == ["the repository answered badArgument: no such set"]
    none = envelope('<error code="noRecordsMatch"/>', MONDAY)
    service.web.decides("*", lambda _: Answer(status, body=none))
    assert reader.run() == [] and not reader.errors
    assert reader.state == {"until": MONDAY.isoformat()}


def test_a_page_of_html_with_a_status_that_refuses_is_no_answer(service: Service) -> None:
    reader = oai(Shelf(), service)
    service.web.decides("*", lambda _: Answer(502, body=b"<html>no <error code=502></html>"))
    assert reader.run() == [] and "answered 502 Bad Gateway" in reader.errors[0]


@pytest.mark.parametrize("address", ["/oai?context=thesis", "/index.php?page=oai", "/oai/request/"])
def test_a_base_address_is_asked_as_it_is_written(service: Service, address: str) -> None:
    shelf = month(after=4)
    reader = oai(shelf, service, url=service.web.url(address))
    assert set(reader.run()) == set(numbered(0, 14)) and not reader.errors
    mark = "&" if "?" in address else "?"
    begun = f"{address}{mark}verb=ListRecords&"
    assert all(asked.target.startswith(begun) for asked in service.web.requests)
    assert len(service.web.requests) > 2


def test_F09_tokens_that_always_expire_are_a_failure(service: Service) -> None:
    shelf = month(after=4)
    error = envelope('<error code="badResumptionToken"/>', shelf.now)
    reader = oai(shelf, service)
    service.web.decides("*", lambda a: Answer(body=error) if "Token" in a.target else shelf.oai(a))
    reader.run()
    assert "rejected its own resumption token" in reader.errors[0]
    assert not reader.state and len(service.web.requests) < 6


@pytest.mark.parametrize(
    ("body", "missing"),  # bytes that the transfer lacks
    [
        (b"", 0),
        (b"<html>Rate exceeded</html>", 0),
        (envelope('<error code="badArgument">no</error>', MONDAY), 0),
        (envelope(listed([1, 2], ""), MONDAY)[:-30], 0),
        (envelope(listed([1, 2], ""), MONDAY), 9),
    ],
)
def test_F01_F02_an_answer_that_is_none_or_is_cut_moves_nothing(
    service: Service, body: bytes, missing: int
) -> None:
    reader = oai(Shelf(), service)
    reader.state = before = {"until": (MONDAY - DAY).isoformat()}
    length = len(body) + missing if missing else None
    service.web.decides("*", lambda _: Answer(body=body, length=length))
    reader.run()
    assert reader.state == before and len(service.web.requests) == 1
    documents = [document for one in reader.source.find(before) if (document := one.load())]
    assert [document.validators for document in documents] == [before]  # whoever reads it


@pytest.mark.parametrize(("overlap", "read"), [(1, 0), (7, 11)])
def test_a_piece_of_too_many_pages_is_cut_in_two_across_restarts(
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    overlap: int,
    read: int,
) -> None:
    """In the middle of a quiet month a day comes on which half of the repository was touched."""
    monkeypatch.setattr(Oai, "max_pages", 12)
    monkeypatch.setattr(Oai, "enough_pages", 4)
    shelf = month(after=26)
    shelf.papers[date(2025, 6, 12)] = list(range(100, 118))
    reader = oai(shelf, service, overlap_days=overlap)
    lengths = []
    before = (MONDAY + read * DAY).isoformat()
    reader.state = {"until": before}
    for _ in range(20):
        reader.run()
        assert not reader.errors and reader.state["until"] >= before
        before = reader.state["until"]
        lengths.append(reader.state.get("days"))
        if shelf.now.isoformat() == reader.state["until"]:
            break
        again = oai(shelf, service, overlap_days=overlap)
        reader = replace(reader, source=again.source)  # a restart
    since = (MONDAY + (read - overlap) * DAY).date()
    expected = {f"Paper {n}" for day, new in shelf.papers.items() if day >= since for n in new}
    assert set(reader.papers) == expected and reader.state == {"until": shelf.now.isoformat()}
    assert len(lengths) > 2 and lengths[-1] is None
    assert len(service.web.requests) < 12 * len(lengths) + len(expected)


def test_a_day_of_too_many_pages_is_reported_and_moves_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Oai, "max_pages", 5)
    shelf = Shelf({date(2025, 6, 2): list(range(40))}, now=MONDAY + DAY / 2)
    reader = oai(shelf, service)
    reader.state = before = {"until": MONDAY.isoformat()}
    reader.run()
    assert "has more than 5 pages between" in reader.errors[0]
    assert reader.state == before and len(service.web.requests) == 5


# ── arXiv's query API ───────────────────────────────────────────────────────────────


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arxiv_kind, "PAGE_SIZE", 2)


class Api:
    """`days` are those on which papers 0, 1, 2, ... were submitted."""

    def __init__(self, *days: str) -> None:
        self.days = days
        self.asked: list[dict[str, str]] = []

    def answer(self, request: Asked) -> Answer:
        assert request.target.startswith("/api/query?")
        asked = request.query
        self.asked.append(asked)
        first, last = asked["search_query"].partition("submittedDate:[")[2][:-1].split(" TO ")
        found = [n for n, day in enumerate(self.days) if first[:8] <= day <= last[:8]]
        begin = int(asked["start"])
        part = found[begin : begin + int(asked["max_results"])]
        return Answer(body=results(part, len(found), begin))


def results(numbers: list[int], total: int, begin: int = 0) -> bytes:
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


def querying(service: Service, overlap_days: int = 1) -> Reader:
    options = ArxivOptions(
        query="all:root AND cat:cs.LG",
        url=service.web.url(""),
        allow_private=True,
        overlap_days=overlap_days,
    )
    return Reader(Arxiv("arxiv", options, service.door, lambda: MONDAY))


def test_all_pages_of_a_query_are_read_and_the_last_moves_the_state(service: Service) -> None:
    api = Api("20250527", "20250528", "20250528", "20250530", "20250602")
    service.web.decides("*", api.answer)
    found = querying(service)
    assert found.run() == [f"Paper {n}" for n in range(5)] and not found.errors
    assert [asked["start"] for asked in api.asked] == ["0", "2", "4"]
    assert api.asked[0]["search_query"] == (
        "(all:root AND cat:cs.LG) AND submittedDate:[202505260000 TO 202506022359]"
    )
    assert found.state == {"until": MONDAY.isoformat()}
    longer = querying(service, overlap_days=14)
    longer.state = found.state
    longer.run()
    assert "submittedDate:[202505190000 TO" in api.asked[-1]["search_query"]
    api.days = ()
    found.state = {}
    assert found.run() == [] and not found.errors
    assert found.state == {"until": MONDAY.isoformat()}


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (results([], 0, 2), "application/atom+xml"),
        (results([], 5, 2), ""),
        (results([2, 3], 5, 2).replace(b"totalResults", b"results"), ""),
        (results([2, 3], 5, 2), "text/html; charset=utf-8"),
        (b"Rate exceeded.", "text/plain"),
        (results([2, 3], 5, 2)[:-60], ""),
    ],
)
def test_F01_an_empty_or_false_page_in_the_middle_moves_nothing(
    service: Service, body: bytes, content_type: str
) -> None:
    api = Api(*["20250528"] * 5)
    false = Answer(body=body, headers={"Content-Type": content_type})
    service.web.decides("*", lambda a: false if "start=2" in a.target else api.answer(a))
    found = querying(service)
    found.state = before = {"until": (MONDAY - DAY).isoformat()}
    found.run()
    assert found.state == before and len(service.web.requests) == 2
    service.web.decides("*", api.answer)
    found.run()
    assert set(found.papers) == {f"Paper {n}" for n in range(5)}
    assert found.state == {"until": MONDAY.isoformat()}


def test_more_results_than_can_be_asked_for_are_refused(service: Service) -> None:
    service.web.decides("*", lambda _: Answer(body=results([1], 10_001)))
    found = querying(service)
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
