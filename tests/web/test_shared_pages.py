"""Pages that many ask for at once are made once, as the store is now, for those who may see it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import pytest

from monitor.app import App
from monitor.store.engine import processes
from monitor.web.pages import today
from monitor.web.shared_pages import KEPT
from tests.house import House
from tests.servers.smtp import ScriptedSmtp
from tests.web.conftest import PROXY, SAME_ORIGIN, TOKEN, pages, public_pages

ADA = "ada@example.org"
BOB = "bob@example.org"
OP = "op@example.org"
MANY = 20


class Made:
    """How often the page `/` was made; it is held up until `release` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        self.fails = False
        self.begun, self.release = threading.Event(), threading.Event()
        self.release.set()
        show_papers = today.show_papers

        def count(*args: object) -> object:
            self.times += 1
            self.begun.set()
            assert self.release.wait(60)
            if self.fails:
                raise ValueError("broken")
            return show_papers(*args)

        monkeypatch.setattr(today, "show_papers", count)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(monkeypatch)


def commit(app: App) -> None:
    """Write something that no page shows."""
    with app.runtime.database.writing() as tx:
        processes.beat(tx, "elsewhere", datetime.now(UTC))


def by(address: str) -> dict[str, str]:
    return {"Remote-User": address}


def test_many_who_ask_at_once_have_one_page_made_and_each_a_whole_answer(lived: House, made: Made):
    plain = {"Accept-Encoding": "identity"}
    packed = {"Sec-Fetch-Site": "none"}
    with pages(lived) as (_, client), ThreadPoolExecutor(MANY) as visitors:
        made.release.clear()
        asked = [visitors.submit(client.get, "/", headers=plain) for _ in range(MANY // 2)]
        asked += [visitors.submit(client.get, "/", headers=packed) for _ in range(MANY // 2)]
        assert made.begun.wait(60)
        made.release.set()
        answers = [answer.result() for answer in asked]
        assert made.times == 1
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == 1
        encodings = [answer.headers.get("content-encoding") for answer in answers]
        assert encodings == [None] * (MANY // 2) + ["gzip"] * (MANY // 2)
        assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}
        assert client.head("/").headers["content-length"] == answers[0].headers["content-length"]


def test_a_page_is_kept_until_the_store_changes_and_for_some_seconds(lived: House, made: Made):
    with pages(lived) as (app, client):
        for _ in range(3):
            client.get("/")
        assert made.times == 1
        commit(app)
        client.get("/")
        assert made.times == 2
        lived.clock.move(seconds=KEPT.total_seconds())
        client.get("/")
        assert made.times == 2
        lived.clock.move(seconds=1)
        client.get("/")
        assert made.times == 3


def test_a_page_that_failed_is_not_kept(lived: House, made: Made):
    with pages(lived) as (_, client):
        made.fails = True
        assert [client.get("/").status_code for _ in range(2)] == [500, 500]
        made.fails = False
        assert client.get("/").status_code == 200


def test_no_reader_is_answered_with_what_another_one_asked_for(
    house: House, smtp: ScriptedSmtp, made: Made
):
    house.by_mail(smtp.port, ADA)
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"] |= {"bobs": lab | {"email": [BOB], "title": "Of Bob"}}
    house.run(*[(f"Agents {n}", f"Agent number {n} of a language.") for n in range(3)])
    house.clock.move(days=1)
    house.run()
    addresses = ("/", "/digests", "/me", "/saved", "/papers/1", "/topics", "/api/v1/subscriptions")
    with public_pages(house, **PROXY, operators=[OP]) as (app, client):

        def ask(who: str) -> list[str]:
            return [client.get(address, headers=by(who)).text for address in addresses]

        with ThreadPoolExecutor(3) as visitors:
            made.release.clear()
            at_once = {who: visitors.submit(ask, who) for who in (OP, ADA, BOB)}
            assert made.begun.wait(60)
            made.release.set()
            answers = {who: asked.result() for who, asked in at_once.items()}
        assert made.times == 3
        for who, answer in answers.items():
            commit(app)
            assert ask(who) == answer
        assert "Of Bob" in answers[BOB][0] and "Of Bob" not in answers[ADA][0]
        assert "/status" in answers[OP][0] and "/status" not in answers[ADA][0]
        assert client.get("/", headers={"Remote-User": ""}).status_code == 303


def test_what_a_visitor_chose_is_shown_to_nobody_else(lived: House):
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with public_pages(lived) as (_, client):
        form = {"token": TOKEN}
        begun = client.post("/login", data=form, headers=SAME_ORIGIN).headers["set-cookie"]
        session = {"Cookie": begun.partition(";")[0]}

        def shown(headers: dict[str, str]) -> tuple[bool, bool]:
            text = client.get("/status", headers=headers).text
            return "Asia/Tokyo" in text, "Log out" in text

        in_tokyo = {"Cookie": f"{session['Cookie']}; __Host-zone=Asia/Tokyo"}
        assert shown(in_tokyo) == (True, True)
        assert shown(session) == (False, True)
        assert shown(bearer) == (False, False)
        client.post("/logout", headers=SAME_ORIGIN | session)
        assert client.get("/status", headers=session).status_code == 303


def test_who_sends_a_form_sees_what_it_changed(lived: House):
    with pages(lived) as (_, client):

        def stopped() -> bool:
            return "eve@example.org" in client.get("/deliveries").text

        assert not stopped()
        form = {"recipient": "eve@example.org", "force": "on"}
        assert client.post("/deliveries/suppress", data=form, headers=SAME_ORIGIN).is_redirect
        assert stopped()


def test_an_export_is_a_stream_of_ones_own(asked: httpx.Client):
    for _ in range(2):
        assert "Agents" in asked.get("/papers.bib").text
