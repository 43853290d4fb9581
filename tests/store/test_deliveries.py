from __future__ import annotations

import threading
from collections import Counter
from datetime import datetime
from functools import partial

import pytest

from monitor.errors import UsageError
from monitor.model import Delivery, DeliveryState, Outcome, Rendered
from monitor.store.digests import deliveries, freeze_digest, outbox
from monitor.store.digests.freeze_digest import Planned
from monitor.store.engine.database import Database
from tests.patience import PATIENCE, at_once
from tests.store.scenes import (
    CHANNELS,
    DAY,
    HOUR,
    NOW,
    claim,
    digest,
    freeze,
    reading,
    subscribe,
    until_another_waits,
    writing,
)

ADA = "ada@example.org"
BOB = "bob@example.org"
AGAIN = deliveries.IS_HANDED_OFF_AGAIN


@pytest.fixture(autouse=True)
def subscribed(store: Database) -> None:
    subscribe(store, "ada", "lab")


def plan(store: Database, *recipients: str, name: str = "ada", period: str = "p", **how) -> None:
    assert freeze(store, digest([], period, name), recipients=recipients or (ADA,), **how)


def record(store: Database, id: int, outcome: Outcome, owner: str = "me", at=None) -> bool:
    return writing(store, outbox.record, {id: outcome.reference}, owner, outcome, NOW, at) == {id}


def hand_off(store: Database, id: int, owner: str = "me") -> bool:
    return writing(store, outbox.commit_handoff, [id], owner, NOW) == {id}


def one(store: Database, id: int) -> Delivery:
    return reading(store, deliveries.get, id)


def uncertain(store: Database) -> list[Delivery]:
    return reading(store, deliveries.select, deliveries.MAY_HAVE_ARRIVED)


def sent(store: Database, state: DeliveryState = DeliveryState.SENT, **how) -> Delivery:
    """One delivery that was planned, claimed and ended so."""
    plan(store, **how)
    [claimed] = claim(store)
    assert record(store, claimed.id, Outcome(state))
    return one(store, claimed.id)


def suppress(store: Database, *living: tuple[str, str, str]) -> None:
    writing(store, outbox.suppress_missing, set(living), NOW)


# ── claim ───────────────────────────────────────────────────────────────────────────


def test_a_claim_tells_all_that_sending_needs(store: Database) -> None:
    plan(store, ADA, BOB, "c")
    first, second = claim(store, limit=2)
    assert (first.recipient, second.recipient) == (ADA, BOB)
    assert (first.state, first.owner, first.attempts) == (DeliveryState.CLAIMED, "me", 0)
    assert (first.subscription, first.period, first.channel) == ("ada", "p", "email")
    assert dict(first.rendered.body) == {"text": "part 0"}
    assert first.created_at == NOW
    assert first.message_id != second.message_id
    assert [d.recipient for d in claim(store, "other", limit=2)] == ["c"]


def test_of_what_waits_only_tests_are_failed_and_none_that_may_have_arrived(
    store: Database,
) -> None:
    plan(store, ADA)
    plan(store, ADA, BOB, "c", "d", name="@test ada")
    plan(store, ADA, name="@testing ada")
    digest_of_ada, arrived, mine, others = claim(store, limit=4)
    assert record(store, arrived.id, Outcome(DeliveryState.UNKNOWN))
    assert writing(store, outbox.hand_off_again, arrived.id, NOW)
    assert record(store, digest_of_ada.id, Outcome(DeliveryState.RETRY, "451"))
    assert record(store, others.id, Outcome(DeliveryState.RETRY, "452"))
    before = {id: one(store, id) for id in (digest_of_ada.id, arrived.id)}
    for channels in ([], ["slack"]):
        writing(store, outbox.fail_tests, channels, "me", "too late", NOW)
        assert one(store, mine.id).state is DeliveryState.CLAIMED
    writing(store, outbox.fail_tests, CHANNELS, "me", "too late", NOW)
    assert {id: one(store, id) for id in before} == before
    tests = [one(store, id) for id in range(mine.id, others.id + 2)]
    assert [(test.state, test.error) for test in tests] == [
        *((DeliveryState.FAILED, error) for error in ("too late", "452", "too late")),
    ]
    assert one(store, others.id + 2).state is DeliveryState.PLANNED


