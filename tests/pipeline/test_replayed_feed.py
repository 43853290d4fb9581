"""A feed that tells old papers anew is held; what is new, however much of it, never is."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import format_datetime

import pytest

from monitor.model import FirstRun, RunOutcome
from tests.house import SATURDAY, House
from tests.pipeline.test_feeds import RSS, feed
from tests.servers.web import MisbehavingServer

DAY = timedelta(days=1)
SUBJECTS = ["Folding", "Sorting", "Diving", "Knitting", "Sailing"]
SUBJECTS += ["Baking", "Mining", "Singing", "Rowing", "Weaving"]


@pytest.fixture
def fed(fed: House) -> House:
    fed.settings["sources"]["journal"]["first_run"] = "deliver"
    return fed


def item(subject: str, at: datetime | str, guid: str = "", link: str = "", title: str = "") -> str:
    dated = at if isinstance(at, str) else format_datetime(at)
    return (
        f"<item><title>{title or f'{subject} Agents'}</title>"
        f"<link>{link or f'https://journal.example.org/{subject}'}</link>"
        f"<guid>{guid or subject}</guid><pubDate>{dated}</pubDate></item>"
    )


def serve_feed(web: MisbehavingServer, *items: str) -> None:
    web.answers("/feed", body=feed(*items), headers=RSS)


def read(house: House, accept_as: FirstRun | None = None) -> tuple[str, int, int]:
    with house.opened() as app:
        [run] = app.once.ingest(("journal",), accept_as=accept_as)
        app.once.match()
    return run.outcome.value, run.seen, run.new


def moved(number: int, at: datetime) -> str:
    """The entry as another system numbers, places and titles it."""
    subject = SUBJECTS[number]
    return item(
        subject, at, f"n{number}", f"https://new.example.org/{number}", f"On {subject} agents"
    )


def old(number: int) -> datetime:
    return SATURDAY - (number + 2) * DAY


def test_F08_a_known_feed_that_turns_new_is_held_and_nobody_is_notified(
    fed: House, web: MisbehavingServer
) -> None:
    serve_feed(web, *(item(SUBJECTS[n], old(n)) for n in range(8)))
    assert read(fed) == ("ok", 8, 8)
    fed.clock.move(days=1)
    serve_feed(web, *(moved(n, old(n)) for n in range(8)))
    assert read(fed) == ("failed", 0, 0)
    [problem] = [one for one in fed.problems() if "held" in one]
    assert "8 of 8 entries" in problem
    assert "paper-monitor ingest journal --accept" in problem
    assert read(fed) == ("failed", 0, 0), "it is held until someone decides"


@pytest.mark.parametrize(("accept_as", "sent"), [(FirstRun.DELIVER, 16), (FirstRun.BASELINE, 8)])
def test_F08_a_held_reading_is_accepted_by_a_person_and_the_incident_ends(
    fed: House, web: MisbehavingServer, accept_as: FirstRun, sent: int
) -> None:
    serve_feed(web, *(item(SUBJECTS[n], old(n)) for n in range(8)))
    read(fed)
    serve_feed(web, *(moved(n, old(n)) for n in range(8)))
    fed.clock.move(days=1)
    assert read(fed)[0] == "failed"
    assert read(fed, accept_as) == ("ok", 8, 8)
    assert not any("held" in problem for problem in fed.problems())
    with fed.opened() as app:
        [digest] = app.once.digest(("lab",), early=True)
    assert digest.papers == sent
    assert read(fed)[0] in ("ok", "unchanged")


def test_F08_links_that_come_back_as_other_papers_under_other_ids_are_held(
    fed: House, web: MisbehavingServer
) -> None:
    serve_feed(web, *(item(SUBJECTS[n], "") for n in range(5)))
    read(fed)
    fed.clock.move(days=1)
    places = [f"https://journal.example.org/{subject}" for subject in SUBJECTS]
    serve_feed(web, *(item(SUBJECTS[n + 5], "", "", places[n]) for n in range(5)))
    assert read(fed)[0] == "failed"


def test_F08_guids_that_change_daily_are_the_same_papers_and_are_not_held(
    fed: House, web: MisbehavingServer
) -> None:
    for day in range(3):
        serve_feed(web, *(item(SUBJECTS[n], old(n), f"{day}-{n}") for n in range(8)))
        assert read(fed) == ("ok", 8, 0 if day else 8)
        fed.clock.move(days=1)


def test_F08_a_full_day_of_new_entries_is_not_held(fed: House, web: MisbehavingServer) -> None:
    serve_feed(web, *(item(SUBJECTS[n], old(n)) for n in range(5)))
    read(fed)
    fed.clock.move(days=1)
    serve_feed(web, *(item(SUBJECTS[n], fed.clock.now()) for n in range(5, 10)))
    assert read(fed) == ("ok", 5, 5)


@pytest.mark.parametrize(("known", "outcome"), [(5, "ok"), (4, "failed")])
def test_F08_half_of_the_old_entries_may_be_new_and_no_more(
    fed: House, web: MisbehavingServer, known: int, outcome: str
) -> None:
    serve_feed(web, *(item(SUBJECTS[n], old(n)) for n in range(known)))
    read(fed)
    fed.clock.move(days=1)
    serve_feed(web, *(item(SUBJECTS[n], old(n)) for n in (*range(known), *range(5, 10))))
    assert read(fed)[0] == outcome


def test_F08_a_list_is_never_held(house: House) -> None:
    for name in ("1.txt", "2.txt"):
        house.add(name, *((f"{one} Agents of {name}", "Of agents. Yes.") for one in SUBJECTS))
        [run] = house.ingest()
        assert run.outcome is RunOutcome.OK
        house.clock.move(days=1)
