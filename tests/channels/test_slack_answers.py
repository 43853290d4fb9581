"""Answers given in Slack: menus, Socket Mode, signed requests, against a stand-in of Slack."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from structlog.testing import capture_logs

from monitor.app import App
from monitor.channels.slack import SlackSettings
from monitor.channels.slack.menus import CHOICES, read_press
from monitor.channels.slack.socket_mode import SocketMode
from monitor.commands.ratings import RaterScope, rated, saved
from monitor.commands.status import status
from monitor.service import slack_listener
from monitor.service.slack_listener import listening
from tests.house import AGENTS, FOLDING, House
from tests.patience import PATIENCE, wait
from tests.servers.slack import APP_TOKEN, TEAM, TOKEN, SlackServer
from tests.servers.slack_socket import SlackSocket, press, socket_mode
from tests.web.conftest import public_pages

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


@pytest.fixture
def socket(slack: SlackServer) -> Iterator[SlackSocket]:
    with socket_mode(slack) as running:
        yield running


@pytest.fixture
def lab(house: House, slack: SlackServer) -> House:
    """A house that sends to a channel of Slack, and takes answers from there."""
    house.settings["slack"] = {
        "token": TOKEN,
        "base_url": slack.base_url,
        "app_token": APP_TOKEN,
        "signing_secret": SECRET,
    }
    house.settings["channels"]["team"] = {"kind": "slack", "channel": "#papers"}
    house.settings["subscriptions"]["lab"]["channels"] = ["team"]
    return house


def send_digest(house: House) -> None:
    house.add("1.txt", AGENTS, FOLDING)
    house.run()
    house.next_morning()


@pytest.fixture
def heard(lab: House, slack: SlackServer, socket: SlackSocket) -> Iterator[App]:
    """Send a digest, and listen to what is chosen in its menus."""
    send_digest(lab)
    with lab.opened() as app, listening(app.settings.slack, app.runtime):
        yield app


def menus(slack: SlackServer) -> list[dict[str, Any]]:
    return [b["accessory"] for post in slack.posts for b in post["blocks"] if "accessory" in b]


def answers(app: App) -> list[tuple[str, str, str]]:
    return [
        (rating.who, rating.verdict, rating.how)
        for rating, _ in rated(app.runtime, RaterScope("lab"))
    ]


@pytest.mark.parametrize("settings", [("app_token",), ("signing_secret",), ()])
def test_menus_are_shown_only_where_somebody_takes_answers(
    lab: House, slack: SlackServer, settings: tuple[str, ...]
) -> None:
    """A signing secret alone is not enough: without `public_url` Slack cannot reach us."""
    for name in {"app_token", "signing_secret"} - set(settings):
        del lab.settings["slack"][name]
    send_digest(lab)
    texts = [[one["text"]["text"] for one in menu["options"]] for menu in menus(slack)]
    assert texts == ([list(CHOICES.values())] if settings == ("app_token",) else [])


def test_what_is_no_press_of_ours_is_left_alone(lab: House, slack: SlackServer) -> None:
    send_digest(lab)
    good = press(slack.posts[0], "up")
    assert read_press(good) is not None
    action = good["actions"][0]
    for other in (
        None,
        [],
        {},
        good | {"type": "view_submission"},
        good | {"actions": []},
        good | {"actions": [action | {"action_id": "another-app"}]},
        good | {"actions": [action | {"block_id": "paper|x|y|z"}]},
        good | {"actions": [action | {"block_id": "paper|1"}]},
        good | {"actions": [action | {"selected_option": {"value": "drop table"}}]},
        good | {"channel": None},
    ):
        assert read_press(other) is None


# ── Socket Mode ─────────────────────────────────────────────────────────────────────


@contextmanager
def connected(slack: SlackServer, take: Callable[[Any], None]) -> Iterator[None]:
    settings = SlackSettings(token=TOKEN, app_token=APP_TOKEN, base_url=slack.base_url)
    with closing(SocketMode(settings, take)) as connection:
        assert connection.connect() == ""
        yield


def test_S14_a_press_is_acknowledged_at_once_and_stored(
    heard: App, slack: SlackServer, socket: SlackSocket
) -> None:
    with heard.runtime.database.writing():  # the store is busy: the answer has to wait
        envelope = socket.press(press(slack.posts[0], "up"))
        assert envelope in socket.acknowledged and not slack.whispers
    wait(lambda: slack.whispers)
    assert answers(heard) == [(f"slack:{TEAM}:U0ADA", "wanted", "slack")]
    [whisper] = slack.whispers
    assert whisper["user"] == "U0ADA" and whisper["channel"] == slack.posts[0]["channel"]
    assert whisper["text"] == f"Papers like “{AGENTS[0]}” will come first."


def test_S14_a_press_is_acknowledged_when_it_is_taken(
    slack: SlackServer, socket: SlackSocket
) -> None:
    """What is acknowledged does not come again: a kill between the two would lose it."""
    acknowledged: list[bool] = []

    def take(payload: dict[str, str]) -> None:
        acknowledged.append(bool(socket.acknowledged))

    with connected(slack, take):
        envelope = socket.press({"a": "press"})
    assert acknowledged == [False]
    assert socket.acknowledged == {envelope}


def test_S14_a_press_survives_a_connection_that_breaks(
    lab: House, slack: SlackServer, socket: SlackSocket
) -> None:
    """It breaks twice: Slack sends the press again on the next connection."""
    send_digest(lab)
    socket.breaks = 2
    with lab.opened() as app, listening(app.settings.slack, app.runtime):
        socket.press(press(slack.posts[0], "down"))
        wait(lambda: slack.whispers)
        assert [verdict for _, verdict, _ in answers(app)] == ["unwanted"]
    assert socket.made >= 3


def test_S14_the_connection_moves_when_slack_asks_for_it(
    heard: App, slack: SlackServer, socket: SlackSocket
) -> None:
    wait(lambda: socket.connections)
    socket.move()
    wait(lambda: socket.made == 2)
    socket.press(press(slack.posts[0], "save"))
    wait(lambda: slack.whispers)
    assert [one.found.stored.paper.title for one in saved(heard.runtime, "lab")] == [AGENTS[0]]


def test_S13_a_press_that_comes_twice_is_one_answer_and_can_be_taken_back(
    heard: App, slack: SlackServer, socket: SlackSocket
) -> None:
    post = slack.posts[0]
    up = press(post, "up")
    grace = {"id": "U0GRACE"}
    for payload in (up, up, press(post, "up", user=grace)):
        socket.press(payload)
    wait(lambda: len(slack.whispers) == 3)
    people = sorted(who for who, _, _ in answers(heard))
    assert people == [f"slack:{TEAM}:U0ADA", f"slack:{TEAM}:U0GRACE"]
    socket.press(press(post, "none"))
    socket.press(up)  # once more, after a later one
    wait(lambda: len(slack.whispers) == 5)
    assert [who for who, _, _ in answers(heard)] == [f"slack:{TEAM}:U0GRACE"]
    assert slack.whispers[-1]["text"] == "Nothing was changed: you have given a later answer."


def test_a_press_from_elsewhere_or_for_another_paper_changes_nothing(
    heard: App, slack: SlackServer, socket: SlackSocket
) -> None:
    post = slack.posts[0]
    unshown = press(post, "up")
    action = unshown["actions"][0]
    action["block_id"] = action["block_id"].replace("|1|", "|2|", 1)
    for payload, reason in (
        (press(post, "up", team={"id": "T0OTHER"}), "not sent to this workspace."),
        (press(post, "up", channel={"id": "C0OTHER"}), "not sent to this channel."),
        (unshown, ""),
    ):
        slack.whispers.clear()
        socket.press(payload)
        wait(lambda: slack.whispers)
        text = slack.whispers[0]["text"]
        assert text.startswith("Nothing was changed: ") and text.endswith(reason)
        assert answers(heard) == []


def test_a_press_is_not_stored_while_slack_does_not_say_whose_workspace_it_is(
    heard: App, slack: SlackServer, socket: SlackSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again with the next press."""
    payload = press(slack.posts[0], "up")
    with monkeypatch.context() as broken:
        broken.setattr(slack, "listed", lambda *_: {"ok": False, "error": "internal_error"})
        socket.press(payload)
        wait(lambda: slack.whispers)
        assert answers(heard) == [] and "try again in a minute" in slack.whispers[0]["text"]
    socket.press(payload)
    wait(lambda: len(slack.whispers) == 2)
    assert len(answers(heard)) == 1


