"""The composition root: Settings to live objects. It owns every lifetime, and the clock."""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import structlog

from monitor import pipeline, plugins
from monitor.channels.base import Shared, open_channel
from monitor.channels.email.channel import SMTP_SERVER, Mail, message_id
from monitor.channels.email.pool import Connections
from monitor.channels.email.smtp import SmtpServer
from monitor.channels.file import Pages
from monitor.channels.retry_policy import Patience, Timeouts
from monitor.config import (
    Settings,
    SmtpSettings,
    load,
    synonyms_of,
    topics_of,
)
from monitor.digest.render import JinjaTemplates
from monitor.digest.schedule import parse_schedule
from monitor.errors import StoreBusyError, StoreError, UsageError
from monitor.http.client import HttpClient
from monitor.model import (
    Channel,
    Clock,
    Delivery,
    DeliveryState,
    Digest,
    FirstRun,
    Notice,
    Outcome,
    Rendered,
    Run,
    RunOutcome,
    Templates,
)
from monitor.pipeline import (
    OPERATOR,
    ConfiguredSource,
    Destination,
    InForce,
    Retention,
    Runtime,
    Subscription,
)
from monitor.store import deliveries, digests, incidents
from monitor.store.database import Database, Transaction, open_store
from monitor.store.locks import Owner
from monitor.store.server_memory import Servers

log = structlog.get_logger()

EMAIL = "email"
# A command that read a large dump ends, and leaves the rest of its papers to the next.
A_COMMANDS_SHARE = 20_000


