"""No secret is ever shown: not in what works, not in what fails, not in what is refused."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Say
from tests.cli.test_json import EVERY
from tests.house import AGENTS, House
from tests.servers.oauth import TokenServer
from tests.servers.smtp import ScriptedSmtp, closed_port

SECRETS = {
    "SMTP_PASSWORD": "hunter2-smtp",
    "SLACK_BOT_TOKEN": "xoxb-4711-slack",
    "WEBHOOK": "https://127.0.0.1:9/services/T0/B0/hooksecret",
    "SIGNING_SECRET": "whsec_aHVudGVyMi1zaWduaW5nLWlzLW5vdC1zaG93bi1hdC1hbGw=",
    "HOOK_KEY": "hunter2-hook",
    "FEED_KEY": "feedsecret",
    "CLIENT_SECRET": "hunter2-client",
    "REFRESH_TOKEN": "hunter2-refresh",
}
SECRET_PARTS = ("hunter2", "xoxb-4711", "hooksecret", "feedsecret", "access-token", "refresh-token")
SECRET_PARTS += ("aHVudGVyMi1z", "whsec_")
SHOWN = [*(line for line, _, _ in EVERY), "config", "deliveries retry 1"]


@pytest.mark.parametrize(
    ("refused_by", "problem"),
    [
        ("everything", "refused"),
        ("mail server", "just issued"),
        ("token endpoint", "invalid_grant"),
    ],
)
def test_nothing_that_runs_shows_a_secret(
    house: House, say: Say, monkeypatch: pytest.MonkeyPatch, refused_by: str, problem: str
) -> None:
    """In a house in which nothing can be reached, and everything wants a secret."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    house.settings["slack"] = {"token": "${SLACK_BOT_TOKEN}", "base_url": "http://127.0.0.1:9/"}
    house.settings["channels"] = {
        "bot": {"kind": "slack", "channel": "#papers"},
        "hook": {"kind": "slack", "webhook": "${WEBHOOK}"},
        "program": {
            "kind": "webhook",
            "url": "${WEBHOOK}",
            "secret": "${SIGNING_SECRET}",
            "headers": {"X-Key": "${HOOK_KEY}"},
            "allow_private": True,
        },
    }
    feed = "http://papers:${FEED_KEY}@127.0.0.1:9/feed?key=${FEED_KEY}"
    house.settings["sources"]["feed"] = {"kind": "feed", "url": feed, "allow_private": True}
    house.add("1.txt", AGENTS)
    with (
        TokenServer(refresh_tokens={SECRETS["REFRESH_TOKEN"]}) as endpoint,
        ScriptedSmtp(extensions=("AUTH XOAUTH2",), accepts=lambda token: False) as mx,
    ):
        oauth = {
            "provider": "google",
            "client_id": "app",
            "client_secret": "${CLIENT_SECRET}",
            "refresh_token": "${REFRESH_TOKEN}",
            "token_url": endpoint.url,
        }
        if refused_by == "everything":
            house.by_mail(9, username="papers", password="${SMTP_PASSWORD}")
        else:
            house.by_mail(mx.port, username="papers", oauth=oauth)
        if refused_by == "token endpoint":
            endpoint.refresh_tokens.clear()
        house.settings["subscriptions"]["lab"]["channels"] = ["bot", "hook", "program"]
        said = {line: say(*line.split()) for name in SHOWN for line in (name, f"{name} --json")}
    for line, heard in said.items():
        assert not any(part in heard.out + heard.err for part in SECRET_PARTS), line
        assert "Traceback" not in heard.err, line
    assert problem in said["doctor"].out
    assert bool(endpoint.asked) == (refused_by != "everything")


LINES = ("config", "config --json", "check")
MASKED = {
    "http://papers:feedsecret@host/${FEED_PATH}": "http://papers:********@host/${FEED_PATH}",
    "http://papers:x${FEED_KEY}@host/feed": "http://papers:********@host/feed",
    "http://papers:${FEED_KEY}@host/feed": "http://papers:${FEED_KEY}@host/feed",
    "https://host/feed?api_key=feedsecret": "https://host/feed?api_key=********",
    "https://h/${FEED_PATH}?token=feedsecret": "https://h/${FEED_PATH}?token=********",
}


def test_secrets_of_an_address_are_masked(
    house: House, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEED_PATH", "nature.rss")
    monkeypatch.setenv("FEED_KEY", "feedsecret")
    monkeypatch.setenv("DB_HOST", "db")
    sources = {f"feed-{n}": {"kind": "feed", "url": url} for n, url in enumerate(MASKED)}
    house.settings["sources"] = sources
    house.settings["store"] = "postgresql://monitor:hunter2@${DB_HOST}/monitor"
    shown = say("config", "--json").json
    assert [source["url"] for source in shown["sources"].values()] == [*MASKED.values()]
    assert shown["store"] == "postgresql://monitor:********@${DB_HOST}/monitor"


def test_topic_token_and_address_of_phones_and_chats_are_masked(house: House, say: Say) -> None:
    """Also where they cannot be sent to, and in what is said then."""
    secrets = ("papers-7Kq2Xw", "tk_hushhushhush", "Ahushhush123456")
    with closed_port() as port:
        house.settings["channels"] = {
            "phone": {
                "kind": "ntfy",
                "url": f"http://127.0.0.1:{port}",
                "topic": secrets[0],
                "token": secrets[1],
                "allow_private": True,
            },
            "chat": {"kind": "apprise", "url": f"gotify://127.0.0.1:{port}/{secrets[2]}"},
        }
        house.settings["subscriptions"]["lab"]["channels"] = ["phone", "chat"]
        house.add("1.txt", ("Agents that plan", "Agents plan."))
        said = {
            line: say(*line.split()) for line in (*LINES, "run", "send-test", "deliveries --json")
        }
    for line, heard in said.items():
        assert not any(secret in heard.out + heard.err for secret in secrets), line
    assert said["config --json"].json["channels"]["chat"]["url"] == "********"
    assert "cannot be reached" in said["deliveries --json"].out
