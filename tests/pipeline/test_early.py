"""`digest --early` is an extra digest: no slot loses its own by it, in no store and no minute."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from monitor.pipeline.compose import compose
from monitor.pipeline.flow import DigestReport
from monitor.store.digests import digests
from monitor.store.engine import schema
from monitor.store.topics import subscriptions
from tests.house import AGENTS, APART, BANDITS, SATURDAY, House
from tests.servers.smtp import ScriptedSmtp
from tests.web.conftest import pages

FURTHER = (BANDITS[0] + " of Language Agents", BANDITS[1])


def early(house: House, *papers: tuple[str, str]) -> list[DigestReport]:
    house.ingest(*papers)
    with house.opened() as app:
        return app.once.digest(["lab"], early=True)


def periods(house: House, name: str = "lab") -> list[str]:
    return [one.period for one in house.read(digests.newest, [name], 100)][::-1]


def last_slot(house: House) -> datetime | None:
    return house.read(subscriptions.states)["lab"].last_due_at


def test_an_early_digest_takes_no_slot_away_and_the_slot_sends_what_came_since(
    house: House,
) -> None:
    [sent] = early(house, AGENTS)
    assert (sent.period, sent.papers) == ("2026-11-21T06:00", 1)
    assert last_slot(house) is None
    assert house.run_after(APART, hours=3) == {"lab": 1}
    digest = house.digest()
    assert (digest.period, digest.covers_from) == ("2026-11-21", SATURDAY)
    assert [entry.paper.title for group in digest.groups for entry in group.entries] == [APART[0]]
    assert last_slot(house) == SATURDAY.replace(hour=8)


def test_an_early_digest_with_nothing_to_tell_is_none(house: House) -> None:
    house.run()
    assert early(house) == []
    assert house.run_after(AGENTS, hours=3) == {"lab": 1}
    assert periods(house) == ["2026-11-21"]


def test_after_an_early_digest_a_missed_slot_still_comes(house: House) -> None:
    house.run()
    house.clock.move(hours=3)
    [sent] = early(house, AGENTS)
    assert (sent.period, last_slot(house)) == ("2026-11-21T09:00", None)
    assert house.run_after(APART, hours=1) == {"lab": 1}
    assert periods(house) == ["2026-11-21T09:00", "2026-11-21"]
    # The newest was composed last, though it was due before the other.
    assert house.read(subscriptions.states)["lab"].last_composed_at == house.clock.at
    listed = house.read(digests.latest, ["lab"])["lab"]
    assert listed.period == "2026-11-21"


def test_two_within_a_minute_are_two_digests_with_a_page_each(house: House) -> None:
    sent = [early(house, AGENTS), early(house, APART), early(house, FURTHER), early(house)]
    names = ["2026-11-21T06:00", "2026-11-21T06:00-2", "2026-11-21T06:00-3"]
    assert [(one.period, one.papers) for some in sent for one in some] == [
        (name, 1) for name in names
    ]
    written = {path.name for path in (house.folder / "pages/lab").iterdir()}
    assert written == {f"{name.replace(':', '-')}.html" for name in names}
    with pages(house) as (_, client):
        for name, title in zip(names, (AGENTS[0], APART[0], FURTHER[0]), strict=True):
            shown = client.get(f"/digests/lab/{name.replace(':', '%3A')}")
            heading = re.search(r"<h3.*?</h3>", shown.text, re.DOTALL)
            assert heading and re.sub("<[^>]*>", "", heading[0]).strip() == title


@pytest.mark.parametrize("is_first", [True, False])
def test_in_the_minute_of_a_slot_of_cron_both_are_sent(house: House, is_first: bool) -> None:
    house.settings["subscriptions"]["lab"]["schedule"] = "0 6 * * *"
    house.ingest(AGENTS)
    if is_first:
        [sent] = early(house)
        assert house.run(APART) == {"lab": 1}
    else:
        assert house.run() == {"lab": 1}
        [sent] = early(house, APART)
    assert (sent.period, sent.papers) == ("2026-11-21T06:00-2", 1)
    assert sorted(periods(house)) == ["2026-11-21T06:00", "2026-11-21T06:00-2"]


def test_an_early_digest_of_an_alert_leaves_the_numbers_of_the_others(house: House) -> None:
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    assert house.run(AGENTS) == {"lab": 1}
    assert [one.period for one in early(house, APART)] == ["2026-11-21T06:00"]
    assert house.run(FURTHER) == {"lab": 1}
    assert periods(house) == ["1", "2026-11-21T06:00", "3"]


def test_a_pause_is_not_ended_by_an_early_digest(house: House) -> None:
    house.settings["subscriptions"]["lab"]["pause_until"] = "2026-11-25"
    assert early(house, AGENTS) == []


@pytest.mark.parametrize("held", [1, 3])
def test_early_digests_of_older_stores_keep_their_period_and_their_slot(
    house: House, held: int
) -> None:
    """Each took the next free slot. Older versions wrote no `early`."""
    later: Sequence[tuple[str, str]] = (AGENTS, APART, FURTHER)
    for paper in later[:held]:
        house.ingest(paper)
        with house.opened() as app:
            app.once.digest(["lab"], ahead=True)
    with house.opened() as app, app.runtime.database.writing() as tx:
        tx.execute(sa.update(schema.digest).values(early=None))
    days = ["2026-11-21", "2026-11-22", "2026-11-23"]
    assert periods(house) == days[:held]
    assert last_slot(house) == SATURDAY.replace(hour=8) + timedelta(days=held - 1)
    house.ingest((AGENTS[0] + " Again", BANDITS[1] + " Language agents."))
    house.clock.at = SATURDAY.replace(hour=9)
    sent = {}
    for day in (*days, "2026-11-24"):
        sent[day] = sum(house.run().values())
        house.clock.move(days=1)
    # Nothing is sent for a slot that is held; the first free one has the paper.
    assert [day for day, papers in sent.items() if papers] == [(*days, "2026-11-24")[held]]
    assert periods(house) == [*days, "2026-11-24"]


def test_one_that_was_composed_and_not_delivered_is_delivered_by_the_next_run(
    house: House, smtp: ScriptedSmtp
) -> None:
    house.by_mail(smtp.port)
    house.ingest(AGENTS)
    with house.opened() as app:
        assert len(compose(app.runtime, ["lab"], early=True)) == 1
    assert smtp.received == []
    assert house.run() == {"lab": 1}
    assert [mail.recipient for mail in smtp.received] == ["ada@example.org"]
    assert house.run() == {} and periods(house) == ["2026-11-21T06:00"]


def test_one_that_reached_nobody_is_in_the_digest_of_the_next_slot(
    house: House, smtp: ScriptedSmtp
) -> None:
    house.by_mail(smtp.port)
    smtp.always["rcpt"] = "450 4.2.0 greylisted"
    early(house, AGENTS)
    smtp.always.clear()
    assert house.run_after(APART, hours=3) == {"lab": 2}
    assert len(smtp.received) == 1


def test_scripts_read_the_fields_of_any_digest(house: House) -> None:
    house.add("a.txt", AGENTS)
    assert house.command("ingest", "--now", f"{SATURDAY:%Y-%m-%dT%H:%M:%SZ}").status == 0
    line = ("digest", "--json", "--now", "2026-11-21T06:30:00Z", "lab")
    extra = house.command(*line, "--early").json["digests"]
    house.add("b.txt", APART)
    assert house.command("ingest", "--now", f"{SATURDAY:%Y-%m-%dT%H:%M:%SZ}").status == 0
    slot = house.command("digest", "--json", "--now", "2026-11-21T08:00:00Z").json["digests"]
    assert [[*one] for one in extra] == [[*one] for one in slot]
    assert [one["period"] for one in (*extra, *slot)] == ["2026-11-21T06:30", "2026-11-21"]
