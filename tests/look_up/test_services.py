"""What becomes of the answers of each service, true and false ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import pytest

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from monitor.look_up import SERVICES
from monitor.look_up.service import Service
from monitor.look_up.settings import ServiceOptions
from monitor.model import Paper
from monitor.model.look_up import Wanted
from monitor.text import title_key
from tests.http.doors import PUBLIC, Dialler
from tests.look_up.conftest import NOW
from tests.servers.look_up import A_YEAR, Lie, LookUpServices, Work, false_record
from tests.servers.web import Answer, MisbehavingServer

Opened = Callable[..., Service]

SAND = Work(
    "Grains of Sand Move at Night",
    "We watch <grains> of sand & find that most of them move after midnight, when nobody counts.",
    ("Ada Fjord", "Bo Strand"),
    "2025-03-04",
    arxiv="2503.00042",
    doi="10.5555/sand",
    venue="Journal of Quiet Places",
    summary="Sand moves at night.",
    code="https://github.com/example/sand",
    pdf="https://example.org/sand.pdf",
)
NEAR = Work(
    "Grains of Rice Move at Noon", "Rice.", ("Cy Paddy",), arxiv="2503.00043", doi="10.5555/rice"
)
OTHER = Work(
    "Wind over a Lake",
    "Wind makes waves, and waves make foam.",
    ("Di Breeze", "Ed Gale"),
    arxiv="2401.00007",
    doi="10.5555/wind",
)
BY_TITLE = Wanted(7, Paper(SAND.title))
IDENTIFIED = {
    "huggingface": Paper(SAND.title, keys={"arxiv": SAND.arxiv}),
    "arxiv": Paper(SAND.title, keys={"arxiv": SAND.arxiv}),
    "crossref": Paper(SAND.title, keys={"doi": SAND.doi}),
    "semantic-scholar": Paper(SAND.title, keys={"arxiv": SAND.arxiv}),
    "openalex": Paper(SAND.title, keys={"doi": SAND.doi}),
}


def wants(name: str, by: str) -> Wanted:
    return BY_TITLE if by == "title" else Wanted(7, IDENTIFIED[name])


def ask(service: Service, *papers: Wanted) -> tuple[Paper, ...]:
    return tuple(paper for question in service.questions(papers) for paper in service.ask(question))


def lying(lie: Lie, other: Work | None = None) -> Work:
    return replace(SAND, lie=lie, other=other)


each_service = pytest.mark.parametrize("name", SERVICES)
each_way = pytest.mark.parametrize("by", ["title", "identifier"])


@each_service
@each_way
def test_the_record_of_a_paper_is_read(
    name: str, by: str, service: Opened, services: LookUpServices
):
    services.has([OTHER, SAND, NEAR])
    papers = ask(service(name), wants(name, by))
    (paper,) = [paper for paper in papers if title_key(paper.title) == title_key(SAND.title)]
    assert paper.authors == SAND.authors
    assert paper.published
    assert paper.published.date().isoformat() == SAND.day
    assert paper.url
    key = "doi" if name == "crossref" else "arxiv"
    assert paper.identifiers(key) == (getattr(SAND, key),)
    assert not (paper.keys_in_links or paper.keys_in_text)
    assert paper.abstract.startswith("We watch <grains> of sand & find")


@each_service
def test_a_record_of_a_look_up_is_on_no_list_and_announces_nothing(
    name: str, service: Opened, services: LookUpServices
):
    services.has([SAND])
    (paper,) = ask(service(name), BY_TITLE)
    assert (paper.listed, paper.announced, paper.announce) == ((), None, "")


def test_what_else_a_service_knows_comes_with_the_record(service: Opened, services: LookUpServices):
    services.has([SAND])
    records = {name: ask(service(name), BY_TITLE)[0] for name in SERVICES}
    assert records["huggingface"].links == {"code": SAND.code}
    for name, site in (("huggingface", "Hugging Face"), ("semantic-scholar", "Semantic Scholar")):
        note = records[name].site_note
        assert note
        assert (note.site, note.line) == (site, SAND.summary)
        assert note.url
    assert records["arxiv"].identifiers("doi") == (SAND.doi,)
    assert records["openalex"].pdf_url == records["semantic-scholar"].pdf_url == SAND.pdf
    assert records["crossref"].venue == SAND.venue


def test_a_date_without_a_day_is_as_it_is_stored(service: Opened, services: LookUpServices):
    services.has([Work(SAND.title, day="2024-01-01", doi="10.5555/sand")])
    (paper,) = ask(service("openalex"), BY_TITLE)
    assert (paper.published, paper.precision) == (datetime(2024, 12, 31, tzinfo=UTC), "bound")


@each_service
@each_way
def test_a_service_may_have_no_record(
    name: str, by: str, service: Opened, services: LookUpServices
):
    services.has([OTHER])
    papers = ask(service(name), wants(name, by))
    assert SAND.title not in [paper.title for paper in papers]
    assert services.count(name) == 1


@each_service
@each_way
@pytest.mark.parametrize("lie", [lie for lie in Lie if not lie.is_of_a_record])
def test_no_whole_and_valid_answer_is_an_error(
    lie: Lie, name: str, by: str, service: Opened, services: LookUpServices, door: HttpClient
):
    services.has([lying(lie), NEAR])
    asking = service(name)
    if lie is Lie.ENDLESS:  # an hour passes while it answers
        door.monotonic = lambda: monotonic() + 3600 * services.count()
    (question,) = asking.questions([wants(name, by)])
    with pytest.raises(FetchError) as raised:
        asking.ask(question)
    fault = raised.value
    status = {Lie.NOT_FOUND: 404, Lie.BROKEN: 500, Lie.PAUSE: 429}.get(lie, 0)
    assert fault.status == status
    assert (fault.retry_after is not None) == (lie is Lie.PAUSE)
    assert timedelta(0) <= (fault.retry_after or timedelta(0)) < timedelta(seconds=A_YEAR)
    assert services.count() == 1
    if lie is Lie.REDIRECT:
        assert "which may not be asked" in str(fault)
    if lie in (Lie.CLOSED, Lie.TRUNCATED_GZIP):
        assert "is cut off" in str(fault)
    if lie is Lie.ENDLESS:
        assert "did not finish within 30 s" in str(fault)
    if lie is Lie.PACKED:
        assert "is larger than" in str(fault) or "over 100 times its size" in str(fault)


@each_service
@each_way
@pytest.mark.parametrize("lie", [lie for lie in Lie if lie.is_of_a_record])
def test_a_false_record_is_handed_on_as_it_is(
    lie: Lie, name: str, by: str, service: Opened, services: LookUpServices
):
    """The stage decides whose record it is: a service that filtered would hide the lie."""
    work = lying(lie, OTHER)
    services.has([work, NEAR])
    told = false_record(work)
    titles = [title_key(paper.title) for paper in ask(service(name), wants(name, by))]
    assert (title_key(told.title) in titles) if told else (title_key(SAND.title) not in titles)


@pytest.mark.parametrize("name", ["arxiv", "openalex"])
def test_the_answer_about_several_titles_has_the_records_of_all(
    name: str, service: Opened, services: LookUpServices
):
    services.has([SAND, NEAR, OTHER])
    papers = ask(
        service(name), BY_TITLE, Wanted(8, Paper(NEAR.title)), Wanted(9, Paper("Gone " * 5))
    )
    assert {paper.title for paper in papers} == {SAND.title, NEAR.title}
    assert services.count(name) == 1


@each_service
def test_who_asks_is_sent_as_the_service_wants_it(
    name: str, service: Opened, services: LookUpServices
):
    ask(service(name, api_key="secret-key"), BY_TITLE)
    ask(service(name), BY_TITLE)
    with_key, without = services.requests
    header = {
        "huggingface": ("authorization", "Bearer secret-key"),
        "crossref": ("crossref-plus-api-token", "Bearer secret-key"),
        "semantic-scholar": ("x-api-key", "secret-key"),
    }.get(name)
    sent = [value for value in with_key.headers.values() if "secret-key" in value]
    assert sent == ([header[1]] if header else [])
    assert not header or with_key.headers[header[0]] == header[1]
    assert with_key.query.get("api_key") == ("secret-key" if name == "openalex" else None)
    assert without.query.get("mailto") == (
        "ops@example.org" if name in ("openalex", "crossref") else None
    )
    assert "secret-key" not in str(without)


@each_service
def test_a_fault_does_not_name_the_key(name: str, service: Opened, services: LookUpServices):
    services.has([lying(Lie.BROKEN)])
    with pytest.raises(FetchError) as raised:
        ask(service(name, api_key="secret-key"), BY_TITLE)
    assert "secret-key" not in str(raised.value)


@each_service
def test_requests_are_seconds_apart_but_on_a_mirror(name: str, service: Opened):
    """The client keeps it: `monitor/http/host_limits.py`."""
    assert service(name).limits["apart"] == timedelta(0)
    assert service(name, url=None).limits["apart"] == timedelta(seconds=3 if name == "arxiv" else 1)


def test_arxiv_reports_its_errors_as_a_feed(service: Opened, services: LookUpServices):
    feed = (
        b'<feed xmlns="http://www.w3.org/2005/Atom"'
        b' xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
        b"<opensearch:totalResults>1</opensearch:totalResults><entry>"
        b"<id>https://arxiv.org/api/errors#incorrect_id_format_for_x</id><title>Error</title>"
        b"<summary>incorrect id format for x</summary></entry></feed>"
    )
    services.answers_with("arxiv", Answer(body=feed))
    with pytest.raises(FetchError, match="arXiv answered with an error"):
        ask(service("arxiv"), BY_TITLE)


def test_a_feed_of_others_is_no_answer_of_arxiv(service: Opened, services: LookUpServices):
    feed = b'<feed xmlns="http://www.w3.org/2005/Atom"><title>A blog</title></feed>'
    services.answers_with("arxiv", Answer(body=feed))
    with pytest.raises(FetchError, match="it reports no total"):
        ask(service("arxiv"), BY_TITLE)


@pytest.mark.parametrize("count", [0, 1])
def test_arxiv_has_an_entry_of_nothing_for_an_identifier_that_it_does_not_have(
    count: int, service: Opened, services: LookUpServices
):
    feed = (
        '<feed xmlns="http://www.w3.org/2005/Atom"'
        ' xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
        f"<opensearch:totalResults>{count}</opensearch:totalResults>"
        "<entry><link href='https://arxiv.org/abs/2503.00042v1'/></entry></feed>"
    )
    services.answers_with("arxiv", Answer(body=feed.encode()))
    assert ask(service("arxiv"), Wanted(7, IDENTIFIED["arxiv"])) == ()
    with pytest.raises(FetchError):
        ask(service("arxiv"), BY_TITLE)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("openalex", b'{"meta": {"count": 3}, "results": []}'),
        ("crossref", b'{"message": {"total-results": 3, "items": []}}'),
        ("semantic-scholar", b'{"total": 3, "data": []}'),
    ],
)
def test_an_answer_that_announces_records_and_has_none_is_none(
    name: str, body: bytes, service: Opened, services: LookUpServices
):
    services.answers_with(name, Answer(body=body))
    with pytest.raises(FetchError, match="announces 3 records and sends none"):
        ask(service(name), BY_TITLE)


@each_service
@pytest.mark.parametrize("body", [b"", b"[1, 2]", b"null", b"{}", b"\x00" * 99, b"{" * 99_999])
def test_an_answer_of_no_form_is_an_error(
    name: str, body: bytes, service: Opened, services: LookUpServices
):
    services.answers_with(name, Answer(body=body))
    with pytest.raises(FetchError):
        ask(service(name), BY_TITLE)


@each_service
@pytest.mark.parametrize("status", [400, 401, 403, 404, 500, 503])
def test_a_refusal_that_speaks_of_nothing_found_is_a_refusal(
    status: int, name: str, service: Opened, services: LookUpServices
):
    """Only 404 says that there is none, and only in the service's own words."""
    body = b'{"error":"Not found"}' if status != 404 else b"<p>Not found</p>"
    services.answers_with(name, Answer(status, body))
    with pytest.raises(FetchError) as raised:
        ask(service(name), Wanted(7, IDENTIFIED[name]))
    assert raised.value.status == status