def _since_boot() -> float:
    """Seconds that have passed, asleep or awake, whatever the clock was set to."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


_BEGAN = time.time(), _since_boot()


def clock_ahead() -> timedelta:
    """Return how far the clock has run ahead of the time that has passed in this process."""
    wall, passed = _BEGAN
    return timedelta(seconds=(time.time() - wall) - (_since_boot() - passed))


@dataclass(frozen=True, slots=True)
class Sent:
    """A digest that was composed or whose deliveries were attempted, as scripts are told of it."""

    subscription: str
    period: str
    papers: int
    deliveries: tuple[Delivery, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """A test message and what became of it."""

    subscription: str
    channel: str
    recipient: str
    outcome: Outcome

    @property
    def state(self) -> DeliveryState:
        """A test is not tried again: what did not go out has failed."""
        settled = self.outcome.state in (DeliveryState.SENT, DeliveryState.UNKNOWN)
        return self.outcome.state if settled else DeliveryState.FAILED


@dataclass(frozen=True, slots=True)
class App:
    """The program with all its parts alive. Close it by leaving `open_app`."""

    settings: Settings
    parts: Runtime

    def ingest(
        self,
        names: Sequence[str] = (),
        on_progress: Callable[[Run], None] | None = None,
        accept: FirstRun | None = None,
    ) -> list[Run]:
        """Read the named sources, or all; readings that would be held, too, with `accept`.

        Raises UsageError for a name that is not configured.
        """
        for name in names:
            if name not in self.parts.sources:
                known = ", ".join(self.parts.sources) or "none"
                raise UsageError(f"no source is named {name!r}", f"there are: {known}")
        pipeline.sync_subscriptions(self.parts)
        return [
            run
            for name in names or self.parts.sources
            for run in self._read(name, on_progress, accept)
        ]

    def _read(
        self, name: str, on_progress: Callable[[Run], None] | None, accept: FirstRun | None
    ) -> list[Run]:
        try:
            return pipeline.ingest(self.parts, name, on_progress, accept)
        except StoreBusyError as fault:
            now = self.parts.clock.now()
            return [Run(name, None, RunOutcome.UNCHANGED, now, now, error=str(fault))]

    def upkeep(self) -> None:
        pipeline.upkeep(self.parts)

    def match(self) -> int:
        matched = pipeline.match(self.parts)
        pipeline.make_searchable(self.parts, A_COMMANDS_SHARE)
        return matched

    def digest(
        self,
        names: Sequence[str] = (),
        early: bool = False,
        *,
        probe: bool = True,
        on_failure: pipeline.OnFailure = pipeline.log_failure,
    ) -> list[Sent]:
        """Match what waits, compose what is due, deliver what is open.

        Returns the digests that were composed, attempted, or wait for a line that is down.
        `on_failure` gets the name and error of each subscription that could not be composed.
        `probe` tries at once what rests after a failure: a person asked, having mended something.
        """
        failed: dict[str, Exception] = {}
        pipeline.match(self.parts)
        composed = pipeline.compose(
            self.parts, names, early=early, patient=not probe, on_failure=failed.__setitem__
        )
        for name, fault in failed.items():
            on_failure(name, fault)
        try:
            attempted = self._deliver(probe=probe)
        except StoreError as fault:
            if not any(isinstance(one, StoreError) for one in failed.values()):
                raise
            log.error("nothing delivered", error=str(fault))
            attempted = []
        return self._sent(composed, attempted)

    def _deliver(self, *, probe: bool) -> list[Delivery]:
        attempted = pipeline.deliver(self.parts, probe=probe)
        if pipeline.notify(self.parts):
            attempted += pipeline.deliver(self.parts)
        pipeline.make_searchable(self.parts, A_COMMANDS_SHARE)
        return attempted

    def _sent(
        self, composed: Sequence[pipeline.Composed], attempted: Sequence[Delivery]
    ) -> list[Sent]:
        touched = {one.id: one.digest for one in composed if one.id is not None}
        with self.parts.database.reading() as tx:
            waiting = deliveries.open_on(tx, self._channels_down(tx))
            tried = [*(delivery.digest_id for delivery in attempted), *waiting]
            for digest_id in dict.fromkeys(tried):
                digest = digests.get(tx, digest_id)
                if digest is not None:
                    touched.setdefault(digest_id, digest)
            return [
                Sent(d.subscription, d.period, d.papers, tuple(deliveries.of_digest(tx, digest_id)))
                for digest_id, d in touched.items()
                if d.subscription != OPERATOR
            ]

    def _channels_down(self, tx: Transaction) -> list[str]:
        down = {one.subject for one in incidents.open_incidents(tx) if one.kind == incidents.DOWN}
        lines = self.parts.lines.items()
        return [channel.name for line, some in lines if line in down for channel in some]

    def deliver(self) -> list[Delivery]:
        """Send what is open, lines that are down too: a person asked for it."""
        pipeline.sync_subscriptions(self.parts)
        return pipeline.deliver(self.parts, probe=True)

    def rehearse(
        self,
        names: Sequence[str] = (),
        early: bool = False,
        on_failure: pipeline.OnFailure = pipeline.log_failure,
    ) -> list[Sent]:
        """Write what would go out now as pages; send nothing and change nothing else."""
        pages = self._rehearsal_pages()
        composed = pipeline.rehearse(self.parts, names, early=early, on_failure=on_failure)
        return [self._written(pages, digest) for digest in composed]

    def preview(self, name: str = "", period: str = "") -> list[Sent]:
        """Write a past digest, or the next one, of one subscription or of all as pages."""
        if not period:
            names = [name] if name else [s.name for s in self.parts.subscriptions]
            return self.rehearse(names, early=True)
        with self.parts.database.reading() as tx:
            digest = digests.of_period(tx, name, period)
        if digest is None:
            raise UsageError(f"there is no digest of {name!r} for {period!r}")
        return [self._written(self._rehearsal_pages(), digest)]

    def _rehearsal_pages(self) -> Pages:
        folder = Path(tempfile.mkdtemp(prefix="paper-monitor-"))
        return Pages("rehearsal", folder, self.parts.templates)

    def _written(self, pages: Pages, digest: Digest) -> Sent:
        [rendered] = pages.render(digest, self.parts.templates)
        delivery = _unrecorded(digest.subscription, digest.period, pages, rendered)
        outcome = pages.send(delivery, lambda: True)
        written = replace(
            delivery,
            recipient=outcome.reference or delivery.recipient,
            state=DeliveryState.PLANNED if outcome.state is DeliveryState.SENT else outcome.state,
            error=outcome.error,
            reference=outcome.reference,
        )
        return Sent(digest.subscription, digest.period, digest.papers, (written,))

    def send_test(self, names: Sequence[str] = ()) -> list[Tried]:
        """Send a test message by every way of the named subscriptions; nothing is recorded."""
        now = self.parts.clock.now()
        lines = ("This is a test. Digests will reach you this way.",)
        notice = Notice("A test message from Paper Monitor", lines, now)
        return [
            self._try(subscription.name, self.parts.channels[way.channel], recipient, notice)
            for subscription in pipeline.chosen(self.parts, names)
            for way in subscription.ways
            for recipient in way.recipients
        ]

    def _try(self, name: str, channel: Channel, recipient: str, notice: Notice) -> Tried:
        outcome = Outcome(DeliveryState.FAILED, "the test message has no text")
        for part in channel.render_notice(notice, self.parts.templates):
            delivery = _unrecorded(name, "test", channel, part, recipient, self.parts.sender)
            outcome = channel.send(delivery, lambda: True)
        return Tried(name, channel.name, recipient, outcome)


def _unrecorded(
    subscription: str,
    period: str,
    channel: Channel,
    part: Rendered,
    recipient: str = "",
    sender: str = "",
) -> Delivery:
    """A delivery that the store never sees, for rehearsals and tests."""
    return Delivery(
        id=0,
        digest_id=0,
        subscription=subscription,
        period=period,
        channel=channel.name,
        recipient=recipient or channel.recipients()[0],
        part=part.part,
        state=DeliveryState.PLANNED,
        attempts=0,
        message_id=message_id(secrets.token_hex(12), sender),
        created_at=datetime.now(UTC),
        next_attempt_at=None,
        rendered=part,
    )


def load_settings(path: Path, before: Settings | None = None) -> Settings:
    """Read and check a configuration. Raises ConfigError with all of its faults.

    A topic that is in force in the store, and that these rules refuse, is parked with a warning:
    an upgrade stops no service.
    """
    settings = load(path, before=before, in_force=pipeline.queries_in_force)
    for name, fault in settings.parked.items():
        log.warning(
            "topic parked", topic=name, file=fault.file, line=fault.line, error=fault.message
        )
    return settings


@contextmanager
def open_app(
    settings: Settings, clock: Clock, in_force: InForce | None = None, *, create: bool = True
) -> Iterator[App]:
    """Open all that the settings name; everything is closed again, in the other order.

    `in_force` is what is remembered of the topics of the configuration before. Without `create`,
    for commands that only read, raises NoStoreError where there is no store yet.
    """
    with ExitStack() as stack:
        database = open_store(settings.store, create=create)
        stack.callback(database.close)
        owner = Owner.hold(database)
        stack.callback(owner.release)
        door = _door(settings, database, clock)
        stack.callback(door.close)
        templates = JinjaTemplates(settings.templates)
        synonyms = synonyms_of(settings)
        channels = _channels(settings, templates)
        for channel in channels.values():
            stack.callback(channel.close)
        parts = Runtime(
            database=database,
            owner=owner,
            clock=clock,
            templates=templates,
            fallback_templates=templates.fallback,
            sources=_sources(settings, door, clock),
            topics=tuple(topic.topic(synonyms) for topic in settings.topics.values()),
            synonyms=synonyms,
            in_force=in_force or InForce(),
            subscriptions=tuple(
                _subscription(settings, channels, name) for name in settings.subscriptions
            ),
            operator=_operator(settings, channels),
            channels=channels,
            timezone=settings.timezone,
            sender=settings.smtp.sender if settings.smtp else "",
            resends=_resends(settings),
            at_once={SMTP_SERVER: settings.smtp.connections} if settings.smtp else {},
            apart=_apart(settings.smtp),
            mark=_mark(settings),
            patience=Patience(**dict(settings.retry)),
            retention=Retention(**dict(settings.retention)),
            ahead=clock_ahead,
        )
        yield App(settings, parts)


def _gates(database: Database) -> Path:
    """Where the processes of this machine that share a store take turns at other people's hosts."""
    if database.path:
        return database.path.with_name(f"{database.path.name}.gates")
    return Path(tempfile.gettempdir()) / f"paper-monitor-gates-{os.getuid()}"


