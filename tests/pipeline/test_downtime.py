"""Down for days: one digest tells of all of it, by its range. No mail server: nothing is lost."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from monitor.model import DeliveryState
from tests.downtime import down, faults
from tests.house import House
from tests.servers.smtp import ScriptedSmtp

FRIDAY = 27 - 21  # days after the house's Saturday


def test_D03_thirty_days_down_are_one_digest_each_with_all_of_their_papers(tmp_path: Path):
    """`python -m tests.downtime` does it with a thousand subscribers and takes the time."""
    found = down(tmp_path, subscribers=12, days=30, words=6)
    assert faults(found, subscribers=12, days=30, words=6) == []
    text, subject = found.texts["reader-0@example.org"], found.subjects["reader-0@example.org"]
    assert "30 papers" in subject
    assert "since Sun 22 Nov 09:00" in text


def test_D03_of_thirty_days_the_first_are_listed_by_their_titles_and_none_is_left_out(house: House):
    """The last two weeks in full: those whose digest would have been due in them."""
    house.settings["sources"] = {
        "dump": {"kind": "jsonl", "path": "dumps/*.jsonl", "first_run": "deliver"}
    }
    house.settings["topics"] = {"all": {"query": "observations"}}
    house.settings["subscriptions"]["lab"]["max"] = 400
    house.run()
    house.next_morning()
    first = house.clock.at
    for day in range(1, 31):
        house.clock.move(days=1)
        result = {
            "title": f"Day {day} of the observations",
            "abstract": f"On day {day} we looked once more.",
            "announced": (first + timedelta(days=day)).isoformat(),
        }
        (house.folder / "dumps" / f"{day:02}.jsonl").write_text(json.dumps(result) + "\n")
    house.clock.move(hours=2)
    assert house.run() == {"lab": 30}
    digest = house.digest()
    entries = [entry for group in digest.groups for entry in group.entries]
    late = {int(entry.paper.title.split()[1]) for entry in entries if entry.late}
    assert late == set(range(1, 17))
    assert {entry.paper_id for entry in digest.best(400)} == {
        entry.paper_id for entry in entries if not entry.late
    }


def test_mail_that_is_down_from_friday_to_monday_loses_nothing(house: House, smtp: ScriptedSmtp):
    """Each morning supersedes the digest of the one before, which reached nobody."""
    house.by_mail(smtp.port, "ada@example.org", "grace@example.org")
    house.settings["topics"] = {"all": {"query": "observations"}}
    house.clock.move(days=FRIDAY - 1, hours=3)
    morning(house, 0)
    smtp.always["greeting"] = "421 4.3.2 the power is off"
    for day in range(1, 4):
        assert morning(house, day) == 1
    assert smtp.received == []
    smtp.always.clear()
    assert morning(house, 4) == 0
    assert sorted(mail.recipient for mail in smtp.received) == [
        "ada@example.org",
        "grace@example.org",
    ]
    for mail in smtp.received:
        for day in range(1, 5):
            assert f"Day {day} of the observations".encode() in mail.content
    assert house.states() == [DeliveryState.SENT] * 2 + [DeliveryState.SUPERSEDED] * 6


def morning(house: House, day: int) -> int:
    """Run twice, as a cron job, on one more day with a paper of its own; return the status."""
    house.clock.move(days=1)
    if day:
        house.add(f"{day}.txt", (f"Day {day} of the observations", "We looked once more."))
    first = house.command("run", "--now", house.clock.at.isoformat())
    house.clock.move(hours=3)
    second = house.command("run", "--now", house.clock.at.isoformat())
    house.clock.move(hours=-3)
    return max(first.status, second.status)
