"""Render: a digest in the form of each channel. A channel that fails stops no other one.

What it could not render stands in the outbox as failed, and is rendered from the frozen digest
when the fault is mended: the other channels' deliveries are not touched, so nothing comes twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from monitor.channels.email.channel import message_id
from monitor.channels.retry_policy import rest
from monitor.errors import MonitorError, StoreError, TemplateError
from monitor.model import Channel, Digest, Rendered
from monitor.pipeline import incidents
from monitor.pipeline.runtime import Destination, Runtime, Subscription
from monitor.store import digests, freeze_digest
from monitor.store import incidents as stored_incidents
from monitor.store.database import Transaction
from monitor.store.freeze_digest import Planned

log = structlog.get_logger()

# Told of each subscription that failed, with its error.
OnFailure = Callable[[str, Exception], None]


@dataclass(slots=True)
class Forms:
    """A digest in the form of each channel that could render it.

    `errors` are those of channels that could not; `replaced` says of each channel what was wrong
    with the user's template, "" for nothing.
    """

    parts: dict[str, tuple[Rendered, ...]] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)


def render(parts: Runtime, ways: Sequence[Destination], digest: Digest) -> Forms:
    """Render a digest for each channel. Raises the first error when all of them fail."""
    forms = Forms()
    for name in dict.fromkeys(way.channel for way in ways):
        try:
            forms.parts[name] = _render(parts, parts.channels[name], digest, forms.replaced)
        except Exception as fault:
            forms.errors[name] = fault
    if forms.errors and not forms.parts:
        raise next(iter(forms.errors.values()))
    for name, error in forms.errors.items():
        _log_unrendered(name, digest.subscription, digest.period, error)
    return forms


def _render(
    parts: Runtime, channel: Channel, digest: Digest, replaced: dict[str, str]
) -> tuple[Rendered, ...]:
    """Take the shipped template where the user's fails."""
    try:
        rendered = channel.render(digest, parts.templates)
    except TemplateError as fault:
        log.error("template failed", channel=channel.name, error=str(fault))
        rendered = channel.render(digest, parts.fallback_templates)
        replaced[channel.name] = str(fault)
    else:
        replaced[channel.name] = ""
    return rendered


def _log_unrendered(channel: str, subscription: str, period: str, fault: Exception) -> None:
    log.error(
        "digest not rendered",
        subscription=subscription,
        period=period,
        channel=channel,
        error=str(fault),
        exc_info=not isinstance(fault, MonitorError),
    )


def plan(parts: Runtime, ways: Sequence[Destination], forms: Forms) -> list[Planned]:
    """Return a delivery for each part and recipient; one that failed where there is no text."""
    return [
        Planned(way.channel, recipient, part, _new_id(parts), _said(forms.errors.get(way.channel)))
        for way in ways
        for recipient in way.recipients
        for part in _numbers(forms.parts.get(way.channel))
    ]


def _numbers(rendered: Sequence[Rendered] | None) -> list[int]:
    return [0] if rendered is None else [part.part for part in rendered]


def _new_id(parts: Runtime) -> str:
    return message_id(secrets.token_hex(12), parts.sender)


def _said(fault: Exception | None) -> str:
    return f"not rendered: {str(fault) or type(fault).__name__}" if fault else ""


def judge(tx: Transaction, parts: Runtime, forms: Forms, now: datetime) -> None:
    """Open and end the incidents of channels and templates, in a transaction of the caller."""
    for name, fault in forms.errors.items():
        _failed(tx, parts, name, _said(fault), now)
    if not forms.replaced:
        return
    wrong = {one.subject for one in stored_incidents.open_incidents(tx)}
    for name, error in forms.replaced.items():
        subject = incidents.templates(name)
        if error:
            stored_incidents.open_incident(tx, subject, incidents.REPLACED, now, error)
        elif subject in wrong:
            stored_incidents.end_incident(tx, subject, incidents.REPLACED, now)


def _failed(tx: Transaction, parts: Runtime, channel: str, error: str, now: datetime) -> None:
    subject = incidents.channel(channel)
    tries = stored_incidents.add_failure(tx, subject, incidents.NOT_RENDERED, now, error)
    stored_incidents.set_next_try(
        tx, subject, incidents.NOT_RENDERED, now + rest(tries, parts.patience)
    )


# ── what could not be rendered before ───────────────────────────────────────────────


def failing(open_incidents: Sequence[stored_incidents.Incident]) -> set[str]:
    """Return the subjects of the channels that could not render a digest."""
    return {one.subject for one in open_incidents if one.kind == incidents.NOT_RENDERED}


def render_again(
    parts: Runtime,
    subscriptions: Sequence[Subscription],
    subjects: Collection[str],
    on_failure: OnFailure,
) -> int:
    """Render what channels could not render before, and plan its deliveries; return how many.

    `subjects` name the channels. A digest whose papers moved into a newer one is not rendered any
    more.
    """
    channels = [name for name in parts.channels if incidents.channel(name) in subjects]
    if not channels:
        return 0
    with parts.database.reading() as tx:
        waiting = freeze_digest.unrendered(tx, [one.name for one in subscriptions])
    named = {one.name: one for one in subscriptions}
    done = 0
    for name in channels:
        mine = [one for one in waiting if one.channel == name]
        done += _again(parts, name, mine, named, on_failure)
    return done


def _again(
    parts: Runtime,
    channel: str,
    waiting: Sequence[freeze_digest.Unrendered],
    named: Mapping[str, Subscription],
    on_failure: OnFailure,
) -> int:
    now, done, errors = parts.clock.now(), 0, []
    for one in waiting:
        try:
            done += _one_again(parts, one, named[one.subscription], now)
        except StoreError:
            raise
        except Exception as fault:
            errors.append(_said(fault))
            _log_unrendered(channel, one.subscription, one.period, fault)
            on_failure(one.subscription, fault)
    with parts.database.writing() as tx:
        if errors:
            _failed(tx, parts, channel, errors[0], now)
        elif not any(one.channel == channel for one in freeze_digest.unrendered(tx)):
            stored_incidents.end_incident(
                tx, incidents.channel(channel), incidents.NOT_RENDERED, now
            )
    return done


def _one_again(
    parts: Runtime, one: freeze_digest.Unrendered, subscription: Subscription, now: datetime
) -> int:
    """Give a frozen digest the deliveries it lacks, to those who are still written to."""
    ways = [way for way in subscription.ways if way.channel == one.channel]
    with parts.database.reading() as tx:
        digest = digests.get(tx, one.digest_id)
    if digest is None or not ways:
        return 0
    forms = render(parts, ways, digest)
    planned = plan(parts, ways, forms)
    with parts.database.writing() as tx:
        return freeze_digest.add_rendered(tx, one, forms.parts[one.channel], planned, now)
