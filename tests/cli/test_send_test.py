"""`send-test`: a test takes the way of a digest, as the one that the pages plan does."""

from __future__ import annotations

from monitor.commands.remedies import plan_tests, send_tests
from monitor.model import DeliveryState
from monitor.store.digests import deliveries
from tests.cli.conftest import Say
from tests.house import SATURDAY, House
from tests.servers.smtp import ScriptedSmtp

NOW = SATURDAY.isoformat()
ADA, BOB = "ada@example.org", "bob@example.org"


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


def test_a_test_that_fails_for_now_is_tried_again(
    house: House, smtp: ScriptedSmtp, say: Say
) -> None:
    house.by_mail(smtp.port, ADA)
    house.run()
    smtp.script["rcpt"].append("451 4.7.1 greylisted")
    said = say("send-test", "--json", "--now", NOW)
    [test] = said.json["deliveries"]
    assert (said.status, test["state"], smtp.received) == (1, "retry", [])
    assert "greylisted" in test["error"]
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
    smtp.script["greeting"].append("421 4.3.2 down for now")
    said = say("send-test", "--now", NOW)
    assert said.status == 1
    assert "not sent yet" in said.out and "planned" not in said.out + said.err
    again = "down for now. It will be tried again from 2026-11-21 06:05 UTC on."
    assert again in said.err
    later = "2026-11-22T09:00+00:00"
    smtp.script["rcpt"].extend(["451 4.7.1 greylisted"] * 2)
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
        assert said.err.endswith("this test is not recorded, and not tried again.\n")
    smtp.script["rcpt"].append("451 4.7.1 greylisted")
    [test] = say("send-test", "--json", "--now", NOW).json["deliveries"]
    assert test["state"] == "failed"
