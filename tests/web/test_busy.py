"""Pages give way to the service's own work, and never for long."""

from __future__ import annotations

import threading
from dataclasses import replace

import httpx
import pytest

from monitor.app import App
from monitor.commands.stored_matches import PATIENCE as PATIENCE_OF_SEARCH
from monitor.commands.stored_matches import QueryMatcher
from monitor.match import parse_query
from monitor.pipeline.busy import Busy
from monitor.web.server import serving_pages
from tests.house import House
from tests.patience import PATIENCE
from tests.web.conftest import free_port


class BusyFor(Busy):
    """Busy for so many looks."""

    def __init__(self, looks: float) -> None:
        super().__init__()
        self.looks = looks
        self.seen = 0

    def __bool__(self) -> bool:
        self.seen += 1
        return self.seen <= self.looks


@pytest.mark.parametrize(("looks", "seen"), [(0, 1), (3, 4), (float("inf"), 15)])
def test_a_page_waits_while_papers_are_stored_but_for_a_moment_only(
    lived: House, looks: float, seen: int
) -> None:
    busy, port = BusyFor(looks), free_port()
    with (
        lived.opened() as app,
        serving_pages(app.settings, replace(app.runtime, busy=busy), f"127.0.0.1:{port}"),
    ):
        answer = httpx.get(f"http://127.0.0.1:{port}/digests", timeout=PATIENCE)
    assert answer.status_code == 200
    assert busy.seen == pytest.approx(seen, abs=1)


class Counted(Busy):
    """Counts how often somebody was at work."""

    begun = 0

    def __enter__(self) -> None:
        self.begun += 1
        super().__enter__()


def test_storing_papers_is_work_that_pages_give_way_to(house: House) -> None:
    house.add("1.txt", ("Agents of Language", "A language that agents may speak."))
    with house.opened() as app:
        busy = Counted()
        App(app.settings, replace(app.runtime, busy=busy)).ingest()
    assert busy.begun and not busy


def test_a_search_waits_between_its_pages_and_goes_on_after_a_moment(house: House) -> None:
    """It was busy all the time: the search is answered all the same."""
    house.add("1.txt", ("Agents of Language", "A language that agents may speak."))
    house.run()
    with house.opened() as app:
        asked: list[float] = []
        matcher = QueryMatcher(parse_query("agents"), Asked(asked))
        with app.runtime.database.reading() as tx:
            for _ in range(3):
                assert len(matcher.match(tx, [1])) == 1
    assert asked == [PATIENCE_OF_SEARCH, pytest.approx(PATIENCE_OF_SEARCH / 2), 0.0]


class Asked(Busy):
    """Busy for half of the time that a search would wait; `asked` says for how long it would."""

    def __init__(self, asked: list[float]) -> None:
        super().__init__()
        self.asked = asked

    def wait(self, most: float) -> float:
        self.asked.append(most)
        return PATIENCE_OF_SEARCH / 2


def test_waiting_ends_with_the_work() -> None:
    busy, waited = Busy(), []
    with busy:
        other = threading.Thread(target=lambda: waited.append(busy.wait(PATIENCE)))
        other.start()
    other.join()
    assert waited and waited[0] < PATIENCE
    assert busy.wait(PATIENCE) == 0.0
