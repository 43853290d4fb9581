"""Pages, metrics and the API about what services were asked, and the operator's two buttons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from monitor.app import App
from monitor.channels.email.render import VIEW
from monitor.commands.metrics import metrics
from monitor.commands.ratings import rate_any
from monitor.pipeline import look_up
from monitor.pipeline.compose import compose
from monitor.store.digests import digests
from tests.house import FOLDING, House
from tests.servers.look_up import PLANS, look_up_services
from tests.web.conftest import PROXY, SAME_ORIGIN, public_pages

READER, OP = ({"Remote-User": f"{name}@example.org"} for name in ("ada", "op"))
NAMED = {"ada": READER, "op": OP, "bo": {"Remote-User": "bo@example.org"}}
Site = tuple[App, httpx.Client]


@pytest.fixture
def site(lived: House) -> Iterator[Site]:
    lived.by_mail(25, "ada@example.org")
    with look_up_services([PLANS], ["arxiv"]) as services:
        lived.settings["look_up"] = services.settings("arxiv")
        with public_pages(lived, **PROXY, operators=["op@example.org"]) as served:
            yield served


def post(client: httpx.Client, path: str, who: dict[str, str], **form: str) -> int:
    return client.post(path, data=form, headers=who | SAME_ORIGIN).status_code


def test_the_operator_lets_a_paper_be_looked_up_and_takes_it_out(site: Site) -> None:
    app, client = site
    page = client.get("/papers/1", headers=OP).text
    assert "No service was asked about this paper." in page
    assert "sent to arXiv" in page
    assert post(client, "/papers/1/look-up", OP) == 303
    assert "arXiv: to be asked" in client.get("/papers/1", headers=OP).text
    assert look_up.look_up(app.runtime) == 1
    page = client.get("/papers/1", headers=OP).text
    assert "arXiv: authors, affiliations, date, categories, link and arXiv id, by its" in page
    assert "Sand &amp; Sons; Dune Lab" in page
    [paper] = client.get("/api/v1/papers?q=planning", headers=OP).json()["papers"]
    assert paper["filled"][0]["service"] == "arxiv"
    assert post(client, "/papers/1/unfill", OP, service="arxiv") == 303
    page = client.get("/papers/1", headers=OP).text
    assert "taken out by hand" in page
    assert "Ada Lindqvist" not in page and "Dune Lab" not in page


@pytest.mark.parametrize("action", ["look-up", "unfill"])
def test_a_reader_may_not(site: Site, action: str) -> None:
    _, client = site
    assert f"/papers/1/{action}" not in client.get("/papers/1", headers=READER).text
    assert post(client, f"/papers/1/{action}", READER) == 403


def test_status_and_metrics_name_each_service(site: Site) -> None:
    app, client = site
    look_up.ask_about(app.runtime, [1])
    look_up.look_up(app.runtime)
    page = client.get("/status", headers=OP).text
    assert "Looking up" in page and "1 of 2,000" in page
    shown = metrics(app.runtime).decode()
    assert 'paper_monitor_look_ups{result="found",service="arxiv"} 1.0' in shown
    assert 'paper_monitor_look_up_requests{service="arxiv"} 1.0' in shown
    answer = client.get("/api/v1/status", headers=OP).json()["look_up"]
    assert answer["services"][0]["found"] == 1
    assert answer["joined"] == []


def test_without_the_setting_a_page_has_no_button(lived: House) -> None:
    with public_pages(lived, **PROXY, operators=["op@example.org"]) as (_, client):
        assert "Looked up" not in client.get("/papers/1", headers=OP).text
        assert post(client, "/papers/1/look-up", OP) == 409
        assert "look_up" not in client.get("/api/v1/status", headers=OP).json()


@pytest.fixture
def followed(lived: House) -> Iterator[Site]:
    """Pages where Ada saved a preprint of a subscription that Bo has, too, and it was published."""
    lived.by_mail(25, "ada@example.org", "bo@example.org")
    with look_up_services([PLANS], ["arxiv"]) as services:
        lived.settings["look_up"] = services.settings("arxiv")
        with public_pages(lived, **PROXY, operators=["op@example.org"]) as (app, client):
            look_up.ask_about(app.runtime, [1])
            look_up.look_up(app.runtime)
            rate_any(app.runtime, "1", "save", ["lab"], "Ada@example.org")
            services.has([replace(PLANS, doi="10.5555/plans")])
            look_up.look_up(app.runtime)
            compose(app.runtime, early=True)
            yield app, client


def test_who_saved_a_paper_and_the_operator_alone_see_what_became_of_it(followed: Site) -> None:
    app, client = followed
    with app.runtime.database.reading() as tx:
        [newest, *_] = digests.newest(tx, ["lab"], 1)
    bo = NAMED["bo"]
    words = "A preprint that you saved or rated is now published"
    digest = f"/digests/lab/{newest.period}"
    for path, shown in ((digest, words), ("/papers/1", "arXiv: published"), ("/saved", "arXiv: ")):
        seen = {n: shown in client.get(path, headers=h).text for n, h in NAMED.items()}
        assert seen == {"ada": True, "op": True, "bo": False}, path
    for to, is_shown in (("ada@example.org", True), ("bo@example.org", False)):
        token = app.runtime.keys.sign(VIEW, "lab", newest.period, to)
        assert (words in client.get(f"/v/{token}").text) is is_shown
    for form in ("mail", "text"):
        assert words not in client.get(f"{digest}?as={form}", headers=bo).text
    [paper] = client.get("/api/v1/papers/saved", headers=READER).json()["papers"]
    assert [one["changes"] for one in paper["followed"]] == [["published"]]
    assert client.get("/api/v1/papers/saved", headers=bo).json() == {"papers": []}
    page = client.get("/status", headers=OP).text
    assert "1 saved or rated paper is asked about once a month; 1 paper changed." in page


def test_the_page_says_what_speaks_against_an_answer(lived: House) -> None:
    with look_up_services([replace(PLANS, abstract=FOLDING[1])], ["arxiv"]) as services:
        lived.settings["look_up"] = services.settings("arxiv")
        with public_pages(lived, **PROXY, operators=["op@example.org"]) as (app, client):
            look_up.ask_about(app.runtime, [1])
            look_up.look_up(app.runtime)
            for who in (OP, READER):
                page = client.get("/papers/1", headers=who).text
                assert "arXiv: has a paper of this title that is another one (abstracts" in page
