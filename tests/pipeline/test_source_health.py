"""A source that answers and brings nothing: said once, shown while it lasts, and well again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from monitor.commands.status import status
from monitor.model import SourceWarning
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline.source_health import GAP_STANDS
from monitor.sources.calendar import UNKNOWN
from monitor.store.digests import incidents
from tests.house import House, newest_digest
from tests.servers.smtp import ScriptedSmtp
from tests.servers.web import MisbehavingServer

THURSDAY = datetime(2026, 11, 19, 12, tzinfo=UTC)
RSS = {"Content-Type": "application/rss+xml"}


@pytest.fixture
def arxiv(house: House, web: MisbehavingServer, smtp: ScriptedSmtp) -> House:
    """A house that reads arXiv's feed and tells an operator."""
    house.by_mail(smtp.port)
    house.settings["operator"] = {"email": "ops@example.org"}
    house.settings["subscriptions"]["lab"]["quiet"] = "send"
    house.settings["topics"] = {"agents": {"query": "agents"}}
    house.settings["sources"] = {
        "arxiv": {"kind": "arxiv", "url": web.url("/"), "allow_private": True}
    }
    house.clock.at = THURSDAY
    return house


def batch(web: MisbehavingServer, day: datetime, *numbers: int) -> None:
    items = "".join(
        f"<item><title>Agents that plan, study {number}</title>"
        f"<link>https://arxiv.org/abs/2611.{number:05}</link>"
        f"<guid>oai:arXiv.org:2611.{number:05}v1</guid>"
        f"<description>arXiv:2611.{number:05}v1 Announce Type: new\nAbstract: Study {number} asks "
        f"how agents plan.</description><pubDate>{format_datetime(day)}</pubDate></item>"
        for number in numbers
    )
    result = f"<pubDate>{format_datetime(day)}</pubDate>{items}"
    body = f'<rss version="2.0"><channel><title>cs</title>{result}</channel></rss>'
    web.answers("/", body=body.encode(), headers=RSS)


def notices(smtp: ScriptedSmtp) -> list[str]:
    mails = [mail.message for mail in smtp.received if mail.recipient == "ops@example.org"]
    return [mail["Subject"].partition(" (")[0] for mail in mails]


STALE = "arxiv has offered nothing new"


def texts(smtp: ScriptedSmtp) -> list[str]:
    """The digests of `lab`, as plain text on one line."""
    return [mail.text for mail in smtp.received if mail.recipient == "ada@example.org"]


def troubles(house: House) -> tuple[SourceWarning, ...]:
    with house.opened() as app:
        [source] = status(app.runtime).sources
    return source.troubles


def test_a_stale_feed_is_reported_once_named_in_each_digest_and_well_again(
    arxiv: House, web: MisbehavingServer, smtp: ScriptedSmtp
):
    batch(web, THURSDAY, 1, 2, 3)
    arxiv.run()
    assert troubles(arxiv) == ()
    for _ in range(4):  # Friday, and the weekend, on which nothing is published
        arxiv.next_morning()
    assert notices(smtp) == [STALE]
    [stale] = troubles(arxiv)
    assert (stale.kind, stale.since) == ("stale", THURSDAY + timedelta(days=1))
    assert arxiv.read(newest_digest).report[0].troubles == (stale,)
    assert "arxiv has offered nothing new since Friday." in texts(smtp)[-1]

    batch(web, THURSDAY + timedelta(days=4), 4)
    arxiv.run_after(hours=1)
    assert notices(smtp) == [STALE, "arxiv has something new again"]
    assert troubles(arxiv) == ()


def test_F11_a_weekend_a_holiday_and_a_late_feed_are_no_incident(
    arxiv: House, web: MisbehavingServer, smtp: ScriptedSmtp
):
    batch(web, THURSDAY, 1, 2, 3)
    arxiv.run()
    arxiv.clock.at = datetime(2026, 11, 20, 5, 30, tzinfo=UTC)  # half past midnight in New York
    arxiv.run()  # Friday's feed is late,
    arxiv.clock.move(hours=2)
    batch(web, arxiv.clock.at, 3, 4)
    arxiv.run()
    arxiv.clock.at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    batch(web, arxiv.clock.at)  # and empty at the weekend,
    for _ in range(2):
        arxiv.next_morning()
    arxiv.clock.at = datetime(2026, 11, 25, 12, tzinfo=UTC)
    batch(web, arxiv.clock.at, 4, 5)
    for _ in range(3):  # and Wednesday's at Thanksgiving, on a Thursday.
        arxiv.next_morning()
    assert notices(smtp) == []
    assert troubles(arxiv) == ()


def test_what_another_source_listed_first_is_no_staleness(
    arxiv: House, web: MisbehavingServer, smtp: ScriptedSmtp
):
    arxiv.settings["sources"] = {
        "mirror": arxiv.settings["sources"]["arxiv"],
        "arxiv": arxiv.settings["sources"]["arxiv"],
    }
    for day in range(2):
        batch(web, arxiv.clock.at, 10 * day, 10 * day + 1)
        arxiv.next_morning()
    assert notices(smtp) == []


def test_a_folder_is_judged_by_its_habits_and_not_by_arxivs_calendar(arxiv: House):
    arxiv.settings["sources"]["arxiv"] = {"kind": "arxiv", "path": "dumps/*.xml"}
    with arxiv.opened() as app:
        assert app.runtime.sources["arxiv"].calendar is UNKNOWN


def test_a_gap_is_said_in_the_next_digest_and_in_status_for_a_week(
    arxiv: House, web: MisbehavingServer, smtp: ScriptedSmtp
):
    batch(web, THURSDAY, 1)
    arxiv.run()
    arxiv.clock.move(hours=1)
    with arxiv.opened() as app, app.runtime.database.writing() as tx:
        error = "nothing from Monday to Sunday"
        incidents.open_incident(
            tx, Subject(SubjectKind.SOURCE, "arxiv"), IncidentKind.GAP, arxiv.clock.at, error
        )
    for number in range(2, 4):
        batch(web, arxiv.clock.at, number)
        arxiv.next_morning()
    assert notices(smtp) == ["Papers of arxiv may be missing"]
    said = ["Some papers of arxiv from before Thursday may be missing." in t for t in texts(smtp)]
    assert said == [True, False]
    [problem] = arxiv.problems()
    assert problem.startswith("source arxiv has had a gap since 2026-11-19 13:00 UTC: nothing")
    arxiv.clock.at += GAP_STANDS
    batch(web, arxiv.clock.at, 3, 4)  # 3 is known: nothing came and went in between
    arxiv.run()
    assert troubles(arxiv) == ()
    assert notices(smtp) == ["Papers of arxiv may be missing"]
