"""Cases that each have a name: killed after the answer, or asleep."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from monitor.model import DeliveryState
from monitor.store.digests import deliveries, outbox
from tests.faults import process
from tests.faults.points import Order
from tests.faults.scenes import SCENES, Stage, at
from tests.house import AGENTS, House
from tests.patience import PATIENCE
from tests.servers.smtp import Hold, ScriptedSmtp

MAIL = SCENES["mail"]


@pytest.mark.parametrize("point", ["smtp dot: answered", "outcome: begin", "outcome: unfinished"])
def test_K06_killed_after_the_answer_and_before_its_commit_one_mail_comes_once_more(
    receivers: Stage, point: str
):
    """Never more than one for each crash and connection, and the same bytes."""
    folder = receivers.fresh(MAIL)
    assert MAIL.act(folder, Order(point, "kill")) == process.KILLED
    assert [mail.recipient for mail in receivers.smtp.received] == ["ada@example.org"]
    for _ in range(3):
        MAIL.recover(folder)
    first, again, other = receivers.smtp.received
    assert (first.recipient, first.content) == (again.recipient, again.content)
    assert other.recipient == "grace@example.org"


def test_K16_a_process_that_slept_past_its_lease_can_neither_send_nor_record(
    house: House, smtp: ScriptedSmtp
):
    """It is stopped before the end of the text; its claim is taken over; it wakes."""
    house.by_mail(smtp.port)
    house.add("a.txt", AGENTS)
    house.run()
    house.clock.move(days=1)
    until = threading.Event()
    smtp.script["rcpt"].append(Hold(until, "250 2.1.5 ok"))
    asleep = house.process("digest", "--now", at(house.clock.at), "--json")
    try:
        assert smtp.held.wait(PATIENCE)
        os.kill(asleep.pid, signal.SIGSTOP)
        house.run()
        assert smtp.received == [], "while its owner lives, a claim is nobody else's"
        with house.opened() as app, app.runtime.database.writing() as tx:
            outbox.release_dead(tx, lambda owner: False, house.clock.at, app.runtime.channels)
        house.run()
        assert len(smtp.received) == 1
    finally:
        until.set()
        os.kill(asleep.pid, signal.SIGCONT)
        asleep.communicate(timeout=PATIENCE)
    assert len(smtp.received) == 1
    with house.opened() as app, app.runtime.database.reading() as tx:
        assert [one.state for one in deliveries.listing(tx)] == [DeliveryState.SENT]
