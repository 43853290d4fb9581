"""`send-test`: a test takes the way of a digest, as the one that the pages plan does."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from monitor.commands.remedies import plan_tests, send_tests
from monitor.model import DeliveryState
from monitor.store.digests import deliveries
from tests.cli.conftest import Say
from tests.house import SATURDAY, House
from tests.servers.smtp import Drop, ScriptedSmtp

NOW = SATURDAY.isoformat()
ADA = "ada@example.org"
BOB = "bob@example.org"


def test_a_test_is_a_delivery_and_says_what_became_of_it(
    house: House, smtp: ScriptedSmtp, say: Say
) -> None:
    house.by_mail(smtp.port, ADA, BOB)
    house.run()
    smtp.script["rcpt"].extend(["250 ok", "550 5.1.1 nobody is here"])
    said = say("send-test", "lab", "--json", "--now", NOW)
    assert said.status == 1
    shown = {one["recipient"]: one for one in said.json["deliveries"]}
    assert {to: (one["subscription"], one["channel"]) for to, one in shown.items()} == {
        ADA: ("lab", "email"),
        BOB: ("lab", "email"),
    }
    assert sorted(one["state"] for one in shown.values()) == ["failed", "sent"]
    assert len(smtp.received) == 1
    listed = say("deliveries", "--json").json["deliveries"]
    assert {one["recipient"]: one["state"] for one in listed} == {
        to: one["state"] for to, one in shown.items()
    }


def test_a_test_that_fails_for_now_is_not_sent_later(
    house: House, smtp: ScriptedSmtp, say: Say
) -> None:
    house.by_mail(smtp.port, ADA)
    house.run()
    smtp.script["rcpt"].append("451 4.7.1 greylisted")
    said = say("send-test", "--now", NOW)
    assert (said.status, smtp.received) == (1, [])
    assert "failed" in said.out and "greylisted" in said.err and "tried again" not in said.err
    assert said.err.endswith("tried once: nothing is sent later. Try again with `send-test`.\n")
    [test] = say("deliveries", "--json").json["deliveries"]
    assert test["state"] == "failed" and "greylisted" in test["error"]
    assert "is refused" not in say("status", "--now", NOW).out
    house.run_after(days=1)
    assert smtp.received == []
    assert say("send-test", "--json", "--now", NOW).json["deliveries"][0]["state"] == "sent"


@pytest.mark.parametrize("connections", [1, 2])
def test_of_a_server_that_is_down_no_test_is_sent_later_and_digests_are(
    house: House, smtp: ScriptedSmtp, say: Say, connections: int
) -> None:
    """Also those that were not tried, since the first found it down."""
    house.by_mail(smtp.port, ADA, BOB, "carol@example.org", connections=connections)
    house.make_due()
    smtp.script["greeting"].extend(["421 4.3.2 down for now"] * 2)
    said = say("send-test", "--json", "--now", NOW)
    tests = said.json["deliveries"]
    assert (said.status, len(tests)) == (1, 3)
    assert {(test["state"], "down for now" in test["error"]) for test in tests} == {
        ("failed", True)
    }
    smtp.script["greeting"].clear()
    house.run_after(days=1)
    assert len(smtp.received) == 3
    assert not any("test message" in str(mail.message["Subject"]) for mail in smtp.received)


@pytest.mark.parametrize(("phase", "reached"), [("rcpt", [BOB]), ("greeting", [])])
def test_a_test_of_the_pages_is_tried_once_too(
    house: House, smtp: ScriptedSmtp, phase: str, reached: list[str]
) -> None:
    house.by_mail(smtp.port, ADA, BOB)
    house.run()
    smtp.script[phase].append("421 4.3.2 not now")
    with house.opened() as app:
        plan_tests(app.runtime, "lab")
        app.once.digest()
        with app.runtime.database.reading() as tx:
            stored = {one.recipient: one.state for one in deliveries.listing(tx)}
    assert {to for to, state in stored.items() if state is not DeliveryState.FAILED} == {*reached}
    house.run_after(days=1)
    assert [mail.recipient for mail in smtp.received] == reached


def test_a_test_that_may_have_arrived_is_sent_again_only_by_hand(
    house: House, smtp: ScriptedSmtp, say: Say
) -> None:
    house.by_mail(smtp.port, ADA)
    house.run()
    smtp.script["dot"].append(Drop())
    said = say("send-test", "--now", NOW)
    assert said.status == 1 and "unknown" in said.out and "did not confirm that it took" in said.err
    assert "nothing is sent later" not in said.err
    house.run_after(hours=1)
    assert (house.states(), smtp.received) == ([DeliveryState.UNKNOWN], [])
    assert say("deliveries", "resolve", "1", "resend").status == 0
    house.run_after(hours=1)
    assert [mail.recipient for mail in smtp.received] == [ADA]


def test_interrupted_before_its_turn_a_test_is_not_sent_later(
    house: House, smtp: ScriptedSmtp
) -> None:
    house.by_mail(smtp.port, ADA, BOB, per_minute=1)
    house.run()

    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt

    with house.opened() as app:
        with pytest.raises(KeyboardInterrupt):
            send_tests(replace(app.runtime, stopping=Interrupted()))
        with app.runtime.database.reading() as tx:
            stored = {one.recipient: (one.state, one.error) for one in deliveries.listing(tx)}
    assert stored[BOB] == (DeliveryState.FAILED, "not tried before the command ended")
    house.run_after(days=1)
    assert [mail.recipient for mail in smtp.received] == [ADA]


def test_the_command_and_the_pages_plan_the_same(house: House, smtp: ScriptedSmtp) -> None:
    house.by_mail(smtp.port, ADA)
    house.run()
    with house.opened() as app:
        plan_tests(app.runtime, "lab")
        [sent] = send_tests(app.runtime)
        with app.runtime.database.reading() as tx:
            stored = deliveries.listing(tx)
    assert [one.state for one in stored] == [DeliveryState.SENT] * 2, "what waits is sent, too"
    assert {one.subscription for one in stored} == {"@test lab"}
    assert (sent.subscription, sent.state) == ("lab", DeliveryState.SENT)
    subjects = {str(mail.message["Subject"]) for mail in smtp.received}
    assert len(smtp.received) == 2 and len(subjects) == 1


def test_each_of_several_tests_in_a_second_is_sent(house: House, smtp: ScriptedSmtp) -> None:
    house.by_mail(smtp.port, ADA)
    house.run()
    with house.opened() as app:
        for number in range(1, 4):
            send_tests(app.runtime)
            assert len(smtp.received) == number


def test_without_a_store_a_test_is_sent_and_not_recorded(
    house: House, smtp: ScriptedSmtp, say: Say
) -> None:
    house.by_mail(smtp.port, ADA)
    said = say("send-test", "--json", "--now", NOW)
    assert (said.status, [one["state"] for one in said.json["deliveries"]]) == (0, ["sent"])
    assert len(smtp.received) == 1


def test_what_was_tried_and_waits_says_why_and_until_when(
    house: House, smtp: ScriptedSmtp, say: Say
) -> None:
    house.by_mail(smtp.port, ADA)
    house.settings["subscriptions"]["lab"]["schedule"] = "daily 08:00"
    house.make_due()
    later = "2026-11-22T09:00+00:00"
    smtp.script["rcpt"].append("451 4.7.1 greylisted")
    said = say("run", "--now", later)
    assert "not sent yet" in said.out and "retry" not in said.out
    assert "greylisted. It will be tried again from 2026-11-22 09:" in said.err
    said = say("deliveries", "--now", later)
    assert "greylisted. It will be tried again from 2026-11-22 09:" in said.err


def test_without_a_store_a_test_that_fails_is_not_tried_again(
    house: House, smtp: ScriptedSmtp, say: Say
) -> None:
    house.by_mail(smtp.port, ADA)
    for answer in ("greeting", "rcpt"):
        smtp.script[answer].append("451 4.7.1 greylisted")
        said = say("send-test", "--now", NOW)
        assert said.status == 1 and "failed" in said.out
        assert "greylisted" in said.err and "will be tried" not in said.err
        assert said.err.endswith("There is no store yet, so this test is not recorded.\n")
    smtp.script["rcpt"].append("451 4.7.1 greylisted")
    [test] = say("send-test", "--json", "--now", NOW).json["deliveries"]
    assert test["state"] == "failed"
