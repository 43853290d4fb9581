"""The composition root: Settings to live objects. It owns every lifetime, and the clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from monitor import pipeline, plugins
from monitor.config import Settings, topics_of
from monitor.deliver.mail import Mail, SmtpServer
from monitor.digest.due import parse_schedule
from monitor.digest.render import JinjaTemplates
from monitor.errors import UsageError
from monitor.http import Door
from monitor.model import Channel, Clock, Delivery, Run, Templates
from monitor.pipeline import OPERATOR, Parts, Subscription, Watched, Way
from monitor.store import digests
from monitor.store.database import Database, open_store
from monitor.store.owners import Owner

EMAIL = "email"


class SystemClock:
    """The calendar as it is."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ShiftedClock:
    """A calendar that began at `start` and goes on from there, for `--now`."""

    start: datetime
    began: float

    def now(self) -> datetime:
        return self.start + timedelta(seconds=time.monotonic() - self.began)


def clock_at(start: datetime | None) -> Clock:
    return ShiftedClock(start.astimezone(UTC), time.monotonic()) if start else SystemClock()


@dataclass(frozen=True, slots=True)
class Sent:
    """A digest that was composed or whose deliveries were attempted, as scripts are told of it."""

    subscription: str
    period: str
    papers: int
    deliveries: tuple[Delivery, ...]


@dataclass(frozen=True, slots=True)
class App:
    """The program with all its parts alive. Close it by leaving `open_app`."""

    settings: Settings
    parts: Parts

    def ingest(
        self, names: Sequence[str] = (), tell: Callable[[Run], None] | None = None
    ) -> list[Run]:
        """Read the named sources, or all. Raises UsageError for a name that is not configured."""
        for name in names:
            if name not in self.parts.sources:
                known = ", ".join(self.parts.sources) or "none"
                raise UsageError(f"no source is named {name!r}", f"there are: {known}")
        return [
            run
            for name in names or self.parts.sources
            for run in pipeline.ingest(self.parts, name, tell)
        ]

    def match(self) -> int:
        return pipeline.match(self.parts)

    def digest(self, names: Sequence[str] = (), early: bool = False) -> list[Sent]:
        """Match what waits, compose what is due, deliver what is open."""
        pipeline.match(self.parts)
        composed = pipeline.compose(self.parts, names, early=early)
        attempted = pipeline.deliver(self.parts, probe=True)
        return self._sent(composed, attempted)

    def _sent(
        self, composed: Sequence[pipeline.Composed], attempted: Sequence[Delivery]
    ) -> list[Sent]:
        touched = {one.id: one.digest for one in composed if one.id is not None}
        with self.parts.database.reading() as tx:
            for digest_id in dict.fromkeys(delivery.digest_id for delivery in attempted):
                if digest_id not in touched:
                    touched[digest_id] = digests.get(tx, digest_id)
            return [
                Sent(d.subscription, d.period, d.papers, tuple(digests.deliveries_of(tx, digest_id)))
                for digest_id, d in touched.items()
                if d.subscription != OPERATOR
            ]


@contextmanager
def open_app(settings: Settings, clock: Clock) -> Iterator[App]:
    """Open all that the settings name; everything is closed again, in the other order."""
    with ExitStack() as stack:
        database = open_store(settings.store)
        stack.callback(database.close)
        owner = Owner.hold(database)
        stack.callback(owner.release)
        door = Door(contact=settings.contact, version=version("paper-monitor"))
        stack.callback(door.close)
        channels = _channels(settings)
        for channel in channels.values():
            stack.callback(channel.close)
        yield App(settings, _parts(settings, clock, database, owner, door, channels))


def _parts(
    settings: Settings,
    clock: Clock,
    database: Database,
    owner: Owner,
    door: Door,
    channels: dict[str, Channel],
) -> Parts:
    return Parts(
        database=database,
        owner=owner,
        clock=clock,
        templates=JinjaTemplates(settings.templates),
        fallback_templates=JinjaTemplates(None),
        sources=_sources(settings, door, clock),
        topics=tuple(topic.topic() for topic in settings.topics.values()),
        subscriptions=tuple(_subscription(settings, name) for name in settings.subscriptions),
        operator=_operator(settings),
        channels=channels,
        sender=settings.smtp.sender if settings.smtp else "",
        resend_unknown=settings.smtp is not None and settings.smtp.unknown == "resend",
    )
