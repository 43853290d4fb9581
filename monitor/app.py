"""The application: settings to live objects, and the work that commands do with them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, cast

import structlog

from monitor import log as log_writer
from monitor import plugins
from monitor.channels.base import Channel, Shared, open_channel
from monitor.channels.email.channel import Mail
from monitor.channels.email.oauth import RefreshTokens, Tokens
from monitor.channels.email.render import ReaderLinks
from monitor.channels.email.sendmail import Sendmail
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.smtp import SmtpServer
from monitor.clocks import Clock
from monitor.config import Settings, load, synonyms_of, topics_of
from monitor.config.settings import DestinationSettings
from monitor.digest.schedule import parse_schedule
from monitor.embeddings.server import EmbeddingServer
from monitor.look_up import SERVICES
from monitor.model import Templates
from monitor.pipeline.runtime import (
    NO_VARIABLES,
    ActiveConfig,
    ConfiguredSource,
    Destination,
    Runtime,
    Subscription,
)
from monitor.signing import KeyRing
from monitor.store import secrets
from monitor.store.engine.database import Database
from monitor.store.engine.locks import hold_owner
from monitor.store.engine.opening import open_store, queries_in_force
from monitor.store.secrets import KeptTokens
from monitor.store.sources import hidden_variables
from monitor.store.sources.reading_state import Servers

if TYPE_CHECKING:
    from monitor.digest.render import JinjaTemplates
    from monitor.http.client import HttpClient
    from monitor.look_up.service import Service
    from monitor.look_up.settings import ServiceOptions
    from monitor.pipeline.flow import Once

# The channel of a subscription's own addresses.
EMAIL = "email"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class App:
    """The program with everything open. Close it by leaving `open_app`."""

    settings: Settings
    runtime: Runtime

    @property
    def once(self) -> Once:
        """The steps of the flow, as commands do them."""
        from monitor.pipeline.flow import Once  # most commands only look at the store

        return Once(self.runtime)


def load_settings(path: Path) -> Settings:
    """Read and check a configuration. Raises ConfigError with all of its faults.

    A topic that is in force in the store, and that these rules refuse, is parked with a warning:
    an upgrade stops no service.
    """
    settings = load(path, active_queries=queries_in_force)
    for name, fault in settings.parked.items():
        log.warning(
            "topic parked", topic=name, file=fault.file, line=fault.line, error=fault.message
        )
    return settings


@contextmanager
def open_app(
    settings: Settings, clock: Clock, active: ActiveConfig | None = None, *, create: bool = True
) -> Iterator[App]:
    """Open everything that the settings name; raises NoStoreError without `create` and a store.

    `active` remembers the topics of the last configuration.
    """
    with ExitStack() as stack:
        database = stack.enter_context(closing(open_store(settings.store, create=create)))
        log_writer.hide(settings.all_variables)
        hidden_variables.hide_stored(database, settings.variables, settings.sources)
        owner = hold_owner(database)
        stack.callback(owner.release)
        stopping = Event()
        client = _http_client(settings, database, clock, stopping)
        templates = _templates(settings)
        synonyms = synonyms_of(settings)
        tokens = _tokens(settings.smtp, client, KeptTokens(database, clock))
        keys = _keys(settings, database, clock)
        channels = _channels(settings, templates, tokens, keys, stack)
        runtime = Runtime(
            settings=settings,
            database=database,
            owner=owner,
            clock=clock,
            templates=templates,
            fallback_templates=templates.fallback if settings.templates else templates,
            sources=_sources(settings, client, clock),
            services=_services(settings, client, clock),
            embeddings=_embeddings(settings, client),
            topics=tuple(topic.topic(synonyms) for topic in settings.topics.values()),
            synonyms=synonyms,
            active=active or ActiveConfig(),
            subscriptions=tuple(
                Subscription(
                    entry,
                    topics_of(settings, entry),
                    _destinations(channels, entry),
                    parse_schedule(entry.schedule),
                )
                for entry in settings.subscriptions.values()
            ),
            operator=_destinations(channels, settings.operator),
            channels=channels,
            tokens=tokens,
            keys=keys,
            stopping=stopping,
        )
        yield App(settings, runtime)


class Later:
    """Stands for an object, and opens it once when one of its attributes is first asked for.

    Most commands fetch nothing and render nothing, and to load the libraries for that takes longer
    than `status` itself.
    """

    def __init__(self, open_it: Callable[[], Any]) -> None:
        self._open_it = open_it
        self._opening = Lock()
        self._opened: Any = None

    def __getattr__(self, name: str) -> Any:
        with self._opening:
            if self._opened is None:
                self._opened = self._open_it()
        return getattr(self._opened, name)


def _templates(settings: Settings) -> JinjaTemplates:
    """Those of the user are opened at once, so that a folder that is missing is said at once."""

    def open_them() -> JinjaTemplates:
        from monitor.digest.render import JinjaTemplates

        return JinjaTemplates(settings.templates)

    return open_them() if settings.templates else cast("JinjaTemplates", Later(open_them))


def _http_client(
    settings: Settings, database: Database, clock: Clock, stopping: Event
) -> HttpClient:
    def open_it() -> HttpClient:
        from monitor.http.client import HttpClient

        # Where this machine's processes of one store take turns at other people's hosts.
        gates = Path(tempfile.gettempdir()) / f"paper-monitor-gates-{os.getuid()}"
        if database.path:
            gates = database.path.with_name(f"{database.path.name}.gates")
        return HttpClient(
            contact=settings.contact,
            version=version("paper-monitor"),
            gate_dir=gates,
            gate_owner=database.path.stat().st_uid if database.path else 0,
            memory=Servers(database, clock, settings.all_variables),
            # Large downloads are kept beside the store: `/tmp` of a container is small.
            downloads=database.path.parent if database.path else None,
            stopping=stopping,
        )

    return cast("HttpClient", Later(open_it))


def _keys(settings: Settings, database: Database, clock: Clock) -> KeyRing:
    """Return the keys that sign links; the store's own is made when a link first needs one."""
    written = tuple(key.reveal() for key in settings.secret_key)
    own = secrets.load_signing_key(database)
    if not own and not written and settings.public_url:
        own = secrets.make_signing_key(database, clock)
    return KeyRing((*written, *([own] if own else ())))


