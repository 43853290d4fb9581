"""Who gets what, as pages: for operators all of it, for readers what is theirs."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
import sqlalchemy as sa
import yaml

from monitor.app import App
from monitor.commands.heartbeat import SERVICE
from monitor.commands.ratings import RaterScope, rate
from monitor.commands.status import status_of
from monitor.commands.suppressions import suppress
from monitor.model import SAVED, WANTED, DeliveryState, Judgement
from monitor.store.engine import processes, schema
from monitor.store.topics import judgements
from tests.counting import statements
from tests.house import AGENTS, BANDITS, House
from tests.servers.smtp import ScriptedSmtp
from tests.web.conftest import PROXY, SAME_ORIGIN, links, pages, public_pages, suppressed
from tests.web.test_page_sizes import LIMIT

# Statements of a page. The largest, `/status`, shows 100 subscriptions with five for each.
FEW = 550
ADA = "ada@example.org"
BOB = "bob@example.org"
OP = "op@example.org"


def by(address: str) -> dict[str, str]:
    return {"Remote-User": address}


def text_of(answer: httpx.Response) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", answer.text))


@pytest.fixture
def shared(house: House, smtp: ScriptedSmtp) -> Iterator[tuple[App, httpx.Client]]:
    """Two subscriptions of Ada, one of them also Bob's; both got a digest, and a paper waits."""
    house.by_mail(smtp.port, ADA, BOB)
    lab = house.settings["subscriptions"]["lab"] | {"title": "Reading group"}
    own = {"topics": ["agents"], "email": [ADA.upper()], "schedule": "mon+thu 07:00"}
    house.settings["subscriptions"] = {"lab": lab, "own": own}
    house.settings["operator"] = {"email": ADA}
    house.run(AGENTS, BANDITS)
    house.run_after((AGENTS[0] + " and Apart", BANDITS[1] + " With a language agent."), days=1)
    with public_pages(house, **PROXY, operators=[OP]) as served:
        yield served


def test_an_operator_sees_all_that_one_person_gets_two_clicks_away(shared: Any):
    _, client = shared
    first = client.get("/", headers=by(OP))
    assert "/subscriptions" in links(first.text)
    answer = client.get("/subscriptions", params={"q": "Ada@Example.org"}, headers=by(OP))
    assert unquote(answer.headers["location"]).lower() == f"/people/{ADA}"
    shown = text_of(client.get(answer.headers["location"], headers=by(OP)))
    assert "Reading group" in shown
    assert "Mondays and Thursdays at 07:00 (UTC)" in shown
    assert "Next digest:" in shown
    assert "22 Nov 06:00 sent" in shown
    assert "Stop all digests" in shown
    assert client.get("/people/eve@example.org", headers=by(OP)).status_code == 404


def test_readers_are_shown_the_libraries_of_their_own_subscriptions_alone(
    house: House, smtp: ScriptedSmtp
):
    refs = house.folder / "refs.jsonl"
    refs.write_text(json.dumps({"title": AGENTS[0], "abstract": AGENTS[1]}), encoding="utf-8")
    house.settings["sources"]["ada-refs"] = {"kind": "jsonl", "path": str(refs), "role": "library"}
    house.by_mail(smtp.port, ADA)
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"]["other"] = lab | {"email": [BOB]}
    lab["libraries"] = "ada-refs"
    house.run(AGENTS)
    with public_pages(house, **PROXY, operators=[OP]) as (_, client):
        pages = {who: client.get("/papers/1", headers=by(who)).text for who in (ADA, BOB, OP)}
    shown = {who: "the library ada-refs" in page for who, page in pages.items()}
    assert shown == {ADA: True, BOB: False, OP: True}