@pytest.mark.parametrize("name", SERVICES)
def test_a_server_to_which_a_service_redirects_gets_no_title(
    name: str, door: HttpClient, web: MisbehavingServer
) -> None:
    door.resolve, door.dialler = lambda host, port: [PUBLIC], Dialler(web.port)
    web.decides(
        "*", lambda asked: Answer(302, headers={"Location": f"http://other.example{asked.target}"})
    )
    options = ServiceOptions.model_validate({"url": "http://api.example"})
    with pytest.raises(FetchError, match=r"other\.example, which may not be asked"):
        ask(SERVICES[name](options, door, lambda: NOW), BY_TITLE)
    assert [request.headers["host"] for request in web.requests] == ["api.example"]


def test_arxiv_is_asked_in_turn_with_sources(
    door: HttpClient, web: MisbehavingServer, tmp_path: Path
) -> None:
    slept: list[float] = []
    client = HttpClient(
        version="1",
        gate_dir=tmp_path / "shared",
        wall=lambda: 1_000_000.0,
        sleep=slept.append,
        resolve=lambda host, port: [PUBLIC],
        dialler=Dialler(web.port),
    )
    web.decides("*", lambda asked: Answer(500, b"oops"))
    with pytest.raises(FetchError):
        client.get("http://rss.arxiv.org/atom/cs.LG")  # as a source reads it
    options = ServiceOptions.model_validate({"url": "http://export.arxiv.org"})
    with pytest.raises(FetchError):
        ask(SERVICES["arxiv"](options, client, lambda: NOW), BY_TITLE)
    assert slept == [3.0]
