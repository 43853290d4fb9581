"""Who gets what: subscriptions with their recipients, and the topics that they have."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

import msgspec

from monitor.commands.heartbeat import last_sign
from monitor.commands.status import count_changes, is_paused, late_after
from monitor.digest.wording import format_news
from monitor.errors import UsageError, nearest
from monitor.model import ListedDigest, NextDigest, Suppression, Topic
from monitor.pipeline.next_digest import by_address, next_digest, overdue_slot
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.store.digests import deliveries, digests, suppressions
from monitor.store.digests.suppressions import address_of
from monitor.store.engine.database import Transaction
from monitor.store.topics import matches, subscriptions


class Trouble(StrEnum):
    """The reasons why a recipient may miss a digest, as the filter of the page names them."""

    FAILED = "failed delivery"
    UNCERTAIN = "uncertain delivery"
    LATE = "late digest"
    PAUSED = "paused"
    STOPPED = "stopped recipient"


class SubscriptionReport(msgspec.Struct, frozen=True):
    """A subscription with its recipients and times.

    `waiting` and `changes` are 0 until `count_waiting` counts them.
    """

    # The key in the configuration.
    name: str
    # The setting, else the name.
    title: str
    # Names of topics, with "*" written out.
    topics: tuple[str, ...]
    # The recipients on all channels, each once.
    recipients: tuple[str, ...]
    # The names of its channels; "email" for its own addresses.
    channels: tuple[str, ...]
    # As the configuration writes it.
    schedule: str
    # The setting, by its name in the tz database.
    timezone: str
    # When the next digest comes, or why none does.
    upcoming: NextDigest
    # The last digest that had news and was not superseded; None before the first.
    last: ListedDigest | None
    # Papers for the next digest.
    waiting: int
    # Stops and pauses of its recipients, for this subscription or for all.
    stopped: tuple[Suppression, ...]
    # The first day after a pause of the whole subscription, None if there is no pause now.
    paused_until: date | None
    # In the order of `Trouble`, each once.
    troubles: tuple[Trouble, ...]
    # The names of libraries whose papers are watched.
    guard: tuple[str, ...] = ()
    # The names of libraries whose papers are marked or left out.
    libraries: tuple[str, ...] = ()
    # Changes of references for the next digest.
    changes: int = 0

    @property
    def next(self) -> datetime | None:
        return self.upcoming.at

    @property
    def waits(self) -> str:
        """`3 papers, 1 change of references`: the news for the next digest."""
        return format_news(self.waiting, self.changes)


@dataclass(frozen=True, slots=True)
class SubscriptionFilter:
    """A search in the list of subscriptions; `q` is part of a name, title or recipient."""

    q: str = ""
    topic: str = ""
    channel: str = ""
    trouble: str = ""

    def select(self, known: Sequence[Subscription]) -> list[Subscription]:
        """Return the subscriptions that match, whatever their trouble is."""
        q = self.q.casefold()
        return [
            s
            for s in known
            if self.topic in ("", *s.topics)
            and self.channel in ("", *(destination.channel for destination in s.destinations))
            and any(q in t.casefold() for t in (s.name, s.settings.title, *recipients_of(s)))
        ]


def recipients_of(subscription: Subscription) -> tuple[str, ...]:
    """Return the recipients on all channels, each once."""
    return tuple(dict.fromkeys(to for d in subscription.destinations for to in d.recipients))


def subscriptions_of(runtime: Runtime, recipient: str) -> list[Subscription]:
    """Return the subscriptions that are sent to a recipient, in upper or lower case."""
    address = address_of(recipient)
    return [
        subscription
        for subscription in runtime.subscriptions
        if address in map(address_of, recipients_of(subscription))
    ]


def narrow(subscription: Subscription, recipient: str) -> Subscription:
    """Return a subscription as one recipient may see it: without the others."""
    address = address_of(recipient)
    destinations = []
    for destination in subscription.destinations:
        own = tuple(to for to in destination.recipients if address_of(to) == address)
        if own:
            destinations.append(msgspec.structs.replace(destination, recipients=own))
    return msgspec.structs.replace(subscription, destinations=tuple(destinations))


def find_subscriptions(runtime: Runtime, reference: str) -> Sequence[Subscription]:
    """Return the subscription of this name, else those of this recipient, all for "".

    Raises UsageError with the nearest name or recipient.
    """
    known = runtime.subscriptions
    named = [subscription for subscription in known if reference in ("", subscription.name)]
    selected = named or subscriptions_of(runtime, reference)
    if not selected and reference:
        names = [subscription.name for subscription in known]
        names += [to for subscription in known for to in recipients_of(subscription)]
        near = nearest(reference, dict.fromkeys(names), "`paper-monitor subscriptions` lists them")
        raise UsageError(f"no subscription and no recipient is named {reference!r}{near}")
    return selected


def report(
    runtime: Runtime, selected: Sequence[Subscription], trouble: str = ""
) -> list[SubscriptionReport]:
    """Return the state of subscriptions, but for what waits: see `count_waiting`.

    With `trouble`, those that have it; "any" for one of them.
    """
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        names = [subscription.name for subscription in selected]
        states = subscriptions.states(tx, names)
        last = digests.latest(tx, names)
        stopped = by_address(suppressions.listing(tx, now))
        of_deliveries = _delivery_troubles(tx, last)
        late_before = now - late_after(last_sign(tx))
    reports = []
    for subscription in selected:
        name = subscription.name
        settings = subscription.settings
        state = states.get(name)
        recipients = recipients_of(subscription)
        own = [row for to in recipients for row in stopped.get(address_of(to), ())]
        about = tuple(row for row in own if row.subscription in (suppressions.ALL, name))
        paused = is_paused(subscription, now)
        has_slots = not (paused or subscription.schedule.immediately)
        troubles = set(of_deliveries.get(name, ()))
        if has_slots and state and overdue_slot(subscription, state, late_before):
            troubles.add(Trouble.LATE)
        troubles |= {Trouble.PAUSED} if paused else set()
        troubles |= {Trouble.PAUSED if row.until else Trouble.STOPPED for row in about}
        if trouble in ("", *troubles) or (trouble == "any" and troubles):
            reports.append(
                SubscriptionReport(
                    name=name,
                    title=runtime.titles[name],
                    topics=subscription.topics,
                    recipients=recipients,
                    channels=tuple(d.channel for d in subscription.destinations),
                    schedule=settings.schedule,
                    timezone=settings.timezone,
                    upcoming=next_digest(subscription, state, stopped, now),
                    last=last.get(name),
                    waiting=0,
                    stopped=about,
                    paused_until=settings.pause_until if paused else None,
                    troubles=tuple(kind for kind in Trouble if kind in troubles),
                    guard=tuple(settings.guard),
                    libraries=tuple(settings.libraries),
                )
            )
    return reports


def count_waiting(
    runtime: Runtime, reports: Sequence[SubscriptionReport]
) -> list[SubscriptionReport]:
    """Return reports with what waits for each; that takes a query for each."""
    now = runtime.clock.now()
    subscribed = {known.name: known for known in runtime.subscriptions}
    with runtime.database.reading() as tx:
        return [
            msgspec.structs.replace(
                known,
                waiting=matches.waiting(tx, known.name, now),
                changes=count_changes(tx, subscribed[known.name], now),
            )
            for known in reports
        ]


def _delivery_troubles(
    tx: Transaction, last: Mapping[str, ListedDigest]
) -> Mapping[str, set[Trouble]]:
    """Return which subscriptions have deliveries that failed lately, or may not have arrived."""
    of_deliveries: dict[str, set[Trouble]] = defaultdict(set)
    for delivery in deliveries.unfinished_of(tx, {digest.id for digest in last.values()}):
        of_deliveries[delivery.subscription].add(Trouble.FAILED)
    for delivery in deliveries.select(tx, deliveries.MAY_HAVE_ARRIVED):
        of_deliveries[delivery.subscription].add(Trouble.UNCERTAIN)
    return of_deliveries


class TopicReport(msgspec.Struct, frozen=True):
    """A topic, how many subscriptions have it, and the papers of the last 7 days it matched."""

    name: str
    title: str
    query: str
    subscriptions: int
    papers_7_days: int


def report_topics(
    runtime: Runtime, topics: Sequence[Topic], known: Iterable[Subscription]
) -> Iterator[TopicReport]:
    """Yield what topics matched, and how many of the `known` subscriptions have each."""
    with runtime.database.reading() as tx:
        counts = matches.recent_counts(tx, runtime.clock.now())
    subscribed = Counter(topic for subscription in known for topic in subscription.topics)
    for topic in topics:
        title = runtime.group_rules[topic.name].title
        yield TopicReport(
            topic.name, title, topic.written, subscribed[topic.name], counts.get(topic.name, 0)
        )
