from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from monitor.channels.retry_policy import (
    DEFAULT_RETRY,
    RetrySettings,
    decide,
    give_up_at,
    next_attempt,
    rest,
)
from monitor.model import DeliveryState, Outcome, Rendered
from tests.channels.samples import AT, delivery

RETRY = Outcome(DeliveryState.RETRY, "450 try later")
minutes = st.integers(0, 10**6)


def wait(
    attempts: int,
    delivery_id: int = 1,
    outcome: Outcome = RETRY,
    settings: RetrySettings = DEFAULT_RETRY,
) -> timedelta | None:
    tried = delivery(Rendered(0, {}), id=delivery_id, attempts=attempts, created_at=AT)
    at = next_attempt(outcome, tried, AT, settings)
    return at - AT if at else None


@given(st.integers(1), st.integers(4, 200))
def test_retries_come_after_5_to_30_minutes_and_later_2_to_3_hours(number: int, later: int) -> None:
    assert timedelta(minutes=5) <= wait(0, number) <= timedelta(minutes=30)
    assert timedelta(hours=2) <= wait(later, number) <= timedelta(hours=3)
    assert len({wait(0, other) for other in range(100)}) == 100, "not in one moment"


HASTY = RetrySettings(
    waits=((timedelta(minutes=1), timedelta(minutes=1)), (timedelta(minutes=4),) * 2),
    give_up=timedelta(minutes=30),
    rest=(timedelta(minutes=1), timedelta(minutes=3)),
)


def test_E29_every_number_of_waiting_can_be_set() -> None:
    waits = [wait(attempts, settings=HASTY) for attempts in range(3)]
    assert waits == [timedelta(minutes=1), timedelta(minutes=4), timedelta(minutes=4)]
    rests = [rest(tries, HASTY) / timedelta(minutes=1) for tries in (1, 2, 3, 4)]
    assert rests == [1, 2, 3, 3]
    late = AT + timedelta(minutes=29)
    tried = delivery(Rendered(0, {}), attempts=HASTY.attempts - 1, created_at=AT)
    assert next_attempt(RETRY, tried, late, HASTY) is None
    assert next_attempt(RETRY, tried, late) is not None


def test_E29_so_many_attempts_are_made_even_with_the_longest_waits() -> None:
    assert (DEFAULT_RETRY.attempts, HASTY.attempts) == (19, 9)
    assert RetrySettings(give_up=timedelta(minutes=20)).attempts == 2


@given(st.integers(1), st.integers(0, 100), minutes)
def test_it_is_given_up_after_48_hours_of_trying(delivery_id: int, attempts: int, age: int) -> None:
    """Hours in which the channel was down are none of trying: no attempts are counted then."""
    tried = delivery(Rendered(0, {}), id=delivery_id, attempts=attempts, created_at=AT)
    at = next_attempt(RETRY, tried, AT + timedelta(minutes=age))
    if attempts < DEFAULT_RETRY.attempts - 1:
        assert at is not None
    else:
        assert at is None or at < AT + timedelta(hours=48)


def test_L01_X11_a_time_that_is_named_is_obeyed_within_reason() -> None:
    waits = {30: 30, 3600: 3600, 0: 1, 86_400: 6 * 3600}
    for seconds, waited in waits.items():
        outcome = Outcome(DeliveryState.RETRY, "429", retry_after=timedelta(seconds=seconds))
        assert wait(0, outcome=outcome) == timedelta(seconds=waited)


def test_a_retry_that_would_come_too_late_is_a_failure_that_says_why() -> None:
    late = AT + timedelta(hours=47.5)
    outcome, at = decide(delivery(Rendered(0, {}), attempts=21), RETRY, late)
    assert at is None
    assert outcome.state is DeliveryState.FAILED
    assert outcome.error == "given up after 22 attempts: 450 try later"


def test_what_is_no_retry_is_recorded_as_it_is_and_an_unclear_end_is_asked_about_later() -> None:
    for state in (DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.UNKNOWN):
        outcome = Outcome(state, "so it is")
        recorded, at = decide(delivery(Rendered(0, {})), outcome, AT)
        assert recorded == outcome
        assert (at is not None and at > AT) == (state is DeliveryState.UNKNOWN)


def test_a_channel_that_is_down_is_tried_ever_more_rarely_up_to_an_hour() -> None:
    waits = [rest(tries) / timedelta(minutes=1) for tries in (0, 1, 2, 3, 4, 5, 6, 10**6)]
    assert waits == [5, 5, 10, 20, 40, 60, 60, 60]


UNCLEAR = delivery(Rendered(0, {}), attempts=1, handed_off_at=AT, created_at=AT)


def test_what_may_have_arrived_and_is_refused_for_good_is_unknown_not_failed() -> None:
    outcome, _ = decide(UNCLEAR, Outcome(DeliveryState.FAILED, "550 no such user"), AT)
    assert outcome.state is DeliveryState.UNKNOWN
    assert "may have arrived" in outcome.error
    assert "550 no such user" in outcome.error
    assert decide(UNCLEAR, Outcome(DeliveryState.SENT), AT)[0].state is DeliveryState.SENT


@given(
    st.integers(1), st.integers(1, 100), st.integers(0, 60 * 24 * 9), st.integers(0, 60 * 24 * 9)
)
def test_what_may_have_arrived_is_tried_until_give_up_after_its_first_hand_off(
    number: int, attempts: int, age: int, down: int
) -> None:
    """Time in which the line was down does not count, and attempts are not counted."""
    lost = replace(UNCLEAR, id=number, attempts=attempts)
    now = AT + timedelta(minutes=age)
    outage = timedelta(minutes=min(age, down))
    outcome, at = decide(lost, RETRY, now, down=outage)
    until = give_up_at(lost, down=outage)
    assert until == AT + timedelta(hours=48) + outage
    wait = DEFAULT_RETRY.wait(number, attempts)
    if now + wait < until:
        assert (outcome.state, at) == (DeliveryState.RETRY, now + wait)
    else:
        assert outcome.state is DeliveryState.UNKNOWN
        assert "given up after" in outcome.error