def test_later_parts_wait_for_the_first_and_are_given_its_reference(store: Database) -> None:
    plan(store, ADA, BOB, parts=3)
    first, others_first = claim(store)
    assert (first.part, others_first.part) == (0, 0)
    record(store, first.id, Outcome(DeliveryState.SENT, reference="1700.1"))
    replies = claim(store)
    assert [(d.part, d.recipient) for d in replies] == [(1, ADA), (2, ADA)]
    assert {d.parent for d in replies} == {"1700.1"}
    record(store, others_first.id, Outcome(DeliveryState.FAILED))
    assert claim(store) == []


def test_parts_for_one_recipient_are_counted_and_wait_from_the_first_of_their_own(
    store: Database,
) -> None:
    """The digest has two parts, for ada two others, and for both one more."""
    rendered = {"email": [Rendered(n, {"text": f"part {n}"}) for n in range(6)]}
    own = {ADA: (2, 3, 5), BOB: (0, 1, 4)}
    planned = [
        Planned("email", to, part, f"<{part}@papers.example>")
        for to, parts in own.items()
        for part in parts
    ]
    writing(store, freeze_digest.freeze, digest([]), rendered, planned, NOW)
    listed = reading(store, deliveries.listing)[::-1]
    assert [(d.recipient, d.part) for d in listed] == [(to, n) for to in own for n in range(3)]
    first, others_first = claim(store)
    assert [(d.recipient, d.part, d.parent) for d in (first, others_first)] == [
        (ADA, 0, ""),
        (BOB, 0, ""),
    ]
    assert dict(first.rendered.body) == {"text": "part 2"}
    assert claim(store) == []
    record(store, first.id, Outcome(DeliveryState.SENT, reference="1700.1"))
    replies = claim(store)
    assert [(d.part, d.recipient, d.parent) for d in replies] == [
        (1, ADA, "1700.1"),
        (2, ADA, "1700.1"),
    ]
    assert one(store, first.id).parent == ""


def test_outcomes_recorded_at_once_keep_what_each_is_known_as(store: Database) -> None:
    plan(store, ADA, BOB, "c")
    first, second, lost = claim(store, limit=3)
    both = {first.id, second.id}
    assert writing(store, outbox.commit_handoff, list(both), "me", NOW) == both
    writing(store, outbox.put_back, [lost.id], "me", NOW)
    known_as = {first.id: "250 queued as 1", second.id: "", lost.id: "250 queued as 3"}
    recorded = writing(store, outbox.record, known_as, "me", Outcome(DeliveryState.SENT), NOW)
    assert recorded == both
    references = [one(store, d.id).reference for d in (first, second, lost)]
    assert references == ["250 queued as 1", "", ""]
    assert one(store, lost.id).state is DeliveryState.PLANNED


def test_two_claimers_never_share_a_delivery(store: Database) -> None:
    plan(store, *(f"r{n}" for n in range(60)))
    start = threading.Barrier(4)
    taken: dict[str, list[int]] = {}

    def work(owner: str) -> None:
        taken[owner] = []
        start.wait(timeout=PATIENCE)
        while claimed := claim(store, owner, limit=3):
            taken[owner] += [d.id for d in claimed]

    at_once(*(partial(work, f"w{n}") for n in range(4)))
    counted = Counter(id for ids in taken.values() for id in ids)
    assert len(counted) == 60
    assert set(counted.values()) == {1}
    assert all(one(store, id).owner == owner for owner, ids in taken.items() for id in ids)


# ── hand off and record ─────────────────────────────────────────────────────────────


def test_a_delivery_is_handed_off_by_its_owner_once(store: Database) -> None:
    plan(store)
    [claimed] = claim(store)
    assert not hand_off(store, claimed.id, "other")
    assert hand_off(store, claimed.id)
    assert not hand_off(store, claimed.id)
    assert one(store, claimed.id).state is DeliveryState.HANDING_OFF


