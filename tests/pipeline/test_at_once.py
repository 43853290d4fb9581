"""Several mails at a time: what they share is a commit, and never a guarantee."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from monitor.app import App
from monitor.model import DeliveryState
from monitor.model.incidents import Subject, SubjectKind
from monitor.pipeline.compose import compose
from monitor.pipeline.deliver import deliver_group
from monitor.store.digests import incidents, outbox
from tests.house import House
from tests.patience import PATIENCE, wait
from tests.servers.smtp import Hold, ScriptedSmtp

CONNECTIONS = 4
READERS = 20


@pytest.fixture
def due(house: House, smtp: ScriptedSmtp) -> House:
    """A digest that is due to twenty people, four mails at a time."""
    people = [f"reader{number}@example.org" for number in range(READERS)]
    house.by_mail(smtp.port, *people, connections=CONNECTIONS, unknown="hold")
    house.make_due()
    return house


def states(house: House) -> Counter[DeliveryState]:
    return Counter(house.states())


def held(smtp: ScriptedSmtp) -> threading.Event:
    """Let no mail be answered before the event that is returned."""
    until = threading.Event()
    smtp.always["dot"] = Hold(until, "250 2.0.0 ok")
    return until


def test_each_goes_out_once_over_as_many_connections_as_are_allowed(due: House, smtp: ScriptedSmtp):
    due.run()
    due.run()
    got = Counter(mail.recipient for mail in smtp.received)
    assert set(got.values()) == {1}
    assert len(got) == READERS
    assert smtp.connections <= CONNECTIONS
    assert states(due) == {DeliveryState.SENT: READERS}


def test_no_last_byte_leaves_before_its_hand_off_is_committed(due: House, smtp: ScriptedSmtp):
    """The servers have read the end of four mails: four are handed off, for all to see."""
    until = held(smtp)
    process = due.process("digest", "--now", due.clock.at.isoformat())
    try:
        wait(lambda: len(smtp.talking) == CONNECTIONS and smtp.held.is_set())
        wait(lambda: states(due)[DeliveryState.HANDING_OFF] == CONNECTIONS)
        assert smtp.received == []
    finally:
        until.set()
        process.communicate(timeout=PATIENCE)
    assert states(due) == {DeliveryState.SENT: READERS}


@contextmanager
def answers_awaited(house: House, smtp: ScriptedSmtp) -> Iterator[App]:
    """A round in which each connection waits for an answer, which all have when this is left."""
    until = held(smtp)
    with house.opened() as app:
        app.once.match()
        compose(app.runtime)
        thread = threading.Thread(target=deliver_group, args=(app.runtime, "smtp"))
        thread.start()
        wait(lambda: states(house)[DeliveryState.HANDING_OFF] == CONNECTIONS)
        try:
            yield app
        finally:
            until.set()
            thread.join(PATIENCE)
        assert not thread.is_alive()


def test_K14_asked_to_stop_it_lets_go_of_what_it_claimed_ahead(due: House, smtp: ScriptedSmtp):
    with answers_awaited(due, smtp) as app:
        app.runtime.stopping.set()
    assert states(due) == {
        DeliveryState.SENT: CONNECTIONS,
        DeliveryState.PLANNED: READERS - CONNECTIONS,
    }
    due.run()
    assert set(Counter(mail.recipient for mail in smtp.received).values()) == {1}


def test_M01_a_server_that_takes_nothing_ends_the_round_for_all(due: House, smtp: ScriptedSmtp):
    smtp.always["greeting"] = "421 4.3.2 closing"
    due.run()
    assert smtp.connections <= CONNECTIONS
    assert states(due) == {DeliveryState.PLANNED: READERS}
    [outage] = due.read(incidents.open_incidents)
    assert outage.subject == Subject(SubjectKind.OUTAGE_GROUP, "smtp")
    assert outage.tries == 1
    smtp.always.pop("greeting")
    due.run_after(minutes=10)
    assert states(due) == {DeliveryState.SENT: READERS}


def test_no_more_are_attempted_than_are_asked_for(due: House, smtp: ScriptedSmtp):
    with due.opened() as app:
        app.once.match()
        compose(app.runtime)
        assert len(deliver_group(app.runtime, "smtp", most=6).ids) == 6
    assert states(due) == {DeliveryState.SENT: 6, DeliveryState.PLANNED: READERS - 6}


def test_an_answer_that_comes_after_we_were_taken_for_dead_is_not_forgotten(
    due: House, smtp: ScriptedSmtp
):
    """PostgreSQL was restarted while we waited: another saw our lock gone; now it is known."""
    with answers_awaited(due, smtp) as app:
        with app.runtime.database.writing() as tx:
            outbox.release_dead(tx, lambda owner: False, due.clock.at, app.runtime.channels)
        assert states(due)[DeliveryState.UNKNOWN] == CONNECTIONS
    assert states(due)[DeliveryState.UNKNOWN] == 0
    assert states(due)[DeliveryState.SENT] >= CONNECTIONS
