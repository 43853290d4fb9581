"""Replicas and workers that share one mail account, whose refresh token is replaced at each use."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fleet import Fleet, fleet, paper
from tests.house import AGENTS, BANDITS, House
from tests.patience import wait
from tests.servers.oauth import TokenServer
from tests.servers.smtp import ScriptedSmtp

pytest.importorskip("procrastinate", reason="WORKERS ARE NOT TESTED: no procrastinate")

SUBSCRIBERS = 12
FIRST = "refresh-token-1"
WAITING = "SELECT count(*) FROM delivery WHERE state NOT IN ('sent', 'retry')"


def by_oauth(house: House, endpoint: TokenServer, mx: ScriptedSmtp) -> None:
    settings = {"provider": "google", "client_id": "app", "client_secret": "secret-of-the-client"}
    settings |= {"token_url": endpoint.url, "refresh_token": FIRST}
    house.by_mail(mx.port, username="papers@example.org", oauth=settings, per_connection=1)
    found = house.settings["subscriptions"].pop("lab")
    for number in range(SUBSCRIBERS):
        reader = {**found, "email": [f"s{number}@example.org"]}
        house.settings["subscriptions"][f"s{number}"] = reader
    house.settings["topics"]["all"] = {"query": "agents OR bandits"}
    house.settings["sources"]["page"]["every"] = "1m"
    house.add("1.txt", AGENTS, BANDITS)


def start(lab: Fleet) -> None:
    for kind in ("worker", "worker", "serve", "serve"):
        lab.start(kind)
    wait(lambda: all(map(lab.is_up, lab.running)))


def test_replicas_replace_the_refresh_token_of_each_other_and_each_digest_arrives_once(
    house: House, postgres_url: str
) -> None:
    with (
        TokenServer(refresh_tokens={FIRST}, single_use=True, life=1) as endpoint,
        ScriptedSmtp(extensions=("AUTH XOAUTH2",), accepts=endpoint.accepts) as mx,
    ):
        by_oauth(house, endpoint, mx)
        with fleet(house, postgres_url) as lab:
            with house.opened() as app:
                app.once.ingest()
                app.once.match()
            for day in (1, 2):
                start(lab)
                lab.move(days=1)
                _move_until_all_arrived(lab, mx, day)
                assert set(lab.stop()) == {0}
                house.add(f"{day + 1}.txt", paper(day + 1))
                with house.opened() as app:
                    app.once.ingest()
                    app.once.match()
            logs = lab.logged("worker") + lab.logged("serve")
        assert len(endpoint.spent) >= 2
    arrived = Counter(mail.recipient for mail in mx.received)
    assert arrived == {f"s{number}@example.org": 2 for number in range(SUBSCRIBERS)}
    assert not any(secret in logs for secret in ("access-token", "refresh-token", "secret-of"))


def _move_until_all_arrived(lab: Fleet, mx: ScriptedSmtp, times: int) -> None:
    """A process whose refresh token was replaced under its hands rests, and tries again."""
    wait(lambda: lab.ask("SELECT count(*) FROM delivery") == [(times * SUBSCRIBERS,)])
    for _ in range(12):
        wait(lambda: lab.ask(WAITING) == [(0,)])
        if len(mx.received) == times * SUBSCRIBERS:
            break
        lab.move(minutes=10)
