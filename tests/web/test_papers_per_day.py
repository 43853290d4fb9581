"""Numbers of papers by day, beside what is usual."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import sqlalchemy as sa

from monitor.model import DayCount, UsualCount
from monitor.store.engine import schema
from monitor.web.pages.sources import count_of_source
from monitor.web.pages.topics import count_of_topic
from tests.house import AGENTS, BANDITS, FOLDING, House

DAY = timedelta(days=1)
# A Saturday, as the house's clock.
TODAY = date(2026, 11, 21)


def lived(house: House, fresh: dict[date, int], *, unasked: tuple[date, ...] = ()) -> None:
    """The source was first read ten weeks ago, and has brought thirty papers on each weekday."""
    first = TODAY - 70 * DAY
    rows = []
    for n in range(71):
        day = first + n * DAY
        usual = (28 + day.isocalendar().week % 5) if day.weekday() < 5 else 0
        brought = 5_000 if n == 0 else fresh.get(day, usual)
        if day not in unasked:
            rows.append({"day": day, "asked": 24, "offered": True, "fresh": brought})
    with house.opened() as app, app.runtime.database.writing() as tx:
        at = datetime(first.year, first.month, first.day, tzinfo=UTC)
        tx.execute(sa.insert(schema.source), [{"name": "page", "first_read_at": at}])
        tx.execute(sa.insert(schema.source_day), [{"source": "page"} | row for row in rows])


def of_source(house: House) -> dict[date, DayCount]:
    with house.opened() as app:
        return {one.day: one for one in count_of_source(app.runtime, "page")}


def test_a_source_beside_what_its_weekdays_bring(house: House) -> None:
    thin, empty, gap = (TODAY - n * DAY for n in (9, 10, 11))
    lived(house, {thin: 3, empty: 0, TODAY - 2 * DAY: 8}, unasked=(gap,))
    found = of_source(house)
    friday = found[TODAY - DAY]
    assert (friday.papers, friday.is_thin) == (30, False)
    assert friday.usual == UsualCount(28.75, 29.5, 31.25)
    assert found[TODAY] == DayCount(TODAY, 0)  # a Saturday, on which nothing ever comes
    # The first reading brought years; it is no day like others.
    assert min(found) == TODAY - 69 * DAY and max(found) == TODAY
    assert [day for day, one in found.items() if one.is_thin] == [empty, thin]
    assert (found[thin].papers, found[empty].papers, found[gap].papers) == (3, 0, None)
    # Eight of thirty are more than a quarter.
    assert found[TODAY - 2 * DAY].papers == 8


def test_a_day_that_is_not_over_is_not_thin(house: House) -> None:
    house.clock.move(days=2, hours=1)
    lived(house, {})
    today = TODAY + 2 * DAY
    with house.opened() as app, app.runtime.database.writing() as tx:
        row = {"source": "page", "day": today, "asked": 24, "offered": True, "fresh": 1}
        tx.execute(sa.insert(schema.source_day), [row])
    assert of_source(house)[today].is_thin is False
    house.clock.move(days=1)
    assert of_source(house)[today].is_thin is True


def test_the_days_of_a_source_begin_with_its_first_paper_and_of_a_topic_with_its_first_match(
    house: House,
) -> None:
    assert of_source(house) == {}  # it was never read
    house.run(AGENTS, BANDITS)
    assert list(of_source(house).values()) == [DayCount(TODAY, 2)]
    house.run_after(("Language of Agents", "An agent has a language."), FOLDING, days=2)
    days = of_source(house).values()
    assert [(one.day.day, one.papers) for one in days] == [(21, 2), (22, None), (23, 2)]
    with house.opened() as app:
        found = count_of_topic(app.runtime, "agents")
        assert [(one.day.day, one.papers) for one in found] == [(21, 1), (22, 0), (23, 1)]
        assert count_of_topic(app.runtime, "none") == ()
