"""Who does not want digests gets none, from the moment that this is recorded."""

from __future__ import annotations

from datetime import datetime

import pytest

from monitor.errors import UsageError
from monitor.model import Delivery, DeliveryState
from monitor.store.digests import deliveries, outbox, suppressions
from monitor.store.engine.database import Database
from tests.store.scenes import (
    DAY,
    NOW,
    attempt,
    claim,
    digest,
    freeze,
    reading,
    subscribe,
    writing,
)

ADA = "ada@example.org"
BOB = "bob@example.org"
SUPPRESSED = DeliveryState.SUPPRESSED
PLANNED = DeliveryState.PLANNED


@pytest.fixture(autouse=True)
def subscribed(store: Database) -> None:
    subscribe(store, "reading", "lab")


def plan(store: Database, *recipients: str, name: str = "reading", period: str = "p") -> None:
    assert freeze(store, digest([], period, name), recipients=recipients or (ADA, BOB))


def suppress(
    store: Database, who: str, subscription: str = suppressions.ALL, until: datetime | None = None
) -> None:
    writing(store, suppressions.suppress, who, subscription, NOW, until=until, how="operator")


def lift(store: Database, who: str, subscription: str = suppressions.ALL) -> bool:
    return writing(store, suppressions.lift, who, subscription, NOW)


def claimed_of(store: Database, now: datetime = NOW) -> list[tuple[str, str]]:
    claimed = claim(store, now=now)
    writing(store, outbox.put_back, [one.id for one in claimed], "me", now)
    return [(one.subscription, one.recipient) for one in claimed]


def of(store: Database, recipient: str) -> Delivery:
    [found] = [one for one in reading(store, deliveries.listing) if one.recipient == recipient]
    return found


def test_E4_what_waits_is_withheld_at_once_and_the_others_get_theirs(store: Database) -> None:
    plan(store)
    suppress(store, ADA)
    assert claimed_of(store) == [("reading", BOB)]
    assert of(store, ADA).state is SUPPRESSED
    assert of(store, ADA).error == "stopped by the operator on 2026-03-02"


def test_E4_what_is_planned_later_is_not_claimed_either(store: Database) -> None:
    suppress(store, ADA)
    plan(store)
    assert of(store, ADA).state is PLANNED
    assert claimed_of(store) == [("reading", BOB)]
    writing(store, suppressions.withhold, NOW)
    assert of(store, ADA).state is SUPPRESSED


def test_one_subscription_can_be_stopped_alone(store: Database) -> None:
    plan(store)
    plan(store, name="lab")
    suppress(store, ADA, "lab")
    assert claimed_of(store) == [("reading", ADA), ("reading", BOB), ("lab", BOB)]


@pytest.mark.parametrize(
    ("written", "configured"),
    [
        ("ADA@Example.ORG", ADA),
        (f" {ADA} ", "Ada@EXAMPLE.org"),
        ("Élodie@example.org", "Élodie@example.org"),  # SQLite lowers ASCII alone
    ],
)
def test_case_makes_no_difference(store: Database, written: str, configured: str) -> None:
    suppress(store, written)
    plan(store, configured, BOB)
    assert claimed_of(store) == [("reading", BOB)]


def test_lifting_begins_with_the_next_digest(store: Database) -> None:
    plan(store)
    suppress(store, ADA)
    assert lift(store, ADA)
    assert not lift(store, ADA)
    living = {("reading", "email", ADA), ("reading", "email", BOB)}
    writing(store, outbox.suppress_missing, living, NOW)
    assert claimed_of(store) == [("reading", BOB)]
    plan(store, period="q")
    assert claimed_of(store) == [("reading", ADA), ("reading", BOB)]


def test_the_newest_wish_of_a_recipient_holds(store: Database) -> None:
    suppress(store, ADA, "lab")
    suppress(store, ADA, "lab", until=NOW + DAY)
    [one] = reading(store, suppressions.listing, NOW)
    assert (one.recipient, one.subscription, one.until) == (ADA, "lab", NOW + DAY)


def test_a_suppressed_delivery_is_not_retried_by_hand(store: Database) -> None:
    plan(store, ADA)
    suppress(store, ADA)
    waits = of(store, ADA)
    with pytest.raises(UsageError, match="suppressions lift"):
        writing(store, outbox.retry, waits.id, NOW)
    lift(store, ADA)
    writing(store, outbox.retry, waits.id, NOW)
    assert claimed_of(store) == [("reading", ADA)]


def test_an_uncertain_hand_off_is_not_repeated_to_somebody_who_stopped(store: Database) -> None:
    plan(store, ADA)
    [one] = attempt(store, DeliveryState.UNKNOWN)
    suppress(store, ADA)
    writing(store, outbox.hand_off_again, one.id, NOW)
    assert claimed_of(store, NOW + DAY) == []


def test_notices_to_the_operator_are_no_digests(store: Database) -> None:
    plan(store, ADA, name="@operator")
    suppress(store, ADA)
    writing(store, suppressions.doubt, NOW)
    assert claimed_of(store) == [("@operator", ADA)]
