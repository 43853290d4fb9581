"""The links in a reader's mail: what they open, and that only our own are accepted."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from datetime import timedelta
from email.message import EmailMessage
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from monitor.app import App
from monitor.commands.identity import merge
from monitor.commands.suppressions import SubscriptionChange, apply_change, reader_status
from monitor.signing import KeyRing
from monitor.store.digests import suppressions
from monitor.store.engine import schema
from monitor.store.topics import judgements
from tests.house import AGENTS, House
from tests.servers.smtp import Kept, ScriptedSmtp
from tests.web.conftest import PUBLIC, public_pages, suppressed
from tests.web.test_pages import rows

KEY = "a key of this installation"
ADA = "ada@example.org"
BOB = "bob@example.org"


def with_links(house: House, smtp: ScriptedSmtp, *addresses: str, url: str = PUBLIC) -> House:
    """Return a house that mails its papers with links to pages, as soon as it runs."""
    house.by_mail(smtp.port, *addresses)
    house.settings |= {"public_url": url, "secret_key": [KEY]}
    house.make_due()
    return house


@pytest.fixture
def mailed(house: House, smtp: ScriptedSmtp) -> House:
    """Ada and Bob got a digest by mail, with links to pages."""
    with_links(house, smtp, ADA, BOB)
    assert house.run() == {"lab": 1}
    return house


@pytest.fixture
def asked(mailed: House) -> Iterator[tuple[App, httpx.Client]]:
    with public_pages(mailed) as opened:
        yield opened


def mails(smtp: ScriptedSmtp) -> dict[str, EmailMessage]:
    return {one.recipient: parsed(one.content) for one in smtp.received}


def parsed(content: bytes) -> EmailMessage:
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def stop_path(mail: EmailMessage) -> str:
    found = re.match(rf"<{PUBLIC}(/u/[^>]+)>", str(mail["List-Unsubscribe"]))
    assert found
    return found[1]


def view_path(mail: EmailMessage) -> str:
    found = re.search(rf'href="{PUBLIC}(/v/[^"]+)"', mail.get_body(("html",)).get_content())
    assert found
    return found[1]


def test_E5_M16_one_clear_https_address_of_this_reader_and_the_header_for_one_click(
    mailed: House, smtp: ScriptedSmtp
):
    both = mails(smtp)
    assert both.keys() == {ADA, BOB}
    for mail in both.values():
        assert mail.get_all("List-Unsubscribe-Post") == ["List-Unsubscribe=One-Click"]
        assert str(mail["List-Unsubscribe"]).count("https:") == 1
        assert "mailto:papers@example.org" in str(mail["List-Unsubscribe"])
        text, html = (mail.get_body((kind,)).get_content() for kind in ("plain", "html"))
        assert f"{PUBLIC}{stop_path(mail)}" in text
        assert html.count(f'href="{PUBLIC}{stop_path(mail)}"') == 2
        assert f"{PUBLIC}/v/" in text
        assert html.index("view in browser") < html.index("<h1")
    assert stop_path(both[ADA]) != stop_path(both[BOB])
    for mail in smtp.received:
        [header] = re.findall(rb"^List-Unsubscribe:.*(?=\r\n)", mail.content, re.MULTILINE)
        assert header.isascii() and b"=?" not in header
        assert 60 < len(header) < 998 and header.endswith(b">")


def test_E5_without_https_there_is_no_one_click(house: House, smtp: ScriptedSmtp):
    with_links(house, smtp, url="http://papers.lan").run()
    mail = mails(smtp)[ADA]
    assert "http://papers.lan/u/" in str(mail["List-Unsubscribe"])
    assert mail["List-Unsubscribe-Post"] is None


def test_E8_opening_a_link_changes_nothing(asked: tuple[App, httpx.Client], smtp: ScriptedSmtp):
    app, client = asked
    before = rows(app)
    for mail in mails(smtp).values():
        html = mail.get_body(("html",)).get_content()
        for path in re.findall(rf'href="{PUBLIC}([^"]+)"', html):
            assert client.head(path).status_code == 200
            assert client.get(path).status_code == 200
    assert rows(app) == before


@pytest.mark.parametrize("recipients", [[ADA, BOB], [BOB]], ids=["recipient", "removed"])
@pytest.mark.parametrize(
    "sent",
    [
        {"data": {"List-Unsubscribe": "One-Click"}},
        {"files": {"List-Unsubscribe": (None, "One-Click")}},
    ],
    ids=["urlencoded", "multipart"],
)
def test_W02_E6_one_click_is_answered_with_200_in_both_encodings_and_again(
    mailed: House, smtp: ScriptedSmtp, sent: dict[str, Any], recipients: list[str]
):
    path = stop_path(mails(smtp)[ADA])
    mailed.settings["subscriptions"]["lab"]["email"] = recipients
    with public_pages(mailed) as (app, client):
        assert client.post(path, **sent).status_code == 200
        after = rows(app)
        assert client.post(path, **sent).status_code == 200
        assert rows(app) == after
        [row] = suppressed(app)
        facts = (row.recipient, row.subscription, row.until, row.how)
        assert facts == (ADA, "lab", None, "one-click")
    del mailed.settings["subscriptions"]["lab"]
    mailed.settings["subscriptions"]["other"] = {"topics": ["*"], "email": [BOB]}
    with public_pages(mailed) as (_, client):
        assert client.post(path, **sent).status_code == 200


def test_W03_a_token_that_was_tampered_with_or_is_for_another_purpose_is_refused(
    asked: tuple[App, httpx.Client], smtp: ScriptedSmtp
):
    app, client = asked
    good = stop_path(mails(smtp)[ADA]).removeprefix("/u/")
    foreign = KeyRing(("a key of another installation",)).sign("stop", "lab", ADA)
    view = view_path(mails(smtp)[ADA]).removeprefix("/v/")
    forged = [good[:-1], good[:-1] + ("A" if good[-1] != "A" else "B"), good[1:], foreign, view]
    forged += ["a", "a.b", "é", good.replace(".", "..", 1), "%00", "A" * 5000]
    before = rows(app)
    for token in forged:
        assert 400 <= client.get(f"/u/{token}").status_code < 500, token
        posted = client.post(f"/u/{token}", data={"wish": "stop"})
        assert 400 <= posted.status_code < 500, token
    assert client.get(f"/v/{good}").status_code == 404
    assert rows(app) == before


def test_W03_links_of_a_retired_key_are_read_until_it_is_removed(mailed: House, smtp: ScriptedSmtp):
    path = stop_path(mails(smtp)[ADA])
    mailed.settings["secret_key"] = ["a newer key than the last", KEY]
    with public_pages(mailed) as (_, client):
        assert client.get(path).status_code == 200
    mailed.settings["secret_key"] = ["a newer key than the last"]
    with public_pages(mailed) as (_, client):
        assert client.get(path).status_code == 404


def test_another_key_between_two_attempts_changes_no_byte_of_a_mail(
    house: House, smtp: ScriptedSmtp
):
    with_links(house, smtp)
    smtp.script["dot"].append(Kept())
    house.run()
    house.settings["secret_key"] = ["a newer key than the last", KEY]
    house.settings["public_url"] = "https://elsewhere.example.org"
    house.clock.move(hours=1)
    house.run()
    first, second = (one.content for one in smtp.received)
    assert first == second
    assert f"{PUBLIC}/u/".encode() in second


def test_a_key_is_made_once_where_none_is_written(house: House, smtp: ScriptedSmtp):
    house.by_mail(smtp.port)
    house.settings["public_url"] = PUBLIC
    with house.opened() as app:
        [made] = app.runtime.keys.keys
    with house.opened() as app:
        assert app.runtime.keys.keys == (made,)
    house.settings["secret_key"] = [KEY]
    with house.opened() as app:
        assert app.runtime.keys.keys == (KEY, made)


def test_a_pause_ends_by_itself_and_can_be_taken_back(mailed: House):
    with mailed.opened() as app:
        runtime = app.runtime
        paused = apply_change(runtime, "lab", ADA, SubscriptionChange.WEEK, "link")
        assert paused.until is not None
        assert reader_status(runtime, "lab", ADA.upper()).until == paused.until
        resumed = apply_change(runtime, "lab", ADA, SubscriptionChange.RESUME, "link")
        assert resumed.suppression is None
        apply_change(runtime, "lab", ADA, SubscriptionChange.MONTH, "link")
        mailed.clock.move(days=31)
        assert reader_status(runtime, "lab", ADA).suppression is None


def test_a_reader_cannot_undo_what_the_operator_has_set(mailed: House):
    with mailed.opened() as app:
        runtime = app.runtime
        with runtime.database.writing() as tx:
            suppressions.suppress(tx, ADA, "lab", runtime.clock.now(), how="operator")
        assert apply_change(runtime, "lab", ADA, SubscriptionChange.RESUME, "link").suppression
        assert apply_change(runtime, "lab", ADA, SubscriptionChange.WEEK, "link").until is None


def test_a_reader_may_stop_what_the_operator_paused_but_not_shorten_the_pause(mailed: House):
    with mailed.opened() as app:
        runtime = app.runtime
        now = runtime.clock.now()
        end = now + timedelta(days=90)
        with runtime.database.writing() as tx:
            suppressions.suppress(tx, ADA, "lab", now, until=end, how="operator")
        for change in (SubscriptionChange.WEEK, SubscriptionChange.RESUME):
            assert apply_change(runtime, "lab", ADA, change, "link").until == end
        stopped = apply_change(runtime, "lab", ADA, SubscriptionChange.STOP, "link")
        assert stopped.suppression and stopped.until is None


def publish(house: House, name: str) -> None:
    house.add(f"{name}.txt", (f"Agents of {name}", f"A language agent of {name.lower()}."))


def test_what_came_during_a_pause_is_listed_beside_the_first_digest_after_it(
    mailed: House, smtp: ScriptedSmtp
):
    mailed.settings["subscriptions"]["lab"]["at_most"] = 1  # of that list, no page has the rest
    with mailed.opened() as app:
        apply_change(app.runtime, "lab", ADA, SubscriptionChange.WEEK, "link")
    smtp.received.clear()
    for name in ("Speech", "Sight"):
        publish(mailed, name)
        mailed.next_morning()
    assert [one.recipient for one in smtp.received] == [BOB, BOB]
    mailed.clock.move(days=7)
    smtp.received.clear()
    publish(mailed, "Touch")
    mailed.run()
    got = [(one.recipient, parsed(one.content)) for one in smtp.received]
    assert sorted(name for name, _ in got) == [ADA, ADA, BOB]
    both = [mail.get_body(("plain",)).get_content() for name, mail in got if name == ADA]
    [today] = [text for text in both if "Agents of Touch" in text]
    [missed] = [text for text in both if "Agents of Speech" in text]
    assert "Agents of Sight" in missed
    assert "while your digests were paused" in missed
    assert "A language agent of" not in missed
    assert "Agents of Speech" not in today
    # Once is enough.
    smtp.received.clear()
    publish(mailed, "Taste")
    mailed.next_morning()
    assert sorted(one.recipient for one in smtp.received) == [ADA, BOB]


def test_a_pause_that_is_taken_back_keeps_nothing_back(mailed: House, smtp: ScriptedSmtp):
    with mailed.opened() as app:
        apply_change(app.runtime, "lab", ADA, SubscriptionChange.MONTH, "link")
    publish(mailed, "Speech")
    mailed.next_morning()
    with mailed.opened() as app:
        apply_change(app.runtime, "lab", ADA, SubscriptionChange.RESUME, "link")
    smtp.received.clear()
    publish(mailed, "Sight")
    mailed.next_morning()
    texts = [one.content.decode() for one in smtp.received if one.recipient == ADA]
    assert [text.count("Agents of Speech") > 0 for text in texts].count(True) == 1
    assert len(texts) == 2


def thumbs(mail: EmailMessage) -> dict[str, str]:
    """Return where the links beside the only paper of a mail lead; "all" is the one of its text."""
    html = mail.get_body(("html",)).get_content()
    text = mail.get_body(("plain",)).get_content()
    links = re.findall(rf'href="{PUBLIC}(/r/[^"]+)"[^>]*>(more|less|save)\b', html)
    in_text, *_ = re.findall(rf"rate or save: {PUBLIC}(/r/\S+)", text)
    return {words: path for path, words in links} | {"all": in_text}


def verdicts(app: App) -> list[tuple[str, str, str, str]]:
    with app.runtime.database.reading() as tx:
        return [(j.who, j.topic, j.verdict, j.how) for j in judgements.listing(tx)]


def test_a_reader_answers_by_a_link_and_takes_it_back(
    asked: tuple[App, httpx.Client], smtp: ScriptedSmtp
):
    app, client = asked
    paths = thumbs(mails(smtp)[ADA])
    for mail in mails(smtp).values():
        assert thumbs(mail)["more"] in client.get(view_path(mail)).text
    assert "More like this" in client.get(paths["more"]).text
    for _ in range(2):  # twice is once
        assert client.post(paths["more"], data={"verdict": "up"}).status_code == 200
        assert verdicts(app) == [(ADA, "agents", "wanted", "link")]
    assert client.post(paths["less"], data={"verdict": "down"}).status_code == 200
    client.post(thumbs(mails(smtp)[BOB])["more"], data={"verdict": "save"})
    assert verdicts(app) == [(ADA, "agents", "unwanted", "link"), (BOB, "agents", "saved", "link")]
    assert "Take it back" in client.get(paths["more"]).text
    assert BOB not in client.get(paths["more"]).text
    client.post(paths["more"], data={"verdict": "none"})
    assert verdicts(app) == [(BOB, "agents", "saved", "link")]


def test_the_page_of_an_answer_leads_back_to_the_digest_of_its_reader(
    asked: tuple[App, httpx.Client], smtp: ScriptedSmtp
):
    _, client = asked
    for mail in mails(smtp).values():
        path = thumbs(mail)["more"]
        shown = (client.get(path), client.post(path, data={"verdict": "up"}))
        for page in shown:
            assert f'<a href="{view_path(mail)}">Back to the digest</a>' in page.text
        assert client.get(view_path(mail)).status_code == 200


def test_each_link_leads_to_its_button_and_the_one_of_the_text_to_all(
    asked: tuple[App, httpx.Client], smtp: ScriptedSmtp
):
    app, client = asked
    paths = thumbs(mails(smtp)[ADA])
    assert paths["save"] in client.get(view_path(mails(smtp)[ADA])).text

    def buttons(name: str) -> list[str]:
        return re.findall(r'<button name="verdict" value="(\w+)"', client.get(paths[name]).text)

    shown = {name: buttons(name) for name in paths}
    assert shown == {
        "more": ["up", "save"],
        "less": ["down"],
        "save": ["save"],
        "all": ["up", "down", "save"],
    }
    assert verdicts(app) == [], "opening a link changes nothing"
    assert "It is saved." in client.post(paths["save"], data={"verdict": "save"}).text
    assert verdicts(app) == [(ADA, "agents", "saved", "link")]
    assert (buttons("save"), buttons("all")) == (["none"], ["up", "down", "none"])
    client.post(paths["all"], data={"verdict": "down"})
    assert {verdict for *_, verdict, _ in verdicts(app)} == {"saved", "unwanted"}


@pytest.mark.parametrize("name", ["more", "save", "all"])
def test_W03_a_link_to_answer_opens_only_papers_of_its_digest_and_for_ninety_days(
    mailed: House, smtp: ScriptedSmtp, name: str
):
    link = thumbs(mails(smtp)[ADA])[name]
    _, _, token, _, *end = link.split("/")
    with public_pages(mailed) as (app, client):
        stop = stop_path(mails(smtp)[ADA]).removeprefix("/u/")
        tails = [(token, "99"), (token[:-2], "1"), (stop, "1"), (token, "one")]
        tails += [(token, f"{1 << 63}"), ("x", "9" * 5000)]
        foreign = ["/".join(["/r", *tail, *end]) for tail in tails]
        # As programs for mail lengthen links, and as nobody would.
        foreign += [f"{link}.", f"/r/{token}/1/moreless"]
        form = {"verdict": "up", "wish": "stop"}
        for path in (*foreign, f"/u/{token}", f"/v/{token}"):
            assert client.get(path).status_code == 404
            assert client.post(path, data=form).status_code in (404, 405)
        assert client.post(link, data={"verdict": "best"}).status_code == 400
        mailed.clock.move(days=89)
        assert client.get(link).status_code == 200
        mailed.clock.move(days=2)
        assert client.get(link).status_code == 404
        assert client.post(link, data={"verdict": "up"}).status_code == 404
        assert verdicts(app) == []


def test_links_to_answer_work_after_a_merge_and_after_retention(house: House, smtp: ScriptedSmtp):
    house.by_mail(smtp.port, ADA)
    house.settings |= {"public_url": PUBLIC, "secret_key": [KEY]}
    house.add("1.txt", AGENTS, ("Agents of Speech", "A language agent that speaks."))
    house.run()
    house.next_morning()
    token = thumbs(mails(smtp)[ADA])["more"].split("/")[2]
    with public_pages(house) as (app, client):
        merge(app.runtime, ["1", "2"])
        for paper in (1, 2):
            answered = client.post(f"/r/{token}/{paper}/more", data={"verdict": "up"})
            assert answered.status_code == 200
        assert verdicts(app) == [(ADA, "agents", "wanted", "link")]
        with app.runtime.database.writing() as tx:
            tx.execute(sa.delete(schema.digest_item))
        assert "You want more papers" in client.get(f"/r/{token}/1/more").text


def test_an_answer_by_a_link_is_taken_back_after_its_topic_was_renamed(
    mailed: House, smtp: ScriptedSmtp
):
    more = thumbs(mails(smtp)[ADA])["more"]
    with public_pages(mailed) as (app, client):
        client.post(more, data={"verdict": "up"})
    mailed.settings["topics"]["renamed"] = mailed.settings["topics"].pop("agents")
    mailed.settings["subscriptions"]["lab"]["topics"] = ["renamed"]
    with public_pages(mailed) as (app, client):
        assert client.post(more, data={"verdict": "none"}).status_code == 200
        assert verdicts(app) == []


def test_what_a_paused_folder_missed_does_not_replace_a_page(mailed: House) -> None:
    mailed.settings["channels"] = {"pages": {"kind": "file", "path": "pages/"}}
    mailed.settings["subscriptions"]["lab"]["channels"] = ["pages"]
    folder = mailed.folder / "pages"
    with mailed.opened() as app:
        now = app.runtime.clock.now()
        with app.runtime.database.writing() as tx:
            suppressions.suppress(
                tx, str(folder), "lab", now, until=now + timedelta(hours=30), how="operator"
            )
    publish(mailed, "Speech")
    mailed.next_morning()
    assert not list(folder.glob("lab/*.html"))
    publish(mailed, "Touch")
    mailed.next_morning()
    [missed, today] = sorted(folder.glob("lab/*.html"), key=lambda page: "missed" not in page.name)
    assert "of Touch" in today.read_text("utf-8")
    assert "of Speech" in missed.read_text("utf-8")
    index = (folder / "index.html").read_text("utf-8")
    assert f"lab/{today.name}" in index
    assert f"lab/{missed.name}" in index
