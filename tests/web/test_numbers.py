"""Parameters and numbers in paths: what an address does not take is refused, with what it takes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import httpx
import pytest

from tests.house import House
from tests.web.conftest import SAME_ORIGIN, live, pages

NUMBERS = ("9" * 4301, str(2**63), "٣", "²", "-1", "+1", "1_000", "1.5", "nonsense")
PARAMETERS = (
    "/status?after=",
    "/digests?before=",
    "/digests/lab/2026-11-21?page=",
    "/papers?after=",
    "/topics?after=",
    "/sources?after=",
    "/deliveries?before=",
    "/deliveries?after=",
    "/saved?after=",
    "/api/v1/papers?limit=",
)
QUERIES = ("{} of (agent, language)", '"language agent"~{}')
SEARCHES = ("/papers", "/papers.csv", "/try", "/api/v1/papers", "/api/v1/topics/try")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The pages of one house for all tests: what is refused changes nothing."""
    with pages(live(House(tmp_path_factory.mktemp("numbers")))) as (_, client):
        yield client


def quoted(number: str) -> str:
    return str(httpx.QueryParams({"n": number})).removeprefix("n=")


@pytest.mark.parametrize("path", PARAMETERS)
def test_a_parameter_is_a_small_whole_number(asked: httpx.Client, path: str) -> None:
    name = path.rpartition("?")[2]
    for number in NUMBERS:
        answer = asked.get(path + quoted(number))
        assert answer.status_code == 400
        assert f"{name} needs a whole number of at most 18 digits." in answer.text
    for number in ("", "0", "9" * 18):
        assert asked.get(path + number).status_code in (200, 404)


@pytest.mark.parametrize(
    ("path", "status", "problem"),
    [
        (
            "/papers?from=yesterday",
            400,
            "from= is no parameter of this address, which takes q=, source=, topic=, kind=, "
            "since=, until=, after=.",
        ),
        ("/papers?page=abc", 400, "page= is no parameter of this address"),
        ("/papers.bib?from=yesterday", 400, "from= is no parameter of this address"),
        ("/papers?kind=bogus", 400, "“bogus” is not a kind of news: use new, revised, withdrawn"),
        ("/papers/1?page=2", 400, "page= is no parameter of this address, which takes none."),
        ("/deliveries?state=bogus", 400, "state= is waiting or planned or "),
        ("/deliveries?status=sent", 400, "status= is no parameter of this address"),
        ("/subscriptions?trouble=bogus", 400, "trouble= is any or "),
        ("/subscriptions.csv?trouble=bogus", 400, "trouble= is any or "),
        ("/subscriptions.csv?after=1", 400, "after= is no parameter of this address"),
        ("/digests/lab/{period}?as=pdf", 400, "as= is page or mail or text, not “pdf”."),
        ("/digests/lab/{period}?as=mail&page=abc", 400, "page= needs a whole number"),
        ("/digests/lab/{period}?page=0", 404, "This digest has 1 page."),
        ("/digests?subscription=bogus", 404, "There is no subscription “bogus”."),
        ("/try?part=bogus", 400, "part= is results, not “bogus”."),
        ("/api/v1/digests?after=1", 400, "after= is no parameter of this address"),
        ("/api/v1/status?probe=1", 400, "probe= is no parameter of this address"),
        ("/?day=1", 400, "day= is no parameter of this address, which takes none."),
    ],
)
def test_what_an_address_does_not_take_is_refused_with_what_it_takes(
    asked: httpx.Client, path: str, status: int, problem: str
) -> None:
    [period] = re.findall(r'href="/digests/lab/([^"]+)"', asked.get("/digests").text)
    answer = asked.get(path.format(period=period))
    assert (answer.status_code, problem in html.unescape(answer.text)) == (status, True)


@pytest.mark.parametrize("path", ["/papers?q=&kind=&since=", "/deliveries?state=", "/try?part="])
def test_an_empty_field_of_a_form_is_no_choice(asked: httpx.Client, path: str) -> None:
    assert asked.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/login", "/robots.txt"])
def test_what_needs_no_login_may_have_something_appended(asked: httpx.Client, path: str) -> None:
    """Monitoring and feed readers do that, and programs that open the links of mails."""
    answer = asked.get(f"{path}?_=1")
    assert "parameter" not in answer.text and answer.status_code != 400


def test_the_api_names_the_parameter_in_json(asked: httpx.Client) -> None:
    answer = asked.get("/api/v1/papers?limit=many")
    assert answer.json() == {"error": "limit= needs a whole number of at most 18 digits."}
    assert len(asked.get("/api/v1/papers?limit=1").json()["papers"]) == 1


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_no_row_has_leads_to_no_page(asked: httpx.Client, number: str) -> None:
    for path in (f"/papers/{quoted(number)}", f"/api/v1/explain/{quoted(number)}"):
        assert asked.get(path).status_code == 404
    for path in (f"/deliveries/{quoted(number)}/retry", f"/deliveries/{quoted(number)}/settle"):
        answer = asked.post(path, data={"fate": "sent"}, headers=SAME_ORIGIN)
        assert (answer.status_code, "There is no such page." in answer.text) == (404, True)


@pytest.mark.parametrize("path", SEARCHES)
def test_a_huge_number_in_a_query_is_a_fault_of_the_query(asked: httpx.Client, path: str) -> None:
    for query in QUERIES:
        answer = asked.get(path, params={"q": query.format("9" * 4301)})
        assert answer.status_code == 400
        expected = "can never match" if "of" in query else "~ needs a number up to 100"
        assert expected in answer.text
