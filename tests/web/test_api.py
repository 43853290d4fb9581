"""Addresses for programs: the index, and what readers see there of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from monitor.commands.ratings import RaterScope, rate
from monitor.commands.suppressions import suppress
from monitor.web.application import ROUTES
from tests.house import AGENTS, House
from tests.servers.smtp import ScriptedSmtp
from tests.web import attack
from tests.web.attack import served
from tests.web.conftest import PROXY, SAME_ORIGIN, public_pages

ADA = "ada@example.org"
BOB = "bob@example.org"
OP = "op@example.org"


@pytest.fixture
def api(lived: House, smtp: ScriptedSmtp) -> Iterator[httpx.Client]:
    """Pages with digests of `lab` to Ada and Bob, and of `other` to Bob; each saved a paper."""
    lived.by_mail(smtp.port, ADA, BOB)
    lab = lived.settings["subscriptions"]["lab"]
    lived.settings["topics"]["bandits"] = {"query": "bandit", "title": "Bandits"}
    lived.settings["subscriptions"]["lab"] = lab | {"topics": ["agents"]}
    lived.settings["subscriptions"]["other"] = lab | {"topics": ["bandits"], "email": BOB}
    lived.run()
    lived.add("2.txt", ("Agents of Language", "A language that agents may speak."))
    lived.next_morning()
    with public_pages(lived, **PROXY, operators=[OP]) as (app, client):
        rate(app.runtime, "1", "save", RaterScope("lab", who=ADA))
        rate(app.runtime, "2", "save", RaterScope("other", who=BOB))
        yield client


def ask(client: httpx.Client, path: str, who: str) -> Any:
    answer = client.get(f"/api/v1/{path}", headers={"Remote-User": who})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_index_has_each_address_that_its_reader_may_ask(api: httpx.Client) -> None:
    every = {route.path for route in ROUTES if route.path.startswith("/api/v1/")}
    shown = {who: {one["path"] for one in ask(api, "", who)["addresses"]} for who in (ADA, OP)}
    assert shown[OP] == every and shown[ADA] < every
    for path in every:
        status = api.get(path.format(id=1), headers={"Remote-User": ADA}).status_code
        assert (status == 403) == (path not in shown[ADA]), path


def test_a_reader_is_listed_their_own_digests_and_deliveries(api: httpx.Client) -> None:
    def digests(who: str, query: str = "") -> list[tuple[str, list[str]]]:
        listed = ask(api, f"digests{query}", who)["digests"]
        return [(d["subscription"], [to["recipient"] for to in d["deliveries"]]) for d in listed]

    own = [subscription for subscription, _ in digests(OP) if subscription == "lab"]
    assert {name for name, _ in digests(OP)} == {"lab", "other"}
    assert [name for name, _ in digests(ADA)] == own
    assert {to for _, sent in digests(ADA) for to in sent} == {ADA}
    assert ADA in {to for _, sent in digests(OP, "?subscription=lab") for to in sent}
    refused = api.get("/api/v1/digests?subscription=other", headers={"Remote-User": ADA})
    assert refused.status_code == 404
    newest, *older = ask(api, "digests", OP)["digests"]
    assert ask(api, f"digests?before={newest['id']}&limit=1", OP)["digests"] == older[:1]


def test_a_reader_is_listed_their_own_subscriptions_without_other_recipients(
    api: httpx.Client,
) -> None:
    def subscriptions(who: str, query: str = "") -> dict[str, Any]:
        listed = ask(api, f"subscriptions{query}", who)["subscriptions"]
        return {subscription["name"]: subscription for subscription in listed}

    sender = {"Remote-User": BOB}
    stop = {"subscription": "lab", "wish": "stop"}
    assert api.post("/me", data=stop, headers=sender | SAME_ORIGIN).status_code == 303
    every = subscriptions(OP)
    own = subscriptions(ADA)
    assert own.keys() == {"lab"} and every.keys() == {"lab", "other"}
    assert own["lab"]["recipients"] == [ADA] and own["lab"]["stopped"] == []
    assert every["lab"]["recipients"] == [ADA, BOB]
    assert BOB not in json.dumps(own)
    assert [row["recipient"] for row in subscriptions(BOB)["lab"]["stopped"]] == [BOB]
    assert subscriptions(OP, f"?who={BOB}").keys() == {"lab", "other"}
    assert subscriptions(OP, "?limit=1&after=1").keys() == {"other"}
    assert subscriptions(ADA, f"?who={ADA}") == subscriptions(ADA, "?who=lab") == own
    for who in ("other", BOB, "none"):
        path = f"/api/v1/subscriptions?who={who}"
        assert api.get(path, headers={"Remote-User": ADA}).status_code == 404


def test_topics_count_the_subscriptions_that_their_reader_may_see(api: httpx.Client) -> None:
    def counts(who: str, query: str = "") -> dict[str, int]:
        topics = ask(api, f"topics{query}", who)["topics"]
        return {topic["name"]: topic["subscriptions"] for topic in topics}

    assert counts(OP) == {"agents": 1, "bandits": 1}
    assert counts(ADA) == {"agents": 1, "bandits": 0}
    assert counts(OP, "?after=1").keys() == {"bandits"}


def test_a_reader_is_listed_the_papers_that_they_saved(api: httpx.Client) -> None:
    def titles(who: str, query: str = "") -> list[str]:
        return [paper["title"] for paper in ask(api, f"papers/saved{query}", who)["papers"]]

    def savers(who: str) -> list[str]:
        return [
            save["who"]
            for paper in ask(api, "papers/saved", who)["papers"]
            for save in paper["saved"]
        ]

    assert titles(ADA) == titles(OP, "?subscription=lab") == [AGENTS[0]]
    assert (savers(ADA), len(savers(OP))) == ([ADA], 2)
    assert len(titles(OP)) == 2
    refused = api.get("/api/v1/papers/saved?subscription=other", headers={"Remote-User": ADA})
    assert refused.status_code == 404 and "lab" not in refused.text


def test_sources_are_those_of_the_status(api: httpx.Client) -> None:
    [source] = ask(api, "sources", OP)["sources"]
    [same] = ask(api, "status", OP)["sources"]
    assert source.keys() == same.keys() and source["name"] == "page"


def test_the_openapi_document_is_valid_and_has_what_its_reader_may_ask(api: httpx.Client) -> None:
    for who in (ADA, OP):
        described = ask(api, "openapi.json", who)
        assert described["paths"].keys() == {one["path"] for one in ask(api, "", who)["addresses"]}
        operations = [each["get"]["operationId"] for each in described["paths"].values()]
        assert len(set(operations)) == len(operations)
        takes = {
            path: {parameter["name"] for parameter in each["get"]["parameters"]}
            for path, each in described["paths"].items()
        }
        assert takes["/api/v1/digests"] == {"subscription", "limit", "before"}
        for path, names in takes.items():  # an address refuses all other parameters
            query = {name: "agent" if name == "q" else "" for name in names - {"id"}}
            address = path.format(id=1)
            headers = {"Remote-User": who}
            assert api.get(address, params=query, headers=headers).status_code != 400, path


def test_the_openapi_document_is_valid(api: httpx.Client) -> None:
    why = "THE OPENAPI DOCUMENT IS NOT CHECKED: openapi-spec-validator is not installed"
    validator = pytest.importorskip("openapi_spec_validator", reason=why)
    for who in (ADA, OP):
        validator.OpenAPIV31SpecValidator(ask(api, "openapi.json", who)).validate()


def test_each_answer_is_what_the_openapi_document_says(tmp_path: Path) -> None:
    """With libraries, a refused delivery, an outage and somebody who gets nothing."""
    queries = {"/api/v1/topics/try": "?q=agent", "/api/v1/papers": "?q=language"}
    with served(tmp_path, is_public=True) as site:
        rate(site.app.runtime, "1", "save", RaterScope("lab", who=attack.BOB))
        suppress(site.app.runtime, attack.BOB, "lab")
        described = {}
        for who in (attack.BOB, attack.ADA):
            headers = site.proxied(who)
            described = json.loads(site.ask("GET", "/api/v1/openapi.json", headers).text)["paths"]
            for path, operation in described.items():
                content = operation["get"]["responses"]["200"]["content"]
                answer = site.ask("GET", path.format(id=1) + queries.get(path, ""), headers)
                value = json.loads(answer.text)
                Draft202012Validator(content["application/json"]["schema"]).validate(value)
                assert any(value.values()), path
        assert len(described) > 10
