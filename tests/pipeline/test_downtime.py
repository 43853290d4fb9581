"""Down for days: one digest tells of all of it, by its range. No mail server: nothing is lost."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from tests.downtime import down, faults
from tests.house import House


def test_D03_thirty_days_down_are_one_digest_each_with_all_of_their_papers(tmp_path: Path):
    """`python -m tests.downtime` does it with a thousand subscribers and takes the time."""
    found = down(tmp_path, subscribers=12, days=30, words=6)
    assert faults(found, subscribers=12, days=30, words=6) == []
    [(subject, text)] = found.mails["reader-0@example.org"]
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
    assert house.run_after(hours=2) == {"lab": 30}
    digest = house.digest()
    entries = [entry for group in digest.groups for entry in group.entries]
    late = {int(entry.paper.title.split()[1]) for entry in entries if entry.late}
    assert late == set(range(1, 17))
    assert {entry.paper_id for entry in digest.best(400)} == {
        entry.paper_id for entry in entries if not entry.late
    }
