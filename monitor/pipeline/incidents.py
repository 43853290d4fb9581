"""The incidents of the pipeline: their names, their rules, and the operator's message."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from monitor.channels.retry_policy import rest
from monitor.digest import incident_words
from monitor.digest.delivery_words import WORDS
from monitor.digest.page_paths import page_about
from monitor.digest.wording import format_moment, zone_name
from monitor.errors import StoreError
from monitor.model import Delivery, DeliveryState, Notice
from monitor.model.delivery import OPERATOR, TEST
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import deliveries, suppressions
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine.database import Transaction

# The server of embeddings; its state is stored under this name.
EMBEDDINGS = Subject(SubjectKind.EMBEDDINGS, "embeddings")
# The operator is not notified of a store that was unavailable for less.
BRIEF = timedelta(seconds=30)
# A clock that is set right after a start without a network is often wrong by hours.
MOST_AHEAD = timedelta(days=1)


def describe_to_operator(
    runtime: Runtime, incident: stored_incidents.Incident, now: datetime
) -> Notice:
    """Return the message about an incident that began or ended: its meaning, and a page."""
    settings = runtime.settings
    zone = runtime.settings.timezone
    shown = title_of_subject(runtime, incident.subject)
    words = incident_words.words_for(incident.kind, incident.about)
    since = format_moment(incident.since, zone)
    errors = incident.error.splitlines() or [""]
    heading = words.began
    lines = [f"Since {since} ({zone_name(zone)}): {errors[0]}", *errors[1:], words.meaning]
    if incident.ended_at:
        heading = words.ended or words.began
        until = format_moment(incident.ended_at, zone)
        lines = [f"It lasted from {since} until {until} ({zone_name(zone)}).", *errors]
        lines += [] if words.ended else [words.meaning]
    elif words.ended:
        if incident.recipient and words.command:
            lines[-1] += f" {words.to_end(incident.recipient)}"
        lines[-1] += f" You will get one more message when {words.ended.format(shown)}."
    page = page_about(incident.kind, incident.subject)
    url = f"{settings.public_url}{page}" if settings.public_url and settings.web else ""
    heading = f"{heading[:1].upper()}{heading[1:]}".format(shown)
    return Notice(heading, tuple(filter(None, lines)), now, url, zone)


def title_of(runtime: Runtime, subscription: str) -> str:
    """Return what people call a subscription, or the messages to the operator."""
    name = subscription.removeprefix(TEST)
    title = runtime.titles.get(name) or ("notice" if name == OPERATOR else name)
    return title if name == subscription else f"test to {title}"


def title_of_subject(runtime: Runtime, subject: Subject) -> str:
    """Return what people call the subject of an incident."""
    name = subject.name
    if subject.about is SubjectKind.SOURCE:
        return runtime.source_titles.get(name, name)
    if subject.about is SubjectKind.SUBSCRIPTION:
        return title_of(runtime, name)
    if subject.about is SubjectKind.SERVICE:
        return runtime.services[name].title if name in runtime.services else name
    return incident_words.short_name(subject)


def recipient_of(delivery: Delivery) -> Subject:
    return Subject(SubjectKind.RECIPIENT, delivery.channel, delivery.recipient)


def note_outage(runtime: Runtime, since: datetime, error: str) -> None:
    """Record that the store was unavailable until now, for the operator: once for all processes."""
    now = runtime.clock.now()
    if now - since < BRIEF:
        return
    with suppress(StoreError), runtime.database.ingesting() as tx:
        stored_incidents.add_ended(
            tx, Subject(SubjectKind.STORE), IncidentKind.UNAVAILABLE, since, now, error
        )


def clock_jumped(runtime: Runtime) -> bool:
    """Say whether the clock went ahead of the time that this process has run or slept."""
    return runtime.ahead() > MOST_AHEAD


def subjects(runtime: Runtime) -> set[Subject]:
    """Return every subject that an incident of the active configuration can have."""
    named: dict[SubjectKind, Iterable[str]] = {
        SubjectKind.SOURCE: runtime.sources,
        SubjectKind.SUBSCRIPTION: (entry.name for entry in runtime.subscriptions),
        SubjectKind.OUTAGE_GROUP: runtime.outage_groups,
        SubjectKind.SERVICE: runtime.services,
        SubjectKind.CHANNEL: runtime.channels,
        SubjectKind.TEMPLATES: runtime.channels,
    }
    return {
        Subject(SubjectKind.CONFIGURATION),
        *([EMBEDDINGS] if runtime.embeddings else []),
        Subject(SubjectKind.SLACK_ANSWERS),
        Subject(SubjectKind.SUPPRESSIONS),
        *([Subject(SubjectKind.CLOCK)] if clock_jumped(runtime) else []),
        *(Subject(kind, name) for kind, names in named.items() for name in names),
        *(
            Subject(SubjectKind.RECIPIENT, channel, address)
            for _, channel, address in runtime.recipients
        ),
    }


def add_failure(
    tx: Transaction,
    runtime: Runtime,
    subject: Subject,
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
    if not delivery.is_digest or not is_written_to(runtime, delivery):
        return
    planned = format_moment(delivery.created_at, runtime.settings.timezone)
    what = f"delivery {delivery.id}, {title_of(runtime, delivery.subscription)}, {planned},"
    settle = f"`paper-monitor deliveries resolve {delivery.id} sent|resend`"
    error = f"{what} {WORDS[DeliveryState.UNKNOWN].in_status}: {settle}"
    stored_incidents.open_incident(tx, recipient_of(delivery), IncidentKind.UNCLEAR, now, error)


def is_written_to(runtime: Runtime, delivery: Delivery) -> bool:
    """Say whether the configuration in force still names a delivery's recipient."""
    return (delivery.subscription, delivery.channel, delivery.recipient) in runtime.recipients


def end_unclear(tx: Transaction, delivery: Delivery, now: datetime) -> None:
    """End the incident of an unknown delivery, unless its recipient has another one."""
    same = deliveries.conditions_for(delivery.recipient, channel=delivery.channel)
    if not deliveries.listing(tx, [DeliveryState.UNKNOWN], 1, conditions=same):
        stored_incidents.end_incident(tx, recipient_of(delivery), IncidentKind.UNCLEAR, now)


def end_stopped(tx: Transaction, address: str, now: datetime) -> None:
    """End the incidents of a recipient that was stopped because it was refused, or is gone."""
    for incident in stored_incidents.open_incidents(tx):
        is_theirs = suppressions.address_of(incident.recipient) == address
        if incident.kind in (IncidentKind.STOPPED, IncidentKind.GONE) and is_theirs:
            stored_incidents.end_incident(tx, incident.subject, incident.kind, now)
