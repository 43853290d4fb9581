"""The settings and the objects opened for them, as the stages of the pipeline use them."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec

from monitor.channels.base import Channel
from monitor.channels.email.channel import SMTP_SERVER
from monitor.channels.email.oauth import Tokens
from monitor.channels.email.sender_dns import Lookup, ask
from monitor.channels.email.settings import SmtpSettings
from monitor.clocks import Clock, clock_ahead
from monitor.config.settings import Settings, SourceSettings, SubscriptionSettings
from monitor.digest.schedule import Schedule
from monitor.embeddings.server import EmbeddingServer
from monitor.errors import QueryError, refuse_unknown
from monitor.http.host_limits import gate_of
from monitor.identity.withdrawals import Standing, host_of
from monitor.look_up.service import Service
from monitor.match import TopicIndex
from monitor.match.language.synonyms import Synonyms
from monitor.model import Audience, FirstRun, GroupRule, Role, SourceLabel, Templates, Topic
from monitor.model.delivery import OPERATOR
from monitor.pipeline.unchanged import Unchanged
from monitor.setting_types import Variables
from monitor.signing import KeyRing
from monitor.sources.api.about import AboutSource
from monitor.sources.base import Source
from monitor.sources.calendar import UNKNOWN, Calendar
from monitor.store.engine.database import Database
from monitor.store.engine.locks import Lock
from monitor.store.engine.processes import Origin, origin_of
from monitor.store.topics.subscriptions import Subscribed

NO_VARIABLES = Variables()


class ConfiguredSource(msgspec.Struct, frozen=True):
    """A source with its settings, of which its kind decides those that are not set.

    `variables` are those in its address: what is stored and shown of it has their names.
    """

    settings: SourceSettings
    source: Source
    variables: Variables = NO_VARIABLES

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def role(self) -> Role:
        return self.settings.role

    @property
    def about(self) -> Sequence[str]:
        """The libraries whose works alone the source is read for, () for all papers."""
        return self.source.options.about if isinstance(self.source, AboutSource) else ()

    @property
    def asked_about(self) -> Sequence[str]:
        """The libraries whose works a service is asked about."""
        return () if self.is_folder else self.about

    @property
    def announces(self) -> bool:
        """Whether its papers are stored, and may be news."""
        return self.role is Role.NEWS and not self.about

    @property
    def is_folder(self) -> bool:
        return self.source.options.path is not None

    @property
    def host(self) -> str | None:
        """The host that is asked first, as its requests are counted; None of a folder."""
        address = None if self.is_folder else self.source.server_address
        return gate_of(urlsplit(address).hostname or "") if address else None

    @property
    def first_run(self) -> FirstRun:
        """The worth of the first reading."""
        return self.settings.first_run or self.source.default_first_run

    @property
    def standing(self) -> Standing:
        """The weight of its word on a withdrawal."""
        return Standing(self.source.authority, host_of(self.source.options.url or ""))

    @property
    def dated(self) -> bool:
        return self.source.vouches_for_dates and not self.is_folder

    @property
    def calendar(self) -> Calendar:
        """The days on which the source publishes, where they are known."""
        return (None if self.is_folder else self.source.calendar) or UNKNOWN

    @property
    def address(self) -> str:
        """A hash of the kind, the URL and the role, for which the stored state holds."""
        address = f"{self.source.kind} {self.source.options.url or ''}"
        if self.role is not Role.NEWS:
            address += f" {self.role}"
        return hashlib.sha256(address.encode()).hexdigest()[:16]


class Destination(msgspec.Struct, frozen=True):
    """A channel by name, and its recipients; `is_personal`: each of them is one person."""

    channel: str
    recipients: tuple[str, ...]
    is_personal: bool = False


class Subscription(msgspec.Struct, frozen=True):
    """Who gets what, how and when. `topics` are names, "*" already expanded."""

    settings: SubscriptionSettings
    topics: tuple[str, ...]
    destinations: tuple[Destination, ...]
    schedule: Schedule

    @property
    def recipients(self) -> frozenset[tuple[str, str]]:
        """All (channel, recipient)."""
        return frozenset((d.channel, to) for d in self.destinations for to in d.recipients)

    @property
    def audience(self) -> Audience:
        """Its recipients; the only one is the operator's, who writes the configuration."""
        is_personal = all(destination.is_personal for destination in self.destinations)
        is_alone = len(self.recipients) == 1 and is_personal
        return Audience(self.recipients, self.recipients if is_alone else frozenset())

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def libraries(self) -> tuple[str, ...]:
        """The libraries that all of its recipients may see: those that it names."""
        return tuple(dict.fromkeys([*self.settings.libraries, *self.settings.guard]))

    @property
    def pause_end(self) -> datetime:
        """The last moment of a pause; long ago without one."""
        if self.settings.pause_until is None:
            return datetime.min.replace(tzinfo=UTC)
        start = datetime.combine(
            self.settings.pause_until, time.min, ZoneInfo(self.settings.timezone)
        )
        return start.astimezone(UTC) - timedelta(microseconds=1)