@pytest.mark.parametrize("handed_off", [False, True])
@pytest.mark.parametrize(
    "state", [DeliveryState.SENT, DeliveryState.RETRY, DeliveryState.FAILED, DeliveryState.UNKNOWN]
)
def test_an_outcome_is_recorded_once(
    store: Database, state: DeliveryState, handed_off: bool
) -> None:
    plan(store)
    [claimed] = claim(store)
    if handed_off:
        hand_off(store, claimed.id)
    outcome = Outcome(state, "said", "ref")
    assert record(store, claimed.id, outcome, at=NOW + HOUR)
    now = one(store, claimed.id)
    assert (now.state, now.error, now.reference, now.owner) == (state, "said", "ref", "")
    assert (now.attempts, now.next_attempt_at) == (1, NOW + HOUR)
    assert not record(store, claimed.id, Outcome(DeliveryState.FAILED))


def test_K16_a_worker_that_lost_its_claim_can_neither_send_nor_record(store: Database) -> None:
    plan(store)
    [claimed] = claim(store, "paused")
    writing(store, outbox.release_dead, lambda owner: False, NOW, CHANNELS)
    [taken] = claim(store, "other")
    assert taken.id == claimed.id
    assert not hand_off(store, claimed.id, "paused")
    assert not record(store, claimed.id, Outcome(DeliveryState.SENT), "paused")
    assert one(store, claimed.id).owner == "other"


@pytest.mark.parametrize("handed_off", [False, True])
def test_a_line_that_is_down_costs_no_attempt(store: Database, handed_off: bool) -> None:
    plan(store)
    [claimed] = claim(store)
    if handed_off:
        hand_off(store, claimed.id)
    assert not writing(store, outbox.unclaim, claimed.id, "other", "refused", NOW)
    assert writing(store, outbox.unclaim, claimed.id, "me", "refused", NOW)
    now = one(store, claimed.id)
    assert (now.state, now.attempts, now.error) == (DeliveryState.PLANNED, 0, "refused")
    assert len(claim(store)) == 1
    assert record(store, claimed.id, Outcome(DeliveryState.RETRY))
    claim(store)
    writing(store, outbox.unclaim, claimed.id, "me", "refused", NOW)
    now = one(store, claimed.id)
    assert (now.state, now.attempts) == (DeliveryState.RETRY, 1)


# ── dead owners ─────────────────────────────────────────────────────────────────────


def test_K03_what_a_dead_owner_claimed_is_free_and_what_it_handed_off_unknown(
    store: Database,
) -> None:
    plan(store, "a", "b", "c")
    free, lost = (d.id for d in claim(store, "dead", limit=2))
    [safe] = claim(store, "living")
    hand_off(store, lost, "dead")
    for _ in range(2):
        writing(store, outbox.release_dead, lambda owner: owner == "living", NOW, CHANNELS)
    [unknown] = reading(store, outbox.list_unknown)
    assert (unknown.id, unknown.state, unknown.attempts) == (lost, DeliveryState.UNKNOWN, 1)
    assert dict(unknown.rendered.body) == {"text": "part 0"}
    assert (one(store, free).state, one(store, free).attempts) == (DeliveryState.PLANNED, 0)
    assert one(store, safe.id).owner == "living"
    assert [d.id for d in claim(store, "next")] == [free]


def test_of_some_channels_only_those_are_claimed_and_freed(store: Database) -> None:
    plan(store, channel="smtp")
    plan(store, channel="slack", period="q", name="lab")
    [by_slack] = claim(store, "dead", channels=["slack"])
    for held in (by_slack, *claim(store, "dead")):
        hand_off(store, held.id, "dead")
    writing(store, outbox.release_dead, lambda owner: False, NOW, [])
    assert reading(store, outbox.list_unknown) == []
    writing(store, outbox.release_dead, lambda owner: False, NOW, {"slack"})
    [freed] = reading(store, outbox.list_unknown)
    assert (by_slack.channel, freed.id) == ("slack", by_slack.id)
    states = {DeliveryState.UNKNOWN: 1, DeliveryState.HANDING_OFF: 1}
    assert reading(store, deliveries.counts) == states


