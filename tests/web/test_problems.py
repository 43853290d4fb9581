"""Each problem on a page says where it is and what to do, and its button has that done."""

from __future__ import annotations

import html
import re
from datetime import datetime

import httpx
import pytest
import sqlalchemy as sa

from monitor.app import App
from monitor.channels.email.channel import SMTP_SERVER
from monitor.digest.wording import format_moment
from monitor.errors import Remedy
from monitor.model import Delivery, DeliveryState
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline import incidents
from monitor.pipeline.flow import Step, Task, do
from monitor.store.digests import deliveries
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine import schema
from monitor.store.sources import reading_state, runs
from monitor.web.site import REMEDIES
from tests.house import AGENTS, APART, BANDITS, House
from tests.servers.smtp import ScriptedSmtp
from tests.web.conftest import PROXY, SAME_ORIGIN, closed_pages, pages, suppressed

BAD_FILES = {
    "archive.jsonl": b"PK\x03\x04\0\0",
    "notes.jsonl": b"these are notes\nand more",
    "page.jsonl": b"<!doctype html><html><body>hello",
    "photo.jsonl": b"\x89PNG\r\n\x1a\n\0\0",
}


@pytest.fixture
def troubled(house: House, smtp: ScriptedSmtp) -> House:
    """A house with a source that cannot be reached, four bad files, and a refused delivery."""
    house.by_mail(smtp.port)
    house.settings["subscriptions"]["lab"]["title"] = "Reading group"
    house.settings["sources"] |= {
        "journal": {"kind": "feed", "url": "http://127.0.0.1:9/feed", "title": "The Journal"},
        "inbox": {"kind": "jsonl", "path": "inbox/*", "title": "Inbox"},
    }
    (house.folder / "inbox").mkdir()
    for name, content in BAD_FILES.items():
        (house.folder / "inbox" / name).write_bytes(content)
    smtp.script["rcpt"].append("550 5.1.1 no such user")
    house.make_due()
    house.run()
    return house


def problems(client: httpx.Client) -> list[str]:
    """Return the articles of the problems on the first page."""
    return re.findall(r"<article>(.*?)</article>", client.get("/").text, re.DOTALL)


def press(client: httpx.Client, article: str, **fields: str) -> httpx.Response:
    [action] = re.findall(r'<form method="post" action="([^"]+)"', article)
    answer = client.post(action, data=fields, headers=SAME_ORIGIN)
    assert answer.status_code == 303, answer.text
    return client.get(answer.headers["location"])


def listed(app: App) -> list[Delivery]:
    with app.runtime.database.reading() as tx:
        return deliveries.listing(tx)


def test_each_problem_leads_to_what_it_is_about_and_says_what_to_do(troubled: House) -> None:
    with pages(troubled) as (_, client):
        journal, inbox, refused = problems(client)
        assert '<a href="/sources/journal">The Journal cannot be read</a>' in journal
        assert "correct its address" in journal and "Read now" in journal
        [page] = re.findall('<h3><a href="(/deliveries[^"]+)">', refused)
        assert "550 5.1.1 no such user" in client.get(page).text
        assert "550 5.1.1 no such user" in refused and "Try again" in refused
        assert [line.partition(":")[0] for line in re.findall("<li>(.*?)</li>", inbox)] == [
            *BAD_FILES
        ]
        assert "Files of Inbox cannot be read" in inbox and "Repair these files" in inbox
        assert client.get("/sources/inbox").text.count("<li class=") == len(BAD_FILES)


def test_no_row_of_the_first_page_is_on_the_status_page(troubled: House) -> None:
    with pages(troubled) as (_, client):
        rows = [
            set(re.findall("<tr>.*?</tr>|<article>.*?</article>", text, re.DOTALL))
            for text in (client.get("/").text, client.get("/status").text)
        ]
    assert all(rows) and not rows[0] & rows[1]


def test_a_source_is_read_before_its_time_once(troubled: House) -> None:
    with pages(troubled) as (app, client):
        troubled.clock.move(minutes=1)
        task = Task(Step.INGEST, "journal")

        def last_start() -> datetime | None:
            with app.runtime.database.reading() as tx:
                return runs.last_start(tx, "journal")

        began = last_start()
        do(app.runtime, task, lambda _: None)
        assert last_start() == began
        assert "It is read within a minute" in press(client, problems(client)[0]).text
        do(app.runtime, task, lambda _: None)
        assert last_start() == troubled.clock.now()
        assert "It is read within a minute" not in client.get("/sources/journal").text
        troubled.clock.move(minutes=1)
        do(app.runtime, task, lambda _: None)
        assert last_start() != troubled.clock.now()


