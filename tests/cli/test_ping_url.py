"""`ping_url`: `run` requests it after its round, and it is never shown."""

from __future__ import annotations

from tests.cli.conftest import Say
from tests.house import House
from tests.servers.web import MisbehavingServer


def test_run_requests_the_dead_mans_switch_after_its_round(
    house: House, say: Say, web: MisbehavingServer
) -> None:
    web.answers("/push/a-secret-key", 200)
    house.settings["ping_url"] = web.url("/push/a-secret-key")
    assert say("run").status == 0
    assert [asked.target for asked in web.requests] == ["/push/a-secret-key"]
    assert "a-secret-key" not in say("config").out


def test_an_address_that_is_none_is_refused_without_being_shown(house: House, say: Say) -> None:
    house.settings["ping_url"] = "ftp://example.org/a-secret-key"
    said = say("check")
    assert said.status == 2
    assert "ping_url" in said.err and "a-secret-key" not in said.err + said.out