def _sources(settings: Settings, door: HttpClient, clock: Clock) -> dict[str, ConfiguredSource]:
    watched = {}
    for name, told in settings.sources.items():
        kind = plugins.source_class(told.kind)
        watched[name] = ConfiguredSource(
            name=name,
            source=kind(name, told.options, door, clock.now),
            first_run=told.first_run or kind.default_first_run,
            dated=kind.dated and not told.options.path,
            calendar=None if told.options.path else kind.calendar,
            every=told.every,
        )
    return watched


def _channels(settings: Settings, templates: Templates) -> dict[str, Channel]:
    """All channels by name; the one named "email" serves each subscription's own addresses."""
    smtp, slack = settings.smtp, settings.slack
    server = _server(smtp) if smtp else None
    token = slack.token.reveal() if slack else ""
    shared = Shared(templates, server, token, slack.base_url if slack else "")
    channels: dict[str, Channel] = {EMAIL: Mail(EMAIL, (), server)} if server else {}
    for name, configured in settings.channels.items():
        kind = plugins.channel_class(configured.kind)
        channels[name] = open_channel(kind, name, configured.options, shared)
    return channels


def _server(smtp: SmtpSettings) -> Connections:
    return Connections([_connection(smtp) for _ in range(smtp.connections)])


def _apart(smtp: SmtpSettings | None) -> dict[str, float]:
    return {SMTP_SERVER: 60 / smtp.per_minute} if smtp and smtp.per_minute else {}


