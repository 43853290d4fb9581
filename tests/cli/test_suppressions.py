"""`suppressions`: who is sent nothing more, over restarts and changed configurations."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Say
from tests.house import AGENTS, House
from tests.servers.smtp import ScriptedSmtp

ADA = "ada@example.org"
BOB = "bob@example.org"
NOW = "2026-11-21T07:00:00+00:00"


@pytest.fixture
def lab(house: House, smtp: ScriptedSmtp) -> House:
    house.by_mail(smtp.port, ADA, BOB)
    house.run()
    return house


def test_a_subscription_whose_only_reader_stopped_says_so_until_the_next_digest(
    lab: House, smtp: ScriptedSmtp, say: Say
) -> None:
    lab.settings["subscriptions"]["lab"]["email"] = [ADA]
    added = say("suppressions", "add", "Ada@Example.org", "--subscription", "lab", "--now", NOW)
    assert (added.status, "permanently" in added.out) == (0, True)
    assert say("send-test", "--json").json["deliveries"] == []
    lab.next_morning(AGENTS)
    result = say("status", "--json").json
    assert (result["suppressions"], result["subscriptions"][0]["why"]) == (
        1,
        "the digest of 22 Nov 06:00 will not be sent: stopped by the operator on 2026-11-21",
    )
    assert "Suppressed: 1 recipient" in say("status").out
    assert say("suppressions", "lift", ADA, "--subscription", "lab").status == 0
    lab.next_morning(("Language agents for ever", AGENTS[1]))
    assert [mail.recipient for mail in smtp.received] == [ADA]


def test_a_mistyped_address_is_refused_with_the_nearest(lab: House, say: Say) -> None:
    lab.next_morning(AGENTS)
    lab.settings["subscriptions"]["lab"]["email"] = [ADA]
    assert say("suppressions", "add", BOB.upper()).status == 0, "a recipient of the past"
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
