"""`status` says what it sees to be wrong, not only what was recorded, and what is tried when."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from monitor.commands.heartbeat import SERVICE
from monitor.commands.status import status
from monitor.errors import StoreError
from monitor.model import DeliveryState
from monitor.pipeline.match import match
from monitor.store.digests import deliveries
from monitor.store.engine import processes
from monitor.store.engine.database import Database
from tests.house import AGENTS, BANDITS, House
from tests.servers.smtp import Drop, ScriptedSmtp


def why(house: House) -> str:
    with house.opened() as app:
        return status(app.runtime).subscriptions[0].why


def beat(house: House) -> None:
    with house.opened() as app, app.runtime.database.writing() as tx:
        processes.beat(tx, SERVICE, datetime.now(UTC))


@pytest.fixture
def due(house: House, smtp: ScriptedSmtp) -> House:
    """A digest of one paper is due at eight in Berlin, in an hour's time."""
    house.by_mail(smtp.port)
    house.settings["subscriptions"]["lab"]["timezone"] = "Europe/Berlin"
    house.run(AGENTS)
    return house


def test_papers_that_have_waited_longer_than_their_slot_are_a_problem(due: House):
    assert due.problems() == ()
    due.clock.move(hours=1, minutes=15)
    assert due.problems() == ()
    due.clock.move(minutes=10)
    assert due.problems() == ()  # without a service a cron may come later
    beat(due)
    assert due.problems() == (
        "the digest of lab was due Sat 21 Nov 08:00 (Europe/Berlin) and has not been composed",
    )
    due.settings["subscriptions"]["lab"]["pause_until"] = "2026-12-01"
    assert due.problems() == ()


def test_papers_that_wait_for_an_alert_are_a_problem(due: House):
    due.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    with due.opened() as app:
        match(app.runtime)
    beat(due)
    assert due.problems() == ()
    due.clock.move(minutes=25)
    assert due.problems() == ("papers have been waiting for lab since 2026-11-21 06:00 UTC",)


def test_papers_that_nobody_matched_are_a_problem(house: House):
    house.add("1.txt", AGENTS)
    with house.opened() as app:
        app.once.ingest()
    assert house.problems() == ()
    house.clock.move(minutes=30)
    expected = ("papers have been waiting to be matched since 2026-11-21 06:00 UTC",)
    assert house.problems() == expected


def test_a_store_that_cannot_be_written_is_a_problem(due: House, monkeypatch: pytest.MonkeyPatch):
    begin = Database.writing

    @contextmanager
    def full(self: Database) -> Iterator[Any]:
        with begin(self) as tx:
            yield tx
            raise StoreError("monitor.db cannot grow: the disk is full")

    with due.opened() as app:
        monkeypatch.setattr(Database, "writing", full)
        result = status(app.runtime)
        monkeypatch.undo()
    problem = "the store cannot be written: monitor.db cannot grow: the disk is full"
    assert (result.ok, [one.text for one in result.problems]) == (False, [problem])


def test_why_says_when_a_digest_is_tried_again_in_the_zone_of_its_row(
    due: House, smtp: ScriptedSmtp
):
    assert why(due) == "no digest yet; the first: Sat 21 Nov 08:00 (Berlin)"
    smtp.script["rcpt"].append("450 4.2.0 greylisted")
    due.run_after(hours=2)
    [waits] = due.read(deliveries.listing, [DeliveryState.RETRY])
    assert waits.next_attempt_at
    at = (waits.next_attempt_at + timedelta(hours=1)).strftime("%H:%M")
    assert why(due).startswith(f"the digest of 21 Nov will be retried by email at {at}: ")
    due.run_after(minutes=20)
    assert why(due) == "1 paper sent today at 09:00"


def test_why_names_the_next_attempt_of_a_line_that_is_down(due: House, smtp: ScriptedSmtp):
    smtp.always["greeting"] = "421 4.3.0 later"
    due.run_after(hours=2)
    assert why(due).startswith("the digest of 21 Nov will be retried by email at 09:05: ")
    [problem] = due.problems()
    assert problem.endswith("; next attempt at 2026-11-21 08:05 UTC")
    due.clock.move(minutes=10)  # nothing is attempted where nothing waits
    assert "next attempt" not in due.problems()[0]


def test_why_says_what_cannot_be_sent_or_is_unclear(due: House, smtp: ScriptedSmtp):
    due.settings["smtp"]["unknown"] = "hold"
    smtp.script["dot"].append(Drop())
    due.run_after(hours=2)
    assert why(due).startswith("the digest of 21 Nov may or may not have arrived (by email)")
    smtp.script["rcpt"].append("550 5.1.1 nobody")
    due.next_morning((AGENTS[0] + " and Apart", BANDITS[1] + " With a language agent."))
    assert why(due).startswith("the digest of 22 Nov could not be sent (by email): ")
