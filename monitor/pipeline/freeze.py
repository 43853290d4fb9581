"""Freeze: a digest or notice in the form of each channel, stored with its deliveries.

A channel that fails stops no other one. What it could not render is planned as failed, and
`deliveries retry` renders it from the frozen digest: see `render_again`. The deliveries of other
channels are not touched then, so nothing is sent twice.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import structlog

from monitor.channels.base import Channel
from monitor.channels.email.channel import message_id
from monitor.digest.incident_words import name_subject
from monitor.errors import MonitorError, Remedy, StoreError, TemplateError, UsageError
from monitor.model import Delivery, Digest, Json, Notice, Rendered
from monitor.model.delivery import OPERATOR
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline import incidents
from monitor.pipeline.fill_sections import list_missed
from monitor.pipeline.library_fields import hide_lost
from monitor.pipeline.runtime import Destination, Runtime
from monitor.store.digests import deliveries, digests, freeze_digest, outbox, suppressions
from monitor.store.digests import incidents as stored_incidents
from monitor.store.digests.freeze_digest import Planned
from monitor.store.engine.database import Transaction
from monitor.store.sources import reference_events

log = structlog.get_logger()


@dataclass(slots=True)
class Forms:
    """A digest in the form of each channel that could render it.

    `errors` are those of channels that could not; `replaced` says of each channel what was wrong
    with the user's template, "" for nothing. `only` has the recipients of a channel's part, where
    it is not for all of them.
    """

    parts: dict[str, tuple[Rendered, ...]] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    only: dict[tuple[str, int], set[str]] = field(default_factory=dict)

    def add(self, channel: str, parts: Iterable[Rendered], recipients: set[str]) -> None:
        """Add parts that only some recipients of a channel get."""
        before = self.parts.get(channel, ())
        more = tuple(replace(p, part=n) for n, p in enumerate(parts, len(before)))
        self.parts[channel] = before + more
        self.only |= {(channel, part.part): recipients for part in more}


def render(runtime: Runtime, destinations: Sequence[Destination], digest: Digest) -> Forms:
    """Render a digest for each channel, and for recipients who get less or more of it.

    Raises the first error when all channels fail.
    """
    forms = Forms()
    with runtime.database.reading() as tx:
        variants = {entry.channel: _variants(tx, runtime, entry, digest) for entry in destinations}
        missed = {entry.channel: _missed(tx, runtime, entry, digest) for entry in destinations}
    for name, wanted in variants.items():
        channel = runtime.channels[name]
        try:
            rendered = [(_render(runtime, channel, v, forms.replaced), who) for v, who in wanted]
            for listed, who in missed[name]:
                rendered.append((channel.render(listed, runtime.fallback_templates), who))
        except Exception as fault:
            forms.errors[name] = fault
            continue
        for parts, who in rendered:
            forms.add(name, parts, who)
    if forms.errors and not forms.parts:
        raise next(iter(forms.errors.values()))
    for name, error in forms.errors.items():
        log.error(
            "digest not rendered",
            subscription=digest.subscription,
            period=digest.period,
            channel=name,
            error=str(error),
            exc_info=not isinstance(error, MonitorError),
        )
    return forms


def _variants(
    tx: Transaction, runtime: Runtime, entry: Destination, digest: Digest
) -> list[tuple[Digest, set[str]]]:
    """Return a digest with and without changes that its recipients have, each with who gets it.

    A change of a paper that one reader saved is for no other recipient. Of these, who has no news
    besides gets what they would get on a day without it.
    """
    events = {event.id: event for event in digest.references}
    if not events:
        return [(digest, set(entry.recipients))]
    [subscription] = [s for s in runtime.subscriptions if s.name == digest.subscription]
    name = subscription.name
    audience = subscription.audience
    known = reference_events.recipients_sent(tx, digest.references, name, audience)
    told = {id: audience.of(event) for id, event in events.items()}
    recipients = defaultdict[frozenset[int], set[str]](set)
    quiet = set[str]()
    for to in entry.recipients:
        place = entry.channel, to
        left_out = frozenset(id for id in events if place in known[id] or place not in told[id])
        recipients[left_out].add(to)
        if not any(place in known[id] for id in left_out):
            quiet.add(to)
    variants = [(digest, recipients.pop(frozenset(), set()))]
    for left_out, who in recipients.items():
        own = tuple(event for id, event in events.items() if id not in left_out)
        variant = replace(digest, references=own)
        if not variant.has_news:
            who = who & quiet if subscription.settings.quiet == "send" else set()
        variants.append((variant, who))
    return [(variant, who) for variant, who in variants if variant is digest or who]


def _missed(
    tx: Transaction, runtime: Runtime, entry: Destination, digest: Digest
) -> list[tuple[Digest, set[str]]]:
    """Return what was withheld from each recipient whose pause has ended."""
    channel = entry.channel
    name = digest.subscription
    missed = list[tuple[Digest, set[str]]]()
    for to in suppressions.with_ended_pause(tx, name, entry.recipients, digest.composed_at):
        ids = suppressions.list_missed(tx, name, channel, to)
        withheld = [hide_lost(runtime, other) for id in ids if (other := digests.get(tx, id))]
        listed = list_missed(digest, withheld)
        missed += _variants(tx, runtime, Destination(channel, (to,)), listed)
    return [(listed, who) for listed, who in missed if who and listed.has_news]


def _render(
    runtime: Runtime, channel: Channel, digest: Digest, replaced: dict[str, str]
) -> tuple[Rendered, ...]:
    """Take the shipped template where the user's fails."""
    try:
        rendered = channel.render(digest, runtime.templates)
    except TemplateError as fault:
        log.error("template failed", channel=channel.name, error=str(fault))
        rendered = channel.render(digest, runtime.fallback_templates)
        replaced[channel.name] = str(fault)
    else:
        replaced.setdefault(channel.name, "")
    return rendered


