"""A digest to somebody who has some of its changes of references from another subscription."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from monitor.channels.email.channel import Mail
from monitor.channels.slack.channel import Slack
from monitor.commands.remedies import retry_delivery
from monitor.commands.status import status_of
from monitor.errors import UsageError
from monitor.model import Delivery, DeliveryState
from monitor.store.digests import deliveries
from monitor.store.digests.suppressions import suppress
from monitor.store.engine import schema
from tests.house import AGENTS, APART, BANDITS, House
from tests.pipeline.test_failures import broken
from tests.pipeline.test_guard import Reference, write
from tests.servers.slack import Fault, SlackServer
from tests.servers.smtp import ScriptedSmtp

ADA = "ada@example.org"
BO = "bo@example.org"
RETRACTED = Reference(1)
CHANGE = f"doi:10.5555/notice.{RETRACTED.number}"
MANY = [(f"{AGENTS[0]} {number}", f"{AGENTS[1]} {number}.") for number in range(90)]


@pytest.fixture
def shared(house: House) -> House:
    """Two subscriptions that guard the references of ada: `lab` at 06:00, `alerts` at 09:00."""
    (house.folder / "refs").mkdir()
    (house.folder / "news").mkdir()
    house.settings["sources"] |= {
        "ada-refs": {"kind": "jsonl", "path": "refs/ada.jsonl", "role": "library"},
        "news": {"kind": "jsonl", "path": "news/*.jsonl", "first_run": "baseline"},
    }
    write(house, "refs/ada.jsonl", RETRACTED.entry)
    write(house, "news/0.jsonl", Reference(99).record())
    lab = house.settings["subscriptions"]["lab"]
    del lab["topics"]
    lab |= {"guard": "ada-refs", "schedule": "daily 06:00"}
    alerts = {"topics": ["agents"], "guard": "ada-refs", "schedule": "daily 09:00"}
    house.settings["subscriptions"]["alerts"] = alerts
    return house


def by_mail(house: House, smtp: ScriptedSmtp, *people: str) -> None:
    """Mail `lab` to ada and `alerts` to people, and write a page of `alerts`."""
    house.by_mail(smtp.port, ADA)
    house.settings["subscriptions"]["alerts"] |= {"email": [*people], "channels": ["pages"]}
    begin(house)


def by_slack(house: House, slack: SlackServer, **team: str) -> None:
    """Send both to a channel of Slack, and write a page of `alerts`."""
    pages = house.settings["channels"]
    house.by_slack(slack)
    house.settings["channels"] |= pages | ({"team": team} if team else {})
    house.settings["subscriptions"]["alerts"] |= {"channels": ["team", "pages"], "max": 90}
    begin(house)


def begin(house: House) -> None:
    """Read the library, and pass the slots of the first day."""
    house.run()
    house.run_after(hours=6)


def retract(house: House, *papers: tuple[str, str]) -> None:
    """Read a retraction and papers, and let the time come at which `lab` is due."""
    write(house, "news/a.jsonl", RETRACTED.notice("retraction"))
    house.ingest(*papers)
    house.clock.move(hours=18.5)


def both(house: House) -> None:
    """Let first `lab` and then `alerts` be composed and sent."""
    house.run()
    house.run_after(hours=3)


def listed(house: House, subscription: str = "alerts") -> list[Delivery]:
    every = house.read(deliveries.listing)
    return [one for one in reversed(every) if one.subscription == subscription]


def got(smtp: ScriptedSmtp) -> list[tuple[str, bool, bool]]:
    """Who got mail, and whether it has the change and the paper."""
    return sorted(
        (mail.recipient, CHANGE.encode() in mail.content, AGENTS[0].encode() in mail.content)
        for mail in smtp.received
    )


# ── its parts ───────────────────────────────────────────────────────────────────────


def test_what_is_one_message_for_its_recipient_is_not_listed_as_a_part(
    shared: House, smtp: ScriptedSmtp
):
    by_mail(shared, smtp, ADA, BO)
    retract(shared, AGENTS)
    both(shared)
    assert got(smtp) == [(ADA, False, True), (ADA, True, False), (BO, True, True)]
    assert [one.part for one in listed(shared)] == [0, 0, 0]
    assert "part" not in shared.command("deliveries").out


def test_those_who_have_the_same_changes_get_the_same_parts(shared: House, smtp: ScriptedSmtp):
    people = [f"p{number}@example.org" for number in range(6)]
    by_mail(shared, smtp, *people)
    shared.settings["subscriptions"]["lab"]["email"] = people[:4]
    retract(shared, AGENTS)
    both(shared)
    told = [(to, True, False) for to in people[:4]] + [(to, True, True) for to in people[4:]]
    assert got(smtp) == sorted(told + [(to, False, True) for to in people[:4]])
    with shared.opened() as app, app.runtime.database.reading() as tx:
        texts = sa.select(schema.rendered.c.part).where(schema.rendered.c.channel == "email")
        assert sorted(tx.scalars(texts)) == [0, 0, 1]


def test_a_paused_recipient_gets_what_was_missed_as_a_second_part(
    shared: House, smtp: ScriptedSmtp
):
    by_mail(shared, smtp, ADA, BO)
    with shared.opened() as app, app.runtime.database.writing() as tx:
        now = shared.clock.at
        for person in (ADA, BO):
            suppress(tx, person, "alerts", now, until=now + timedelta(hours=30), how="link")
    shared.ingest(AGENTS)
    shared.run_after(days=1, hours=3)
    retract(shared, ("Agents that Apologise", APART[1]))
    both(shared)
    later = [one for one in listed(shared) if one.state is DeliveryState.SENT]
    parts = [(one.recipient, one.part) for one in later if one.channel == "email"]
    assert sorted(parts) == [(ADA, 0), (ADA, 1), (BO, 0), (BO, 1)]


@pytest.mark.parametrize("webhook", [False, True])
def test_later_messages_to_slack_follow_the_first(shared: House, slack: SlackServer, webhook: bool):
    hook = {"kind": "slack", "webhook": slack.webhook}
    by_slack(shared, slack, **(hook if webhook else {}))
    retract(shared, *MANY)
    shared.run()
    assert [CHANGE in str(post) for post in slack.posts] == [True]
    slack.faults.append(Fault(status=429, headers={"Retry-After": "1"}))
    shared.run_after(hours=3)
    shared.run_after(hours=1)
    _, first, *replies = slack.posts
    assert "89" in first["text"] or "90" in first["text"]
    assert len(replies) > 1
    assert not any(CHANGE in str(post) for post in (first, *replies))
    threads = {post.get("thread_ts") for post in replies}
    assert threads == ({None} if webhook else {first["ts"]})
    team = [one for one in listed(shared) if one.channel == "team"]
    assert [one.part for one in team] == [*range(len(replies) + 1)]


# ── rendered again ──────────────────────────────────────────────────────────────────


def unrendered(house: House, kind: type = Mail) -> Delivery:
    """Let `alerts` be composed first without mail or Slack; its first failed delivery."""
    lab, alerts = (house.settings["subscriptions"][name] for name in ("lab", "alerts"))
    lab["schedule"] = "daily 09:00"
    alerts["schedule"] = "daily 06:00"
    with broken(kind):
        house.run()
    return next(one for one in listed(house) if one.state is DeliveryState.FAILED)


def retry(house: House, delivery: Delivery) -> Delivery:
    with house.opened() as app:
        retry_delivery(app.runtime, delivery.id)
        app.once.deliver()
        with app.runtime.database.reading() as tx:
            return deliveries.get(tx, delivery.id)


@pytest.mark.parametrize("known", [False, True])
def test_what_is_rendered_again_leaves_out_what_its_recipient_has(
    shared: House, smtp: ScriptedSmtp, known: bool
):
    by_mail(shared, smtp, ADA, BO)
    retract(shared, AGENTS)
    failed = unrendered(shared)
    if known:
        shared.run_after(hours=3)
        assert got(smtp) == [(ADA, True, False)]
        smtp.received.clear()
    sent = retry(shared, failed)
    assert (sent.recipient, sent.state, sent.part) == (ADA, DeliveryState.SENT, 0)
    assert sent.message_id == failed.message_id
    assert got(smtp) == [(ADA, not known, True), (BO, True, True)]
    shared.run_after(days=1)
    assert len(smtp.received) == 2
    if not known:
        assert [CHANGE in str(mail.content) for mail in smtp.received] == [True, True]


def test_who_has_all_of_a_digest_is_not_sent_it(shared: House, smtp: ScriptedSmtp):
    by_mail(shared, smtp, ADA, BO)
    retract(shared)
    failed = unrendered(shared)
    shared.run_after(hours=3)
    ended = retry(shared, failed)
    assert (ended.recipient, ended.state) == (ADA, DeliveryState.SUPERSEDED)
    assert got(smtp) == [(ADA, True, False), (BO, True, False)]
    with pytest.raises(UsageError, match="superseded"):
        retry(shared, failed)
    assert shared.problems() == ()
    with shared.opened() as app:
        said = status_of(app.runtime, "alerts").why
    assert said == "1 change of references sent today at 06:30"


def test_a_digest_that_all_have_is_not_sent_any_more(shared: House, smtp: ScriptedSmtp):
    by_mail(shared, smtp, ADA)
    retract(shared)
    failed = unrendered(shared)
    shared.run_after(hours=3)
    with pytest.raises(UsageError, match="not sent any more"):
        retry(shared, failed)
    assert shared.problems() == ()
    shared.run_after(days=1)
    assert got(smtp) == [(ADA, True, False)]


def test_messages_to_slack_are_rendered_again_as_a_thread(shared: House, slack: SlackServer):
    by_slack(shared, slack)
    retract(shared, *MANY)
    failed = unrendered(shared, Slack)
    shared.run_after(hours=3)
    retry(shared, failed)
    told, first, *replies = slack.posts
    assert CHANGE in str(told)
    assert not any(CHANGE in str(post) for post in (first, *replies))
    assert len(replies) > 1 and {post.get("thread_ts") for post in replies} == {first["ts"]}


def test_who_was_added_since_gets_no_part_of_it(shared: House, slack: SlackServer):
    by_slack(shared, slack)
    retract(shared, *MANY)
    failed = unrendered(shared, Slack)
    shared.settings["channels"]["team"]["channel"] = "C0OTHERS1"
    slack.channels["others"] = "C0OTHERS1"
    with pytest.raises(UsageError, match="not sent any more"):
        retry(shared, failed)
    assert slack.posts == []


def test_what_was_missed_in_a_pause_is_rendered_again_with_its_digest(
    shared: House, smtp: ScriptedSmtp
):
    by_mail(shared, smtp, ADA)
    shared.settings["subscriptions"]["alerts"]["schedule"] = "daily 06:00"
    with shared.opened() as app, app.runtime.database.writing() as tx:
        now = shared.clock.at
        suppress(tx, ADA, "alerts", now, until=now + timedelta(hours=30), how="link")
    shared.ingest(AGENTS)
    shared.run_after(days=1)
    shared.ingest(("Agents that Apologise", APART[1]))
    shared.clock.move(days=1)
    retry(shared, unrendered(shared))
    shared.ingest(("Agents that Listen", BANDITS[1] + " With language agents."))
    shared.run_after(days=1)
    assert [mail for mail in got(smtp) if mail[2]] == [(ADA, False, True)]