def test_what_a_library_fills_in_is_shown_to_its_readers_alone(house: House, smtp: ScriptedSmtp):
    """Where pages show links and authors, and in the archive; feeds and exports have neither."""
    link = "https://arxiv.org/abs/2401.01234"
    record = {"title": AGENTS[0], "abstract": AGENTS[1], "arxiv": "2401.01234"}
    refs = house.folder / "refs.jsonl"
    refs.write_text(json.dumps(record | {"authors": ["Ada Lovelace"]}), encoding="utf-8")
    house.settings["sources"]["ada-refs"] = {"kind": "jsonl", "path": str(refs), "role": "library"}
    house.by_mail(smtp.port, ADA)
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"]["other"] = lab | {"email": [BOB]}
    lab["libraries"] = "ada-refs"
    house.make_due()
    house.run()
    pages = ["/papers/1", "/papers", "/topics/agents", "/try?q=agents&part=results", "/saved"]
    bare = ["/", "/papers/1.bib", "/papers/1.json", "/feed/papers/search.atom", "/api/v1/papers"]
    bare += ["/feed/topic/agents.atom", "/feed/lab.atom", "/papers.bib"]
    digest_of = {name: f"/digests/{name}/{house.digest(name).period}" for name in ("lab", "other")}
    with public_pages(house, **PROXY, operators=[OP]) as (app, client):
        for name, who in (("lab", ADA), ("other", BOB)):
            rate(app.runtime, "1", "save", RaterScope(name, who=who), how="page")
        shown = {
            (who, path): client.get(path, headers=by(who)).text
            for who in (ADA, BOB, OP)
            for path in [*pages, *bare]
        }
        shown |= {
            (who, "digest"): client.get(digest_of[name], headers=by(who)).text
            for name, who in (("lab", ADA), ("other", BOB))
        }
    without = {asked for asked, text in shown.items() if "Together" not in text}
    assert without == {(BOB, "/feed/lab.atom")}, "it is not his"
    filled = {asked for asked, text in shown.items() if link in text or "Lovelace" in text}
    readers = {(who, path) for who in (ADA, OP) for path in pages}
    assert filled == readers | {(ADA, "digest")}
    mails = {m.recipient: m.message.get_body(("plain",)).get_content() for m in smtp.received}
    assert {to: link in text for to, text in mails.items()} == {ADA: True, BOB: False}


def test_readers_are_shown_which_changes_were_reported_to_them_and_to_nobody_else(
    house: House, smtp: ScriptedSmtp
):
    """Also where both guard the same paper, each in a library of their own."""
    reference = {"title": AGENTS[0], "doi": "10.5555/1"}
    notice = {"type": "retraction"}
    notice |= {"title": "Retracted", "doi": "10.5555/2", "about": {"doi": "10.5555/1"}}
    for name, record in (("ada-refs", reference), ("bob-refs", reference)):
        (house.folder / f"{name}.jsonl").write_text(json.dumps(record), encoding="utf-8")
        library = {"kind": "jsonl", "path": f"{name}.jsonl", "role": "library"}
        house.settings["sources"][name] = library
    house.settings["sources"]["news"] = {"kind": "jsonl", "path": "news-*.jsonl"}
    (house.folder / "news-1.jsonl").write_text(json.dumps(reference | {"abstract": AGENTS[1]}))
    house.by_mail(smtp.port, ADA)
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"] = {
        "lab": lab | {"guard": "ada-refs"},
        "other": lab | {"email": [BOB], "guard": "bob-refs"},
    }
    house.make_due()
    (house.folder / "news-2.jsonl").write_text(json.dumps(notice))
    house.run()
    with public_pages(house, **PROXY, operators=[OP]) as (_, client):
        [path] = {
            one
            for one in links(client.get("/papers?q=agents&source=news", headers=by(OP)).text)
            if re.fullmatch(r"/papers/\d+", one)
        }
        shown = {who: text_of(client.get(path, headers=by(who))) for who in (ADA, BOB, OP)}
    told = {who: set(re.findall(r"reported to (\w+) on", text)) for who, text in shown.items()}
    assert told == {ADA: {"lab"}, BOB: {"other"}, OP: {"lab", "other"}}
    named = {who: set(re.findall(r"the library ([a-z-]+)", t)) for who, t in shown.items()}
    assert named == {ADA: {"ada-refs"}, BOB: {"bob-refs"}, OP: {"ada-refs", "bob-refs"}}


