"""A service that is asked for days: an outage is filled, nothing is missing and nothing twice."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta

import pytest

from monitor.model import Run
from monitor.store.papers import papers
from monitor.store.sources import runs
from tests.house import SATURDAY, House
from tests.servers.web import Answer, Asked, MisbehavingServer

TREES = ("alder", "birch", "cedar", "elder", "hazel", "juniper", "larch", "maple", "oak", "pine")
PLACES = ("rivers", "mountains", "deserts", "islands", "cities", "glaciers", "meadows", "caves")
PAGE = 3


def posted(day: date) -> dict[str, str]:
    """The one preprint of a day."""
    number = day.toordinal()
    title = f"How {TREES[number % 10]} trees survive near {PLACES[number % 8]} in year {number}"
    doi = f"10.1101/{day:%Y.%m.%d}.{600000 + number % 1000}"
    return {"doi": doi, "title": title, "date": f"{day}", "version": "1", "server": "bioRxiv"}


class Service:
    """Answers as the details API does, three rows a page; `fails_at` is a page that it cannot."""

    def __init__(self, now: datetime) -> None:
        self.today = now.date()
        self.fails_at = 0
        self.asked = 0

    def answer(self, asked: Asked) -> Answer:
        self.asked += 1
        if self.asked == self.fails_at:
            return Answer(body=b"<html><body>502 Bad Gateway</body></html>")
        first, last, cursor = asked.target.split("/")[3:6]
        end = min(date.fromisoformat(last), self.today)
        count = (end - date.fromisoformat(first)).days + 1
        days = [date.fromisoformat(first) + timedelta(days=n) for n in range(count)]
        rows = [posted(day) for day in days[int(cursor) : int(cursor) + PAGE]]
        result = {"status": "ok", "cursor": int(cursor), "total": str(count), "interval": last}
        return Answer(body=json.dumps({"messages": [result], "collection": rows}).encode())


@pytest.fixture
def service(house: House, web: MisbehavingServer) -> Service:
    house.settings["sources"] = {
        "preprints": {"kind": "biorxiv", "url": web.url(""), "allow_private": True}
    }
    service = Service(SATURDAY)
    web.decides("*", service.answer)
    return service


def stored(house: House) -> int:
    with house.opened() as app, app.runtime.database.reading() as tx:
        return papers.count(tx)


def until(house: House) -> str:
    with house.opened() as app, app.runtime.database.reading() as tx:
        return runs.validators(tx, "preprints").get("until", "")


def new(result: list[Run]) -> int:
    return sum(run.new for run in result)


def test_F01_a_gap_of_weeks_is_filled_though_the_service_fails_in_the_middle(
    house: House, service: Service
) -> None:
    assert new(house.ingest()) == 8  # the first run looks back a week
    assert until(house) == SATURDAY.isoformat()

    house.clock.move(days=40)
    service.today = house.clock.at.date()
    service.fails_at = service.asked + 9
    result = house.ingest()
    assert result[-1].outcome == "failed" and "HTML" in result[-1].error
    assert SATURDAY.isoformat() < until(house) < house.clock.at.isoformat()

    house.ingest()
    assert stored(house) == 48
    assert until(house) == house.clock.at.isoformat()


def test_F01_a_failure_at_first_moves_nothing(house: House, service: Service) -> None:
    service.fails_at = 2
    house.ingest()
    assert until(house) == ""
    house.ingest()
    assert stored(house) == 8 and until(house) == SATURDAY.isoformat()
