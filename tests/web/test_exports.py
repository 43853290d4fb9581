"""What other programs read: metrics, feeds, and papers as files."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import quote

import feedparser
import httpx
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from monitor.commands import paper_search
from monitor.store.engine import schema
from monitor.web.pages import exports
from tests.house import AGENTS, BANDITS, FOLDING, House
from tests.servers.smtp import ScriptedSmtp
from tests.web.conftest import PROXY, PUBLIC, SAME_ORIGIN, TOKEN, links, pages, public_pages
from tests.web.test_reader_links import parsed

OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
FEED = "/feed/topic/agents.atom"


def feed_of(client: httpx.Client, page: str, headers: dict[str, str] | None = None) -> str:
    """Return the one link to a feed that a page has."""
    [path] = {one for one in links(client.get(page, headers=headers).text) if "/feed/" in one}
    return path


def titles(answer: httpx.Response) -> list[str]:
    return [entry.title for entry in feedparser.parse(answer.content).entries]


def test_the_feed_of_a_topic_and_of_a_subscription(asked: httpx.Client) -> None:
    of_topic = asked.get(feed_of(asked, "/topics/agents"))
    assert of_topic.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert titles(of_topic) == [AGENTS[0]]
    assert titles(asked.get(feed_of(asked, "/digests"))) == [AGENTS[0]]
    read = feedparser.parse(of_topic.content)
    assert not read.bozo
    address = read.feed.links[0].href
    assert "/feed/topic/agents.atom?token=" in address
    # A feed reader has no cookie, also on the same machine.
    assert titles(httpx.get(address)) == [AGENTS[0]]
    assert httpx.get(address.partition("?")[0]).status_code == 403
    assert asked.get("/feed/topic/none.atom").status_code == 404
    assert asked.get("/feed/none.atom").status_code == 404


def test_a_paper_without_a_link_leads_from_a_feed_where_it_leads_from_a_mail(
    lived: House, smtp: ScriptedSmtp
) -> None:
    """A feed reader is not logged in: our own page of the paper would show it the login form."""
    lived.by_mail(smtp.port)
    lived.add("2.txt", ("Agents of Language", "A language that agents may speak."))
    lived.next_morning()
    with public_pages(lived, **PROXY) as (_, client):
        feed = client.get(feed_of(client, "/topics/agents", OPERATOR))
    newest = feedparser.parse(feed.content).entries[0]
    assert newest.title == "Agents of Language"
    assert newest.link.startswith("https://huggingface.co/papers?q=")
    assert newest.link in parsed(smtp.received[0].content).get_body(("plain",)).get_content()


def test_a_feed_has_the_news_of_a_month_and_is_sent_when_there_is_some(house: House) -> None:
    house.add("1.txt", AGENTS)
    house.run()
    with pages(house) as (_, client):
        first = client.get(FEED)
        known = {"If-None-Match": first.headers["etag"]}
        again = client.get(FEED, headers=known)
        assert (again.status_code, again.content) == (304, b"")
        since = {"If-Modified-Since": first.headers["last-modified"]}
        assert client.get(FEED, headers=since).status_code == 304
    house.clock.move(hours=1)
    house.add("2.txt", ("Agents of Language", "A language that agents may speak."))
    house.run()
    with pages(house) as (_, client):
        later = client.get(FEED, headers=known | since)
        assert titles(later) == ["Agents of Language", AGENTS[0]]
    house.clock.move(days=31)
    with pages(house) as (_, client):
        empty = client.get(FEED)
        assert empty.status_code == 200 and titles(empty) == []
        known = {"If-None-Match": empty.headers["etag"]}
        assert client.get(FEED, headers=known).status_code == 304


def test_W03_a_token_opens_the_feed_that_it_names_and_no_other(lived: House) -> None:
    lived.settings["topics"]["bandits"] = {"query": "bandit"}
    with public_pages(lived, **PROXY) as (app, client):
        agents = feed_of(client, "/topics/agents", OPERATOR)
        own = feed_of(client, "/digests", OPERATOR)
        keys = app.runtime.keys
        assert titles(client.get(agents)) == [AGENTS[0]]
        assert client.get(own).status_code == 200
        token = agents.partition("token=")[2]
        wrong = keys.sign("stop", "topic", "bandits")
        for path in (
            "/feed/topic/bandits.atom",
            f"/feed/topic/bandits.atom?token={token}",
            f"/feed/topic/bandits.atom?token={wrong}",
            f"/feed/topic/bandits.atom?token={keys.sign('feed', 'subscription', 'bandits')}",
            f"/feed/lab.atom?token={token}",
            f"/feed/lab.atom?token={keys.sign('feed', 'topic', 'lab')}",
            f"/feed/topic/agents.atom?token={token[:-1]}",
        ):
            assert client.get(path).status_code == 403, path
        reader = {"Remote-User": "stranger@example.org"}
        assert client.get("/feed/lab.atom", headers=reader).status_code == 404
        assert client.get("/feed/topic/bandits.atom", headers=reader).status_code == 200


def test_the_feed_of_a_search(lived: House) -> None:
    lived.settings["topics"]["agents"]["title"] = "Agents of language"
    with public_pages(lived, **PROXY) as (_, client):
        page = "/papers?q=exploration+OR+agent&source=page&kind=new&since=2026-11-21"
        path = feed_of(client, page, OPERATOR)
        assert titles(client.get(path)) == titles(client.get(path, headers=OPERATOR))
        assert set(titles(client.get(path))) == {AGENTS[0], BANDITS[0]}
        read = feedparser.parse(client.get(path).content).feed
        assert read.title == "exploration OR agent · page · new"
        assert [link.href for link in read.links] == [
            f"{PUBLIC}{path}",
            f"{PUBLIC}/papers?q=exploration+OR+agent&source=page&kind=new",
        ]
        known = {"If-None-Match": client.get(path).headers["etag"]}
        assert client.get(path, headers=known).status_code == 304
        for other in (
            path.replace("q=exploration", "q=folding"),
            path.replace("&kind=new", ""),
            f"{path}&topic=agents",
            path.partition("&token")[0],
            f"/feed/papers/saved.atom?token={path.partition('token=')[2]}",
        ):
            assert client.get(other).status_code == 403, other
        of_topic = feed_of(client, "/papers?topic=agents", OPERATOR)
        assert feedparser.parse(client.get(of_topic).content).feed.title == "Agents of language"
        assert feed_of(client, "/papers?q=zebra", OPERATOR)
        assert "/feed/" not in client.get("/papers?q=(agent", headers=OPERATOR).text
        unknown = "/feed/papers/search.atom?topic=none"
        assert client.get(unknown, headers=OPERATOR).status_code == 400
        refused = client.get("/feed/papers/search.atom?q=Agents AND", headers=OPERATOR)
        hint = re.findall("add a word or remove it", refused.text, re.I)
        assert (refused.status_code, len(hint)) == (400, 1)


@pytest.mark.parametrize("ending", ["bib", "ris", "csl.json", "csv", "json"])
def test_a_search_with_its_parameters_and_a_paper_are_exported(
    asked: httpx.Client, ending: str
) -> None:
    search = f"/papers.{ending}?"
    [path] = {one for one in links(asked.get("/papers?q=exploration").text) if search in one}
    answer = asked.get(path)
    assert BANDITS[0] in answer.text and AGENTS[0] not in answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="papers.{ending}"'
    nothing = asked.get(f"/papers.{ending}?source=none")
    assert nothing.status_code == 200 and BANDITS[0] not in nothing.text
    media_type = "application/json" if ending.endswith("json") else "text/plain; charset=utf-8"
    for faulty in ("?q=(agents", "?since=yesterday"):
        refused = asked.get(f"/papers.{ending}{faulty}")
        assert (refused.status_code, refused.headers["content-type"]) == (400, media_type)
        assert "<" not in refused.text
    [path] = {p for p in links(asked.get("/papers/1").text) if p.endswith(f"/1.{ending}")}
    answer = asked.get(path)
    assert AGENTS[0] in answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="paper-1.{ending}"'
    assert asked.get(f"/papers/99.{ending}").status_code == 404


def test_a_digest_is_exported_in_its_order(asked: httpx.Client) -> None:
    [digest] = {one for one in links(asked.get("/digests").text) if "/lab/" in one}
    [path] = {one for one in links(asked.get(digest).text) if one.endswith(".csv")}
    rows = list(csv.DictReader(io.StringIO(asked.get(path).text)))
    assert [row["title"] for row in rows] == [AGENTS[0]]
    assert asked.get("/digests/lab/none.csv").status_code == 404


def test_an_export_ends_after_so_many_papers(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.add("1.txt", AGENTS, BANDITS, FOLDING)
    house.run()
    monkeypatch.setattr(exports, "MAX_PAPERS", 2)
    monkeypatch.setattr(paper_search, "_LOADED_AT_ONCE", 1)
    with pages(house) as (_, client):
        assert len(client.get("/papers.json").json()["papers"]) == 2


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_an_export_that_fails_in_the_middle_is_cut_off_and_logged_once(
    lived: House, caplog: pytest.LogCaptureFixture, encoding: str
) -> None:
    headers = {"Accept-Encoding": encoding} | SAME_ORIGIN
    received: list[str] = []
    with pages(lived) as (app, client), capture_logs() as logs:
        with app.runtime.database.writing() as tx:
            damaged = sa.update(schema.paper).where(schema.paper.c.id == 1)
            tx.execute(damaged.values(authors=5))
        [digest] = {one for one in links(client.get("/digests").text) if "/lab/" in one}
        with client.stream("GET", f"{digest}.csv", headers=headers) as answer:
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
                received.extend(answer.iter_text())
            assert answer.status_code == 200
            assert answer.headers.get("content-encoding", "identity") == encoding
        assert "".join(received).startswith("id,title,")
        assert client.get("/digests").status_code == 200
    failures = [(one["event"], one["path"]) for one in logs if one["log_level"] == "error"]
    assert failures == [("page failed", "/digests/{subscription}/{period}.csv")]
    # uvicorn closes the connection; it would log a second start as an exception of its own
    assert [one.exc_info for one in caplog.records] == [None]


def announced(client: httpx.Client, path: str) -> list[str]:
    """Return the feeds that the head of a page announces."""
    head = client.get(path).text.partition("</head>")[0]
    found = re.findall(r'<link rel="alternate" type="application/atom\+xml" [^>]*>', head)
    return [path for one in found for path in links(one)]


def test_pages_announce_their_feeds_and_show_them(asked: httpx.Client) -> None:
    for path in ("/topics/agents", "/digests", "/saved", "/papers?q=agent", "/subscriptions/lab"):
        [feed] = announced(asked, path)
        assert asked.get(feed).status_code == 200
        assert path == "/saved" or f'<a href="{feed}">' in asked.get(path).text.replace(
            "&amp;", "&"
        )
    assert announced(asked, "/sources") == announced(asked, "/papers?q=(agent") == []


def test_the_page_of_a_person_announces_the_feed_of_each_subscription(lived: House) -> None:
    lived.settings["subscriptions"]["lab"]["email"] = ["ada@example.org"]
    lived.settings["smtp"] = {"host": "127.0.0.1", "from": "papers@example.org"}
    with pages(lived) as (_, client):
        [feed] = announced(client, "/people/ada@example.org")
        assert titles(client.get(feed)) == [AGENTS[0]]


def test_reference_managers_find_a_paper_on_its_page_and_several_on_a_digest(
    asked: httpx.Client,
) -> None:
    page = asked.get("/papers/1").text
    assert f'<meta name="citation_title" content="{AGENTS[0]}">' in page
    [digest] = {one for one in links(asked.get("/digests").text) if "/lab/" in one}
    for path, count in ((digest, 1), ("/papers", 3), ("/papers/1", 0)):
        spans = re.findall(r'<span class="Z3988" title="([^"]*)"></span>', asked.get(path).text)
        assert len(spans) == count, path
        assert count != 1 or quote(AGENTS[0], safe="") in spans[0]
