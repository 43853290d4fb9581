"""Slack takes one message a second for each channel: the queue sees to it, and others go on."""

from __future__ import annotations

import threading
from dataclasses import replace

from tests.house import AGENTS, House
from tests.servers.slack import TOKEN, SlackServer


class Patience(threading.Event):
    """Waits for nothing, and notes what it was asked to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.asked.append(timeout or 0.0)
        return False


def test_S07_two_messages_to_a_channel_are_a_second_apart_and_others_go_between(
    house: House, slack: SlackServer
):
    slack.channels["other"] = "C0OTHER01"
    house.told["slack"] = {"token": TOKEN, "base_url": slack.base_url}
    house.told["channels"] = {
        "team": {"kind": "slack", "channel": "C0PAPERS1"},
        "other": {"kind": "slack", "channel": "C0OTHER01"},
    }
    lab = house.told["subscriptions"].pop("lab")
    for name, channel in (("a", "team"), ("b", "team"), ("c", "other")):
        house.told["subscriptions"][name] = {**lab, "channels": [channel]}
    house.add("1.txt", AGENTS)
    house.run()
    house.clock.move(days=1)
    with house.opened() as app:
        patience = Patience()
        replace(app, parts=replace(app.parts, stopping=patience)).digest()
    assert [post["channel"] for post in slack.posts] == ["C0PAPERS1", "C0OTHER01", "C0PAPERS1"]
    [waited] = patience.asked
    assert 0 < waited <= 1
