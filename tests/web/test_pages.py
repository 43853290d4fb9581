"""The pages of a real installation, asked for over HTTP."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from monitor.app import App
from monitor.commands.heartbeat import RECENT, SERVICE
from monitor.model import DeliveryState
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.store.digests import deliveries, incidents
from monitor.store.engine import processes, schema
from monitor.store.topics import judgements
from tests.house import AGENTS, House
from tests.servers.smtp import ScriptedSmtp
from tests.web.conftest import PROXY, TOKEN, links, pages, public_pages
from tests.web.conftest import SAME_ORIGIN as OWN

PAGES = (
    "/",
    "/status",
    "/digests",
    "/papers",
    "/papers?q=agent",
    "/topics",
    "/try",
    "/try?q=agent",
    "/sources",
    "/deliveries",
)
PATHS = (
    *PAGES,
    "/healthz",
    "/metrics",
    "/api/v1/status",
    "/api/v1/papers",
    "/api/v1/deliveries",
    "/api/v1/suppressions",
    "/api/v1/topics/try?q=agent",
)


def rows(app: App) -> dict[str, list[Any]]:
    """Return all that is stored, but for signs of life."""
    tables = [one for one in schema.metadata.sorted_tables if one.name != "heartbeat"]
    with app.runtime.database.reading() as tx:
        return {one.name: sorted(map(repr, tx.execute(sa.select(one)))) for one in tables}


def beat(app: App, at: datetime) -> None:
    """Let the scheduler give a sign of life."""
    with app.runtime.database.writing() as tx:
        processes.beat(tx, SERVICE, at)


def crawl(client: httpx.Client, start: tuple[str, ...]) -> dict[str, httpx.Response]:
    """Follow every link from some pages, by GET and HEAD, as a scanner does."""
    found: dict[str, httpx.Response] = {}
    waiting = [*start]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        client.head(path)
        found[path] = client.get(path)
        if "html" in found[path].headers.get("content-type", ""):
            waiting += links(found[path].text)
    return found


def test_W01_a_scanner_that_follows_every_link_finds_pages_and_changes_nothing(lived: House):
    with pages(lived) as (app, client):
        beat(app, datetime.now(UTC))
        before = rows(app)
        found = crawl(client, PATHS)
        assert {one.status_code for one in found.values()} == {200}, found
        assert any(path.startswith("/digests/lab/") for path in found)
        assert found["/metrics"].headers["content-type"].startswith("text/plain; version=")
        assert {"/papers/1", "/sources/page", "/topics/agents"} <= found.keys()
        assert rows(app) == before


def test_an_empty_installation_shows_on_each_page_what_would_be_there(house: House):
    house.settings |= {"sources": {}, "topics": {}, "channels": {}, "subscriptions": {}}
    with pages(house) as (_, client):
        # No service has ever run here: that alone is no health.
        shown = {path: client.get(path) for path in PATHS if path != "/healthz"}
    assert {path: one.status_code for path, one in shown.items() if one.status_code != 200} == {}
    assert "arxiv: {kind: arxiv" in shown["/"].text
    assert "language-agents: {query:" in shown["/topics"].text
    assert "kind: feed" in shown["/sources"].text
    assert "arxiv: {kind: arxiv" in shown["/papers"].text
    for path in ("/digests", "/deliveries", "/status"):
        assert "schedule: weekdays 08:00}" in shown[path].text, path


def test_every_answer_has_the_headers_that_keep_a_page_to_itself(asked: httpx.Client):
    for path in ("/", "/nothing", "/digests", "/u/forged", "/healthz", "/api/v1/status"):
        headers = asked.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-robots-tag"] == "noindex, nofollow"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == ("no-referrer" if path[:3] == "/u/" else "same-origin")
    assert "server" not in asked.get("/").headers


def test_no_page_has_style_or_script_within_it(asked: httpx.Client):
    for path, answer in crawl(asked, PATHS).items():
        if "as=mail" not in path and "html" in answer.headers["content-type"]:
            within = r"<script(?! src=\"/static/)|<style|\sstyle=|\son[a-z]+="
            assert not re.search(within, answer.text), path


def test_a_fault_of_a_query_is_shown_under_it_with_its_place(asked: httpx.Client):
    for path in ("/papers", "/try"):
        shown = asked.get(path, params={"q": "(agent OR"})
        assert shown.status_code == 400
        assert "<p>OR is followed by nothing</p>\n<pre>(agent <mark>O</mark>R</pre>" in shown.text


def test_a_tried_topic_can_be_copied_and_says_what_no_paper_has(asked: httpx.Client):
    shown = asked.get("/try", params={"q": "agent OR 'zyzzyva"}).text
    assert "zyzzyva" in shown
    shown = asked.get("/try", params={"q": "language AND agent"}).text
    assert "topics:\n  language-agent:\n    query: &#39;language AND agent&#39;" in shown
    part = asked.get("/try", params={"q": "agent", "part": "results"}).text
    assert "<html" not in part
    assert "<mark>" in part


def test_a_paper_shows_where_it_was_seen_and_the_words_that_matched(asked: httpx.Client):
    listed = links(asked.get("/papers", params={"q": "agent"}).text)
    [number] = {path for path in listed if path.startswith("/papers/")}
    shown = asked.get(number).text
    assert AGENTS[0] in re.sub("<[^>]*>", "", shown)
    assert "<mark>" in shown
    assert "1.txt" in shown or "page" in shown
    assert "/topics/agents" in shown
    assert "/digests/lab/" in shown
    assert re.search(r"\b\d+ \w{3} 20\d\d \d\d:\d\d\b", shown), "when it was seen has no year"


def test_an_unknown_delivery_is_settled_once(lived: House):
    with pages(lived) as (app, client):
        with app.runtime.database.writing() as tx:
            tx.execute(sa.update(schema.delivery).values(state=DeliveryState.UNKNOWN))
            [delivery] = deliveries.listing(tx)
        for query in ("", "?state=unknown", "?subscription=lab"):
            shown = client.get(f"/deliveries{query}").text
            assert "It arrived" in shown and ": </p>" not in shown
        for query in ("?state=sent", "?subscription=other"):
            assert "It arrived" not in client.get(f"/deliveries{query}").text
        path = f"/deliveries/{delivery.id}/settle"
        assert client.post(path, data={"fate": "sent"}).status_code == 403
        assert client.post(path, data={"fate": "sent"}, headers=OWN).status_code == 303
        after = rows(app)
        assert client.post(path, data={"fate": "sent"}, headers=OWN).status_code == 409
        assert rows(app) == after
        with app.runtime.database.reading() as tx:
            assert deliveries.get(tx, delivery.id).state is DeliveryState.SENT


@pytest.mark.parametrize(
    ("state", "is_shown"), [(DeliveryState.UNKNOWN, False), (DeliveryState.RETRY, True)]
)
def test_an_unknown_delivery_that_is_not_sent_again_has_no_next_attempt(
    lived: House, state: DeliveryState, is_shown: bool
):
    """Its channel, pages, is only asked about it then."""
    with pages(lived) as (app, client):
        at = app.runtime.clock.now() + timedelta(minutes=5)
        with app.runtime.database.writing() as tx:
            values = {"state": state, "next_attempt_at": at, "error": "451 busy"}
            tx.execute(sa.update(schema.delivery).values(values))
        assert (">· next attempt" in client.get("/deliveries").text) is is_shown


def test_a_suppression_is_added_and_lifted(lived: House):
    with pages(lived) as (_, client):
        form = {"recipient": "bob@example.org", "subscription": "lab"}
        refused = client.post("/deliveries/suppress", data=form, headers=OWN)
        assert refused.status_code == 409
        assert "is not a recipient of the subscription lab" in refused.text
        forced = form | {"force": "on"}
        assert client.post("/deliveries/suppress", data=forced, headers=OWN).status_code == 303
        assert "bob@example.org" in client.get("/deliveries").text
        assert client.post("/deliveries/lift", data=form, headers=OWN).status_code == 303
        assert "bob@example.org" not in client.get("/deliveries").text


def test_times_are_shown_in_the_zone_that_the_viewer_chose_on_a_page(lived: House):
    began = datetime(2026, 11, 21, 22, 30, tzinfo=UTC)
    with pages(lived) as (app, client):
        with app.runtime.database.writing() as tx:
            incidents.open_incident(
                tx, Subject(SubjectKind.SOURCE, "page"), IncidentKind.FAILING, began, "503"
            )
        assert "Asia/Tokyo" not in client.get("/").text
        chosen = client.post("/zone", data={"zone": "Asia/Tokyo", "next": "/status"}, headers=OWN)
        assert chosen.headers["location"] == "/status"
        assert "Since 2026-11-22 07:30 Asia/Tokyo" in client.get("/").text
        refused = client.post("/zone", data={"zone": "Atlantis"}, headers=OWN)
        assert refused.status_code == 409
        # What a form was sent to cannot be opened.
        onward = '<input type="hidden" name="next" value="{}">'
        assert onward.format("/") in refused.text
        shown = client.get("/papers", params={"q": "agent", "kind": "new"}).text
        assert onward.format("/papers?q=agent&amp;kind=new") in shown
        onward = client.post("/zone", data={"zone": "", "next": "//evil.example"}, headers=OWN)
        assert onward.headers["location"] == "/"


def test_a_new_version_of_the_style_has_another_address(asked: httpx.Client):
    shown = asked.get("/").text
    for name in ("style.css", "pages.js", "icon.svg"):
        [address] = re.findall(rf'"(/static/{re.escape(name)}[^"]*)"', shown)
        assert re.fullmatch(r"[0-9a-f]{8}", address.partition("?")[2])
        assert asked.get(address).status_code == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_a_long_form_is_refused(asked: httpx.Client, chunked: bool):
    body = b"fate=" + b"x" * 70_000
    content: Any = iter([body]) if chunked else body
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = asked.post("/deliveries/1/settle", content=content, headers=OWN | kind)
    assert answer.status_code in (400, 413)


def test_no_secret_is_on_any_page(lived: House):
    lived.by_mail(25, "ada@example.org", username="papers", password="hunter2 hunter2")
    lived.settings["smtp"]["tls"] = "starttls"
    lived.settings["secret_key"] = ["the first key of all", "the second key of all"]
    with public_pages(lived) as (_, client):
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        for path, answer in crawl(client, PATHS).items():
            for secret in ("hunter2", TOKEN, "key of all"):
                assert secret not in answer.text, path


def test_W08_health_is_red_when_the_scheduler_has_died(lived: House):
    with pages(lived) as (app, client):
        assert client.get("/healthz").status_code == 503  # no service has ever run
        beat(app, datetime.now(UTC))
        lived.clock.at += RECENT
        assert client.get("/healthz").status_code == 200
        beat(app, datetime.now(UTC) - timedelta(minutes=10))
        lived.clock.at += RECENT
        assert client.get("/healthz").status_code == 503
        # Nothing else turns it red: a source that fails is no illness of the service.
        beat(app, datetime.now(UTC))
        with app.runtime.database.writing() as tx:
            incidents.open_incident(
                tx,
                Subject(SubjectKind.SOURCE, "page"),
                IncidentKind.FAILING,
                datetime.now(UTC),
                "503",
            )
        lived.clock.at += RECENT
        assert client.get("/healthz").status_code == 200
        assert "Files of page cannot be read" in client.get("/").text
        assert '<a href="/#problems">1 problem</a>' in client.get("/status").text


def test_health_names_sources_only_to_who_is_logged_in(lived: House):
    with public_pages(lived) as (app, client):
        beat(app, datetime.now(UTC))
        anybody = client.get("/healthz")
        assert isinstance(anybody.json()["sources"], list)
        assert "lab" not in anybody.text
        operator = client.get("/healthz", headers={"Authorization": f"Bearer {TOKEN}"})
        assert operator.json()["sources"].keys() == {"page"}


def test_a_reader_sees_the_subscriptions_that_list_their_address(lived: House):
    lived.by_mail(25, "ada@example.org")
    other = {"topics": ["*"], "email": ["bob@example.org"]}
    lived.settings["subscriptions"]["other"] = other
    with public_pages(lived, **PROXY) as (_, client):
        bob = {"Remote-User": "bob@example.org"}
        ada = {"Remote-User": "Ada@example.org"}
        [path] = {one for one in links(client.get("/digests", headers=ada).text) if "/lab/" in one}
        assert client.get(path, headers=ada).status_code == 200
        assert client.get(path, headers=bob).status_code == 404
        for where in ("/", "/digests"):
            assert "/lab/" not in client.get(where, headers=bob).text
        assert client.get("/digests?subscription=lab", headers=bob).status_code == 404
        for name, own, others in ((ada, "lab", "other"), (bob, "other", "lab")):
            topic = client.get("/topics/agents", headers=name).text
            assert f"/digests?subscription={own}" in topic
            assert f"subscription={others}" not in topic
        assert client.get("/deliveries", headers=bob).status_code == 403
        refused = client.post("/papers/1/merge", data={"other": "2"}, headers=bob | OWN)
        assert refused.status_code == 403


def test_who_is_logged_in_answers_on_the_page_of_a_paper_and_finds_what_they_saved(lived: House):
    """A proxy may write the address of a reader in another case than the file does."""
    lived.by_mail(25, "Ada@example.org")
    with public_pages(lived, **PROXY, operators=["op@example.org"]) as (app, client):
        ada, bob, op = ({"Remote-User": f"{name}@example.org"} for name in ("ada", "bob", "OP"))
        form = {"subscription": "lab", "verdict": "up"}
        assert client.post("/papers/1/rate", data=form, headers=bob | OWN).status_code == 404
        for name, verdict in (("Ada", "up"), ("ADA", "save")):
            form["verdict"] = verdict
            sender = {"Remote-User": f"{name}@example.org"}
            given = client.post("/papers/1/rate", data=form, headers=sender | OWN)
            assert given.headers["location"] == "/papers/1"
        assert "you want more like this" in client.get("/papers/1", headers=ada).text
        assert "you want more like this" not in client.get("/papers/1", headers=op).text
        assert AGENTS[0] in re.sub("<[^>]*>", "", client.get("/saved", headers=ada).text)
        assert AGENTS[0] in re.sub("<[^>]*>", "", client.get("/saved", headers=op).text)
        assert "Nothing has been saved yet" in client.get("/saved", headers=bob).text
        assert "title = {" in client.get("/saved.bib", headers=ada).text
        assert "title" not in client.get("/saved.bib", headers=bob).text
        assert client.get("/api/v1/papers/rated", headers=ada).status_code == 403
        given = client.get("/api/v1/papers/rated", headers=op).json()["rated"]
        assert {(one["who"], one["verdict"]) for one in given} == {
            ("Ada@example.org", "wanted"),
            ("ADA@example.org", "saved"),
        }
        kept = client.get("/api/v1/papers/saved", params={"subscription": "lab"}, headers=op)
        assert [one["title"] for one in kept.json()["papers"]] == [AGENTS[0]]
        client.post("/papers/1/rate", data=form | {"verdict": "down"}, headers=ada | OWN)
        assert "you want fewer like this" in client.get("/papers/1", headers=ada).text
        client.post("/papers/1/rate", data=form | {"verdict": "none"}, headers=ada | OWN)
        with app.runtime.database.reading() as tx:
            assert judgements.listing(tx) == []


def test_a_digest_has_its_title_and_date_on_every_page(house: House, smtp: ScriptedSmtp):
    house.by_mail(smtp.port)
    house.settings["operator"] = {"email": "ops@example.org"}
    house.settings["subscriptions"]["lab"] |= {
        "title": "Reading group",
        "schedule": "immediately",
        "timezone": "Asia/Tokyo",
    }
    house.add("1.txt", AGENTS)
    house.run()
    with house.opened() as app:
        with app.runtime.database.writing() as tx:
            incidents.open_incident(
                tx, Subject(SubjectKind.SOURCE, "page"), "failing", house.clock.now(), "404"
            )
        app.once.digest()
    [mail, notice] = smtp.received
    assert mail.message["Subject"].endswith(" · 21 Nov 15:00")
    assert notice.message["Subject"].startswith("page cannot be read (")
    with pages(house) as (_, client):
        shown = {
            path: client.get(path).text
            for path in ("/", "/digests", "/digests/lab/1", "/papers/1", "/deliveries", "/status")
        }
    day = "Saturday 21 November 2026, 15:00"
    dates = {"/deliveries": '<span class="when">21 Nov 15:00</span>', "/status": "sent today at"}
    for path, html in shown.items():
        assert dates.get(path, day) in html, path
        assert "Reading group" in html and "@operator" not in html, path
    assert '<th scope="row">Notice, <span class="when">21 Nov' in shown["/deliveries"]


def test_what_the_papers_of_today_share_is_said_once(house: House):
    house.run(*((f"Language Agents in Part {part}", AGENTS[1]) for part in "ABC"))
    with pages(house) as (_, client):
        shown = client.get("/").text
    papers = shown.partition("Papers of the last 24 hours")[2].partition("</section>")[0]
    assert papers.count("<li>") == 3
    assert papers.count("from page.") == papers.count("page") == 1
    assert "lead to a search" not in papers, "they lead to pages of ours"