def test_an_answer_that_fails_is_in_the_log_and_stops_no_other(
    slack: SlackServer, socket: SlackSocket
) -> None:
    taken: list[int] = []

    def take(payload: dict[str, int]) -> None:
        taken.append(1 // payload["divisor"])

    with connected(slack, take), capture_logs() as logs:
        socket.press({"divisor": 0})
        socket.press({"divisor": 1})
        wait(lambda: taken)
    assert taken == [1]
    assert [one["event"] for one in logs] == ["slack answer failed"]


def test_the_service_listens_and_lets_go_when_it_ends(
    lab: House, slack: SlackServer, socket: SlackSocket
) -> None:
    service = lab.process("serve")
    try:
        wait(lambda: socket.connections)
        service.terminate()
        _, logged = service.communicate(timeout=PATIENCE)
    finally:
        service.kill()
    assert service.returncode == 0 and "slack connected" in logged
    wait(lambda: not socket.connections)


def test_a_token_that_slack_refuses_is_a_problem_in_status(
    lab: House, slack: SlackServer, socket: SlackSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack_listener, "BRIEF", 0.0)
    monkeypatch.setattr(slack_listener, "WAITS", (0.02,))
    lab.settings["slack"]["app_token"] = "xapp-revoked"
    with lab.opened() as app:
        with listening(app.settings.slack, app.runtime):
            wait(
                lambda: any("answers in Slack" in one.text for one in status(app.runtime).problems)
            )
        [problem] = [one.text for one in status(app.runtime).problems if "Slack" in one.text]
        assert "invalid_auth" in problem
    lab.settings["slack"]["app_token"] = APP_TOKEN
    with lab.opened() as app, listening(app.settings.slack, app.runtime):
        wait(lambda: not any("Slack" in one.text for one in status(app.runtime).problems))


class Seconds:
    """A clock that stands until a test moves it, and counts who looks at it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now


def test_an_outage_of_slack_is_no_incident_before_it_has_lasted(
    lab: House, slack: SlackServer, socket: SlackSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack_listener, "WAITS", (0.02,))
    lab.settings["slack"]["app_token"] = "xapp-revoked"
    seconds = Seconds()
    with lab.opened() as app, listening(app.settings.slack, app.runtime, seconds):

        def problems() -> list[str]:
            return [one.text for one in status(app.runtime).problems if "Slack" in one.text]

        for passed in (0.0, 60.0, 59.5):
            seconds.now += passed
            after = seconds.looks + 3  # a whole look at the new time
            wait(lambda after=after: seconds.looks >= after or problems())
            assert problems() == []
        seconds.now += 0.5
        wait(problems)


# ── signed requests ─────────────────────────────────────────────────────────────────


def signed(payload: dict[str, Any], secret: str = SECRET, at: str | None = None) -> dict[str, Any]:
    """Return what httpx posts for a press that Slack signed."""
    return signed_form({"payload": json.dumps(payload)}, secret, at)


def signed_form(
    form: dict[str, str], secret: str = SECRET, at: str | None = None
) -> dict[str, Any]:
    body = urlencode(form).encode()
    stamp = at if at is not None else str(int(time.time()))
    known = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": f"v0={known.hexdigest()}",
    }
    return {"content": body, "headers": headers}


@pytest.fixture
def asked(lab: House) -> Iterator[tuple[App, httpx.Client]]:
    send_digest(lab)
    with public_pages(lab) as (app, client):
        yield app, client


def test_S12_a_signed_press_is_stored_and_a_replay_changes_nothing(
    asked: tuple[App, httpx.Client], slack: SlackServer
) -> None:
    app, client = asked
    request = signed(press(slack.posts[0], "up"))
    for count in (1, 2):
        assert client.post("/slack/actions", **request).status_code == 200
        wait(lambda: len(slack.whispers) == count)  # noqa: B023
        assert answers(app) == [(f"slack:{TEAM}:U0ADA", "wanted", "slack")]


def test_L07_a_request_that_slack_did_not_sign_just_now_is_refused(
    asked: tuple[App, httpx.Client], slack: SlackServer
) -> None:
    app, client = asked
    payload = press(slack.posts[0], "up")
    now = int(time.time())
    good = signed(payload)
    for forged in (
        signed(payload, secret="another secret"),
        signed(payload, at=str(now - 361)),
        signed(payload, at=str(now + 361)),
        signed(payload, at="abc"),
        signed(payload, at="9" * 400),
        signed(payload, at=""),
        good | {"content": good["content"] + b"&x=1"},
        good | {"content": b"payload=\xff\xfe"},
        good | {"headers": good["headers"] | {"X-Slack-Signature": "v0=é".encode()}},
        good | {"headers": {"Content-Type": "application/x-www-form-urlencoded"}},
    ):
        assert client.post("/slack/actions", **forged).status_code == 401
    assert client.get("/slack/actions").status_code == 405
    assert client.post("/slack/actions", **signed({"type": "x"})).status_code == 200
    assert answers(app) == [] and slack.whispers == []


def nested(depth: int, begin: str, end: str) -> str:
    return begin * depth + "1" + end * depth


def test_a_payload_that_slack_never_sends_is_refused_or_ignored(
    asked: tuple[App, httpx.Client], slack: SlackServer
) -> None:
    app, client = asked
    for payload in (nested(20_000, "[", "]"), nested(20_000, '{"type":', "}"), "[", "\0"):
        body = {"payload": payload}
        assert client.post("/slack/actions", **signed_form(body)).status_code == 400
    assert client.post("/slack/actions", **signed_form({"other": "{}"})).status_code == 400
    good = json.dumps(press(slack.posts[0], "up"))
    stamp = re.search(r'"action_ts": "([^"]+)"', good)
    assert stamp
    for old, new in (
        (f'"{TEAM}"', nested(900, "[", "]")),
        ("paper|1|", f"paper|{'9' * 30}|"),
        ("paper|1|", f"paper|{'9' * 5000}|"),
        ("paper|1|", "paper|1|\\ud800"),
        ("paper|1|", "paper|1|\\u0000"),
        (stamp[0], f'"action_ts": {"9" * 400}'),
        ('"U0ADA"', '"\\ud800"'),
        ('"U0ADA"', '""'),
    ):
        assert old in good
        body = {"payload": good.replace(old, new)}
        assert client.post("/slack/actions", **signed_form(body)).status_code == 200, new[:20]
    assert answers(app) == [] and slack.whispers == []


def test_a_whole_message_of_slack_is_not_too_long(
    asked: tuple[App, httpx.Client], slack: SlackServer
) -> None:
    app, client = asked
    payload = press(slack.posts[0], "up", message={"text": "x" * 200_000})
    assert client.post("/slack/actions", **signed(payload)).status_code == 200
    wait(lambda: answers(app))
    huge = signed(press(slack.posts[0], "up", message={"text": "x" * 2_000_000}))
    assert client.post("/slack/actions", **huge).status_code == 413


def test_without_a_signing_secret_nothing_is_taken(lab: House, slack: SlackServer) -> None:
    send_digest(lab)
    del lab.settings["slack"]["signing_secret"]
    with public_pages(lab) as (app, client):
        request = signed(press(slack.posts[0], "up"))
        assert client.post("/slack/actions", **request).status_code == 404
        assert answers(app) == []