def test_readers_choose_among_the_sources_of_all_and_of_their_own_libraries(
    house: House, smtp: ScriptedSmtp
):
    """Those of others are named neither in the search nor in its feed, nor by their health."""
    for name in ("ada-refs", "bob-refs", "refs-of-nobody"):
        refs = {"kind": "jsonl", "path": f"{name}.jsonl", "role": "library"}
        house.settings["sources"][name] = refs | {"title": f"Title of {name}"}
        house.settings["sources"][f"about-{name}"] = {"kind": "crossref", "about": name}
    house.by_mail(smtp.port, ADA)
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"]["other"] = lab | {"email": [BOB], "guard": "bob-refs"}
    lab["libraries"] = "ada-refs"
    with public_pages(house, **PROXY, operators=[OP]) as (app, client):
        shown = {who: client.get("/papers", headers=by(who)).text for who in (ADA, BOB, OP)}
        feed = client.get("/feed/papers/search.atom?source=ada-refs", headers=by(BOB)).text
        with app.runtime.database.writing() as tx:
            processes.beat(tx, SERVICE, datetime.now(UTC))
        health = {who: client.get("/healthz", headers=by(who)).text for who in (ADA, OP)}
    listed = {
        who: set(re.findall('<option value="([a-z-]+)"', text)) for who, text in shown.items()
    }
    own, others, nobodys = ({n, f"about-{n}"} for n in ("ada-refs", "bob-refs", "refs-of-nobody"))
    public = {"page", "agents"}
    every = public | own | others | nobodys
    assert listed == {ADA: public | own, BOB: public | others, OP: every}
    assert "Title of" not in feed
    assert "refs" not in health[ADA] and "refs" in health[OP]


def test_a_subscription_names_its_libraries_and_what_they_are_for(house: House):
    house.settings["sources"]["refs"] = {"kind": "bibtex", "path": "refs.bib", "role": "library"}
    house.settings["subscriptions"]["lab"] |= {"libraries": "refs", "guard": "refs"}
    house.run(AGENTS)
    with pages(house) as (_, client):
        shown = text_of(client.get("/subscriptions/lab"))
        assert "libraries refs: their papers are marked" in shown
        assert "guard changes of papers in refs" in shown
        assert "New papers a day" in client.get("/sources/page").text
        assert "New papers a day" not in client.get("/sources/refs").text
    house.settings["subscriptions"]["lab"]["owned"] = "skip"
    with pages(house) as (_, client):
        assert "refs: their papers are left out" in text_of(client.get("/subscriptions/lab"))


def test_a_subscription_says_which_changes_of_references_wait(house: House):
    refs = house.folder / "refs.jsonl"
    news = house.folder / "news.jsonl"
    refs.write_text(json.dumps({"title": AGENTS[0], "doi": "10.5555/1"}), encoding="utf-8")
    notice = {"title": "Retracted", "doi": "10.5555/2", "type": "retraction"}
    news.write_text(json.dumps(notice | {"about": {"doi": "10.5555/1"}}), encoding="utf-8")
    house.settings["sources"] |= {
        "ada-refs": {"kind": "jsonl", "path": str(refs), "role": "library"},
        "news": {"kind": "jsonl", "path": str(news)},
    }
    house.settings["subscriptions"]["lab"]["guard"] = "ada-refs"
    house.ingest()
    with pages(house) as (_, client):
        assert "Waiting 1 1 change of references. " in text_of(client.get("/subscriptions/lab"))
        house.run_after(days=1)
        assert "Waiting 0 No paper waits " in text_of(client.get("/subscriptions/lab"))
        assert " 1 change of references " in text_of(client.get("/digests"))


