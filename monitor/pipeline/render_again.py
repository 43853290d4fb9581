"""Render again: what a channel could not render before, from the frozen digest.

The deliveries of other channels are not touched, so nothing is sent twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import structlog

from monitor.errors import StoreError
from monitor.pipeline import incidents
from monitor.pipeline.freeze import (
    OnFailure,
    error_text,
    log_render_failure,
    plan,
    record_failure,
    render,
)
from monitor.pipeline.runtime import ComposeContext, Subscription
from monitor.store import digests, freeze_digest
from monitor.store import incidents as stored_incidents

log = structlog.get_logger()


def failing(open_incidents: Sequence[stored_incidents.Incident]) -> set[str]:
    """Return the subjects of the channels that could not render a digest."""
    return {one.subject for one in open_incidents if one.kind == incidents.NOT_RENDERED}


def render_again(
    context: ComposeContext,
    subscriptions: Sequence[Subscription],
    subjects: Collection[str],
    on_failure: OnFailure,
) -> int:
    """Render what channels could not render before, and plan its deliveries; return how many.

    `subjects` name the channels. A digest whose papers moved into a newer one is not rendered any
    more.
    """
    channels = [name for name in context.channels if incidents.channel(name) in subjects]
    if not channels:
        return 0
    with context.database.reading() as tx:
        waiting = freeze_digest.list_unrendered(tx, [one.name for one in subscriptions])
    named = {one.name: one for one in subscriptions}
    done = 0
    for name in channels:
        mine = [one for one in waiting if one.channel == name]
        done += _again(context, name, mine, named, on_failure)
    return done


def _again(
    context: ComposeContext,
    channel: str,
    waiting: Sequence[freeze_digest.Unrendered],
    named: Mapping[str, Subscription],
    on_failure: OnFailure,
) -> int:
    now, done, errors = context.clock.now(), 0, []
    for one in waiting:
        try:
            done += _one_again(context, one, named[one.subscription], now)
        except StoreError:
            raise
        except Exception as fault:
            errors.append(error_text(fault))
            log_render_failure(channel, one.subscription, one.period, fault)
            on_failure(one.subscription, fault)
    with context.database.writing() as tx:
        if errors:
            record_failure(tx, context, channel, errors[0], now)
        elif not any(one.channel == channel for one in freeze_digest.list_unrendered(tx)):
            stored_incidents.end_incident(
                tx, incidents.channel(channel), incidents.NOT_RENDERED, now
            )
    return done


def _one_again(
    context: ComposeContext,
    one: freeze_digest.Unrendered,
    subscription: Subscription,
    now: datetime,
) -> int:
    """Give a frozen digest the deliveries it lacks, to those who are still written to."""
    ways = [way for way in subscription.destinations if way.channel == one.channel]
    with context.database.reading() as tx:
        digest = digests.get(tx, one.digest_id)
    if digest is None or not ways:
        return 0
    forms = render(context, ways, digest)
    planned = plan(context, ways, forms)
    with context.database.writing() as tx:
        return freeze_digest.add_text(tx, one, forms.parts[one.channel], planned, now)
