"""The incidents of the pipeline: their names, their rules, and the operator's message."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from urllib.parse import quote

from monitor.channels.retry_policy import rest
from monitor.digest.wording import format_moment, zone_name
from monitor.errors import StoreError
from monitor.model import Delivery, DeliveryState, Notice
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
UNANSWERED = "unanswered"
GAP, DOWN = stored_incidents.GAP, stored_incidents.DOWN


# The operator's messages by kind, or by subject: the beginning, its meaning for readers, the end.
_FEWER = "Readers have the papers of the other sources; their digests mention it."
_LATE = "Readers get their papers late; none is lost."
_NOTICES = {
    FAILING: ("{} cannot be read", "Its papers will arrive late.", "{} can be read again"),
    HELD: ("{} repeats old papers", "Its papers wait until this is settled.", "{} is read again"),
    GAP: ("papers of {} may be missing", "What it listed then may be in no digest.", ""),
    UNANSWERED: (
        "{} does not answer about references",
        "Changes of these references may be missed.",
        "{} answers again",
    ),
    "stale": ("{} has offered nothing new", _FEWER, "{} has something new again"),
    "thin": ("{} has brought fewer papers than usual", _FEWER, "{} is as usual again"),
    "silent": ("{} has brought no papers", _FEWER, "{} has papers again"),
    NOT_COMPOSED: ("there is no digest for {}", _LATE, "{} has digests again"),
    DOWN: ("nothing can be sent by {}", "Digests wait.", "digests are sent by {} again"),
    NOT_RENDERED: (
        "{} cannot render a digest",
        "That digest waits until it is sent with `paper-monitor deliveries retry`.",
        "{} renders digests again",
    ),
    REPLACED: (
        "your template for {} cannot be used",
        "Digests look as they do without it.",
        "your template for {} is in use again",
    ),
    REFUSED: ("{} is refused", "This recipient lacks a digest.", "{} is accepted again"),
    UNCLEAR: (
        "{}: a digest may not have arrived",
        "The recipient may lack it until this is settled.",
        "{}: it is settled whether a digest arrived",
    ),
    FAULTY: (
        "the configuration has a fault",
        "Digests are sent as configured before.",
        "the configuration has no fault any more",
    ),
    JUMPED: ("the clock has jumped", _LATE, "the clock is right again"),
    UNAVAILABLE: ("the store was unavailable", "Digests may have been late.", ""),
    SHARED: (
        "two configurations use one store",
        "Readers may get digests of both.",
        "one configuration uses the store",
    ),
    SLACK_ANSWERS: (
        "choices in Slack are not received",
        "Whoever rates a paper there sees an error.",
        "choices in Slack are received again",
    ),
    suppressions.UNCONFIRMED: (
        "no digest is sent until you confirm who gets none",
        _LATE,
        "it is confirmed who gets no digests",
    ),
}
# The incidents for which a failed delivery is to blame.
OF_DELIVERIES = frozenset({REFUSED, NOT_RENDERED})
# Remedies of incidents whose error does not name one.
_REMEDIES = {
    FAILING: "It is read again at its usual times. If it has moved, correct its address in the "
    "configuration.",
    GAP: "Nothing brings back what it no longer lists. A shorter `every` prevents the next gap.",
    UNANSWERED: "Look whether a proxy or another `url` answers in its place, and whether the "
    "identifiers in the library are right.",
    "stale": "Look at its own site: if there are papers, its address or format may have changed.",
    "thin": "Look at its own site: if there are more papers, its format may have changed.",
    "silent": "Look at its own site: if there are papers, its address or format may have changed.",
    NOT_COMPOSED: "It is tried again automatically; the log has more about the error.",
    DOWN: "`paper-monitor doctor` finds what is wrong: the address, the password or the server.",
    NOT_RENDERED: "The digest waits. When the cause is removed, try again.",
    REPLACED: "Correct the template; `paper-monitor check` names the line.",
    REFUSED: "Correct the address in the configuration, or try again if it exists.",
    FAULTY: "Correct the configuration; `paper-monitor check` names each fault and its line.",
    JUMPED: "Set the clock of the machine, or restart the service if it shows the correct time.",
    SHARED: "Stop one of the two, or give it a store of its own.",
    SLACK_ANSWERS: "`paper-monitor doctor` finds out whether the tokens of Slack are valid.",
}
_OF_FOLDER = "Repair these files, or move them out of the folder. It is looked at every minute."
_SENDERS = {"smtp": "mail", "slack": "Slack"}


def describe(kind: str, shown: str) -> str:
    """Return what happened to what is `shown`: `hf cannot be read`."""
    return _NOTICES.get(kind, (f"{{}} is {kind}",))[0].format(shown)


def describe_to_operator(
    runtime: Runtime, incident: stored_incidents.Incident, now: datetime
) -> Notice:
    """Return the message about an incident that began or ended: its meaning, and a page."""
    settings, zone = runtime.settings, runtime.settings.timezone
    shown, page = title_and_page(runtime, incident)
    texts = _NOTICES.get(incident.subject) or _NOTICES.get(incident.kind)
    began, meaning, ended = texts or (f"{{}} is {incident.kind}", "", "{} has recovered")
    since, errors = format_moment(incident.since, zone), incident.error.splitlines() or [""]
    heading, lines = began, [f"Since {since} ({zone_name(zone)}): {errors[0]}", *errors[1:]]
    lines.append(meaning)
    if incident.ended_at:
        heading, until = ended or began, format_moment(incident.ended_at, zone)
        lines = [f"It lasted from {since} until {until} ({zone_name(zone)}).", *errors]
        lines += [] if ended else [meaning]
    elif ended:
        lines[-1] += f" You will get one more message when {ended.format(shown)}."
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
    address = quote(incident.subject.partition(" to ")[2], safe="")
    queries = {DOWN: "state=waiting", REFUSED: f"person={address}"}
    queries |= {NOT_RENDERED: "state=failed", UNCLEAR: "state=unknown"}
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
    text = _REMEDIES.get(incident.kind, "")
    if sort == "source" and name in runtime.sources:
        if incident.kind == FAILING and is_folder(runtime, incident):
            text = _OF_FOLDER
        return text, "Read now", f"{page_of('source', name)}/read"
    if incident.kind == DOWN:
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
    if delivery.subscription.startswith(NO_SUBSCRIPTION) or not is_written_to(runtime, delivery):
        return
    planned = format_moment(delivery.created_at, runtime.settings.timezone)
    what = f"delivery {delivery.id}, {title_of(runtime, delivery.subscription)}, {planned},"
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
    same = deliveries.conditions_for(delivery.recipient, channel=delivery.channel)
    if not deliveries.listing(tx, [DeliveryState.UNKNOWN], 1, conditions=same):
        subject = recipient(delivery.channel, delivery.recipient)
        stored_incidents.end_incident(tx, subject, UNCLEAR, now)