def plan(runtime: Runtime, destinations: Sequence[Destination], forms: Forms) -> list[Planned]:
    """Return a delivery for each part and recipient; one that failed where there is no text."""
    planned = []
    for destination in destinations:
        rendered = forms.parts.get(destination.channel)
        numbers = [0] if rendered is None else [part.part for part in rendered]
        error = _error_text(forms.errors.get(destination.channel))
        planned += [
            Planned(
                destination.channel,
                to,
                number,
                _new_id(runtime),
                error,
            )
            for to in destination.recipients
            for number in numbers
            if to in forms.only.get((destination.channel, number), (to,))
        ]
    return planned


def _new_id(runtime: Runtime) -> str:
    return message_id(secrets.token_hex(12), runtime.sender)


def _error_text(fault: Exception | None) -> str:
    return f"not rendered: {str(fault) or type(fault).__name__}" if fault else ""


def freeze(
    runtime: Runtime, digest: Digest, destinations: Sequence[Destination], forms: Forms
) -> int | None:
    """Store a digest and plan its deliveries, in one transaction.

    Returns its id, None if it is stored already. Either way the incident of a subscription that
    could not be composed ends.
    """
    planned = plan(runtime, destinations, forms)
    now = digest.composed_at
    with runtime.database.writing() as tx:
        frozen = freeze_digest.freeze(tx, digest, forms.parts, planned, now)
        wrong = {incident.subject for incident in stored_incidents.open_incidents(tx)}
        if frozen is not None:
            _record_rendering(tx, forms, now, wrong)
        subject = Subject(SubjectKind.SUBSCRIPTION, digest.subscription)
        if subject in wrong:
            stored_incidents.end_incident(tx, subject, IncidentKind.NOT_COMPOSED, now)
    if frozen is not None:
        log.info(
            "digest",
            id=frozen,
            subscription=digest.subscription,
            period=digest.period,
            papers=digest.papers,
            changes=digest.changes,
            deliveries=len(planned),
        )
    return frozen