def _connection(smtp: SmtpSettings) -> SmtpServer:
    return SmtpServer(
        smtp.host,
        smtp.port,
        tls=smtp.tls,
        username=smtp.username or "",
        password=smtp.password.reveal() if smtp.password else "",
        sender=smtp.sender,
        ca_file=smtp.ca_file,
        timeouts=Timeouts(**{phase: wait.total_seconds() for phase, wait in smtp.timeouts}),
        per_connection=smtp.per_connection,
    )


def _ways(
    channels: dict[str, Channel], names: Sequence[str], addresses: tuple[str, ...]
) -> tuple[Destination, ...]:
    own = [Destination(EMAIL, addresses)] if addresses else []
    return (*own, *(Destination(name, channels[name].recipients()) for name in names))


def _subscription(settings: Settings, channels: dict[str, Channel], name: str) -> Subscription:
    told = settings.subscriptions[name]
    return Subscription(
        name=name,
        topics=tuple(topics_of(settings, told)),
        ways=_ways(channels, told.channels, told.email),
        schedule_text=told.schedule,
        schedule=parse_schedule(told.schedule),
        timezone=told.timezone or settings.timezone,
        full=told.max,
        quiet_send=told.quiet == "send",
        pause_until=told.pause_until,
    )


def _operator(settings: Settings, channels: dict[str, Channel]) -> tuple[Destination, ...]:
    told = settings.operator
    return _ways(channels, told.channels, told.email) if told else ()


def _mark(settings: Settings) -> str:
    """Return what changes when a server, a password or a token does; too short to guess from."""
    smtp, slack = settings.smtp, settings.slack
    secrets_ = [smtp.password if smtp else None, slack.token if slack else None]
    told = [repr(smtp), repr(slack), *(one.reveal() if one else "" for one in secrets_)]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:8]


def _resends(settings: Settings) -> frozenset[str]:
    again = settings.smtp is not None and settings.smtp.unknown == "resend"
    return frozenset({SMTP_SERVER}) if again else frozenset()


def _door(settings: Settings, database: Database, clock: Clock) -> HttpClient:
    """Large downloads are kept beside the store: `/tmp` of a container is small."""
    return HttpClient(
        contact=settings.contact,
        version=version("paper-monitor"),
        gate_dir=_gates(database),
        memory=Servers(database, clock),
        downloads=database.path.parent if database.path else None,
    )