def test_subscriptions_are_found_by_name_title_recipient_topic_channel_and_trouble(shared: Any):
    _, client = shared
    form = {"recipient": BOB, "subscription": "lab", "next": "/subscriptions/lab"}
    stopped = client.post("/deliveries/suppress", data=form, headers=by(OP) | SAME_ORIGIN)
    assert stopped.headers["location"] == "/subscriptions/lab"
    for query, names in {
        "": {"lab", "own"},
        "q=reading": {"lab"},
        "q=BOB": {"lab"},
        "q=ada": {"lab", "own"},
        "topic=agents": {"lab", "own"},
        "topic=other": set(),
        "channel=email": {"lab", "own"},
        "channel=pages": set(),
        "trouble=any": {"lab"},
        "trouble=stopped+recipient": {"lab"},
        "trouble=late+digest": set(),
        "q=%22%3E%3Cscript%3E": set(),
    }.items():
        answer = client.get(f"/subscriptions?{query}", headers=by(OP))
        listed = set(re.findall(r'href="/subscriptions/(\w+)"', answer.text))
        assert listed == names, query
        assert "<script>" not in answer.text
        lines = client.get(f"/subscriptions.csv?{query}", headers=by(OP)).text.splitlines()
        assert {row["subscription"] for row in csv.DictReader(lines)} == names, query
    rows = csv.DictReader(client.get("/subscriptions.csv", headers=by(OP)).text.splitlines())
    [row] = [row for row in rows if row["recipient"] == BOB]
    assert (row["stopped"], row["topics"], row["next"]) == ("permanently", "agents", "")
    shown = text_of(client.get("/subscriptions/lab", headers=by(OP)))
    assert "by an operator Resume" in shown
    assert "every day at 08:00 (UTC)" in shown


def test_deliveries_are_filtered_by_person_subscription_channel_and_state(shared: Any):
    _, client = shared
    for query, recipients in {
        f"person={BOB.upper()}": {BOB},
        "subscription=lab": {ADA, BOB},
        "subscription=own&person=bob@example.org": set(),
        "channel=pages": set(),
        "channel=email&state=sent": {ADA, BOB},
        "channel=email&state=failed": set(),
    }.items():
        shown = client.get(f"/deliveries?{query}", headers=by(OP)).text
        table = shown.partition("<tbody>")[2].partition("</tbody>")[0]
        links_to = re.findall(r'<td[^>]*><a href="/people/([^"]*)"', table)
        assert set(map(unquote, links_to)) == recipients, query


def test_readers_see_what_they_get_and_nothing_of_others(shared: Any):
    _, client = shared
    shown = client.get("/me", headers=by(BOB))
    assert "Reading group" in shown.text and "You are subscribed." in shown.text
    assert "Next digest:" in shown.text
    for secret in (ADA, ADA.upper(), "own"):
        assert secret not in text_of(shown)
    for path in ("/subscriptions", "/subscriptions.csv", "/subscriptions/lab", f"/people/{BOB}"):
        refused = client.get(path, headers=by(BOB))
        assert refused.status_code == 403
        assert ADA not in refused.text
        if path.endswith(".csv"):
            assert refused.text == "This page is for the operators of this installation.\n"
            continue
        assert "You may see" in refused.text
        assert {"/me", "/digests", "/papers", "/topics"} <= {*links(refused.text)}
        assert "/deliveries" not in links(refused.text)
    assert "You are not a recipient" in client.get("/me", headers=by("eve@example.org")).text


def test_a_paper_has_for_readers_the_digests_and_buttons_of_their_subscriptions(
    house: House, smtp: ScriptedSmtp
):
    house.by_mail(smtp.port, ADA)
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"]["other"] = lab | {"email": [BOB]}
    house.make_due()
    house.run()
    with public_pages(house, **PROXY, operators=[OP]) as (_, client):
        visitors = (ADA, BOB, OP, "eve@example.org")
        shown = [client.get("/papers/1", headers=by(who)).text for who in visitors]
    assert all(AGENTS[0] in text for text in shown)
    expected = [{"lab"}, {"other"}, {"lab", "other"}, set()]
    assert [set(re.findall('href="/digests/([a-z]+)/', text)) for text in shown] == expected
    asked = r'(?:name="subscription"|option) value="([a-z]+)"'
    assert [set(re.findall(asked, text)) for text in shown] == expected