@dataclass(slots=True)
class ActiveConfig:
    """The index of the topics, and what this process activated in the store.

    `topics` and `subscriptions` are an `activation_hash`, and the time of the last change of the
    two that the store had then. While both are the same, the store need not be compared. `worded`
    are the topics with the words that the store had at `worded_at`.
    """

    topics: tuple[str, datetime | None] = ("", None)
    subscriptions: tuple[str, datetime | None] = ("", None)
    worded: tuple[Topic, ...] = ()
    worded_at: tuple[str, datetime | None] = ("", None)
    _index: TopicIndex = field(default_factory=lambda: TopicIndex({}))

    def index(self, topics: tuple[Topic, ...]) -> TopicIndex:
        """Return the index of these topics; only those that are new or changed are parsed."""
        self._index.update(topics)
        return self._index

    def errors(self, topics: tuple[Topic, ...]) -> dict[str, QueryError]:
        """Return why topics cannot be parsed, by name, without getting them ready to match."""
        index = self.index(topics)
        return {topic.name: error for topic in topics if (error := index.error(topic.name))}


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """Everything that has a lifetime, opened and closed by `monitor.app`."""

    # A changed configuration opens another runtime.
    settings: Settings
    # The store; all threads use it.
    database: Database
    # The lock of this process; its id names the claims, which are released once the lock is free.
    owner: Lock
    # The time of schedules, first-seen dates and next attempts.
    clock: Clock
    # The user's templates before those that are shipped.
    templates: Templates
    # Shipped templates alone: for pages and notices, and where one of the user's fails.
    fallback_templates: Templates

    # By name, in the order of the configuration.
    sources: Mapping[str, ConfiguredSource]
    # Services that are asked about papers, by name, in the order of asking.
    services: Mapping[str, Service]
    # None without `embeddings:`.
    embeddings: EmbeddingServer | None
    # As the configuration has them; the learned words of `like:` are added by `like_topics`.
    topics: tuple[Topic, ...]
    # All groups of the configuration.
    synonyms: Synonyms
    # In the order of the configuration, paused ones among them.
    subscriptions: tuple[Subscription, ...]
    # The destinations of notices to the operator, () for none.
    operator: tuple[Destination, ...]
    # By name; with "email" where there is a mail server.
    channels: Mapping[str, Channel]

    # Access tokens of a mail account without a password, None without such an account.
    tokens: Tokens | None
    # The keys that sign the links that readers get.
    keys: KeyRing
    # The index of topics, which the runtime of a changed configuration takes over.
    active: ActiveConfig
    # Returns the texts at a name, for `doctor`.
    dns: Lookup = ask
    # Returns how far the machine's clock has run ahead of the time that has passed.
    ahead: Callable[[], timedelta] = clock_ahead
    # Once it is set, work ends at its next step.
    stopping: threading.Event = field(default_factory=threading.Event)
    # The earliest time of the next message, monotonic, by outage group and channel; "" stands for
    # all channels of the group.
    not_before: dict[tuple[str, str], float] = field(default_factory=dict)
    # Counts the readings of an hour that found nothing new, for one line of the log.
    unchanged: Unchanged = field(default_factory=Unchanged)

    @property
    def sender(self) -> str:
        """The From of mail, "" without mail."""
        return self.settings.smtp.sender if self.settings.smtp else ""

    def mail_server(self, outage_group: str) -> SmtpSettings | None:
        """Return the settings of the mail server for its own outage group, None for others."""
        return self.settings.smtp if outage_group == SMTP_SERVER else None

    @cached_property
    def config_hash(self) -> str:
        """A hash of servers, passwords and tokens, too short to guess them from."""
        smtp = self.settings.smtp
        slack = self.settings.slack
        oauth = smtp.oauth if smtp else None
        secrets = [smtp.password if smtp else None, slack.token if slack else None]
        secrets += [oauth.client_secret, oauth.refresh_token] if oauth else []
        parts = [
            repr(smtp),
            repr(slack),
            *(secret.reveal() if secret else "" for secret in secrets),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]

    @cached_property
    def origin(self) -> Origin:
        return origin_of(self.settings.file)

    @cached_property
    def activation_hash(self) -> str:
        """A hash of all that a round puts in force."""
        topics = sorted(self.topics, key=lambda topic: topic.name)
        parts = (topics, sorted(self.subscribed), sorted(self.recipients))
        encoded = msgspec.json.encode(parts, order="deterministic")
        return hashlib.sha256(encoded).hexdigest()[:16]

    @cached_property
    def subscribed(self) -> tuple[Subscribed, ...]:
        """The subscriptions as the store has them."""
        return tuple(
            (
                subscription.name,
                subscription.settings.schedule,
                subscription.settings.timezone,
                subscription.topics,
            )
            for subscription in self.subscriptions
        )

    @cached_property
    def recipients(self) -> frozenset[tuple[str, str, str]]:
        """All (subscription, channel, recipient), the operator's among them."""
        readers = ((entry.name, *to) for entry in self.subscriptions for to in entry.recipients)
        operator = ((OPERATOR, to.channel, name) for to in self.operator for name in to.recipients)
        return frozenset([*readers, *operator])

    @property
    def look_up_wait(self) -> timedelta:
        """How long a digest waits for answers about its papers, at most."""
        return self.settings.look_up.wait if self.settings.look_up else timedelta(0)

    @property
    def outage_groups(self) -> dict[str, list[Channel]]:
        """The channels by outage group: all of one are down together, and sent on in turn."""
        groups: dict[str, list[Channel]] = {}
        for channel in self.channels.values():
            groups.setdefault(channel.outage_group, []).append(channel)
        return groups

    @cached_property
    def group_rules(self) -> dict[str, GroupRule]:
        """How digests show each topic."""
        return {
            name: GroupRule(topic.title or name, topic.max, topic.weight)
            for name, topic in self.settings.topics.items()
        }

    @cached_property
    def titles(self) -> dict[str, str]:
        """The title of each subscription, or its name."""
        return {known.name: known.settings.title or known.name for known in self.subscriptions}

    @cached_property
    def source_titles(self) -> dict[str, str]:
        """The title of each source, or its name."""
        return {name: entry.settings.title or name for name, entry in self.sources.items()}

    @cached_property
    def labels(self) -> dict[str, SourceLabel]:
        """The name of each source in digests, and the site on which its papers are searched for."""
        default = self.settings.search
        return {
            name: SourceLabel(entry.settings.title, entry.source.search_site or default)
            for name, entry in self.sources.items()
        }

    @property
    def reading_order(self) -> list[str]:
        """The names of the sources, libraries first: only of their entries changes are reported."""
        return sorted(self.sources, key=lambda name: self.sources[name].role is Role.NEWS)

    @cached_property
    def service_titles(self) -> dict[str, str]:
        """The name of each service that is asked about papers, as people know it."""
        return {name: service.title for name, service in self.services.items()}

    @cached_property
    def service_labels(self) -> dict[str, SourceLabel]:
        """The same, as digests name sources."""
        return {name: SourceLabel(title) for name, title in self.service_titles.items()}

    @cached_property
    def libraries(self) -> tuple[str, ...]:
        """The names of the sources that are libraries, in the order of the configuration."""
        return tuple(n for n, entry in self.sources.items() if entry.role is Role.LIBRARY)

    @cached_property
    def reference_lists(self) -> tuple[str, ...]:
        """The names of the sources that are reference lists, in the order of the configuration."""
        return tuple(n for n, entry in self.sources.items() if entry.role is Role.REFERENCE)

    @cached_property
    def sharing(self) -> frozenset[str]:
        """The subscriptions with a recipient who gets mails of another one, too."""
        names: dict[str, set[str]] = defaultdict(set)
        for subscription, _, recipient in self.recipients:
            if subscription != OPERATOR and "@" in recipient:
                names[recipient].add(subscription)
        return frozenset().union(*(sharing for sharing in names.values() if len(sharing) > 1))

    @cached_property
    def guarded_libraries(self) -> frozenset[str]:
        """The libraries whose papers some subscription watches."""
        return frozenset().union(*(entry.settings.guard for entry in self.subscriptions))

    def subscriptions_named(self, names: Sequence[str]) -> Sequence[Subscription]:
        """Return the named subscriptions, all when none is named. Raises UsageError."""
        refuse_unknown("subscription", names, self.titles)
        wanted = set(names or self.titles)
        return [entry for entry in self.subscriptions if entry.name in wanted]
