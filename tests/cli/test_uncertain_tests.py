"""A test that may have arrived is a problem until its recipient is reached, or a person decides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.conftest import Say
from tests.house import House
from tests.servers.web import Answer, MisbehavingServer, misbehaving_server


@pytest.fixture
def web(house: House, say: Say) -> Iterator[MisbehavingServer]:
    """A receiver to which a test was sent, and which gave no clear answer."""
    with misbehaving_server() as web:
        hook = {"kind": "webhook", "url": web.url("/hook"), "allow_private": True}
        house.settings["channels"] = {"team": hook | {"template": "n8n"}}
        house.settings["subscriptions"]["lab"]["channels"] = ["team"]
        web.decides("/hook", lambda _: Answer(503))
        say("run")  # a test without a store is not recorded
        assert say("send-test", "lab").status == 1
        [problem] = house.problems()
        assert "may or may not have arrived" in problem
        assert "the next test or digest sent there clears this" in problem
        assert "`paper-monitor deliveries resolve 1 sent`" in problem
        web.decides("/hook", lambda _: Answer(200))
        yield web


def test_a_later_test_that_arrives_ends_the_problem(
    house: House, say: Say, web: MisbehavingServer
) -> None:
    assert say("send-test", "lab").status == 0
    assert house.problems() == ()


def test_a_later_test_that_fails_does_not(house: House, say: Say, web: MisbehavingServer) -> None:
    web.decides("/hook", lambda _: Answer(400))
    assert say("send-test", "lab").status == 1
    assert any("delivery 1 " in problem for problem in house.problems())


def test_a_later_digest_that_arrives_ends_it_too(
    house: House, say: Say, web: MisbehavingServer
) -> None:
    house.add("1.txt", ("Agents of Language", "A language that agents may speak."))
    assert say("ingest").status == 0
    [sent] = say("digest", "lab", "--early", "--json").json["digests"]
    assert [one["state"] for one in sent["deliveries"]] == ["sent"]
    assert house.problems() == ()


def test_the_action_that_the_problem_names_ends_it(
    house: House, say: Say, web: MisbehavingServer
) -> None:
    assert say("deliveries", "resolve", "1", "sent").status == 0
    assert house.problems() == ()
