"""A message that Slack finds too long is replaced by two, each a delivery of its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa

from monitor.channels.slack import blocks
from monitor.channels.slack.channel import Slack
from monitor.model import Delivery, DeliveryState
from monitor.pipeline.compose import compose
from monitor.pipeline.match import match
from monitor.store.digests import deliveries, outbox
from monitor.store.engine import schema
from tests.house import House
from tests.servers.slack import Fault, SlackServer, texts_of
from tests.store.scenes import reading

PAPERS = tuple(
    (f"Teaching {word} Language Agents to Plan", f"We train a language agent by {word}. It works.")
    for word in ("Rude", "Shy", "Loud", "Calm")
)
LATER = Fault(429, headers={"Retry-After": "60"})
LOST = Fault(kept=True, reset=True)
AS_IT_IS: Any = None  # no fault


@pytest.fixture(params=["sqlite", "postgresql"])
def composed(
    request: pytest.FixtureRequest,
    house: House,
    slack: SlackServer,
    monkeypatch: pytest.MonkeyPatch,
) -> House:
    """A house whose digest for Slack is composed, but not sent."""
    if request.param == "postgresql":
        house.settings["store"] = request.getfixturevalue("postgres_url")
    monkeypatch.setattr(Slack, "min_interval", 0)
    house.by_slack(slack)
    house.make_due(*PAPERS)
    with house.opened() as app:
        match(app.runtime)
        compose(app.runtime)
    return house


def listed(house: House) -> list[Delivery]:
    """Return all deliveries with their bodies, oldest first."""

    def read(tx: Any) -> list[Delivery]:
        return deliveries.with_bodies(tx, [one.id for one in deliveries.listing(tx)])

    return house.read(read)


def size(message: Any) -> int:
    return sum(len(text) for block in message["blocks"] for text in texts_of(block))


def only_halves_fit(house: House, slack: SlackServer) -> list[Any]:
    """Let Slack take no more than each half of the only message; return its blocks."""
    [whole] = listed(house)
    halves = blocks.halve(whole.rendered.body)
    assert halves
    slack.most_characters = max(map(size, halves))
    assert size(whole.rendered.body) > slack.most_characters
    return list(whole.rendered.body["blocks"])


def shown(slack: SlackServer) -> list[Any]:
    return [block for post in slack.posts for block in post["blocks"]]


def test_L03_each_half_is_a_delivery_in_the_thread(composed: House, slack: SlackServer):
    whole = only_halves_fit(composed, slack)
    [planned] = listed(composed)
    composed.run()
    first, second = slack.posts
    assert shown(slack) == whole
    assert "thread_ts" not in first and second["thread_ts"] == first["ts"]
    sent = listed(composed)
    assert [(one.state, one.part) for one in sent] == [(DeliveryState.SENT, n) for n in (0, 1)]
    assert [one.reference.partition(":")[2] for one in sent] == [first["ts"], second["ts"]]
    ids = [post["metadata"]["event_payload"]["message_id"] for post in slack.posts]
    assert ids == [one.message_id for one in sent] and len({*ids, planned.message_id}) == 3
    assert composed.problems() == ()


def test_L03_halves_are_halved_until_slack_takes_them(composed: House, slack: SlackServer):
    [whole] = listed(composed)
    every = whole.rendered.body["blocks"]
    slack.most_characters = max(size({"blocks": [block]}) for block in every)
    composed.run()
    assert len(slack.posts) > 4
    assert Counter(map(str, shown(slack))) == Counter(map(str, whole.rendered.body["blocks"]))
    first, *replies = slack.posts
    assert {post["thread_ts"] for post in replies} == {first["ts"]}
    assert set(composed.states()) == {DeliveryState.SENT}


def test_L03_429_on_the_second_half_posts_only_it_again(composed: House, slack: SlackServer):
    whole = only_halves_fit(composed, slack)
    slack.faults.extend([AS_IT_IS, AS_IT_IS, LATER])
    composed.run()
    assert composed.states() == [DeliveryState.RETRY, DeliveryState.SENT]
    assert len(slack.posts) == 1
    composed.run()
    assert len(slack.posts) == 1, "not before Slack says"
    composed.run_after(minutes=2)
    assert shown(slack) == whole
    assert set(composed.states()) == {DeliveryState.SENT}


def test_L03_nothing_follows_a_first_half_that_waits(composed: House, slack: SlackServer):
    whole = only_halves_fit(composed, slack)
    slack.faults.extend([AS_IT_IS, LATER])
    composed.run()
    assert composed.states() == [DeliveryState.PLANNED, DeliveryState.RETRY]
    assert slack.posts == []
    composed.run_after(minutes=2)
    assert shown(slack) == whole


@pytest.mark.parametrize("before", [0, 1])
def test_L02_a_half_whose_answer_is_lost_is_found_by_its_own_id(
    composed: House, slack: SlackServer, before: int
):
    whole = only_halves_fit(composed, slack)
    slack.faults.extend([AS_IT_IS, *[AS_IT_IS] * before, LOST])
    composed.run()
    assert DeliveryState.UNKNOWN in composed.states()
    composed.run_after(minutes=20)
    assert shown(slack) == whole
    assert set(composed.states()) == {DeliveryState.SENT}
    assert len({post.get("thread_ts") for post in slack.posts}) == 2


@pytest.mark.parametrize("before", [0, 1])
def test_L03_one_message_of_several_is_halved_in_their_thread(
    house: House, slack: SlackServer, before: int
):
    """Its second half comes after all other parts."""
    house.by_slack(slack)
    house.settings["subscriptions"]["lab"]["max"] = 90
    many = [(f"{title} {n}", abstract * 9) for n in range(20) for title, abstract in PAPERS]
    house.make_due(*many)
    too_long = Fault.error("msg_too_long")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Slack, "min_interval", 0)
        slack.faults.extend([*[AS_IT_IS] * before, too_long])
        house.run()
    first, *replies = slack.posts
    assert {post["thread_ts"] for post in replies} == {first["ts"]}
    sent = listed(house)
    assert len(sent) == len(slack.posts) > 3
    assert {one.state for one in sent} == {DeliveryState.SENT}
    assert [one.part for one in sent] == [*range(len(sent))]
    # Each that is listed, once; the first message goes on to be the first.
    titles = re.findall(r"\|(Teaching \w+ Language Agents to Plan \d+)>", str(shown(slack)))
    assert len(titles) == len(set(titles)) == 80
    assert "(1 of " in first["text"] and first["blocks"][0]["type"] == "header"
    assert replies[-1]["text"] == slack.posts[before]["text"]


def test_L03_a_digest_of_0_2_0_is_halved_too(composed: House, slack: SlackServer):
    """Its bodies are not compressed."""
    [delivery] = listed(composed)
    with composed.opened() as app, app.runtime.database.writing() as tx:
        plain = {"body": dict(delivery.rendered.body), "packed": None}
        tx.execute(sa.update(schema.rendered).values(plain))
        tx.execute(sa.update(schema.digest).values(packed=None))
    whole = only_halves_fit(composed, slack)
    composed.run()
    assert shown(slack) == whole
    assert set(composed.states()) == {DeliveryState.SENT}


def test_L03_who_has_lost_its_claim_replaces_nothing(composed: House):
    [planned] = listed(composed)
    halves = blocks.halve(planned.rendered.body)
    assert halves
    now = composed.clock.at
    with composed.opened() as app:
        database = app.runtime.database
        channels = app.runtime.channels
        with database.writing() as tx:
            [claimed] = outbox.claim(tx, "another process", now, channels)
            assert not outbox.split(tx, claimed, halves, ("<a@x>", "<b@x>"), "this one", now)
        [left] = reading(database, lambda tx: deliveries.with_bodies(tx, [claimed.id]))
        assert (left.state, left.message_id) == (DeliveryState.CLAIMED, planned.message_id)
        assert json.dumps(left.rendered.body) == json.dumps(planned.rendered.body)
        assert len(reading(database, deliveries.listing)) == 1
