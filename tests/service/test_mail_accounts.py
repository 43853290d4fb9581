"""Replicas and workers that share one mail account, whose refresh token is replaced at each use."""

from __future__ import annotations

from tests.fleet import Fleet, paper
from tests.house import House
from tests.patience import wait
from tests.servers.oauth import TokenServer
from tests.servers.smtp import ScriptedSmtp
from tests.service.test_workers import SUBSCRIBERS, enrolled, everybody, got, readers

FIRST = "refresh-token-1"
WAITING = "SELECT count(*) FROM delivery WHERE state NOT IN ('sent', 'retry')"


def test_replicas_replace_the_refresh_token_of_each_other_and_each_digest_arrives_once(
    house: House, postgres_url: str
) -> None:
    with (
        TokenServer(refresh_tokens={FIRST}, single_use=True, life=1) as endpoint,
        ScriptedSmtp(extensions=("AUTH XOAUTH2",), accepts=endpoint.accepts) as mx,
    ):
        oauth = {"provider": "google", "client_id": "app", "refresh_token": FIRST}
        oauth |= {"client_secret": "secret-of-the-client", "token_url": endpoint.url}
        account = {"username": "papers@example.org", "oauth": oauth, "per_connection": 1}
        with readers(house, mx, postgres_url, **account) as lab:
            enrolled(lab)
            for day in (1, 2):
                lab.start_all("worker", "worker", "serve", "serve")
                lab.move(days=1)
                _move_until_all_arrived(lab, mx, day)
                assert set(lab.stop()) == {0}
                house.add(f"{day + 1}.txt", paper(day + 1))
                enrolled(lab)
            logs = lab.logged("worker") + lab.logged("serve")
        assert len(endpoint.spent) >= 2
    assert got(mx) == everybody(2)
    assert not any(secret in logs for secret in ("access-token", "refresh-token", "secret-of"))


def _move_until_all_arrived(lab: Fleet, mx: ScriptedSmtp, times: int) -> None:
    """A process whose refresh token was replaced under its hands rests, and tries again."""
    wait(lambda: lab.ask("SELECT count(*) FROM delivery") == [(times * SUBSCRIBERS,)])
    for _ in range(12):
        wait(lambda: lab.ask(WAITING) == [(0,)])
        if len(mx.received) == times * SUBSCRIBERS:
            break
        lab.move(minutes=10)
