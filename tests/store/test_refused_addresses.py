"""An address that its server says does not exist, in two digests, is stopped; nothing else is."""

from __future__ import annotations

from datetime import datetime

import pytest

from monitor.channels.retry_policy import REFUSALS_APART
from monitor.model import Delivery, DeliveryState, Outcome
from monitor.store.digests import deliveries, outbox, suppressions
from monitor.store.engine.database import Database
from tests.store.scenes import (
    DAY,
    HOUR,
    NOW,
    claim,
    digest,
    freeze,
    reading,
    subscribe,
    writing,
)

ADA = "ada@example.org"
BOB = "bob@example.org"
WORDS = "mx.example.org refused mail for ada@example.org: 550 5.1.1 no such user"
UNKNOWN = Outcome(DeliveryState.FAILED, WORDS, address_refused=True)
FULL = Outcome(DeliveryState.FAILED, "550 5.2.2 mailbox full")
SENT = Outcome(DeliveryState.SENT)


@pytest.fixture(autouse=True)
def subscribed(store: Database) -> None:
    subscribe(store, "reading", "lab")


def answered(
    store: Database, outcome: Outcome, now: datetime, to: str = ADA, name: str = "reading"
) -> bool:
    """Send a new digest, which is answered so; return whether that stopped its recipient."""
    freeze(store, digest([], f"{now}", name, now), recipients=(to,), now=now)
    return again(store, outcome, now)


def again(store: Database, outcome: Outcome, now: datetime) -> bool:
    """What waits is sent, and answered so."""
    stopped = [take(store, one, outcome, now) for one in claim(store, now=now)]
    return any(stopped)


def take(store: Database, delivery: Delivery, outcome: Outcome, now: datetime) -> bool:
    with store.writing() as tx:
        outbox.record(tx, {delivery.id: ""}, "me", outcome, now)
        if not outcome.address_refused:
            return False
        return suppressions.stop_refused(tx, delivery, outcome.error, now, REFUSALS_APART)


def retry(store: Database, outcome: Outcome, now: datetime) -> bool:
    """The newest delivery is sent again by hand, and answered so."""
    newest, *_ = reading(store, deliveries.listing)
    writing(store, outbox.retry, newest.id, now)
    return again(store, outcome, now)


def test_M17_the_second_digest_stops_the_address_with_the_servers_words(store: Database) -> None:
    assert not answered(store, UNKNOWN, NOW)
    assert reading(store, suppressions.listing, NOW) == []
    assert answered(store, UNKNOWN, NOW + DAY, ADA.title())
    [row] = reading(store, suppressions.listing, NOW + DAY)
    assert (row.recipient.lower(), row.subscription, row.until) == (ADA, "", None)
    assert (row.how, row.reason) == ("refused", WORDS)
    freeze(store, digest([], "next", "lab", NOW + DAY), recipients=(ADA, BOB), now=NOW + DAY)
    assert [one.recipient for one in claim(store, now=NOW + DAY)] == [BOB]
    writing(store, suppressions.withhold, NOW + DAY)
    newest = reading(store, deliveries.listing)
    [error] = [one.error for one in newest if one.state is DeliveryState.SUPPRESSED]
    assert error == f"stopped on 2026-03-03: {WORDS}"


def test_digests_of_one_day_are_one_occasion(store: Database) -> None:
    for hours in (0, 1, 21):
        assert not answered(store, UNKNOWN, NOW + hours * HOUR, name="reading")
        assert not answered(store, UNKNOWN, NOW + hours * HOUR, name="lab")
    assert answered(store, UNKNOWN, NOW + 23 * HOUR), "the day after, when the clocks went ahead"


def test_one_digest_that_is_sent_again_is_one_digest(store: Database) -> None:
    assert not answered(store, UNKNOWN, NOW)
    assert not retry(store, UNKNOWN, NOW + 2 * DAY)
    assert answered(store, UNKNOWN, NOW + 2 * DAY), "its first refusal counts"


@pytest.mark.parametrize("between", [FULL, Outcome(DeliveryState.RETRY, "450 4.2.0 greylisted")])
def test_other_refusals_neither_count_nor_stand_between(store: Database, between: Outcome) -> None:
    assert not answered(store, UNKNOWN, NOW)
    assert not answered(store, between, NOW + DAY)
    assert answered(store, UNKNOWN, NOW + 2 * DAY)


def test_a_mailbox_that_is_full_for_weeks_is_not_stopped(store: Database) -> None:
    for days in range(20):
        assert not answered(store, FULL, NOW + days * DAY)


@pytest.mark.parametrize("state", [DeliveryState.SENT, DeliveryState.UNKNOWN])
def test_what_was_accepted_between_or_may_have_been_begins_the_count_again(
    store: Database, state: DeliveryState
) -> None:
    assert not answered(store, UNKNOWN, NOW)
    between = NOW + 6 * HOUR
    freeze(store, digest([], "between", "lab", between), recipients=(ADA,), now=between)
    [one] = claim(store, now=between)
    writing(store, outbox.commit_handoff, [one.id], "me", between)
    writing(store, outbox.record, {one.id: ""}, "me", Outcome(state), between)
    assert not answered(store, UNKNOWN, NOW + DAY)
    assert answered(store, UNKNOWN, NOW + 2 * DAY)


def test_a_digest_that_was_refused_and_then_accepted_does_not_count(store: Database) -> None:
    assert not answered(store, UNKNOWN, NOW)
    assert not retry(store, SENT, NOW + HOUR)
    assert not answered(store, UNKNOWN, NOW + DAY)


def test_what_others_are_answered_concerns_nobody_else(store: Database) -> None:
    assert not answered(store, UNKNOWN, NOW)
    assert not answered(store, SENT, NOW + HOUR, BOB)
    assert not answered(store, UNKNOWN, NOW + DAY, BOB)
    assert answered(store, UNKNOWN, NOW + DAY + HOUR, ADA)


def test_only_digests_count(store: Database) -> None:
    """A test that is refused is no digest; one that is accepted shows that the address exists."""
    for name in ("@test reading", "@operator"):
        assert not answered(store, UNKNOWN, NOW, name=name)
        assert not answered(store, UNKNOWN, NOW + DAY, name=name)
    assert not answered(store, UNKNOWN, NOW + 2 * DAY)
    assert not answered(store, SENT, NOW + 2 * DAY + HOUR, name="@test reading")
    assert not answered(store, UNKNOWN, NOW + 3 * DAY)


def test_after_lifting_two_more_digests_are_needed(store: Database) -> None:
    answered(store, UNKNOWN, NOW)
    assert answered(store, UNKNOWN, NOW + DAY)
    assert writing(store, suppressions.lift, ADA.upper(), suppressions.ALL, NOW + DAY)
    assert not answered(store, UNKNOWN, NOW + 2 * DAY)
    assert answered(store, UNKNOWN, NOW + 3 * DAY)


def test_a_pause_by_the_operator_stays_a_pause(store: Database) -> None:
    """The digest was under way when the operator paused its recipient."""
    answered(store, UNKNOWN, NOW)
    freeze(store, digest([], "q", "reading", NOW + DAY), recipients=(ADA,), now=NOW + DAY)
    [one] = claim(store, now=NOW + DAY)
    until = NOW + 9 * DAY
    writing(store, suppressions.suppress, ADA, "", NOW + DAY, until=until, how="operator")
    assert not take(store, one, UNKNOWN, NOW + DAY)
    [row] = reading(store, suppressions.listing, NOW + DAY)
    assert (row.until, row.how) == (until, "operator")
