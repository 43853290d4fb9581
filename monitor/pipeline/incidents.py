"""The incidents of the pipeline: the names under which they are recorded, and their rules."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from monitor.channels.retry_policy import rest
from monitor.errors import StoreError
from monitor.model import Delivery, DeliveryState
from monitor.pipeline.runtime import OPERATOR, Runtime
from monitor.store.digests import deliveries, suppressions
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine.database import Transaction

# The operator is not notified of a store that was unavailable for less.
BRIEF = timedelta(seconds=30)
# A clock that is set right after a start without a network is often wrong by hours.
MOST_AHEAD = timedelta(days=1)

CONFIGURATION = "configuration"
CLOCK = "clock"
STORE = "store"
SLACK_ANSWERS = "answers in Slack"

JUMPED = "jumped"
FAILING = "failing"
HELD = "held"
FAULTY = "faulty"
NOT_COMPOSED = "not composed"
NOT_RENDERED = "not rendered"
REPLACED = "replaced"
UNAVAILABLE = "unavailable"
REFUSED = "refused"
SHARED = "shared"
UNCLEAR = "unclear"
GAP = stored_incidents.GAP


def describe(kind: str) -> str:
    """Return what is written of a subject: that it is failing, or has a gap."""
    return _DESCRIPTIONS.get(kind, f"is {kind}")


_DESCRIPTIONS = {
    GAP: "has a gap",
    JUMPED: "has jumped",
    NOT_RENDERED: "cannot render a digest",
    REPLACED: "could not be used",
    SHARED: "is used by two configurations",
    UNAVAILABLE: "was unavailable",
}


# The subjects of incidents, by the names of what they are about.
source = "source {}".format
subscription = "subscription {}".format
channel = "channel {}".format
templates = "template for {}".format
recipient = "{} to {}".format


def note_outage(runtime: Runtime, since: datetime, error: str) -> None:
    """Record that the store was unavailable until now, for the operator: once for all processes."""
    now = runtime.clock.now()
    if now - since < BRIEF:
        return
    with suppress(StoreError), runtime.database.ingesting() as tx:
        stored_incidents.add_ended(tx, STORE, UNAVAILABLE, since, now, error)


def clock_jumped(runtime: Runtime) -> bool:
    """Say whether the clock went ahead of the time that this process has run or slept."""
    return runtime.ahead() > MOST_AHEAD


def subjects(runtime: Runtime) -> set[str]:
    """Return every subject that an incident of the active configuration can have."""
    return {
        CONFIGURATION,
        SLACK_ANSWERS,
        suppressions.LIST,
        *([CLOCK] if clock_jumped(runtime) else []),
        *map(source, runtime.sources),
        *(subscription(entry.name) for entry in runtime.subscriptions),
        *runtime.outage_groups,
        *map(channel, runtime.channels),
        *map(templates, runtime.channels),
        *(recipient(channel_name, address) for _, channel_name, address in runtime.recipients),
    }


def add_failure(
    tx: Transaction,
    runtime: Runtime,
    subject: str,
    kind: str,
    now: datetime,
    error: str,
    config_hash: str = "",
) -> None:
    """Open an incident, or renew it, and leave its subject alone for longer each time."""
    tries = stored_incidents.add_failure(tx, subject, kind, now, error, config_hash)
    next_try = now + rest(tries, runtime.settings.retry)
    stored_incidents.set_next_try(tx, subject, kind, next_try)


def open_unclear(tx: Transaction, runtime: Runtime, delivery: Delivery, now: datetime) -> None:
    """Open the incident of a delivery whose fate only a person can find out, but of no notice."""
    if delivery.subscription == OPERATOR or not is_written_to(runtime, delivery):
        return
    what = f"delivery {delivery.id}, {delivery.subscription} {delivery.period},"
    settle = f"`paper-monitor deliveries resolve {delivery.id} sent|resend`"
    error = f"{what} may or may not have arrived: {settle}"
    stored_incidents.open_incident(
        tx, recipient(delivery.channel, delivery.recipient), UNCLEAR, now, error
    )


def is_written_to(runtime: Runtime, delivery: Delivery) -> bool:
    """Say whether the configuration in force still names a delivery's recipient."""
    return (delivery.subscription, delivery.channel, delivery.recipient) in runtime.recipients


def end_unclear(tx: Transaction, delivery: Delivery, now: datetime) -> None:
    """End the incident of an uncertain delivery, unless its recipient has another one."""
    to = (delivery.channel, delivery.recipient)
    if all(
        (unknown.channel, unknown.recipient) != to
        for unknown in deliveries.listing(tx, [DeliveryState.UNKNOWN])
    ):
        stored_incidents.end_incident(tx, recipient(*to), UNCLEAR, now)