def test_a_source_whose_server_asked_to_wait_is_left_alone(troubled: House) -> None:
    with pages(troubled) as (app, client):
        configured = app.runtime.sources["journal"]
        now = troubled.clock.now()
        with app.runtime.database.writing() as tx:
            until = now.replace(hour=23)
            reading_state.must_wait(tx, "journal", configured.address, until, "answered 429")
        answer = client.post("/sources/journal/read", headers=SAME_ORIGIN)
        assert answer.status_code == 409 and "answered 429" in answer.text
        assert client.post("/sources/nothing/read", headers=SAME_ORIGIN).status_code == 404


def test_a_delivery_is_tried_again_also_while_its_server_rests(troubled: House) -> None:
    with pages(troubled) as (app, client):
        subject = Subject(SubjectKind.OUTAGE_GROUP, SMTP_SERVER)
        with app.runtime.database.writing() as tx:
            incidents.add_failure(
                tx,
                app.runtime,
                subject,
                IncidentKind.DOWN,
                troubled.clock.now(),
                "421",
                app.runtime.config_hash,
            )
        task = Task(Step.DELIVER, SMTP_SERVER)
        press(client, next(one for one in problems(client) if "is refused" in one))
        do(app.runtime, task, lambda _: None)
        assert [one.state for one in listed(app)] == [DeliveryState.SENT]


def test_an_outage_group_is_tried_again_at_once(troubled: House) -> None:
    with pages(troubled) as (app, client):
        subject = Subject(SubjectKind.OUTAGE_GROUP, SMTP_SERVER)
        now = troubled.clock.now()
        config_hash = app.runtime.config_hash
        with app.runtime.database.writing() as tx:
            incidents.add_failure(tx, app.runtime, subject, "down", now, "421", config_hash)
            waits = sa.update(schema.delivery).values(state=DeliveryState.PLANNED)
            tx.execute(waits)
        problem = next(one for one in problems(client) if "Nothing can be sent" in one)
        [page] = re.findall('<h3><a href="([^"]+)">', problem)
        waiting = press(client, problem)
        assert waiting.url.raw_path.decode() == page
        assert "Reading group, " in waiting.text
        with app.runtime.database.reading() as tx:
            assert not stored_incidents.resting(tx, "down", now, config_hash)


def test_a_test_goes_to_the_recipients_of_a_subscription(
    troubled: House, smtp: ScriptedSmtp
) -> None:
    troubled.settings["timezone"] = "Europe/Berlin"
    with pages(troubled) as (app, client):
        assert "/subscriptions/lab/test" in client.get("/status").text
        answer = client.post("/subscriptions/lab/test", headers=SAME_ORIGIN)
        assert "Test to Reading group" in client.get(answer.headers["location"]).text
        sent = len(smtp.received)
        app.once.digest()  # which puts the configuration in force
        assert listed(app)[0].state is DeliveryState.SENT
        person = client.get("/people/ada@example.org").text
        assert "<li>Test to Reading group, " in person and "@test" not in person
        subject = str(smtp.received[sent].message["Subject"])
        moment = format_moment(app.runtime.clock.now(), "Europe/Berlin")
        assert subject == f"A test message from Paper Monitor ({moment})"
        assert client.get("/digests?subscription=lab").text.count("1 paper") == 1
        stop = {"recipient": "ada@example.org", "subscription": "lab"}
        assert client.post("/deliveries/suppress", data=stop, headers=SAME_ORIGIN).is_redirect
        refused = client.post("/subscriptions/lab/test", headers=SAME_ORIGIN)
        assert refused.status_code == 409 and "stopped" in refused.text


def test_an_uncertain_delivery_is_settled_where_it_is_listed(lived: House) -> None:
    with pages(lived) as (app, client):
        [delivery] = listed(app)
        with app.runtime.database.writing() as tx:
            tx.exec_driver_sql("UPDATE delivery SET state = 'unknown'")
        [article] = problems(client)
        press(client, article, fate="sent")
        assert deliveries_state(app, delivery.id) is DeliveryState.SENT


