"""After a fault at any point, a delivery is neither lost nor silently sent twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from monitor.channels.email.channel import Mail
from monitor.channels.file import Pages
from monitor.cli.doctor import check_installation
from monitor.commands.status import status
from monitor.errors import StoreError
from monitor.model import Delivery, DeliveryState, Digest, Outcome, Templates
from monitor.pipeline import deliver
from monitor.pipeline.compose import compose
from monitor.pipeline.match import match
from monitor.store.digests import outbox
from monitor.store.engine.database import Database, Transaction
from tests.house import AGENTS, House
from tests.servers.slack import Fault, SlackServer
from tests.servers.smtp import Drop, ScriptedSmtp


def test_M06_an_answer_that_never_comes_is_unknown_and_not_retried_in_place(
    due: House, smtp: ScriptedSmtp
):
    smtp.script["dot"].append(Drop())
    due.run()
    assert due.states() == [DeliveryState.UNKNOWN]
    due.run_after(minutes=5)
    assert due.states() == [DeliveryState.UNKNOWN]
    due.run_after(minutes=15)
    assert due.states() == [DeliveryState.SENT]
    assert len(smtp.received) == 1


def test_M10_a_wrong_password_is_tried_once_said_and_loses_nothing(house: House):
    with ScriptedSmtp(extensions=("AUTH PLAIN",)) as smtp:
        house.by_mail(smtp.port, "a@example.org", "b@example.org", username="u", password="geheim1")
        smtp.always["auth"] = "535 5.7.8 authentication failed"
        house.make_due()
        said = house.command("digest", "--now", house.clock.at.isoformat(), "--json")
        assert said.status == 1
        assert smtp.connections == 1
        result = house.command("status", "--now", house.clock.at.isoformat(), "--json")
        assert result.status == 1
        assert any("535" in problem for problem in result.json["problems"])
        assert "geheim1" not in said.out + said.err + result.out + result.err
        assert set(house.states()) <= {DeliveryState.PLANNED, DeliveryState.RETRY}
        for _ in range(3):  # a cron that comes every minute
            house.clock.move(minutes=1)
            with house.opened() as app:
                app.once.digest(ignore_backoff=False)
        assert smtp.connections == 1
        smtp.always.clear()
        house.settings["smtp"]["password"] = "right"
        with house.opened() as app:
            app.once.digest(ignore_backoff=False)
        assert sorted(mail.recipient for mail in smtp.received) == [
            "a@example.org",
            "b@example.org",
        ]
        assert house.command("status", "--now", house.clock.at.isoformat()).status == 0


def test_M04_a_refused_address_fails_alone_and_the_operator_is_notified(
    due: House, smtp: ScriptedSmtp
):
    due.by_mail(smtp.port, "gone@example.org", "ada@example.org")
    due.settings["operator"] = {"email": "ops@example.org"}
    smtp.script["rcpt"].append("550 5.1.1 no such user")
    due.run()
    due.run()
    assert [mail.recipient for mail in smtp.received] == ["ada@example.org", "ops@example.org"]
    assert b"gone@example.org" in smtp.received[1].content
    assert sorted(due.states()) == [DeliveryState.FAILED, DeliveryState.SENT, DeliveryState.SENT]


def test_K11_an_answer_is_held_until_the_store_takes_it(
    due: House, smtp: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
):
    """A 250 that could not be written down at once is not forgotten and sent again."""
    monkeypatch.setattr(deliver, "RECORD_RETRY_SECONDS", (0, 0))
    record = outbox.record
    refused = iter([True])

    def locked_at_first(*result: Any) -> set[int]:
        if next(refused, False):
            raise StoreError("the store is held by another process")
        return record(*result)

    monkeypatch.setattr(outbox, "record", locked_at_first)
    due.run()
    assert due.states() == [DeliveryState.SENT]
    due.run()
    assert len(smtp.received) == 1


def test_a_hand_off_whose_commit_was_lost_is_known_not_to_have_left(
    due: House, smtp: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
):
    """The database took the commit and the connection was cut before it could say so."""
    due.settings["smtp"]["unknown"] = "hold"
    begin = Database.writing
    lost = iter([True])

    @contextmanager
    def cut_after_a_hand_off(database: Database) -> Iterator[Transaction]:
        with begin(database) as tx:
            yield tx
            asked = sa.text("SELECT count(*) FROM delivery WHERE state = 'handing_off'")
            is_hand_off = bool(tx.scalar(asked))
        if is_hand_off and next(lost, False):
            raise StoreError("the server closed the connection")

    monkeypatch.setattr(Database, "writing", cut_after_a_hand_off)
    due.run()
    assert due.states() == [DeliveryState.RETRY]
    assert smtp.received == []
    due.run_after(hours=2)
    assert DeliveryState.SENT in due.states()
    assert len(smtp.received) == 1


def test_K10_an_answer_that_the_store_never_took_is_unknown_in_the_next_round(
    due: House, smtp: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
):
    """The disk was full to the end; the same process finds its own loose end."""

    def full(*result: object) -> set[int]:
        raise StoreError("the disk is full")

    due.settings["smtp"]["unknown"] = "hold"
    monkeypatch.setattr(deliver, "RECORD_RETRY_SECONDS", (0, 0))
    with due.opened() as app:
        monkeypatch.setattr(outbox, "record", full)
        with pytest.raises(StoreError):
            app.once.digest()
        monkeypatch.undo()
        app.once.digest()
    assert due.states() == [DeliveryState.UNKNOWN]
    assert len(smtp.received) == 1


def test_a_channel_that_cannot_find_out_stops_no_other(
    due: House, smtp: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
):
    due.settings["smtp"]["unknown"] = "hold"
    due.settings["channels"] = {"pages": {"kind": "file", "path": "pages/"}}
    due.settings["subscriptions"]["lab"]["channels"] = ["pages"]
    smtp.script["dot"].append(Drop())
    due.run()
    asked = []

    def broken(channel: object, delivery: object) -> None:
        asked.append(delivery)
        raise RuntimeError("a plugin's fault")

    monkeypatch.setattr(Mail, "reconcile", broken)
    due.add("b.txt", (AGENTS[0] + " and Apart", AGENTS[1] + " It is another study of theirs."))
    assert due.next_morning() == {"lab": 1}
    due.run()
    assert len(asked) == 1
    assert len(list(due.folder.glob("pages/lab/*.html"))) == 2


def test_X07_the_operator_hears_of_what_a_person_must_settle_and_of_its_end(
    due: House, smtp: ScriptedSmtp
):
    due.settings["operator"] = {"email": "ops@example.org"}
    due.settings["smtp"]["unknown"] = "hold"
    smtp.script["dot"].append(Drop())
    due.run()
    assert smtp.received == []
    for _ in range(3):
        due.run_after(minutes=20)
    [mail] = smtp.received
    assert mail.recipient == "ops@example.org"
    assert b"email to ada@example.org: a digest may not have arrived" in mail.content
    assert b"deliveries resolve 1 sent" in mail.content
    with due.opened() as app:
        [problem] = [one.text for one in status(app.runtime).problems]
        [check] = [check for check in check_installation(app) if check.name == "deliveries"]
    assert "deliveries resolve 1 sent|resend`" in problem
    assert not check.ok and "1 uncertain" in check.message
    now = due.clock.at.isoformat()
    assert due.command("deliveries", "resolve", "1", "sent", "--now", now).status == 0
    due.run()
    assert "it is settled whether a digest arrived" in smtp.received[1].content.decode()
    assert due.problems() == ()
    with due.opened() as app:
        [check] = [check for check in check_installation(app) if check.name == "deliveries"]
    assert check.ok


def test_S09_what_slack_does_not_show_yet_is_not_posted_twice(due: House, slack: SlackServer):
    """Killed a moment ago, the post may be on its way: it comes after the first look."""
    due.by_slack(slack)
    with due.opened() as app:
        match(app.runtime)
        compose(app.runtime)
        with app.runtime.database.writing() as tx:
            [lost] = outbox.claim(tx, "of a dead process", due.clock.at, app.runtime.channels)
            assert outbox.commit_handoff(tx, [lost.id], "of a dead process", due.clock.at)
    due.run()
    assert due.states() == [DeliveryState.UNKNOWN]
    metadata = {"event_type": "x", "event_payload": {"message_id": lost.message_id}}
    slack.keep({**lost.rendered.body, "metadata": metadata}, "C0PAPERS1")
    due.run_after(minutes=3)
    assert due.states() == [DeliveryState.SENT]
    assert len(slack.posts) == 1


def test_X10_X11_a_fault_of_ours_stops_no_other_and_waits_an_hour(
    due: House, smtp: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
):
    due.by_mail(smtp.port, "ada@example.org", "grace@example.org")
    tried = []
    send = Mail.send

    def broken_for_ada(self: Mail, delivery: Delivery, commit_handoff: Any) -> Outcome:
        if delivery.recipient == "ada@example.org":
            tried.append(due.clock.at)
            raise RuntimeError("a fault of ours")
        return send(self, delivery, commit_handoff)

    monkeypatch.setattr(Mail, "send", broken_for_ada)
    for _ in range(7):
        due.run()
        due.clock.move(minutes=10)
    assert [mail.recipient for mail in smtp.received] == ["grace@example.org"]
    assert [at - tried[0] for at in tried] == [timedelta(), timedelta(hours=1)]
    monkeypatch.undo()
    due.run_after(hours=1)
    assert [mail.recipient for mail in smtp.received][1:] == ["ada@example.org"]


def test_X10_X11_a_digest_that_cannot_be_composed_stops_no_other_and_rests(
    house: House, monkeypatch: pytest.MonkeyPatch
):
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"]["office"] = {**lab}
    house.make_due()
    tried = []
    render = Pages.render

    def broken_for_lab(self: Pages, digest: Digest, templates: Templates) -> Any:
        if digest.subscription == "lab":
            tried.append(house.clock.at)
            raise RuntimeError("a fault of ours")
        return render(self, digest, templates)

    monkeypatch.setattr(Pages, "render", broken_for_lab)
    with house.opened() as app:
        for _ in range(20):
            app.once.digest(ignore_backoff=False)
            house.clock.move(minutes=1)
        assert [(at - tried[0]) / timedelta(minutes=1) for at in tried] == [0, 5, 15]
        assert len(list(house.folder.glob("pages/office/*.html"))) == 1
        assert "subscription lab has not been composed" in status(app.runtime).problems[0].text
        monkeypatch.undo()
        app.once.digest()  # a person asks, and need not wait
        assert len(list(house.folder.glob("pages/lab/*.html"))) == 1
        assert status(app.runtime).problems == ()


@pytest.mark.parametrize("word", ["is_archived", "token_revoked"])
def test_L05_who_cannot_be_notified_on_slack_is_named_by_the_other_channel(
    due: House, smtp: ScriptedSmtp, slack: SlackServer, word: str
):
    due.by_slack(slack)
    due.settings["operator"] = {"email": "ops@example.org"}
    slack.faults += [Fault.error(word)] * 9
    due.run()
    assert len(smtp.received) == 1, "in the run in which it broke"
    for _ in range(2):
        due.run_after(minutes=1)
    [mail] = smtp.received
    assert mail.recipient == "ops@example.org"
    assert word.encode() in mail.content
    assert slack.posts == []