def _record_rendering(
    tx: Transaction, forms: Forms, now: datetime, wrong: Collection[Subject]
) -> None:
    """Open and end the incidents of channels and templates; `wrong` are the open subjects."""
    for name, fault in forms.errors.items():
        subject = Subject(SubjectKind.CHANNEL, name)
        error = _error_text(fault)
        stored_incidents.open_incident(tx, subject, IncidentKind.NOT_RENDERED, now, error)
    for name, error in forms.replaced.items():
        subject = Subject(SubjectKind.TEMPLATES, name)
        if error:
            stored_incidents.open_incident(tx, subject, IncidentKind.REPLACED, now, error)
        elif subject in wrong:
            stored_incidents.end_incident(tx, subject, IncidentKind.REPLACED, now)
        subject = Subject(SubjectKind.CHANNEL, name)
        if subject in wrong:
            stored_incidents.end_incident(tx, subject, IncidentKind.NOT_RENDERED, now)


def render_again(runtime: Runtime, delivery_id: int) -> bool:
    """Render what a channel could not, for all who get it there; False for what has its text.

    Raises UsageError where no recipient is left, and the error of a channel that fails again.
    """
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        delivery = deliveries.get(tx, delivery_id)
        digest = digests.get(tx, delivery.digest_id)
    if freeze_digest.UNRENDERED not in delivery.rendered.body:
        return False
    destinations = [
        destination
        for subscription in runtime.subscriptions
        for destination in subscription.destinations
        if (subscription.name, destination.channel) == (delivery.subscription, delivery.channel)
    ]
    waiting = 0
    if digest and destinations:
        forms = render(runtime, destinations, hide_lost(runtime, digest))
        planned = plan(runtime, destinations, forms)
        with runtime.database.writing() as tx:
            parts = forms.parts[delivery.channel]
            everyone = {to for entry in destinations for to in entry.recipients}
            waiting = freeze_digest.add_text(tx, delivery, parts, planned, everyone, now)
            subject = Subject(SubjectKind.CHANNEL, delivery.channel)
            stored_incidents.end_incident(tx, subject, IncidentKind.NOT_RENDERED, now)
    if not waiting:
        message = f"delivery {delivery_id} is not sent any more"
        raise UsageError(message, "see `deliveries`", Remedy.LIST_DELIVERIES)
    return True


def split(runtime: Runtime, delivery: Delivery, bodies: tuple[Json, Json]) -> None:
    """Replace a part that was refused as too long by two, before either is sent."""
    ids = _new_id(runtime), _new_id(runtime)
    with runtime.database.writing() as tx:
        outbox.split(tx, delivery, bodies, ids, runtime.owner.id, runtime.clock.now())


# ── notices to the operator ─────────────────────────────────────────────────────────


def notify(runtime: Runtime) -> int:
    """Notify the operator of each incident once when it begins and once when it ends.

    One that ended before its beginning was announced is not news. Returns how many were announced.
    """
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        incidents_to_notify = stored_incidents.unnotified(tx)
    count = 0
    for incident in incidents_to_notify:
        try:
            # The incident of the store is only known after its end.
            is_news = (
                not incident.ended_at
                or incident.told_at
                or incident.kind == IncidentKind.UNAVAILABLE
            )
            if runtime.operator and is_news:
                notice = incidents.describe_to_operator(runtime, incident, now)
                period = f"{incident.id}-{'ended' if incident.ended_at else 'began'}"
                freeze_notice(runtime, notice, OPERATOR, period, runtime.operator)
        except StoreError:
            raise
        except Exception:
            log.exception("notice not composed", subject=name_subject(incident.subject))
            continue
        with runtime.database.writing() as tx:
            stored_incidents.mark_notified(tx, incident, now)
        count += 1
    return count


def freeze_notice(
    runtime: Runtime, notice: Notice, name: str, period: str, destinations: Sequence[Destination]
) -> int | None:
    """Store a notice in place of a digest of `name`, and plan its deliveries.

    Returns its id, None if there is one of this period.
    """
    zone = runtime.settings.timezone
    now = notice.at
    digest = Digest(name, period, now, zone, None, now, groups=(), report=())
    channels = (runtime.channels[destination.channel] for destination in destinations)
    templates = runtime.fallback_templates
    forms = Forms({entry.name: entry.render_notice(notice, templates) for entry in channels})
    return freeze(runtime, digest, destinations, forms)
