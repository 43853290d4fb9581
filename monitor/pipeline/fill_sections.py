"""Fills the sections of a digest other than its topics. `compose` drafts the papers first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from monitor.digest.sections.references import MOST_EVENTS, show_events
from monitor.digest.sections.returned import list_returned
from monitor.model import Digest, DigestGroup
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.store.engine.database import Transaction
from monitor.store.sources import reference_events
from monitor.store.topics import matches


@dataclass(frozen=True, slots=True)
class FillContext:
    """The origin of what sections show: the store as `tx` reads it, and the subscription."""

    tx: Transaction
    runtime: Runtime
    subscription: Subscription
    now: datetime


def fill_references(context: FillContext, digest: Digest) -> Digest:
    """List the changes of references that no digest had; the rest waits for the next digest."""
    subscription = context.subscription
    now = context.now
    guard = subscription.settings.guard
    audience = subscription.audience
    events = reference_events.unsent(context.tx, subscription.name, guard, audience, now)
    return replace(
        digest,
        references=show_events(events, context.runtime.labels, context.runtime.service_labels),
        more_references=max(len(events) - MOST_EVENTS, 0),
    )


def fill_returned(context: FillContext, digest: Digest) -> Digest:
    """List papers of earlier digests that came into further lists since the last digest."""
    if digest.covers_from is None:
        return digest
    papers = matches.returned(context.tx, context.subscription.name, digest.covers_from)
    news = {entry.paper_id for group in digest.groups for entry in group.entries}
    return replace(digest, returned=list_returned(papers, news))


# Each gets the digest with its drafted papers, and returns it with its section added.
FILLS: tuple[Callable[[FillContext, Digest], Digest], ...] = (fill_references, fill_returned)


def fill_sections(context: FillContext, digest: Digest) -> Digest:
    """Return a drafted digest with all of its other sections."""
    for fill in FILLS:
        digest = fill(context, digest)
    return digest


# ── papers that one recipient missed ───────────────────────────────────────────────


def list_missed(digest: Digest, withheld: Sequence[Digest]) -> Digest:
    """List papers and changes of withheld digests, each once, without those in `digest`."""
    in_digest = {event.id for event in digest.references}
    events = {event.id: event for other in withheld for event in other.references}
    title = f"{digest.heading}, while paused"
    # Not a copy of `digest`, whose other sections are not about the pause.
    return Digest(
        subscription=digest.subscription,
        period=digest.period,
        due_at=digest.due_at,
        timezone=digest.timezone,
        covers_from=digest.covers_from,
        composed_at=digest.composed_at,
        groups=_missed_groups(digest, withheld),
        report=digest.report,
        full=0,
        notes=("These papers came while your digests were paused.",),
        titles=digest.titles,
        about=replace(digest.about, title=title, shares_recipients=True),
        references=tuple(event for id, event in events.items() if id not in in_digest),
        was_missed=True,
    )


def _missed_groups(digest: Digest, withheld: Sequence[Digest]) -> tuple[DigestGroup, ...]:
    groups: dict[str, DigestGroup] = {}
    seen = {entry.paper_id for group in digest.groups for entry in group.entries}
    for group in (group for other in withheld for group in other.groups):
        entries = [entry for entry in group.entries if entry.paper_id not in seen]
        seen |= {entry.paper_id for entry in entries}
        if entries:
            missed = groups.get(group.topic, replace(group, entries=(), more=0))
            groups[group.topic] = replace(missed, entries=(*missed.entries, *entries))
    return tuple(groups.values())
