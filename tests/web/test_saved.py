"""Saved papers: who saved them and when, what is removed by whom, and their feeds."""

from __future__ import annotations

import re
from collections.abc import Iterator

import feedparser
import httpx
import pytest

from monitor.app import App
from monitor.commands.ratings import RaterScope, rate
from monitor.store.topics import judgements
from tests.house import AGENTS, BANDITS, House
from tests.web.conftest import PROXY, SAME_ORIGIN, public_pages
from tests.web.test_exports import feed_of, titles

ADA, BOB, OP = ({"Remote-User": f"{name}@example.org"} for name in ("ada", "bob", "op"))
LISTED = re.compile(r'<span class="soft">Saved([^<]*)</span>')
Site = tuple[App, httpx.Client]


@pytest.fixture
def site(lived: House) -> Iterator[Site]:
    """Pages where Ada saved a paper of two topics and rated it; later, Bob saved two."""
    lived.settings["topics"]["bandits"] = {"query": "bandit", "title": "Bandits"}
    lived.settings["topics"]["tongues"] = {"query": "language"}
    lived.settings["subscriptions"]["lab"]["title"] = "The lab"
    lived.by_mail(25, "ada@example.org", "bob@example.org")
    lived.run()
    with public_pages(lived, **PROXY, operators=["op@example.org"]) as (app, client):
        ada = RaterScope("lab", who="Ada@example.org")
        bob = RaterScope("lab", who="bob@example.org")
        rate(app.runtime, "1", "save", ada)
        rate(app.runtime, "1", "up", ada)
        lived.clock.move(hours=1)
        rate(app.runtime, "1", "save", bob)
        rate(app.runtime, "2", "save", bob)
        yield app, client


def saved(app: App) -> set[tuple[int, str, str]]:
    with app.runtime.database.reading() as tx:
        return {(one.paper_id, one.who[:3].lower(), one.verdict) for one in judgements.listing(tx)}


def remove(client: httpx.Client, sender: dict[str, str], **fields: str) -> httpx.Response:
    return client.post("/saved/remove", data=fields, headers=sender | SAME_ORIGIN)


def test_each_reader_sees_what_they_saved_and_when_and_the_operator_by_whom(site: Site) -> None:
    _, client = site
    shown = {
        name: LISTED.findall(client.get("/saved", headers=sender).text)
        for name, sender in {"ada": ADA, "bob": BOB, "op": OP}.items()
    }
    [own] = shown["ada"]
    assert own.startswith(" for The lab, Sun 22 Nov 2026") and "Ada" not in own
    assert len(shown["bob"]) == 2
    assert sorted(text.split(" for ")[0] for text in shown["op"]) == [
        " by Ada@example.org",
        " by bob@example.org",
        " by bob@example.org",
    ]


def test_a_reader_removes_only_what_they_saved_and_the_operator_also_others(site: Site) -> None:
    app, client = site
    everything = saved(app)
    stranger = {"Remote-User": "eve@example.org"}
    for who in ("ada@example.org", "bob@example.org", ""):
        remove(client, stranger, paper="1", subscription="lab", who=who)
    remove(client, ADA, paper="2", subscription="lab", who="bob@example.org")
    assert saved(app) == everything
    answer = remove(client, ADA, paper="1", subscription="lab", who="bob@example.org", after="20")
    assert answer.headers["location"] == "/saved?after=20"
    assert everything - saved(app) == {(1, "ada", "saved")}
    assert remove(client, ADA, paper="1", subscription="lab").status_code == 303
    assert "Nothing has been saved yet" in client.get("/saved", headers=ADA).text
    remove(client, OP, paper="2", subscription="lab", who="bob@example.org")
    assert saved(app) == {(1, "ada", "wanted"), (1, "bob", "saved")}
    assert remove(client, OP, paper="x").status_code == 409
    assert client.post("/saved/remove", data={"paper": "1"}, headers=ADA).status_code == 403


def test_the_feed_of_what_a_person_saved_opens_nothing_else(site: Site) -> None:
    _, client = site
    ada, bob, op = (feed_of(client, "/saved", sender) for sender in (ADA, BOB, OP))
    assert titles(client.get(ada)) == [AGENTS[0]]
    assert titles(client.get(bob)) == titles(client.get(op)) == [BANDITS[0], AGENTS[0]]
    read, other = (feedparser.parse(client.get(path).content) for path in (ada, bob))
    assert read.entries[0].updated == read.feed.updated < other.feed.updated
    assert "ada" not in read.feed.id.lower() and "Ada" not in ada
    assert ada == feed_of(client, "/saved", {"Remote-User": "ADA@example.org"})
    token = ada.partition("?")[2]
    for path in ("saved.atom", "search.atom", f"search.atom?{token}"):
        assert client.get(f"/feed/papers/{path}").status_code == 403
    assert titles(client.get("/feed/papers/saved.atom", headers=ADA)) == [AGENTS[0]]