def deliveries_state(app: App, delivery_id: int) -> DeliveryState:
    with app.runtime.database.reading() as tx:
        return deliveries.get(tx, delivery_id).state


@pytest.mark.parametrize(
    "path", ["/sources/page/read", "/subscriptions/lab/test", "/channels/smtp/retry"]
)
def test_only_operators_have_something_done(lived: House, path: str) -> None:
    lived.settings["public_url"] = "https://papers.example.org"
    headers = {"Host": "papers.example.org", "Remote-User": "ada@example.org"} | SAME_ORIGIN
    with closed_pages(lived, **PROXY) as (_, client):
        assert client.post(path, headers=headers).status_code == 403


def test_a_reader_sees_the_papers_of_the_day_and_no_problems(troubled: House) -> None:
    troubled.settings["public_url"] = "https://papers.example.org"
    troubled.add("today.txt", (AGENTS[0] + " Again", AGENTS[1]))
    troubled.ingest()
    headers = {"Host": "papers.example.org", "Remote-User": "ada@example.org"}
    with closed_pages(troubled, **PROXY) as (_, client):
        text = client.get("/", headers=headers).text
    assert "Together Again" in text and "cannot be read" not in text


@pytest.mark.parametrize(
    ("path", "fields", "message", "hint"),
    [
        ("/deliveries/99/retry", {}, "There is no delivery 99.", "The page Deliveries lists them."),
        ("/deliveries/1/retry", {}, "Delivery 1 is sent and is not tried again.", ""),
        (
            "/deliveries/suppress",
            {"recipient": "nobody@example.org"},
            "is not a recipient",
            "Tick “not configured yet” to stop an address that is yet to come.",
        ),
        ("/zone", {"zone": "Atlantis"}, "", "Write a name such as Europe/Berlin."),
    ],
)
def test_errors_of_forms_are_sentences_of_the_page(
    asked: httpx.Client, path: str, fields: dict[str, str], message: str, hint: str
) -> None:
    answer = asked.post(path, data=fields, headers=SAME_ORIGIN)
    assert answer.status_code == 409
    text = html.unescape(answer.text)
    assert message in text and hint in text
    assert "--" not in text.replace("<!--", "") and "paper-monitor" not in text


def test_each_remedy_has_words_of_pages(lived: House) -> None:
    assert REMEDIES.keys() == {*Remedy}
    with pages(lived) as (app, client):
        with app.runtime.database.writing() as tx:
            tx.execute(sa.update(schema.delivery).values(state=DeliveryState.UNKNOWN))
        answer = client.post("/deliveries/1/retry", headers=SAME_ORIGIN)
    assert "On the page Deliveries, choose whether it arrived." in answer.text


def test_the_login_page_says_what_this_is_and_where_the_token_was_set(lived: House) -> None:
    with closed_pages(lived) as (_, client):
        text = client.get("/login").text
        assert "sends digests" in text and "No token was set" in text
        assert "paper-monitor web login" in text and "WEB_TOKEN" in text
    with closed_pages(lived, token="an operator's own token") as (_, client):
        text = client.get("/login").text
        assert "<code>web.token</code>" in text and "<code>WEB_TOKEN</code>" in text
        assert "web login" not in text


def test_an_address_that_was_stopped_is_resumed_by_the_button(
    house: House, smtp: ScriptedSmtp
) -> None:
    house.by_mail(smtp.port)
    house.make_due(AGENTS)
    smtp.always["rcpt"] = "550 5.1.1 no such user"
    house.run(BANDITS)
    house.next_morning(APART)
    with closed_pages(house, **PROXY, operators=["op@example.org"]) as (app, client):
        ada = {"Remote-User": "ada@example.org"}
        own = client.get("/me", headers=ada).text
        assert "The mail server says that this address does not exist." in own
        client.headers["Remote-User"] = "op@example.org"
        [stopped] = problems(client)
        assert "is stopped: the address does not exist" in stopped
        assert "550 5.1.1 no such user" in stopped
        listed_there = client.get("/deliveries").text
        assert "the mail server, " in listed_there and "550 5.1.1 no such user" in listed_there
        [recipient] = re.findall('name="recipient" value="([^"]+)"', stopped)
        press(client, stopped, recipient=recipient)
        assert problems(client) == []
        assert suppressed(app) == []