def test_today_has_for_readers_the_papers_and_digests_of_their_subscriptions(
    house: House, smtp: ScriptedSmtp
):
    house.by_mail(smtp.port, ADA)
    lab = house.settings["subscriptions"]["lab"]
    house.settings["topics"]["bandits"] = {"query": "bandit"}
    house.settings["subscriptions"] = {
        "lab": lab | {"topics": ["agents"]},
        "other": lab | {"topics": ["bandits"], "email": [BOB]},
    }
    house.make_due(AGENTS, BANDITS)
    house.run()
    with public_pages(house, **PROXY, operators=[OP]) as (_, client):
        shown = {who: client.get("/", headers=by(who)).text for who in (ADA, BOB, OP)}
        own = {who: client.get("/me", headers=by(who)).text for who in (ADA, BOB)}
    papers = {who: {t for t in (AGENTS[0], BANDITS[0]) if t in shown[who]} for who in shown}
    assert papers == {ADA: {AGENTS[0]}, BOB: {BANDITS[0]}, OP: {AGENTS[0], BANDITS[0]}}
    listed = {who: set(re.findall('href="/digests/([a-z]+)/', text)) for who, text in shown.items()}
    assert listed == {ADA: {"lab"}, BOB: {"other"}, OP: {"lab", "other"}}
    sent = {who: set(re.findall('href="/digests/([a-z]+)/', text)) for who, text in own.items()}
    assert sent == {ADA: {"lab"}, BOB: {"other"}}
    assert {who for who, text in shown.items() if "Next digests" in text} == {OP}


def test_readers_are_not_told_that_others_were_stopped(shared: Any):
    _, client = shared
    client.post("/deliveries/suppress", data={"recipient": ADA}, headers=by(OP) | SAME_ORIGIN)
    shown = {who: client.get("/me", headers=by(who)).text for who in (ADA, BOB)}
    assert {who for who, text in shown.items() if "All digests were stopped" in text} == {ADA}


def test_readers_are_not_told_of_deliveries_that_may_be_those_of_others(shared: Any):
    app, client = shared
    with app.runtime.database.writing() as tx:
        failed = sa.update(schema.delivery).where(schema.delivery.c.recipient == BOB)
        tx.execute(failed.values(state=DeliveryState.FAILED))
    troubles = {}
    for who in (ADA, OP):
        answer = client.get("/api/v1/subscriptions?who=lab", headers=by(who)).json()
        [troubles[who]] = [known["troubles"] for known in answer["subscriptions"]]
    assert troubles == {ADA: [], OP: ["failed delivery"]}


def test_readers_pause_resume_and_unsubscribe_on_their_own_page(shared: Any):
    app, client = shared
    headers = by("Ada@example.org") | SAME_ORIGIN

    def wish(name: str, of: str = "own") -> httpx.Response:
        return client.post("/me", data={"subscription": of, "wish": name}, headers=headers)

    assert wish("week").headers["location"] == "/me"
    [row] = suppressed(app)
    assert (row.subscription, row.how, row.until is None) == ("own", "page", False)
    shown = client.get("/me", headers=headers).text
    assert "Papers from the pause will be in the next digest." in shown
    assert shown.count("Next digest:") == 2 and shown.count("Next digest: paused until") == 1
    assert shown.count(">Resume<") == 1 and shown.count(">Unsubscribe<") == 2
    wish("resume")
    assert suppressed(app) == []
    wish("stop", "lab")
    assert [(row.recipient, row.subscription) for row in suppressed(app)] == [(ADA, "lab")]
    assert wish("anything").status_code == 409
    assert wish("stop", "nope").status_code == 404
    assert wish("stop", "@operator").status_code == 404  # notices are no subscription
    form = {"subscription": "own", "wish": "stop"}
    assert client.post("/me", data=form, headers=by(BOB) | SAME_ORIGIN).status_code == 404
    foreign = client.post("/me", data=form | {"subscription": "lab"}, headers=by(BOB))
    assert foreign.status_code == 403
    assert len(suppressed(app)) == 1


