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
    """One part of one digest for one recipient on one channel.

    `part` counts those for this recipient from 0; `parent` is the provider reference of the first,
    for channels that thread. `rendered` is what was frozen when the digest was composed;
    `changed_at` is since when `state` is what it is. `handed_off_at` is when the last byte of its
    first hand-off without a clear result was sent: it may have arrived then. Sending it again by
    hand resets this. `resent` means that it is not handed off once more automatically: that was
    done, refused permanently, or given up. `withheld_at` is since when its recipient does not want
    it, `composed_at` when the digest was composed, and `address_refused_at` when the server first
    said that the address does not exist.
    """

    id: int
    digest_id: int
    subscription: str
    period: str
    channel: str
    recipient: str
    part: int
    state: DeliveryState
    attempts: int
    message_id: str
    created_at: datetime
    next_attempt_at: datetime | None
    rendered: Rendered
    parent: str = ""
    reference: str = ""
    error: str = ""
    owner: str = ""
    resent: bool = False
    handed_off_at: datetime | None = None
    changed_at: datetime | None = None
    withheld_at: datetime | None = None
    composed_at: datetime | None = None
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
