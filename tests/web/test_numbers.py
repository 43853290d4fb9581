"""Numbers in paths and parameters: small whole ones are read, others are refused."""

from __future__ import annotations

import httpx
import pytest

from tests.web.conftest import SAME_ORIGIN

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