def test_readers_are_told_in_plain_words_what_became_of_a_digest(shared: Any):
    app, client = shared
    with app.runtime.database.writing() as tx:
        tx.execute(sa.update(schema.delivery).values(state=DeliveryState.SUPERSEDED))
    own = text_of(client.get("/me", headers=by(BOB)))
    assert "not sent; a later digest has its papers" in own and "superseded" not in own
    assert "superseded" in text_of(client.get(f"/people/{BOB}", headers=by(OP)))


def test_what_is_answered_to_a_paper_for_several_topics_and_saved_is_one_rating(shared: Any):
    app, client = shared
    given = [
        Judgement("own", topic, 1, BOB, verdict, app.runtime.clock.now(), "page")
        for topic in ("agents", "learning")
        for verdict in (WANTED, SAVED)
    ]
    with app.runtime.database.writing() as tx:
        judgements.judge(tx, given)
    for path, who in (("/me", BOB), (f"/people/{BOB}", OP)):
        shown = text_of(client.get(path, headers=by(who)))
        ratings = shown.partition("Ratings ")[2].partition("Newest deliveries")[0]
        assert ratings.startswith("1 ")
        assert ratings.count("more like this, saved ·") == 1
    assert "ratings 1 " in text_of(client.get("/subscriptions/own", headers=by(OP)))


def test_the_next_digest_in_a_spreadsheet_is_that_of_the_pages(house: House, smtp: ScriptedSmtp):
    """Of each recipient, as on their own page."""
    carla = "carla@example.org"
    house.by_mail(smtp.port, ADA, BOB, carla)
    house.settings["timezone"] = "UTC"
    house.settings["subscriptions"]["lab"]["schedule"] = "daily 08:00"
    with house.opened() as app:
        until = app.runtime.clock.now() + timedelta(days=3)
        suppress(app.runtime, BOB.upper(), "lab", until=until)
        suppress(app.runtime, carla, "lab")
    with pages(house) as (_, client):
        rows = {row["recipient"]: row for row in csv.DictReader(csv_of(client))}
        shown = text_of(client.get(f"/people/{BOB}"))
    assert {to: row["next"] for to, row in rows.items()} == {
        ADA: "2026-11-21 08:00:00+00:00",
        BOB: "2026-11-24 08:00:00+00:00",
        carla: "",
    }
    assert "then Tue 24 Nov 08:00" in shown


def csv_of(client: httpx.Client) -> list[str]:
    return client.get("/subscriptions.csv").text.splitlines()


def test_a_paused_subscription_has_the_digest_after_its_pause_in_a_spreadsheet(house: House):
    house.settings["subscriptions"]["lab"]["pause_until"] = "2027-01-01"
    with pages(house) as (_, client):
        [row] = csv.DictReader(csv_of(client))
        shown = text_of(client.get("/subscriptions/lab"))
    assert (row["stopped"], row["until"]) == ("paused", "2027-01-01")
    assert row["next"].startswith("2027-01-01 08:00:00")
    assert "then Fri 1 Jan 08:00" in shown


def test_the_next_digests_begin_with_those_that_have_a_time(house: House):
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"] = {
        "at-once": lab | {"schedule": "immediately"},
        "held": lab | {"pause_until": "2027-01-01"},
        "lab": lab,
    }
    with pages(house) as (_, client):
        shown = text_of(client.get("/")).partition("Next digests")[2].partition("Newest")[0]
    assert re.findall(r"lab|at-once|held|as soon as|paused until 1 Jan 2027", shown) == [
        *("lab", "at-once", "as soon as", "held", "paused until 1 Jan 2027")
    ]


