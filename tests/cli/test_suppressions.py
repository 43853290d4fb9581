"""`suppressions`: who is sent nothing more, over restarts and changed configurations."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Say
from tests.house import AGENTS, House
from tests.servers.smtp import ScriptedSmtp

ADA, BOB = "ada@example.org", "bob@example.org"
NOW = "2026-11-21T07:00:00+00:00"


@pytest.fixture
def lab(house: House, smtp: ScriptedSmtp) -> House:
    house.by_mail(smtp.port, ADA, BOB)
    house.run()
    return house


def read_by(smtp: ScriptedSmtp) -> list[str]:
    return sorted(mail.recipient for mail in smtp.received)


def test_who_is_suppressed_gets_nothing_and_the_others_do(
    lab: House, smtp: ScriptedSmtp, say: Say
) -> None:
    added = say("suppressions", "add", "Ada@Example.org", "--subscription", "lab", "--now", NOW)
    assert (added.status, "permanently" in added.out) == (0, True)
    lab.add("1.txt", AGENTS)
    lab.next_morning()
    assert read_by(smtp) == [BOB]
    lab.settings["subscriptions"]["lab"]["email"] = [BOB, ADA]
    lab.settings["subscriptions"]["lab"]["schedule"] = "daily 09:00"
    lab.add("2.txt", ("Language agents again", "An agent of language."))
    lab.next_morning()
    lab.clock.move(hours=4)
    lab.run()
    assert set(read_by(smtp)) == {BOB}
    assert len(smtp.received) == 2
    assert say("status", "--json").json["suppressions"] == 1
    assert "Suppressed: 1 recipient" in say("status").out
    assert say("suppressions", "lift", ADA, "--subscription", "lab").status == 0
    lab.add("3.txt", ("Language agents for ever", "An agent of language stays."))
    lab.next_morning()
    lab.clock.move(hours=4)
    lab.run()
    assert read_by(smtp) == [ADA, BOB, BOB, BOB]


def test_a_subscription_whose_only_reader_stopped_says_so(
    lab: House, smtp: ScriptedSmtp, say: Say
) -> None:
    lab.settings["subscriptions"]["lab"]["email"] = [ADA]
    say("suppressions", "add", ADA, "--now", NOW)
    assert say("send-test", "--json").json["deliveries"] == []
    lab.add("1.txt", AGENTS)
    lab.next_morning()
    [row] = say("status", "--json").json["subscriptions"]
    assert row["why"] == (
        "digest 2026-11-21 will not be sent: stopped by the operator on 2026-11-21"
    )
    assert not smtp.received


def test_a_mistyped_address_is_refused_with_the_nearest(lab: House, say: Say) -> None:
    """A recipient of the past is none."""
    lab.add("1.txt", AGENTS)
    lab.next_morning()
    lab.settings["subscriptions"]["lab"]["email"] = [ADA]
    assert say("suppressions", "add", BOB.upper()).status == 0
    say("suppressions", "lift", BOB)
    refused = say("suppressions", "add", "ada@exmaple.org")
    assert refused.status == 2
    assert f"did you mean “{ADA}”" in refused.err
    assert say("suppressions", "--json").json["suppressions"] == []
    assert say("suppressions", "add", "eve@example.org", "--force").status == 0


def test_a_pause_is_until_the_beginning_of_a_day_in_the_time_zone(lab: House, say: Say) -> None:
    lab.settings["timezone"] = "Asia/Tokyo"
    until = ("--until", "2026-12-24", "--now", NOW, "--json")
    [paused] = say("suppressions", "add", ADA, *until).json["suppressions"]
    assert paused["until"] == "2026-12-23T15:00:00+00:00"


def test_a_restore_that_lost_them_says_what_to_do(lab: House, say: Say) -> None:
    say("backup", "kept.db")
    (lab.folder / "data" / "monitor.db").unlink()
    assert "run `paper-monitor suppressions confirm`" in say("restore", "kept.db").out
    assert any("list of suppressions" in one for one in say("status", "--json").json["problems"])
    assert say("suppressions", "confirm").status == 0
    assert say("status", "--json").json["problems"] == []
