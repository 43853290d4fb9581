"""Recipients who are sent nothing more: stopped by the operator, by themselves or by a server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from shlex import quote

from monitor.commands.subscriptions import recipients_of
from monitor.digest.incident_words import LIFT
from monitor.digest.wording import format_moment, zone_name
from monitor.errors import Remedy, UsageError, nearest
from monitor.model import Suppression
from monitor.pipeline import incidents
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import deliveries, suppressions


def suppress(
    runtime: Runtime,
    recipient: str,
    subscription: str = "",
    *,
    until: datetime | None = None,
    force: bool = False,
) -> None:
    """Send a recipient nothing more of a subscription ("" for all), until a time or permanently.

    Raises UsageError for an unknown recipient, unless `force`: it may be mistyped.
    """
    known = runtime.subscriptions_named([subscription] if subscription else ())
    recipients = {suppressions.address_of(to): to for s in known for to in recipients_of(s)}
    address = suppressions.address_of(recipient)
    now = runtime.clock.now()
    with runtime.database.writing() as tx:
        if not (force or address in recipients or deliveries.has_recipient(tx, address)):
            of = f"of the subscription {subscription}" if subscription else "of any subscription"
            near = nearest(address, recipients.values(), "the configuration has them")
            raise UsageError(
                f"{recipient!r} is not a recipient {of}{near}",
                "--force, or the box on the page, stops an address that is yet to come",
                Remedy.STOP_UNCONFIGURED,
            )
        suppressions.suppress(tx, recipient, subscription, now, until=until, how="operator")


def lift(runtime: Runtime, recipient: str, subscription: str = "") -> bool:
    """Send a recipient digests again, from the next one; return whether there was a suppression."""
    now = runtime.clock.now()
    with runtime.database.writing() as tx:
        lifted = suppressions.lift(tx, recipient, subscription, now)
        if lifted and subscription == suppressions.ALL:
            incidents.end_stopped(tx, suppressions.address_of(recipient), now)
    return lifted


def describe_stopped(
    runtime: Runtime, *, subscription: str = "", channel: str = ""
) -> dict[str, Suppression]:
    """Return why recipients of a subscription or channel are sent nothing, and how to resume each.

    A sentence of each suppression, once.
    """
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        rows = suppressions.listing(tx, now)
    theirs = {
        (name, suppressions.address_of(to))
        for name, of, to in runtime.recipients
        if subscription in ("", name) and channel in ("", of)
    }
    return {
        _describe(runtime, row): row
        for row in rows
        if any(
            row.subscription in (suppressions.ALL, name)
            and suppressions.address_of(row.recipient) == address
            for name, address in theirs
        )
    }


def _describe(runtime: Runtime, row: Suppression) -> str:
    zone = runtime.settings.timezone
    of = f" for {row.subscription}" if row.subscription else ""
    until = f" until {format_moment(row.until, zone)}" if row.until else ""
    reason = f": {row.reason}" if row.reason else ""
    since = f"has been stopped{of} since {format_moment(row.since, zone)}{until}"
    only = f" --subscription {quote(row.subscription)}" if row.subscription else ""
    command = LIFT.format(quote(row.recipient) + only)
    return f"{row.recipient} {since} ({zone_name(zone)}){reason}. Resume it with {command}"


class SubscriptionChange(StrEnum):
    """The requests of a reader."""

    STOP = "stop"
    WEEK = "week"
    MONTH = "month"
    RESUME = "resume"


_PAUSES = {SubscriptionChange.WEEK: timedelta(days=7), SubscriptionChange.MONTH: timedelta(days=30)}


@dataclass(frozen=True, slots=True)
class ReaderStatus:
    """The state of a reader in a subscription: no mail is sent while there is a suppression."""

    subscription: str
    recipient: str
    suppression: Suppression | None

    @property
    def until(self) -> datetime | None:
        return self.suppression.until if self.suppression else None

    @property
    def may_resume(self) -> bool:
        """Whether the reader asked for it, for this subscription, and may take it back."""
        row = self.suppression
        return row is not None and row.how != "operator" and row.subscription != suppressions.ALL


def reader_status(runtime: Runtime, subscription: str, recipient: str) -> ReaderStatus:
    with runtime.database.reading() as tx:
        rows = suppressions.listing(tx, runtime.clock.now(), recipient)
    about = (row for row in rows if row.subscription in (suppressions.ALL, subscription))
    return ReaderStatus(subscription, recipient, suppressions.lasting(about))


def _may_suppress(before: ReaderStatus, change: SubscriptionChange) -> bool:
    """Whether a reader may stop or pause: a permanent stop ends only by resuming.

    An operator's pause gives way to a stop (RFC 8058: unsubscribing always works), not to a pause.
    """
    if change is SubscriptionChange.RESUME or (before.suppression and not before.until):
        return False
    return not before.suppression or before.may_resume or change is SubscriptionChange.STOP


def apply_change(
    runtime: Runtime, subscription: str, recipient: str, change: SubscriptionChange, how: str
) -> ReaderStatus:
    """Apply a request of a reader, with the same effect if repeated; return the new state."""
    now = runtime.clock.now()
    before = reader_status(runtime, subscription, recipient)
    if change is SubscriptionChange.RESUME and before.may_resume:
        with runtime.database.writing() as tx:
            if before.until is None:
                suppressions.lift(tx, recipient, subscription, now)
            else:  # a pause that ends early: what it withheld is listed in the next digest
                suppressions.end_pause(tx, recipient, subscription, now)
    elif _may_suppress(before, change):
        until = now + _PAUSES[change] if change in _PAUSES else None
        with runtime.database.writing() as tx:
            suppressions.suppress(tx, recipient, subscription, now, until=until, how=how)
    return reader_status(runtime, subscription, recipient)