def test_what_an_operator_stopped_a_reader_cannot_resume(shared: Any):
    app, client = shared
    form = {"recipient": BOB, "next": "//evil.example"}
    stopped = client.post("/deliveries/suppress", data=form, headers=by(OP) | SAME_ORIGIN)
    assert stopped.headers["location"] == "/"
    shown = client.get("/me", headers=by(BOB)).text
    assert "An operator has set this." in shown
    assert ">Resume<" not in shown
    resume = {"subscription": "lab", "wish": "resume"}
    client.post("/me", data=resume, headers=by(BOB) | SAME_ORIGIN)
    assert len(suppressed(app)) == 1
    assert ">Resume<" in client.get(f"/people/{BOB}", headers=by(OP)).text


def test_a_folder_of_pages_is_no_person(house: House):
    """Its subscriptions are stopped one by one; there is no reader who could rate a paper."""
    house.run(AGENTS)
    folder = f"/people/{house.folder / 'pages'}"
    with pages(house) as (_, client):
        assert folder in map(unquote, links(client.get("/subscriptions").text))
        shown = client.get(folder)
        assert shown.status_code == 200
        assert "Folder of pages" in shown.text and ">Stop<" in shown.text
        assert "Stop all digests" not in shown.text and "Ratings" not in shown.text


def test_every_page_of_a_library_with_300_patrons_is_short_and_asks_the_store_little(
    house: House, smtp: ScriptedSmtp
):
    """No page asks for each patron; `python benchmarks/web.py` measures the seconds."""
    house.by_mail(smtp.port, ADA)
    house.settings["include"] = ["patrons/*.yaml"]
    (house.folder / "patrons").mkdir()
    for number in range(300):
        name = f"patron-{number}"
        patron = {"topics": ["*"], "email": [f"{name}@example.org"], "title": f"Patron {number}"}
        file = house.folder / "patrons" / f"{name}.yaml"
        file.write_text(yaml.safe_dump({"subscriptions": {name: patron}}))
    house.make_due(AGENTS, BANDITS)
    house.run()
    with pages(house) as (_, client):
        one = "/people/patron-77@example.org"
        paths = "/ /status /subscriptions /subscriptions.csv /subscriptions/patron-77 /deliveries"
        paths += " /topics /topics/agents /papers /papers/1 /digests /sources /saved"
        for path in (*paths.split(), one, "/subscriptions?trouble=any&q=patron"):
            with statements() as asked:
                answer = client.get(path)
            assert answer.status_code == 200, path
            assert len(answer.content) < LIMIT, path
            assert len(asked) < FEW, path
        assert "/subscriptions" in links(client.get("/").text)
        found = client.get("/subscriptions", params={"q": "patron-77@"}).text
        assert one in map(unquote, links(found))
        assert "Patron 77" in client.get(one).text
        assert "<summary>289 more digests</summary>" in client.get("/papers/1").text


def test_a_notice_in_a_digest_is_no_paper_on_any_page(house: House):
    house.settings["topics"]["agents"] = {"query": "plan"}
    house.run((f"Retraction notice: {AGENTS[0]}", AGENTS[1]), AGENTS)
    house.run_after(days=1)
    counted = "1 paper and 1 notice"
    folder = str(house.folder / "pages")
    with pages(house) as (app, client):
        for path in ("/", "/digests", "/subscriptions/lab", f"/people/{folder}"):
            assert counted in text_of(client.get(path)), path
        [listed] = client.get("/api/v1/digests").json()["digests"]
        assert counted in status_of(app.runtime, "lab", "UTC").why
    assert listed["papers"] == 2
    assert counted in (house.folder / "pages" / "index.html").read_text(encoding="utf-8")
