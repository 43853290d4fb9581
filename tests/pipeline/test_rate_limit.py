"""Slack takes one message a second for each channel: the queue sees to it, and others go on."""

from __future__ import annotations

import math
import threading
from dataclasses import replace

import pytest

from monitor.channels.slack.channel import Slack
from monitor.commands.remedies import send_tests
from monitor.model import DeliveryState
from monitor.model.incidents import Subject, SubjectKind
from monitor.pipeline.cleanup import PAUSE
from monitor.store.digests import deliveries, incidents
from tests.house import House
from tests.servers.slack import TOKEN, SlackServer
from tests.servers.smtp import ScriptedSmtp


class Patience(threading.Event):
    """Waits for nothing, and notes what it was asked to wait; clean-up pauses for less."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        if timeout and timeout > PAUSE:
            self.asked.append(timeout)
        return False


def test_S07_two_messages_to_a_channel_are_a_second_apart_and_others_go_between(
    house: House, slack: SlackServer, monkeypatch: pytest.MonkeyPatch
):
    assert Slack.min_interval == 1
    monkeypatch.setattr(Slack, "min_interval", 600)  # far more than a round takes
    slack.channels["other"] = "C0OTHER01"
    house.settings["slack"] = {"token": TOKEN, "base_url": slack.base_url}
    house.settings["channels"] = {
        "team": {"kind": "slack", "channel": "C0PAPERS1"},
        "other": {"kind": "slack", "channel": "C0OTHER01"},
    }
    lab = house.settings["subscriptions"].pop("lab")
    for name, channel in (("a", "team"), ("b", "team"), ("c", "other")):
        house.settings["subscriptions"][name] = {**lab, "channels": [channel]}
    house.make_due()
    with house.opened() as app:
        patience = Patience()
        replace(app, runtime=replace(app.runtime, stopping=patience)).once.digest()
    assert [post["channel"] for post in slack.posts] == ["C0PAPERS1", "C0OTHER01", "C0PAPERS1"]
    [waited] = patience.asked
    assert 0 < waited <= 600


def test_E34_mail_leaves_no_faster_than_the_provider_allows(house: House, smtp: ScriptedSmtp):
    """Over all connections, and from one round to the next."""
    people = [f"reader-{number}@example.org" for number in range(4)]
    house.by_mail(smtp.port, *people[:3], per_minute=1, connections=2)
    house.settings["operator"] = {"email": people[3]}
    house.make_due()
    with house.opened() as app:
        patience = Patience()
        paced = replace(app.runtime, stopping=patience)
        replace(app, runtime=paced).once.digest()
        with paced.database.writing() as tx:
            incidents.open_incident(
                tx, Subject(SubjectKind.SOURCE, "page"), "failing", house.clock.at, "it is gone"
            )
        replace(app, runtime=paced).once.digest()
    assert len(smtp.received) == 4
    minutes = [math.ceil(wait / 60) for wait in sorted(patience.asked)]
    assert minutes == [1, 2, 3]


def test_E34_a_test_leaves_no_faster(house: House, smtp: ScriptedSmtp):
    house.by_mail(smtp.port, "ada@example.org", "grace@example.org", per_minute=1)
    with house.opened() as app:
        patience = Patience()
        tests = send_tests(replace(app.runtime, stopping=patience))
    assert [one.state for one in tests] == [DeliveryState.SENT] * 2
    assert [math.ceil(wait / 60) for wait in patience.asked] == [1]


def test_E34_asked_to_stop_it_sends_nothing_that_waits_for_its_turn(
    house: House, smtp: ScriptedSmtp
):
    house.by_mail(smtp.port, "ada@example.org", "grace@example.org", per_minute=1)
    house.make_due()

    class Stopped(Patience):
        def wait(self, timeout: float | None = None) -> bool:
            self.set()
            return True

    with house.opened() as app:
        replace(app, runtime=replace(app.runtime, stopping=Stopped())).once.digest()
        assert len(smtp.received) == 1
        with app.runtime.database.reading() as tx:
            assert deliveries.counts(tx) == {DeliveryState.SENT: 1, DeliveryState.PLANNED: 1}
