"""A delivery on its way: its states, attempts and suppressions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from monitor.model.digests import Json, Rendered


class DeliveryState(StrEnum):
    """The life of a delivery."""

    PLANNED = "planned"
    CLAIMED = "claimed"
    HANDING_OFF = "handing_off"
    SENT = "sent"
    RETRY = "retry"
    FAILED = "failed"
    UNKNOWN = "unknown"
    SUPPRESSED = "suppressed"
    SUPERSEDED = "superseded"


# The name until 0.1.0, still accepted for plug-in channels; removed in the release after next.
State = DeliveryState


# Names of configured subscriptions do not begin so: notices to the operator, and tests.
NO_SUBSCRIPTION = "@"
OPERATOR = "@operator"
# Before the name of a subscription: a test, to its recipients.
TEST = "@test "


@dataclass(frozen=True, slots=True)
class Delivery:
    """One part of one digest for one recipient on one channel."""

    # The number that `deliveries` shows. A recipient's parts are sent in the order of their ids.
    id: int
    # The row of `digest`; notices to the operator and tests have one, too.
    digest_id: int
    # A name in the configuration, or one that begins with `NO_SUBSCRIPTION`: see `is_digest`.
    subscription: str
    # As in `Digest`. Of a notice: the number of the incident, and whether it began or ended.
    period: str
    # The name in the configuration, or "email" for the addresses of a subscription.
    channel: str
    # A mail address; on other channels the name of the channel, a folder or a Slack channel.
    recipient: str
    # Counted from 0 for this recipient. The column of this name numbers the bodies of the channel.
    part: int

    # Changed only by `outbox`, on condition that the row is still in the state that was read.
    state: DeliveryState
    # Counts recorded outcomes; an attempt that an outage of the channel cut off is not counted.
    attempts: int
    # The Message-ID of a mail (RFC 5322, 3.6.4), the same in each attempt. Other channels send it,
    # or its random part, so that a receiver can recognise a repetition.
    message_id: str
    # When the delivery was planned: with the digest, or later if its text was split or rendered
    # again.
    created_at: datetime
    # The earliest time of the next attempt or, while the outcome is unknown, of the next look for
    # the message. None for at once, and where nothing follows.
    next_attempt_at: datetime | None
    # The text as it was frozen with the digest, the same in each attempt; empty in lists of
    # deliveries.
    rendered: Rendered
    # The `reference` of the recipient's first part, for channels that thread; "" for the first
    # part.
    parent: str = ""
    # The server's name for the message, or the path of a page; "" where it gave none.
    reference: str = ""
    # An explanation by the last attempt, "" for none. A sent page has one if the index was not
    # written.
    error: str = ""
    # The id of the lock of the process that has claimed the delivery, "" while it is not claimed.
    owner: str = ""
    # No further hand-off is automatic: one was repeated already, was refused permanently, or was
    # given up.
    resent: bool = False

    # When the last byte of the first hand-off without a clear result was sent: the message may have
    # arrived then. Sending it again by hand sets this to the time of that request.
    handed_off_at: datetime | None = None
    # When `state` was set.
    changed_at: datetime | None = None
    # Since when the recipient does not want it (`Suppression`), or has all of it from other
    # subscriptions.
    withheld_at: datetime | None = None
    # When its digest was composed.
    composed_at: datetime | None = None
    # When the server first said that the address does not exist; None if it never did.
    address_refused_at: datetime | None = None

    @property
    def random_id(self) -> str:
        """The random part of the Message-ID: the same in every attempt, and in no other store."""
        return self.message_id.strip("<>").partition("@")[0]

    @property
    def is_digest(self) -> bool:
        """Whether it is of a subscription; if not, it is a notice to the operator, or a test."""
        return not self.subscription.startswith(NO_SUBSCRIPTION)

    @property
    def is_test(self) -> bool:
        return self.subscription.startswith(TEST)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one attempt to send.

    `state` is SENT, RETRY, FAILED or UNKNOWN. `channel_down` of a RETRY means that the fault is the
    channel's, not this recipient's: its other deliveries wait and none is marked as failed.
    `split` of a RETRY are two shorter messages that replace one that was refused as too long: each
    is then a delivery of its own. `address_refused` of a FAILED means that the server says that the
    recipient's address does not exist; twice, a day apart, stops the address. `gone` of a FAILED
    means that the service calls the address permanently gone, which stops it at once.
    """

    state: DeliveryState
    error: str = ""
    reference: str = ""
    retry_after: timedelta | None = None
    channel_down: bool = False
    split: tuple[Json, Json] | None = None
    address_refused: bool = False
    gone: bool = False


class Suppression(msgspec.Struct, frozen=True):
    """A recipient who is sent nothing of a subscription ("" for all), until a date or permanently.

    `how` names who stopped it, and by which means; `reason` has the words of a mail server that
    did.
    """

    recipient: str
    subscription: str
    since: datetime
    until: datetime | None
    how: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step on the way to a channel, with what is wrong with it, "" for nothing."""

    name: str
    problem: str = ""
