"""When a source is asked again: what its server says of it holds for restarts and other processes.

The calendar of a house stands still; a server's dates count from the `Date` of its answer.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import format_datetime

import pytest
import sqlalchemy as sa

from monitor.model import Run, RunOutcome
from monitor.pipeline.ingest import is_time_to_read
from monitor.pipeline.source_health import lost_since
from monitor.sources.arxiv import Arxiv
from monitor.store.digests import incidents
from monitor.store.engine import schema
from monitor.store.papers import papers
from monitor.store.sources import reading_state, runs
from monitor.store.sources.reading_state import SourceState
from tests.house import SATURDAY, House
from tests.pipeline.test_feeds import RSS, feed, item, one
from tests.servers.web import Answer, Asked, MisbehavingServer, misbehaving_server

DAY = timedelta(days=1)
DATE = format_datetime(SATURDAY, usegmt=True)


def source(web: MisbehavingServer, path: str = "/feed", **result: object) -> dict[str, object]:
    return {"kind": "feed", "url": web.url(path), "allow_private": True, **result}


def recorded(house: House) -> list[Run]:
    return house.read(runs.since, SATURDAY - DAY, SATURDAY + 400 * DAY)


def state(house: House, name: str = "journal") -> SourceState:
    with house.opened() as app, app.runtime.database.reading() as tx:
        return reading_state.source_state(tx, name, app.runtime.sources[name].address)


# ── Retry-After ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [429, 503])
def test_F5_a_server_that_names_a_time_is_not_asked_before_it(
    fed: House, web: MisbehavingServer, status: int
) -> None:
    later = format_datetime(SATURDAY + timedelta(hours=2), usegmt=True)
    web.answers("/feed", status=status, headers={"Retry-After": later, "Date": DATE})
    assert one(fed)[0] == "failed"
    web.answers("/feed", body=feed(item(1)), headers=RSS)
    fed.clock.move(hours=2, seconds=-1)
    [run] = fed.ingest()  # opened anew: as another process, or after a restart
    assert run.outcome == "unchanged" and len(web.requests) == 1
    assert f"answered {status}" in run.error
    assert "not be asked again before 2026-11-21 08:00 UTC" in run.error
    assert len(recorded(fed)) == 1
    assert "source journal has been failing since 2026-11-21 06:00 UTC" in str(fed.problems())
    fed.clock.move(seconds=1)
    assert one(fed) == ("ok", 1, 1)
    assert len(web.requests) == 2


def test_F5_429_without_a_time_is_a_minute_and_503_none(fed: House, web: MisbehavingServer) -> None:
    web.answers("/feed", status=503)
    assert one(fed)[0] == one(fed)[0] == "failed"
    web.answers("/feed", status=429)
    assert one(fed)[0] == "failed"
    assert one(fed)[0] == "unchanged" and len(web.requests) == 3
    fed.clock.move(minutes=1)
    assert one(fed)[0] == "failed" and len(web.requests) == 4


def test_F5_all_sources_of_a_server_wait_and_others_do_not(
    fed: House, web: MisbehavingServer
) -> None:
    with misbehaving_server() as other:
        web.answers("/feed", status=429, headers={"Retry-After": "600"})
        web.answers("/more", body=feed(item(2)), headers=RSS)
        other.answers("/feed", body=feed(item(3)), headers=RSS)
        fed.settings["sources"] |= {"more": source(web, "/more"), "other": source(other)}
        result = {run.source: run for run in fed.ingest()}
    assert result["journal"].outcome == "failed" and result["other"].outcome == "ok"
    assert result["more"].outcome == "unchanged" and "429" in result["more"].error
    assert [asked.target for asked in web.requests] == ["/feed"]
    assert len(fed.problems()) == 1
    web.answers("/feed", body=feed(item(1)), headers=RSS)
    fed.clock.move(minutes=10)
    del fed.settings["sources"]["other"]
    assert [run.outcome for run in fed.ingest()] == ["ok", "ok"]


NOW = SATURDAY
KNOWN = SourceState("x", whole_at=NOW)


@pytest.mark.parametrize(
    ("known", "last", "due"),
    [
        (KNOWN, None, True),
        (KNOWN, timedelta(minutes=59), False),
        (KNOWN, timedelta(minutes=60), True),
        (KNOWN, -timedelta(minutes=1), True),
        (SourceState("x", lifetime=timedelta(hours=3)), timedelta(hours=2), False),
        (SourceState("x", lifetime=timedelta(hours=3)), timedelta(hours=3), True),
        (SourceState("x", lifetime=timedelta(days=365)), timedelta(hours=24), True),
        (SourceState("x", waits_until=NOW + timedelta(minutes=1)), timedelta(hours=2), False),
        (SourceState("x", waits_until=NOW + timedelta(minutes=1)), None, False),
        (SourceState("x", waits_until=NOW), timedelta(hours=2), True),
        (SourceState("x", waits_until=NOW + timedelta(days=2)), timedelta(hours=2), True),
    ],
)
def test_F7_a_source_is_due_after_the_longest_of_its_pauses(
    known: SourceState, last: timedelta | None, due: bool
) -> None:
    started = None if last is None else NOW - last
    assert is_time_to_read(known, started, timedelta(hours=1), NOW) is due


@pytest.mark.parametrize(
    ("headers", "ttl", "hours"),
    [
        ({}, "", 0),
        ({"Cache-Control": "public, max-age=7200"}, "", 2),
        ({"Expires": "Sat, 21 Nov 2026 10:00:00 GMT", "Date": DATE}, "", 4),
        ({"Expires": "0"}, "", 0),
        ({"Expires": "-1", "Cache-Control": "max-age=3600"}, "", 1),
        ({"Cache-Control": "max-age=999999999999"}, "", 24),
        ({}, "<ttl>180</ttl>", 3),
        ({"Cache-Control": "max-age=7200"}, "<ttl>60</ttl>", 2),
        ({}, "<sy:updatePeriod>daily</sy:updatePeriod>", 24),
        (
            {},
            "<sy:updatePeriod> hourly </sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency>",
            0.5,
        ),
    ],
)
def test_F7_what_a_feed_says_of_its_lifetime_is_remembered(
    fed: House, web: MisbehavingServer, headers: dict[str, str], ttl: str, hours: float
) -> None:
    body = feed(item(1)).replace(b"<channel>", b"<channel>" + ttl.encode())
    body = body.replace(b"<rss", b'<rss xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"')
    web.answers("/feed", body=body, headers={**RSS, **headers})
    assert one(fed) == ("ok", 1, 1)
    assert state(fed).lifetime == timedelta(hours=hours)
    fed.ingest()  # a person who asks does not wait for it
    assert len(web.requests) == 2


# ── validators ──────────────────────────────────────────────────────────────────────


def conditional(body: bytes, etag: str = '"1"') -> object:
    def answer(asked: Asked) -> Answer:
        if asked.headers.get("if-none-match") == etag:
            return Answer(304)
        return Answer(body=body, headers={**RSS, "ETag": etag})

    return answer


def test_F7_validators_are_stored_with_the_last_entries_or_not_at_all(
    fed: House, web: MisbehavingServer
) -> None:
    """After a crash between the entries and the end of their run all is asked for again."""
    web.decides("/feed", conditional(feed(item(1), item(2))))  # type: ignore[arg-type]

    def crash(_: Run) -> None:
        raise KeyboardInterrupt

    with fed.opened() as app, pytest.raises(KeyboardInterrupt):
        app.once.ingest((), crash)
    assert one(fed) == ("ok", 0, 0)
    assert "if-none-match" not in web.requests[1].headers
    assert one(fed) == ("unchanged", 0, 0)
    assert web.requests[2].headers["if-none-match"] == '"1"'
    assert fed.read(papers.count) == 2


def test_F14_a_server_that_says_unchanged_for_ever_is_asked_for_everything_after_a_week(
    fed: House, web: MisbehavingServer
) -> None:
    web.decides("/feed", conditional(feed(item(1), item(2))))  # type: ignore[arg-type]
    assert one(fed) == ("ok", 2, 2)
    with fed.opened() as app, app.runtime.database.writing() as tx:
        tx.execute(sa.delete(schema.paper))
    for _ in range(6):
        fed.clock.move(days=1)
        assert one(fed) == ("unchanged", 0, 0)
    fed.clock.move(days=1)
    assert one(fed) == ("ok", 2, 2)
    assert [("if-none-match" in asked.headers) for asked in web.requests] == [
        False, *[True] * 6, False,
    ]  # fmt: skip
    fed.clock.move(days=1)
    assert one(fed) == ("unchanged", 0, 0)


def test_F14_a_new_address_is_asked_without_the_validators_of_the_old(
    fed: House, web: MisbehavingServer
) -> None:
    web.decides("/feed", conditional(feed(item(1))))  # type: ignore[arg-type]
    web.decides("/new", conditional(feed(item(1), item(2))))  # type: ignore[arg-type]
    fed.ingest()
    fed.settings["sources"]["journal"] = source(web, "/new")
    assert one(fed) == ("ok", 2, 1)
    web.answers("/new", status=503, headers={"Retry-After": "3600"})
    assert one(fed)[0] == "failed"
    with misbehaving_server() as mirror:  # nor does it wait for the time that the old one named
        mirror.answers("/feed", body=feed(item(3)), headers=RSS)
        fed.settings["sources"]["journal"] = source(mirror)
        assert one(fed) == ("ok", 1, 1)


# ── moved for good ──────────────────────────────────────────────────────────────────


@pytest.fixture
def moved(fed: House, web: MisbehavingServer) -> House:
    """A house whose feed moved, and is asked for at its new address."""
    web.answers("/feed", status=301, headers={"Location": "/new"})
    web.answers("/new", body=feed(item(1)), headers=RSS)
    for _ in range(3):
        fed.ingest()
    web.requests.clear()
    return fed


def targets(web: MisbehavingServer) -> list[str]:
    result = [asked.target for asked in web.requests]
    web.requests.clear()
    return result


@pytest.mark.parametrize("status", [301, 308])
def test_F15_an_address_that_moved_twice_is_asked_at_its_new_place(
    fed: House, web: MisbehavingServer, status: int
) -> None:
    web.answers("/feed", status=status, headers={"Location": "/new"})
    web.answers("/new", body=feed(item(1)), headers=RSS)
    fed.ingest()
    fed.ingest()
    assert targets(web) == ["/feed", "/new"] * 2
    fed.ingest()
    assert targets(web) == ["/new"]
    web.answers("/new", body=feed(item(1), item(2)), headers=RSS)
    assert one(fed) == ("ok", 2, 1)
    assert targets(web) == ["/new"]


@pytest.mark.parametrize("status", [302, 303, 307])
def test_F15_a_redirect_for_now_is_followed_each_time(
    fed: House, web: MisbehavingServer, status: int
) -> None:
    web.answers("/feed", status=status, headers={"Location": "/new"})
    web.answers("/new", status=301, headers={"Location": "/newest"})
    web.answers("/newest", body=feed(item(1)), headers=RSS)
    for _ in range(4):
        fed.ingest()
    assert targets(web) == ["/feed", "/new", "/newest"] * 4


def test_F15_a_place_that_changes_is_counted_anew(fed: House, web: MisbehavingServer) -> None:
    web.decides("*", lambda _: Answer(body=feed(item(1)), headers=RSS))
    for place in ("/a", "/b", "/a", "/b"):
        web.answers("/feed", status=301, headers={"Location": place})
        fed.ingest()
    assert targets(web)[0::2] == ["/feed"] * 4
    web.answers("/feed", body=feed(item(1)), headers=RSS)
    fed.ingest()
    web.answers("/feed", status=301, headers={"Location": "/b"})
    fed.ingest()
    fed.ingest()
    assert "/feed" in targets(web)[-2:]


@pytest.mark.parametrize("fails", ["gone", "no feed"])
def test_F15_a_new_place_that_fails_is_forgotten(
    moved: House, web: MisbehavingServer, fails: str
) -> None:
    web.answers("/feed", body=feed(item(1), item(2)), headers=RSS)
    if fails == "gone":
        web.answers("/new", status=404)
    else:
        web.answers("/new", body=b"<html><body>This domain is for sale</body></html>")
        assert one(moved)[0] == "failed"
    assert one(moved) == ("ok", 2, 1)
    assert targets(web) == ["/new", "/feed"]
    moved.ingest()
    assert targets(web) == ["/feed"]


def test_F15_a_new_place_that_failed_is_confirmed_anew(
    moved: House, web: MisbehavingServer
) -> None:
    web.answers("/new", status=404)
    assert one(moved)[0] == "failed"
    targets(web)
    web.answers("/new", body=feed(item(1), item(2)), headers=RSS)
    for asked in (["/feed", "/new"], ["/feed", "/new"], ["/new"]):
        moved.ingest()
        assert targets(web) == asked


def test_F15_another_address_in_the_configuration_is_asked_itself(
    moved: House, web: MisbehavingServer
) -> None:
    web.answers("/own", body=feed(item(1), item(2)), headers=RSS)
    moved.settings["sources"]["journal"] = source(web, "/own")
    assert one(moved) == ("ok", 2, 1)
    assert targets(web) == ["/own"]


def test_F15_a_moved_repository_is_asked_with_each_query_at_its_new_place(
    house: House, web: MisbehavingServer
) -> None:
    empty = (
        '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">'
        "<responseDate>2026-11-21T06:00:00Z</responseDate>"
        '<error code="noRecordsMatch"/></OAI-PMH>'
    )

    def answer(asked: Asked) -> Answer:
        path, _, query = asked.target.partition("?")
        if path == "/oai":
            return Answer(301, headers={"Location": f"/oai2?{query}"})
        return Answer(body=empty.encode())

    web.decides("*", answer)
    house.settings["sources"] = {
        "thesis": {"kind": "oai", "url": web.url("/oai"), "allow_private": True}
    }
    for _ in range(3):
        house.ingest()
    paths = [asked.target.partition("?")[0] for asked in web.requests]
    assert paths == ["/oai", "/oai2", "/oai", "/oai2", "/oai2"]


# ── a gap that nothing fills ────────────────────────────────────────────────────────


def gaps(house: House) -> list[str]:
    return [one.error for one in house.read(incidents.open_incidents) if one.kind == "gap"]


def listing(web: MisbehavingServer, *numbers: int) -> None:
    web.answers("/feed", body=feed(*map(item, numbers)), headers=RSS)


def test_a_feed_that_shares_nothing_with_what_was_known_after_an_outage_has_a_gap(
    fed: House, web: MisbehavingServer
) -> None:
    for day in range(4):
        listing(web, day, day + 1)
        fed.ingest()
        fed.clock.move(days=1)
    listing(web, 4, 5)
    fed.ingest()  # daily, and 4 was known
    assert gaps(fed) == []
    listing(web, 90, 91)
    fed.clock.move(days=7)
    fed.ingest()
    [result] = gaps(fed)
    assert result.startswith("not read from 2026-11-25 06:00 to 2026-12-02 06:00 UTC")
    fed.clock.move(days=1)
    fed.ingest()
    assert len(gaps(fed)) == 1


def test_a_failing_server_counts_as_an_outage(fed: House, web: MisbehavingServer) -> None:
    for day in range(3):
        listing(web, day, day + 1)
        fed.ingest()
        fed.clock.move(days=1)
    web.answers("/feed", status=500)
    for _ in range(3):
        fed.ingest()
        fed.clock.move(days=1)
    listing(web, 50, 51)
    fed.ingest()
    [result] = gaps(fed)
    assert "from 2026-11-23 06:00" in result


def test_between_days_that_follow_in_the_calendar_nothing_is_lost() -> None:
    friday = SATURDAY - DAY
    tuesday = SATURDAY + 3 * DAY
    for now, since in ((tuesday - DAY, None), (tuesday, friday)):
        run = Run("arxiv", None, RunOutcome.OK, now, seen=3, fresh=3)
        assert lost_since([friday], timedelta(hours=1), run, Arxiv.calendar) == since


def at(day: int) -> datetime:
    return SATURDAY + day * DAY


@pytest.mark.parametrize(
    ("reads", "now", "seen", "fresh", "since"),
    [
        ([], 9, 5, 5, None),
        ([1], 9, 5, 5, 1),
        ([3, 2, 1], 4, 5, 5, None),
        ([3, 2, 1], 5, 5, 5, 3),
        ([3, 2, 1], 5, 5, 4, None),
        ([3, 2, 1], 5, 0, 0, None),
        ([15, 8, 1], 22, 5, 5, None),
        ([15, 8, 1], 29, 5, 5, 15),
        ([10, 9, 6, 5, 4, 3, 2], 13, 5, 5, None),  # a cron of weekdays
        ([30, 23, *range(22, 5, -1)], 38, 5, 5, 30),  # an outage is not usual
    ],
)
def test_when_papers_are_lost(
    reads: list[int], now: int, seen: int, fresh: int, since: int | None
) -> None:
    run = Run("journal", None, RunOutcome.OK, at(now), seen=seen, fresh=fresh)
    found = lost_since([at(day) for day in reads], timedelta(hours=1), run)
    assert found == (None if since is None else at(since))
