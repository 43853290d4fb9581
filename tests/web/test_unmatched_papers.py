"""A paper that no topic matches is rated and saved on its page, for all of the reader's topics."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from monitor.app import App
from monitor.store.topics import judgements
from tests.house import FOLDING, House
from tests.web.conftest import PROXY, SAME_ORIGIN, closed_pages, public_pages

ADA, BOB, OP = ({"Remote-User": f"{name}@example.org"} for name in ("ada", "bob", "op"))
MATCHED = "/papers/1"
UNMATCHED = "/papers/3"
BUTTON = re.compile(r'<button name="verdict" value="(\w+)"')
LIKE_IT = (
    "A Language Agent for Folding",
    "Symmetric samplers respect the symmetries of a chain. The agent reaches equilibrium.",
)
OTHERS = [
    (f"A Language Agent for {place}", f"An agent looks at {place} for years.")
    for place in ("Harbours", "Glaciers")
]
Site = tuple[App, httpx.Client]


@pytest.fixture
def house(house: House) -> House:
    """Ada has two subscriptions with three topics, Bob one of them."""
    house.settings["topics"] |= {"bees": {"query": "bees"}, "tides": {"query": "tides"}}
    house.by_mail(25, "ada@example.org", "bob@example.org")
    house.settings["subscriptions"] = {
        "lab": {"topics": ["agents", "bees"], "email": ["ada@example.org", "bob@example.org"]},
        "sea": {"topics": ["tides"], "email": "ada@example.org"},
    }
    return house


@pytest.fixture
def site(lived: House) -> Iterator[Site]:
    with public_pages(lived, **PROXY, operators=["op@example.org"]) as served:
        yield served


def post(client: httpx.Client, who: dict[str, str], path: str, verdict: str, name: str) -> int:
    form = {"subscription": name, "verdict": verdict}
    return client.post(f"{path}/rate", data=form, headers=who | SAME_ORIGIN).status_code


def stored(app: App) -> set[tuple[str, str, str]]:
    with app.runtime.database.reading() as tx:
        return {(one.subscription, one.topic, one.verdict) for one in judgements.listing(tx)}


def row(client: httpx.Client, who: dict[str, str], path: str = UNMATCHED) -> str:
    """The form that is not in the menu."""
    shown = client.get(path, headers=who).text
    return re.findall(r'<form method="post" action="/papers/\d+/rate".*?</form>', shown, re.S)[0]


def test_a_reader_rates_and_saves_it_for_all_of_their_topics_and_the_page_says_so(
    site: Site,
) -> None:
    app, client = site
    shown = row(client, ADA)
    assert "For all of your topics, as none matches this paper" in shown
    assert BUTTON.findall(shown) == ["up", "down", "save"]
    topics = {("lab", "agents"), ("lab", "bees"), ("sea", "tides")}
    assert post(client, ADA, UNMATCHED, "up", "") == 303
    assert post(client, ADA, UNMATCHED, "save", "") == 303
    assert stored(app) == {(*one, verdict) for one in topics for verdict in ("wanted", "saved")}
    shown = row(client, ADA)
    assert "as none matches this paper: you want more like this, saved" in shown
    assert BUTTON.findall(shown) == ["down", "none"]
    assert "Symmetric" in client.get("/saved", headers=ADA).text
    post(client, ADA, UNMATCHED, "none", "")
    assert stored(app) == set()


def test_if_a_topic_matches_an_answer_is_for_that_one(site: Site) -> None:
    app, client = site
    assert "For lab" in row(client, ADA, MATCHED)
    post(client, ADA, MATCHED, "up", "")
    assert stored(app) == {("lab", "agents", "wanted")}


def test_a_reader_answers_for_nobody_else(site: Site) -> None:
    app, client = site
    assert post(client, BOB, UNMATCHED, "up", "sea") == 404
    assert post(client, {"Remote-User": "eve@example.org"}, UNMATCHED, "up", "") == 404
    assert stored(app) == set()
    post(client, BOB, UNMATCHED, "down", "")
    assert stored(app) == {("lab", "agents", "unwanted"), ("lab", "bees", "unwanted")}
    assert "you want" not in client.get(UNMATCHED, headers=ADA).text


def test_an_operator_chooses_the_subscription(site: Site) -> None:
    app, client = site
    assert "For all topics of lab, as none matches this paper" in row(client, OP)
    assert '<option value="sea">' in client.get(UNMATCHED, headers=OP).text
    post(client, OP, UNMATCHED, "up", "sea")
    assert stored(app) == {("sea", "tides", "wanted")}
    shown = row(client, OP)
    assert "For all topics of sea, as none matches this paper: you want more like" in shown
    assert BUTTON.findall(shown) == ["down", "save", "none"]


def test_without_a_login_nothing_is_shown_or_stored(lived: House) -> None:
    with closed_pages(lived) as (app, client):
        assert client.get(UNMATCHED).status_code in (303, 401)
        assert post(client, {}, UNMATCHED, "up", "") in (303, 401, 403)
        assert stored(app) == set()


def test_it_teaches_the_order_of_topics_that_do_not_match_it(lived: House) -> None:
    with public_pages(lived, **PROXY) as (_, client):
        post(client, ADA, UNMATCHED, "up", "")
    lived.settings["subscriptions"].pop("sea")
    lived.settings["subscriptions"]["lab"] = {"topics": ["agents"], "channels": ["pages"]}
    lived.settings.pop("smtp")
    lived.settings["channels"] = {"pages": {"kind": "file", "path": "pages/"}}
    lived.next_morning(*OTHERS, LIKE_IT)
    [group] = lived.digest().groups
    assert FOLDING[0] not in {entry.paper.title for entry in group.entries}
    assert group.entries[0].paper.title == LIKE_IT[0]
    assert lived.digest().notes[-1] == "Ordered by 1 paper you marked."
