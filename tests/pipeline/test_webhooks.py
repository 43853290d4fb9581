"""Webhooks from composing to the answer: one id, what is gone, and what is tried again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from monitor.commands import suppressions as wishes
from monitor.commands.remedies import retry_delivery
from monitor.commands.status import Action, status
from monitor.errors import UsageError
from monitor.model import DeliveryState
from monitor.store.digests import deliveries, suppressions
from tests.house import AGENTS, APART, House
from tests.servers.smtp import ScriptedSmtp
from tests.servers.web import Answer, MisbehavingServer, misbehaving_server

HOOK = "/hooks/a"
LIFT = "paper-monitor suppressions lift team"
NEWS = [(f"{AGENTS[0]} {word}", f"{word}. {AGENTS[1]}") for word in ("Again", "Alone", "Aside")]


@pytest.fixture
def web() -> Iterator[MisbehavingServer]:
    with misbehaving_server() as server:
        server.answers(HOOK)
        yield server


@pytest.fixture
def due(house: House, web: MisbehavingServer) -> House:
    """A digest to one webhook is due."""
    by_webhook(house, web)
    house.make_due()
    return house


def by_webhook(house: House, web: MisbehavingServer, **settings: Any) -> None:
    hook = {"kind": "webhook", "url": web.url(HOOK), "allow_private": True}
    house.settings["channels"]["team"] = hook | settings
    house.settings["subscriptions"]["lab"]["channels"] = ["team"]


def bodies(web: MisbehavingServer) -> list[Any]:
    return [json.loads(asked.body)["data"] for asked in web.requests]


def titles(data: Any) -> list[str]:
    return [paper["title"] for section in data["sections"] for paper in section["papers"]]


def test_a_digest_is_posted_with_the_id_of_its_delivery(due: House, web: MisbehavingServer) -> None:
    due.run()
    [asked] = web.requests
    [sent] = due.read(deliveries.listing)
    assert sent.message_id.startswith(f"<{asked.headers['webhook-id']}@")
    [data] = bodies(web)
    assert (data["subscription"], titles(data)) == ("lab", [AGENTS[0]])
    assert data["sections"][0]["papers"][0]["why"][0]["words"]
    assert due.states() == [DeliveryState.SENT]


def test_an_unclear_answer_is_followed_by_one_more_post_with_the_same_id_and_bytes(
    due: House, web: MisbehavingServer
) -> None:
    web.answers(HOOK, 503)
    due.run()
    assert due.states() == [DeliveryState.UNKNOWN]
    due.run_after(minutes=20)
    due.run_after(minutes=20)
    first, second = web.requests
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert due.states() == [DeliveryState.UNKNOWN], "never a third time"


def test_retry_of_what_is_sent_again_anyway_tells_when_and_how_to_send_it_now(
    due: House, web: MisbehavingServer
) -> None:
    web.answers(HOOK, 503)
    due.run()
    with due.opened() as app, pytest.raises(UsageError) as caught:
        retry_delivery(app.runtime, 1)
    assert "delivery 1 is unknown: it is sent again at " in str(caught.value)
    assert caught.value.hint == "now: `paper-monitor deliveries resolve 1 resend`"
    due.settings["channels"]["team"]["unknown"] = "hold"
    with due.opened() as app, pytest.raises(UsageError, match="is not tried again"):
        retry_delivery(app.runtime, 1)


@pytest.mark.parametrize("setting", [{"unknown": "hold"}, {"template": "discord"}])
def test_an_unclear_answer_is_held_where_a_copy_would_show(
    house: House, web: MisbehavingServer, setting: dict[str, str]
) -> None:
    by_webhook(house, web, **setting)
    house.make_due()
    web.answers(HOOK, 503)
    house.run()
    house.run_after(minutes=20)
    assert len(web.requests) == 1
    assert house.states() == [DeliveryState.UNKNOWN]
    [problem] = house.problems()
    assert "resolve 1 sent|resend`" in problem


def test_a_failing_receiver_stops_no_other_channel(due: House, web: MisbehavingServer) -> None:
    due.settings["subscriptions"]["lab"]["channels"] = ["team", "pages"]
    web.answers(HOOK, 401)
    due.run()
    assert due.states().count(DeliveryState.SENT) == 1
    web.answers(HOOK)
    due.run_after(hours=2)
    assert due.states() == [DeliveryState.SENT] * 2


def test_what_is_gone_is_stopped_once_and_what_waits_is_in_the_next_digest(
    due: House, web: MisbehavingServer, smtp: ScriptedSmtp
) -> None:
    due.settings["smtp"] = {"host": "127.0.0.1", "port": smtp.port, "tls": "none"}
    due.settings["smtp"]["from"] = "papers@example.org"
    due.settings["operator"] = {"email": "ops@example.org"}
    due.settings["subscriptions"]["lab"]["channels"] = ["team", "pages"]
    web.decides(HOOK, lambda _: Answer(410))
    due.run()
    [row] = due.read(suppressions.listing, due.clock.now())
    assert (row.recipient, row.subscription, row.how) == ("team", "", "gone")
    assert row.reason and "410" in row.reason
    due.next_morning(NEWS[0])
    due.next_morning()
    assert len(web.requests) == 1, "nothing is sent to what is gone"
    [mail] = smtp.received
    assert mail.message["Subject"].startswith("channel team is stopped: its address is gone")
    plain = mail.message.get_body(("plain",))
    assert plain and LIFT in " ".join(plain.get_content().split())
    with due.opened() as app:
        [problem] = status(app.runtime).problems
        assert (problem.action, problem.target) == (Action.RESUME_RECIPIENT, "team")
        assert problem.text.startswith("channel team has been stopped since")
        assert LIFT in problem.text and LIFT in problem.remedy
        assert wishes.lift(app.runtime, "team")
        assert not wishes.lift(app.runtime, "team"), "it is lifted already"
    assert due.problems() == ()

    web.answers(HOOK)
    due.next_morning(APART)
    told = [data for data in bodies(web)[1:] if data["sections"]]
    assert sorted(title for data in told for title in titles(data)) == sorted(
        [AGENTS[0], NEWS[0][0], APART[0]]
    )
    assert sorted(data["missed"] for data in told) == [False, True]
    due.next_morning(NEWS[1])
    assert titles(bodies(web)[-1]) == [NEWS[1][0]], "what was missed is listed once"


def test_send_test_and_doctor_tell_of_a_stopped_channel_how_to_resume_it(
    due: House, web: MisbehavingServer
) -> None:
    web.decides(HOOK, lambda _: Answer(410))
    due.run()
    since = "team has been stopped since "
    tested = due.command("send-test", "lab")
    said = " ".join((tested.out + tested.err).split())
    assert tested.status == 1
    assert since in said and "answered 410" in said and LIFT in said
    checks = due.command("doctor", "--json").json["checks"]
    [check] = [check for check in checks if check["name"] == "channel team"]
    assert not check["ok"]
    assert check["message"].startswith(since) and LIFT in check["message"]
    due.command("suppressions", "lift", "team")
    assert since not in " ".join((due.command("send-test", "lab").err).split())


def test_a_test_goes_to_the_others_and_names_who_is_stopped(
    due: House, web: MisbehavingServer
) -> None:
    due.settings["subscriptions"]["lab"]["channels"] = ["team", "pages"]
    due.command("suppressions", "add", "team", "--subscription", "lab")
    tested = due.command("send-test", "lab")
    assert tested.status == 0 and web.requests == []
    assert "lift team --subscription lab" in " ".join(tested.err.split())


def test_what_is_gone_and_the_only_channel_waits_for_the_next_digest(
    due: House, web: MisbehavingServer
) -> None:
    web.decides(HOOK, lambda _: Answer(410))
    due.run()
    assert due.states() == [DeliveryState.SUPPRESSED]
    with due.opened() as app:
        assert wishes.lift(app.runtime, "team")
    web.answers(HOOK)
    due.next_morning(APART)
    told = [title for data in bodies(web)[1:] for title in titles(data)]
    assert sorted(told) == sorted([AGENTS[0], APART[0]])


def test_the_rest_of_a_digest_in_parts_is_sent_when_its_channel_is_resumed(
    house: House, web: MisbehavingServer
) -> None:
    by_webhook(house, web, template="discord")
    house.settings["subscriptions"]["lab"]["max"] = 40
    house.make_due(*((f"{AGENTS[0]}, No. {n}", f"{n}. {AGENTS[1]}") for n in range(20)))
    answers = iter([Answer(), Answer(410)])
    web.decides(HOOK, lambda _: next(answers, Answer()))
    house.run()
    assert len(web.requests) == 2
    count = len(house.states())
    assert house.states().count(DeliveryState.SUPPRESSED) == count - 1 > 1
    with house.opened() as app:
        assert wishes.lift(app.runtime, "team")
    house.run_after(hours=1)
    assert set(house.states()) == {DeliveryState.SENT}
    told = " ".join(asked.body.decode() for asked in web.requests)
    assert [n for n in range(20) if f"No. {n}]" not in told] == []
    house.next_morning(APART)
    assert "No. 7]" not in web.requests[-1].body.decode()


def test_what_may_have_arrived_before_410_stays_unknown(due: House, web: MisbehavingServer) -> None:
    answers = iter([Answer(503), Answer(410)])
    web.decides(HOOK, lambda _: next(answers))
    due.run()
    due.run_after(minutes=20)
    assert due.states() == [DeliveryState.UNKNOWN]
    [row] = due.read(suppressions.listing, due.clock.now())
    assert row.how == "gone"
    due.run_after(minutes=20)
    assert len(web.requests) == 2, "nothing more is posted"


def test_a_notice_or_test_that_is_told_of_410_stops_nothing(
    house: House, web: MisbehavingServer
) -> None:
    by_webhook(house, web)
    web.decides(HOOK, lambda _: Answer(410))
    result = house.command("send-test", "lab")
    assert result.status == 1 and "410" in result.out + result.err
    assert house.read(suppressions.listing, house.clock.now()) == []


def test_may_repeat_is_in_check_and_explain(house: House, web: MisbehavingServer) -> None:
    by_webhook(house, web, template="n8n", unknown="resend")
    house.make_due()
    house.run()
    assert house.command("check", "--json").json["may_repeat"] == ["team"]
    assert "channels.team may get a message twice" in " ".join(house.command("check").out.split())
    [digest] = house.command("explain", "1", "--json").json["digests"]
    assert digest["may_repeat"] == ["team"]
    said = house.command("explain", "1").out
    assert "(team may get a message twice)" in " ".join(said.split())
    house.settings["channels"]["team"]["unknown"] = "hold"
    assert house.command("check", "--json").json["may_repeat"] == []
    [digest] = house.command("explain", "1", "--json").json["digests"]
    assert digest["may_repeat"] == []
