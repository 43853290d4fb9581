"""What waits for the next digest of each subscription, and until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from monitor.digest.schedule import next_due
from monitor.pipeline.due import chosen
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.store import subscriptions, unsent_matches
from monitor.store.subscriptions import SubscriptionState

# More subscriptions are not looked at: what each waits for takes a query.
MOST = 100


def count_papers(count: int) -> str:
    return "1 paper" if count == 1 else f"{count:,} papers"


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The papers that wait for a subscription; `due` is None for `immediately`."""

    subscription: str
    papers: int
    due: datetime | None
    timezone: str
    paused: date | None

    @property
    def sentence(self) -> str:
        papers = f"{count_papers(self.papers)} {'waits' if self.papers == 1 else 'wait'}"
        if self.paused:
            return f"{self.subscription}: {papers}; paused until {self.paused}."
        if self.due is None:
            return f"{self.subscription}: {papers}."
        return f"{self.subscription}: {papers} for {local(self.due, self.timezone)}."


def upcoming(parts: Runtime, names: Sequence[str] = ()) -> list[Upcoming]:
    """Return what waits for the named subscriptions, or for the first `MOST` of all.

    Raises UsageError for a name that is not configured.
    """
    now = parts.clock.now()
    wanted = chosen(parts, names)[:MOST]
    with parts.database.reading() as tx:
        states = subscriptions.states(tx, [one.name for one in wanted])
        return [
            Upcoming(
                one.name,
                unsent_matches.waiting(tx, one.name, now),
                next_slot(one, states.get(one.name), now),
                one.settings.timezone,
                one.settings.pause_until if is_paused(one, now) else None,
            )
            for one in wanted
        ]


def next_slot(
    subscription: Subscription, state: SubscriptionState | None, now: datetime
) -> datetime | None:
    """Return when the next digest is due, None for `immediately`."""
    if subscription.schedule.immediately:
        return None
    last = state.last_due_at if state and state.last_due_at else now
    return next_due(subscription.schedule, subscription.settings.timezone, max(last, now)).due_at


def is_paused(subscription: Subscription, now: datetime) -> bool:
    today = now.astimezone(ZoneInfo(subscription.settings.timezone)).date()
    until = subscription.settings.pause_until
    return until is not None and today < until


def local(at: datetime, zone: str) -> str:
    """Return a moment as a subscriber's clock shows it: Mon 23 Nov 08:00 (Europe/Berlin)."""
    return f"{at.astimezone(ZoneInfo(zone)):%a %-d %b %H:%M} ({zone})"