def _sources(settings: Settings, client: HttpClient, clock: Clock) -> dict[str, ConfiguredSource]:
    sources = {}
    for name, source in settings.sources.items():
        kind = plugins.SOURCES.load(source.kind)
        variables = settings.variables.get(name, NO_VARIABLES)
        opened = kind(name, source.options, client, clock.now)
        sources[name] = ConfiguredSource(source, opened, variables)
    return sources


def _services(settings: Settings, client: HttpClient, clock: Clock) -> dict[str, Service]:
    """Return the services that are asked about papers, in the order that is written."""

    def open_one(name: str, options: ServiceOptions) -> Service:
        return SERVICES[name](options, client, clock.now)

    written = settings.look_up.services if settings.look_up else {}
    return {
        name: cast("Service", Later(partial(open_one, name, options)))
        for name, options in written.items()
    }


def _embeddings(settings: Settings, client: HttpClient) -> EmbeddingServer | None:
    return EmbeddingServer(settings.embeddings, client) if settings.embeddings else None


# ── channels ────────────────────────────────────────────────────────────────────────


def _channels(
    settings: Settings, templates: Templates, tokens: Tokens | None, keys: KeyRing, stack: ExitStack
) -> dict[str, Channel]:
    links = ReaderLinks(settings.public_url, keys) if settings.public_url else None
    smtp = settings.smtp
    server: Sendmail | SmtpServer | None = None
    if smtp:
        server = Sendmail(smtp) if smtp.sendmail else SmtpServer(smtp, tokens)
    shared = Shared(templates, server, settings.slack, settings.takes_slack_answers, links)
    channels: dict[str, Channel] = {EMAIL: Mail(EMAIL, (), server, links)} if server else {}
    for name, channel in settings.channels.items():
        kind = plugins.CHANNELS.load(channel.kind)
        channels[name] = open_channel(kind, name, channel.options, shared)
    for opened in channels.values():
        stack.callback(opened.close)
    return channels


def _tokens(smtp: SmtpSettings | None, client: HttpClient, kept: RefreshTokens) -> Tokens | None:
    """Return the access tokens of the mail account; all its connections share them."""
    if smtp is None or smtp.oauth is None:
        return None
    chosen = smtp.oauth.token_url is not None  # by the operator, perhaps in their own network
    post = partial(client.post_form, allow_private=chosen)
    return Tokens(smtp.oauth, smtp.username or "", post, kept)


def _destinations(
    channels: dict[str, Channel], settings: DestinationSettings | None
) -> tuple[Destination, ...]:
    if settings is None:
        return ()
    own = [(channels[EMAIL], settings.email)] if settings.email else []
    named = ((channels[name], channels[name].recipients()) for name in settings.channels)
    return tuple(
        Destination(channel.name, recipients, channel.is_personal)
        for channel, recipients in (*own, *named)
    )
