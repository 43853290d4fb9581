"""The incidents of the pipeline: their names, their rules, and the operator's message."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from urllib.parse import quote

from monitor.channels.retry_policy import rest
from monitor.digest.incident_words import SLACK_ANSWERS, words_for
from monitor.digest.wording import format_moment, zone_name
from monitor.errors import StoreError
from monitor.model import Delivery, DeliveryState, Notice
from monitor.model.incidents import IncidentKind
from monitor.pipeline.runtime import NO_SUBSCRIPTION, OPERATOR, Runtime
from monitor.store.digests import deliveries, outbox, suppressions
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine.database import Transaction

# The operator is not notified of a store that was unavailable for less.
BRIEF = timedelta(seconds=30)
# A clock that is set right after a start without a network is often wrong by hours.
MOST_AHEAD = timedelta(days=1)

CONFIGURATION = "configuration"
CLOCK = "clock"
STORE = "store"

# The incidents for which a failed delivery is to blame.
OF_DELIVERIES = frozenset({IncidentKind.REFUSED, IncidentKind.NOT_RENDERED})
_OF_FOLDER = "Repair these files, or move them out of the folder. It is looked at every minute."
_SENDERS = {"smtp": "mail", "slack": "Slack"}


def describe_to_operator(
    runtime: Runtime, incident: stored_incidents.Incident, now: datetime
) -> Notice:
    """Return the message about an incident that began or ended: its meaning, and a page."""
    settings, zone = runtime.settings, runtime.settings.timezone
    shown, page = title_and_page(runtime, incident)
    words = words_for(incident.kind, incident.subject)
    since, errors = format_moment(incident.since, zone), incident.error.splitlines() or [""]
    heading = words.began
    lines = [f"Since {since} ({zone_name(zone)}): {errors[0]}", *errors[1:], words.meaning]
    if incident.ended_at:
        heading, until = words.ended or words.began, format_moment(incident.ended_at, zone)
        lines = [f"It lasted from {since} until {until} ({zone_name(zone)}).", *errors]
        lines += [] if words.ended else [words.meaning]
    elif words.ended:
        lines[-1] += f" You will get one more message when {words.ended.format(shown)}."
    url = f"{settings.public_url}{page}" if settings.public_url and settings.web else ""
    heading = f"{heading[:1].upper()}{heading[1:]}".format(shown)
    return Notice(heading, tuple(filter(None, lines)), now, url, zone)


def title_of(runtime: Runtime, subscription: str) -> str:
    """Return what people call a subscription, or the messages to the operator."""
    name = subscription.removeprefix(outbox.TEST)
    title = runtime.titles.get(name) or subscription.replace(OPERATOR, "notice")
    return title if name == subscription else f"test to {title}"


def title_and_page(runtime: Runtime, incident: stored_incidents.Incident) -> tuple[str, str]:
    """Return what people call the subject of an incident, and the path of the page about it."""
    sort, _, name = incident.subject.partition(" ")
    if sort == "source":
        return runtime.source_titles.get(name, name), page_of("source", name)
    if sort == "subscription":
        return title_of(runtime, name), page_of("subscription", name)
    # A channel may be called "notes to ada"; an address has no space.
    address = quote(incident.subject.rpartition(" to ")[2], safe="")
    queries: dict[str, str] = {
        IncidentKind.DOWN: "state=waiting",
        IncidentKind.REFUSED: f"person={address}",
        IncidentKind.NOT_RENDERED: "state=failed",
        IncidentKind.UNCLEAR: "state=unknown",
    }
    query = queries.get(incident.kind)
    shown = incident.subject.removeprefix("channel ").removeprefix("template for ")
    return _SENDERS.get(shown, shown), f"/deliveries?{query}" if query else "/"


def is_folder(runtime: Runtime, incident: stored_incidents.Incident) -> bool:
    configured = runtime.sources.get(incident.subject.removeprefix("source "))
    return configured is not None and configured.is_folder


def page_of(sort: str, name: str) -> str:
    """Return the path of the page about a source, topic, subscription or channel."""
    return f"/{sort}s/{quote(name, safe='')}"


def remedy(
    runtime: Runtime, incident: stored_incidents.Incident, failed: Sequence[Delivery]
) -> tuple[str, str, str]:
    """Return what an operator does about an incident, a button, and the path that it posts to.

    `failed` are deliveries among which that of the incident is looked for.
    """
    sort, _, name = incident.subject.partition(" ")
    text = words_for(incident.kind, incident.subject).remedy
    if sort == "source" and name in runtime.sources:
        if incident.kind == IncidentKind.FAILING and is_folder(runtime, incident):
            text = _OF_FOLDER
        return text, "Read now", f"{page_of('source', name)}/read"
    if incident.kind == IncidentKind.DOWN:
        return text, "Try again", f"{page_of('channel', incident.subject)}/retry"
    for delivery in failed if incident.kind in OF_DELIVERIES else ():
        to = recipient(delivery.channel, delivery.recipient)
        if incident.subject in (to, channel(delivery.channel)):
            return text, "Try again", f"/deliveries/{delivery.id}/retry"
    return text, "", ""


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
        stored_incidents.add_ended(tx, STORE, IncidentKind.UNAVAILABLE, since, now, error)


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
    if delivery.subscription.startswith(NO_SUBSCRIPTION) or not is_written_to(runtime, delivery):
        return
    planned = format_moment(delivery.created_at, runtime.settings.timezone)
    what = f"delivery {delivery.id}, {title_of(runtime, delivery.subscription)}, {planned},"
    settle = f"`paper-monitor deliveries resolve {delivery.id} sent|resend`"
    error = f"{what} may or may not have arrived: {settle}"
    stored_incidents.open_incident(
        tx, recipient(delivery.channel, delivery.recipient), IncidentKind.UNCLEAR, now, error
    )


def is_written_to(runtime: Runtime, delivery: Delivery) -> bool:
    """Say whether the configuration in force still names a delivery's recipient."""
    return (delivery.subscription, delivery.channel, delivery.recipient) in runtime.recipients


def end_unclear(tx: Transaction, delivery: Delivery, now: datetime) -> None:
    """End the incident of an uncertain delivery, unless its recipient has another one."""
    same = deliveries.conditions_for(delivery.recipient, channel=delivery.channel)
    if not deliveries.listing(tx, [DeliveryState.UNKNOWN], 1, conditions=same):
        subject = recipient(delivery.channel, delivery.recipient)
        stored_incidents.end_incident(tx, subject, IncidentKind.UNCLEAR, now)