def test_the_unknown_may_wait_before_they_are_looked_into(store: Database) -> None:
    plan(store)
    [claimed] = claim(store)
    record(store, claimed.id, Outcome(DeliveryState.UNKNOWN), at=NOW + HOUR)
    for asked, count in (([NOW], 0), ([NOW + HOUR], 1), ([], 1)):
        assert len(reading(store, outbox.list_unknown, *asked)) == count


# ── what may have arrived ───────────────────────────────────────────────────────────


def is_as(delivery: Delivery, state: DeliveryState, handed_off_at: datetime | None) -> bool:
    """Whether it is in a state and may be handed off once more by itself."""
    now = (delivery.state, delivery.handed_off_at, delivery.resent)
    return now == (state, handed_off_at, False)


def to_be_handed_off_again(store: Database) -> Delivery:
    """A delivery that may have arrived and waits for its one further hand-off."""
    lost = sent(store, DeliveryState.UNKNOWN)
    assert writing(store, outbox.hand_off_again, lost.id, NOW)
    return lost


def attempt(store: Database, id: int, outcome: Outcome, *, handed_off: bool = True) -> Delivery:
    """One attempt at a delivery that waits, an hour later."""
    [claimed] = claim(store, now=NOW + HOUR)
    assert claimed.id == id
    if handed_off:
        assert writing(store, outbox.commit_handoff, [id], "me", NOW + HOUR)
    assert record(store, id, outcome)
    return one(store, id)


@pytest.mark.parametrize("dies", [False, True])
def test_the_moment_of_the_first_unclear_hand_off_is_remembered(
    store: Database, dies: bool
) -> None:
    plan(store)
    for is_again in (False, True):
        at = NOW + HOUR * is_again
        [claimed] = claim(store, now=at)
        assert writing(store, outbox.commit_handoff, [claimed.id], "me", at)
        assert one(store, claimed.id).handed_off_at == (NOW if is_again else None)
        if dies:
            writing(store, outbox.release_dead, lambda owner: False, NOW + DAY, CHANNELS)
        else:
            record(store, claimed.id, Outcome(DeliveryState.UNKNOWN))
        lost = one(store, claimed.id)
        assert (lost.handed_off_at, lost.resent) == (NOW, is_again)
        if not is_again:
            assert writing(store, outbox.hand_off_again, lost.id, NOW)
            assert one(store, lost.id).state is DeliveryState.RETRY


@pytest.mark.parametrize("handed_off", [False, True])
def test_a_refused_attempt_does_not_use_up_the_one_further_hand_off(
    store: Database, handed_off: bool
) -> None:
    lost = to_be_handed_off_again(store)
    for _ in range(3):
        lost = attempt(store, lost.id, Outcome(DeliveryState.RETRY, "450"), handed_off=handed_off)
        assert is_as(lost, DeliveryState.RETRY, NOW)
    [claimed] = claim(store)
    assert writing(store, outbox.unclaim, claimed.id, "me", "the line is down", NOW)
    assert (one(store, lost.id).handed_off_at, one(store, lost.id).resent) == (NOW, False)


def test_what_is_found_not_to_have_arrived_is_as_never_handed_off(store: Database) -> None:
    lost = sent(store, DeliveryState.UNKNOWN)
    assert writing(store, outbox.settle, lost.id, Outcome(DeliveryState.RETRY, "not there"), NOW)
    assert is_as(one(store, lost.id), DeliveryState.RETRY, None)


def test_what_is_given_up_is_unknown_and_a_person_may_have_it_sent(store: Database) -> None:
    lost = to_be_handed_off_again(store)
    assert writing(store, outbox.give_up, lost.id, "given up", NOW)
    assert not writing(store, outbox.give_up, lost.id, "given up", NOW)
    given_up = writing(store, deliveries.get, lost.id)
    assert (given_up.state, given_up.resent) == (DeliveryState.UNKNOWN, True)
    writing(store, outbox.settle_by_hand, lost.id, "resend", NOW + DAY)
    [again] = claim(store)
    assert (again.message_id, again.attempts) == (lost.message_id, 1)
    assert is_as(again, DeliveryState.CLAIMED, NOW + DAY)


