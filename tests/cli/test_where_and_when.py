"""`--config`, PAPER_MONITOR_CONFIG and `--now`: which installation, and what day it is."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Say
from tests.house import AGENTS, House


def test_the_environment_says_which_and_the_option_says_it_louder(
    lived: House, say: Say, monkeypatch: pytest.MonkeyPatch
):
    (lived.folder / "other" / "dumps").mkdir(parents=True)
    other = lived.write().rename(lived.folder / "other" / "other.yaml")
    say("digest", "-c", str(other))  # creates a store without papers
    monkeypatch.setenv("PAPER_MONITOR_CONFIG", str(other))
    assert say("papers", "--json").json["papers"] == []
    assert len(say("papers", "--json", "-c", "monitor.yaml").json["papers"]) == 2
    assert len(say("papers", "--json", "--config", str(lived.config)).json["papers"]) == 2
    monkeypatch.setenv("PAPER_MONITOR_CONFIG", "nowhere.yaml")
    assert say("status").status == 2


def periods(say: Say, now: str) -> list[tuple[str, int]]:
    result = say("run", "--json", "--now", now).json["digests"]
    return [(one["period"], one["papers"]) for one in result]


def test_now_moves_the_calendar(house: House, say: Say):
    house.add("1.txt", AGENTS)
    assert periods(say, "2026-11-21T06:00Z") == []
    assert periods(say, "2026-11-21T16:59+09:00") == []
    assert periods(say, "20261121T075900") == []
    assert periods(say, "2026-11-21T08:00") == [("2026-11-21", 1)]  # UTC without a zone
    assert periods(say, "2026-11-21T08:00Z") == []
    house.add("2.txt", ("Agents of Language", "A language that agents may speak."))
    assert periods(say, "2026-11-25T12:00Z") == [("2026-11-25", 1)]
    seen = [paper["first_seen"][:16] for paper in say("papers", "--json").json["papers"]]
    assert seen == ["2026-11-25T12:00", "2026-11-21T06:00"]
    days = say("topics", "try", "agents", "--json").json["per_day"]
    assert [day["day"] for day in days] == ["2026-11-21", "2026-11-25"]
