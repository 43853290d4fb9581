"""Down for a week, then the gap filled from the archive: nothing missing, and nothing twice."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from datetime import date, datetime, timedelta

import pytest
import sqlalchemy as sa

from monitor.model import Run
from monitor.sources.oai.source import Oai
from monitor.store.digests import incidents
from monitor.store.engine import schema
from monitor.store.sources import runs
from tests.house import SATURDAY, House
from tests.patience import PATIENCE
from tests.servers.web import Answer, Asked, MisbehavingServer
from tests.sources.test_harvest import Shelf, month, numbered


class Tally:
    """What was stored, and how often each paper was announced as new."""

    def __init__(self, house: House) -> None:
        with house.opened() as app, app.runtime.database.reading() as tx:
            self.titles = sorted(tx.scalars(sa.select(schema.paper.c.title)))
            news = sa.select(schema.change.c.paper_id)
            self.news = Counter(tx.scalars(news.where(schema.change.c.kind == "new")))
            self.open = [one.kind for one in incidents.open_incidents(tx)]

    def is_exactly(self, titles: list[str]) -> bool:
        return self.titles == sorted(titles) and set(self.news.values()) <= {1}


def until(house: House, name: str) -> str:
    return house.read(runs.validators, name).get("until", "")


def killed(house: House, web: MisbehavingServer, name: str, after: int) -> None:
    """Ingest in a process of its own, killed while its request number `after` is answered."""
    arrived = len(web.requests) + after
    before = dict(web._answers)
    stopped = threading.Event()

    def hold(asked: Asked) -> Answer:
        result = before.get(asked.target.partition("?")[0]) or before["*"]
        answer = result if isinstance(result, Answer) else result(asked)
        if len(web.requests) < arrived:
            return answer
        return Answer(answer.status, answer.body, answer.headers, hold=stopped)

    web._answers = {"*": hold}
    process = house.process("ingest", name, "--now", house.clock.at.isoformat())
    try:
        web.wait_for_requests(arrived)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    finally:
        stopped.set()
        web._answers = before
    assert process.returncode == -signal.SIGKILL


# ── arXiv: the day's feed, and OAI-PMH for the days that are gone from it ───────────


@pytest.fixture
def shelf(house: House, web: MisbehavingServer) -> Shelf:
    """Three papers each working day; read daily in the first week of June."""
    shelf = month()
    web.decides("/rss/cs.LG", shelf.rss)
    web.decides("*", shelf.oai)
    source = {"kind": "arxiv", "categories": ["cs.LG"], "url": web.url(""), "allow_private": True}
    house.settings["sources"] = {"arxiv": source}
    house.clock.at = shelf.now
    return shelf


def move(house: House, shelf: Shelf, days: int) -> None:
    house.clock.move(days=days)
    shelf.now = house.clock.at


def new(result: list[Run]) -> int:
    return sum(run.new for run in result)


def test_seven_days_down_then_the_gap_is_filled_from_oai_pmh(house: House, shelf: Shelf) -> None:
    house.ingest()
    for _ in range(2):  # Tuesday and Wednesday, from the feed alone
        move(house, shelf, 1)
        shelf.asked.clear()
        assert new(house.ingest()) == 3 and shelf.asked == []
    move(house, shelf, 7)
    result = house.ingest()
    assert not [run for run in result if run.error]
    assert new(result) == 15  # the day's three of the feed, and twelve that were gone from it
    tally = Tally(house)
    assert tally.is_exactly(numbered(0, 23)) and tally.open == []
    move(house, shelf, 1)
    shelf.asked.clear()
    assert new(house.ingest()) == 3 and shelf.asked == []


@pytest.mark.parametrize("after", [2, 6])
def test_a_gap_of_arxiv_that_is_killed_in_the_middle_is_filled_all_the_same(
    house: House, shelf: Shelf, web: MisbehavingServer, after: int
) -> None:
    house.ingest()
    move(house, shelf, 9)
    killed(house, web, "arxiv", after)
    result = house.ingest()
    assert not [run for run in result if run.error]
    assert Tally(house).is_exactly(numbered(0, 23))


def test_pieces_of_a_long_gap_are_not_asked_for_again(
    house: House, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Oai, "enough_pages", 1)
    house.ingest()
    move(house, shelf, 23)
    begun = []
    for _ in range(6):
        shelf.asked.clear()
        house.ingest()
        begun += [asked["from"] for asked in shelf.asked if "from" in asked]
    assert begun == sorted(set(begun)) and len(begun) > 2
    assert Tally(house).is_exactly(numbered(0, 53))


# ── a service that is asked for days ────────────────────────────────────────────────


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
    source = {"kind": "biorxiv", "url": web.url(""), "allow_private": True}
    house.settings["sources"] = {"preprints": source}
    service = Service(SATURDAY)
    web.decides("*", service.answer)
    return service


@pytest.mark.parametrize("after", [3, 12])
def test_a_gap_of_a_service_that_is_killed_in_the_middle_is_filled_all_the_same(
    house: House, service: Service, web: MisbehavingServer, after: int
) -> None:
    house.ingest()
    reached = until(house, "preprints")
    house.clock.move(days=40)
    service.today = house.clock.at.date()
    killed(house, web, "preprints", after)
    if after > 8:  # the first piece, of two weeks and the overlap, is done and stays done
        assert until(house, "preprints") > reached
    house.ingest()
    tally = Tally(house)
    assert len(tally.titles) == 48 and set(tally.news.values()) == {1}
    assert until(house, "preprints") == house.clock.at.isoformat()


def test_F01_a_gap_of_weeks_is_filled_though_the_service_fails_in_the_middle(
    house: House, service: Service
) -> None:
    service.fails_at = 2
    house.ingest()
    assert until(house, "preprints") == ""
    house.ingest()
    assert len(Tally(house).titles) == 8  # the first run looks back a week
    assert until(house, "preprints") == SATURDAY.isoformat()

    house.clock.move(days=40)
    service.today = house.clock.at.date()
    service.fails_at = service.asked + 9
    result = house.ingest()
    assert result[-1].outcome == "failed" and "HTML" in result[-1].error
    assert SATURDAY.isoformat() < until(house, "preprints") < house.clock.at.isoformat()

    house.ingest()
    assert len(Tally(house).titles) == 48
    assert until(house, "preprints") == house.clock.at.isoformat()