def test_what_waits_to_be_handed_off_once_more_can_be_settled_and_tried_now(
    store: Database,
) -> None:
    lost = to_be_handed_off_again(store)
    assert [d.id for d in uncertain(store)] == [lost.id]
    assert [d.id for d in reading(store, deliveries.select, AGAIN)] == [lost.id]
    writing(store, outbox.retry, lost.id, NOW + DAY)
    assert one(store, lost.id).handed_off_at == NOW + DAY
    writing(store, outbox.settle_by_hand, lost.id, "sent", NOW)
    assert uncertain(store) == []
    assert one(store, lost.id).state is DeliveryState.SENT


def test_a_plain_retry_may_not_have_arrived_and_is_not_resolved(store: Database) -> None:
    tried = sent(store, DeliveryState.RETRY)
    assert uncertain(store) == reading(store, deliveries.select, AGAIN) == []
    with store.writing() as tx, pytest.raises(UsageError, match="only an unknown one"):
        outbox.settle_by_hand(tx, tried.id, "sent", NOW)
        outbox.retry(tx, tried.id, NOW)
        assert deliveries.get(tx, tried.id).handed_off_at is None


@pytest.mark.parametrize("state", ["failed", "retry", "sent", "unknown", "superseded"])
def test_a_person_lets_be_tried_again_what_cannot_be_sent_twice(
    store: Database, state: str
) -> None:
    done = sent(store, DeliveryState("failed" if state == "superseded" else state))
    if state in ("failed", "retry"):
        writing(store, outbox.retry, done.id, NOW)
        assert [d.id for d in claim(store)] == [done.id]
        return
    if state == "superseded":
        plan(store, period="q")
    with pytest.raises(UsageError, match=f"is {state}"):
        writing(store, outbox.retry, done.id, NOW)


def test_open_deliveries_of_the_missing_are_suppressed_and_resumed(store: Database) -> None:
    plan(store, ADA, BOB)
    [first] = claim(store, limit=1)
    record(store, first.id, Outcome(DeliveryState.RETRY), at=NOW + DAY)
    suppress(store)
    subscribe(store, "lab")  # a removed subscription that is back resumes as well
    subscribe(store, "ada", "lab")
    assert claim(store, now=NOW + DAY) == []
    suppress(store, ("ada", "email", ADA))
    [resumed] = claim(store)
    assert (resumed.recipient, resumed.attempts) == (ADA, 1)
    suppress(store)  # what is under way is not suppressed, and what was sent is not resumed
    assert record(store, resumed.id, Outcome(DeliveryState.SENT))
    suppress(store, ("ada", "email", ADA), ("ada", "email", BOB))
    assert [(d.recipient, d.attempts) for d in claim(store)] == [(BOB, 0)]
    assert one(store, resumed.id).state is DeliveryState.SENT


@pytest.mark.parametrize("living", [(), (("ada", "email", ADA),)])
def test_what_another_process_moves_on_meanwhile_is_left_alone(store: Database, living) -> None:
    """One decides who is written to while another is about to commit that it has sent."""
    plan(store)
    if living:
        suppress(store)
    slow = threading.Thread(target=suppress, args=(store, *living))
    with store.writing() as tx:
        outbox.suppress_missing(tx, {("ada", "email", ADA)}, NOW)
        [claimed] = outbox.claim(tx, "other", NOW, CHANNELS)
        slow.start()
        until_another_waits(store)
        outbox.record(tx, {claimed.id: ""}, "other", Outcome(DeliveryState.SENT), NOW)
    slow.join(timeout=PATIENCE)
    assert one(store, claimed.id).state is DeliveryState.SENT


def test_the_listing_is_newest_first_and_can_be_narrowed(store: Database) -> None:
    done = sent(store)
    plan(store, name="lab")
    assert [d.subscription for d in reading(store, deliveries.listing)] == ["lab", "ada"]
    [narrowed] = reading(store, deliveries.listing, [DeliveryState.SENT])
    assert reading(store, deliveries.counts) == {DeliveryState.SENT: 1, DeliveryState.PLANNED: 1}
    assert narrowed.id == done.id
    assert dict(narrowed.rendered.body) == {}
    with pytest.raises(UsageError, match="there is no delivery 99"), store.writing() as tx:
        outbox.retry(tx, 99, NOW)
