"""Who does not want digests gets none, from the moment that this is recorded."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from monitor.errors import UsageError
from monitor.model import Delivery, DeliveryState, Outcome
from monitor.store.digests import deliveries, outbox, suppressions
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.engine.opening import open_store
from monitor.store.restore import restore
from tests.store.scenes import CHANNELS, DAY, NOW, digest, freeze, subscribe

ADA, BOB = "ada@example.org", "bob@example.org"
SUPPRESSED, PLANNED = DeliveryState.SUPPRESSED, DeliveryState.PLANNED


@pytest.fixture(autouse=True)
def subscribed(store: Database) -> None:
    subscribe(store, "reading", "lab")


def plan(store: Database, *recipients: str, name: str = "reading", period: str = "p") -> None:
    assert freeze(store, digest([], period, name), recipients=recipients or (ADA, BOB))


def suppress(
    store: Database, who: str, subscription: str = suppressions.ALL, until: datetime | None = None
) -> None:
    with store.writing() as tx:
        suppressions.suppress(tx, who, subscription, NOW, until=until, how="operator")


def lift(store: Database, who: str, subscription: str = suppressions.ALL) -> bool:
    with store.writing() as tx:
        return suppressions.lift(tx, who, subscription)


def claim(store: Database, now: datetime = NOW) -> list[tuple[str, str]]:
    with store.writing() as tx:
        claimed = outbox.claim(tx, "me", now, CHANNELS, 100)
        outbox.put_back(tx, [one.id for one in claimed], "me", now)
    return [(one.subscription, one.recipient) for one in claimed]


def of(store: Database, recipient: str) -> Delivery:
    with store.reading() as tx:
        [found] = [one for one in deliveries.listing(tx) if one.recipient == recipient]
    return found


def test_E4_what_waits_is_withheld_at_once_and_the_others_get_theirs(store: Database) -> None:
    plan(store)
    suppress(store, ADA)
    assert claim(store) == [("reading", BOB)]
    assert of(store, ADA).state is SUPPRESSED
    assert of(store, ADA).error == "stopped by the operator on 2026-03-02"


def test_E4_what_is_planned_later_is_not_claimed_either(store: Database) -> None:
    suppress(store, ADA)
    plan(store)
    assert of(store, ADA).state is PLANNED
    assert claim(store) == [("reading", BOB)]
    with store.writing() as tx:
        suppressions.withhold(tx, NOW)
    assert of(store, ADA).state is SUPPRESSED


def test_one_subscription_can_be_stopped_alone(store: Database) -> None:
    plan(store)
    plan(store, name="lab")
    suppress(store, ADA, "lab")
    assert claim(store) == [("reading", ADA), ("reading", BOB), ("lab", BOB)]


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
    assert claim(store) == [("reading", BOB)]


def test_lifting_begins_with_the_next_digest(store: Database) -> None:
    plan(store)
    suppress(store, ADA)
    assert lift(store, ADA)
    assert not lift(store, ADA)
    with store.writing() as tx:
        outbox.suppress_missing(tx, {("reading", "email", ADA), ("reading", "email", BOB)}, NOW)
    assert claim(store) == [("reading", BOB)]
    plan(store, period="q")
    assert claim(store) == [("reading", ADA), ("reading", BOB)]


def test_the_newest_wish_of_a_recipient_holds(store: Database) -> None:
    suppress(store, ADA, "lab")
    suppress(store, ADA, "lab", until=NOW + DAY)
    with store.reading() as tx:
        [one] = suppressions.listing(tx, NOW)
    assert (one.recipient, one.subscription, one.until) == (ADA, "lab", NOW + DAY)


def test_a_suppressed_delivery_is_not_retried_by_hand(store: Database) -> None:
    plan(store, ADA)
    suppress(store, ADA)
    [waits] = [of(store, ADA)]
    with store.writing() as tx, pytest.raises(UsageError, match="suppressions lift"):
        outbox.retry(tx, waits.id, NOW)
    lift(store, ADA)
    with store.writing() as tx:
        outbox.retry(tx, waits.id, NOW)
    assert claim(store) == [("reading", ADA)]


def test_an_uncertain_hand_off_is_not_repeated_to_somebody_who_stopped(store: Database) -> None:
    plan(store, ADA)
    with store.writing() as tx:
        [one] = outbox.claim(tx, "me", NOW, CHANNELS)
        outbox.record(tx, {one.id: ""}, "me", Outcome(DeliveryState.UNKNOWN), NOW)
    suppress(store, ADA)
    with store.writing() as tx:
        outbox.hand_off_again(tx, one.id, NOW)
    assert claim(store, NOW + DAY) == []


def test_a_process_that_dies_between_the_wish_and_the_claim_sends_nothing(store: Database) -> None:
    """The row alone is enough: whoever withholds what waits need not have come to it."""
    plan(store, ADA)
    with store.writing() as tx:
        row = {"address": ADA, "subscription": "reading", "recipient": ADA}
        tx.execute(sa.insert(schema.suppression).values(**row, since=NOW, how="one-click"))
    assert of(store, ADA).state is PLANNED
    assert claim(store) == []


def test_notices_to_the_operator_are_no_digests(store: Database) -> None:
    plan(store, ADA, name="@operator")
    suppress(store, ADA)
    with store.writing() as tx:
        suppressions.doubt(tx, NOW)
    assert claim(store) == [("@operator", ADA)]


# ── restore ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def backed_up(sqlite_url: str, tmp_path: Path) -> Path:
    """A backup in which Bob had stopped; since then Bob came back and Ada stopped."""
    sqlite = open_store(sqlite_url)
    subscribe(sqlite, "reading", "lab")
    suppress(sqlite, BOB)
    backup = tmp_path / "backup.db"
    sqlite.backup(backup)
    lift(sqlite, BOB)
    suppress(sqlite, ADA)
    sqlite.close()
    return backup


def suppressed(url: str) -> list[str]:
    with closing(open_store(url)) as store, store.reading() as tx:
        return [one.recipient for one in suppressions.listing(tx, NOW)]


def test_a_restored_store_has_the_suppressions_of_the_one_it_replaces(
    sqlite_url: str, backed_up: Path
) -> None:
    restore(sqlite_url, backed_up, NOW)
    assert suppressed(sqlite_url) == [ADA]


@pytest.mark.parametrize("replaced", ["missing", "damaged", "no store"])
def test_where_they_cannot_be_read_mail_rests_until_it_is_confirmed(
    sqlite_url: str, backed_up: Path, tmp_path: Path, replaced: str
) -> None:
    path = tmp_path / "monitor.db"
    if replaced == "missing":
        path.unlink()
    else:
        path.write_bytes(b"SQLite format 3\0" * (replaced == "damaged") + b"rubbish")
    restore(sqlite_url, backed_up, NOW)
    assert suppressed(sqlite_url) == [BOB]
    sqlite = open_store(sqlite_url)
    plan(sqlite, period="after")
    assert claim(sqlite) == []
    with sqlite.writing() as tx:
        assert suppressions.confirm(tx, NOW)
    assert claim(sqlite) == [("reading", ADA)]
    sqlite.close()


def test_a_store_from_before_there_were_suppressions_had_none(
    sqlite_url: str, backed_up: Path
) -> None:
    with closing(Database(sqlite_url)) as sqlite, sqlite.writing() as tx:
        tx.execute(sa.text("DROP TABLE suppression"))
    restore(sqlite_url, backed_up, NOW)
    assert suppressed(sqlite_url) == []
    with closing(Database(sqlite_url)) as store, store.reading() as tx:
        assert tx.scalar(sa.select(sa.func.count()).select_from(schema.incident)) == 0
