"""What each stage of the pipeline is given: a context of its own. `Runtime` is all of them."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

import msgspec

from monitor.channels.base import Channel
from monitor.channels.email.oauth import Tokens
from monitor.channels.email.sender_dns import Lookup, ask
from monitor.channels.retry_policy import DEFAULT_RETRY, RetrySettings
from monitor.config.settings import RetentionSettings, SourceSettings, SubscriptionSettings
from monitor.digest.schedule import Schedule
from monitor.match.language.synonyms import NO_SYNONYMS, Synonyms
from monitor.model import Clock, FirstRun, SectionRule, SourceLabel, Templates, Topic
from monitor.pipeline.active_config import InForce
from monitor.signing import KeyRing
from monitor.sources.base import Source
from monitor.sources.calendar import Calendar
from monitor.store.engine.database import Database
from monitor.store.engine.locks import Lock
from monitor.store.engine.processes import Origin
from monitor.store.topics.subscriptions import Subscribed

OPERATOR = "@operator"


class ConfiguredSource(msgspec.Struct, frozen=True):
    """A source with its settings, of which its kind decides those that are not set."""

    settings: SourceSettings
    source: Source

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def is_folder(self) -> bool:
        return self.source.options.path is not None

    @property
    def first_run(self) -> FirstRun:
        """What the first reading is worth."""
        return self.settings.first_run or self.source.default_first_run

    @property
    def dated(self) -> bool:
        return self.source.dated and not self.is_folder

    @property
    def calendar(self) -> Calendar | None:
        """The days on which the source publishes, where they are known."""
        return None if self.is_folder else self.source.calendar

    @property
    def search_site(self) -> str:
        """The site on which its papers without a link are found, where it has one of its own."""
        return getattr(self.source, "search_site", "")

    @property
    def address(self) -> str:
        """A hash of the kind and the URL, for which the stored state of the source holds."""
        address = f"{self.source.kind} {self.source.options.url or ''}"
        return hashlib.sha256(address.encode()).hexdigest()[:16]


class Destination(msgspec.Struct, frozen=True):
    """One way to a subscriber: a channel by name, and who is written to on it."""

    channel: str
    recipients: tuple[str, ...]


class Subscription(msgspec.Struct, frozen=True):
    """Who gets what, how and when. `topics` are names, "*" already expanded."""

    settings: SubscriptionSettings
    topics: tuple[str, ...]
    destinations: tuple[Destination, ...]
    schedule: Schedule

    @property
    def name(self) -> str:
        return self.settings.name


# ── what each stage needs ───────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class StageContext:
    """What every stage needs.

    `ahead` returns how far the machine's clock has run ahead of the time that has passed.
    """

    database: Database
    clock: Clock
    ahead: Callable[[], timedelta] = timedelta
    stopping: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, kw_only=True)
class IngestContext(StageContext):
    sources: Mapping[str, ConfiguredSource]


@dataclass(frozen=True, kw_only=True)
class RecipientsContext(StageContext):
    """Who is written to, and over what."""

    subscriptions: tuple[Subscription, ...]
    operator: tuple[Destination, ...]
    channels: Mapping[str, Channel]

    @cached_property
    def recipients(self) -> frozenset[tuple[str, str, str]]:
        """All (subscription, channel, recipient), the operator's among them."""
        destinations = [
            (subscription.name, way)
            for subscription in self.subscriptions
            for way in subscription.destinations
        ]
        destinations += [(OPERATOR, way) for way in self.operator]
        return frozenset(
            (name, way.channel, to) for name, way in destinations for to in way.recipients
        )

    @property
    def outage_groups(self) -> dict[str, list[Channel]]:
        """The channels by outage group: all of one are down together, and sent on in turn."""
        groups: dict[str, list[Channel]] = {}
        for channel in self.channels.values():
            groups.setdefault(channel.outage_group, []).append(channel)
        return groups


@dataclass(frozen=True, kw_only=True)
class MatchContext(RecipientsContext):
    """`origin` is where the configuration is from."""

    sources: Mapping[str, ConfiguredSource]
    topics: tuple[Topic, ...]
    origin: Origin
    in_force: InForce = field(default_factory=InForce)

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


@dataclass(frozen=True, kw_only=True)
class ComposeContext(MatchContext):
    """`sender` is the From of mail; `unnotified` are the incidents whose notice failed.

    `sections` says how topics are shown, by name; `contact` is the address that readers write to,
    and `search` the site on which papers without a link are found.
    """

    templates: Templates
    fallback_templates: Templates
    timezone: str
    sender: str = ""
    retry: RetrySettings = DEFAULT_RETRY
    unnotified: set[int] = field(default_factory=set)
    sections: Mapping[str, SectionRule] = field(default_factory=dict)
    contact: str = ""
    search: str = ""

    @cached_property
    def labels(self) -> dict[str, SourceLabel]:
        """What digests call each source, and where its papers are searched for."""
        return {
            name: SourceLabel(source.settings.title, source.search_site or self.search)
            for name, source in self.sources.items()
        }

    @cached_property
    def titles(self) -> Counter[str]:
        """How many subscriptions have each title: one that several have names none."""
        return Counter(subscription.settings.title for subscription in self.subscriptions)

    @cached_property
    def sharing(self) -> frozenset[str]:
        """The subscriptions with a recipient who gets mails of another one, too."""
        names: dict[str, set[str]] = defaultdict(set)
        for subscription, _, recipient in self.recipients:
            if subscription != OPERATOR and "@" in recipient:
                names[recipient].add(subscription)
        return frozenset().union(*(some for some in names.values() if len(some) > 1))


@dataclass(frozen=True, kw_only=True)
class DeliverContext(RecipientsContext):
    """What delivery knows of its lines, the outage groups of channels.

    On a line in `resends` an uncertain delivery is sent once more; `at_once` is how many are
    sent at a time (1 if absent), `apart` how many seconds two are apart, and `not_before`
    remembers it. `config_hash` changes with the servers and their credentials.
    """

    owner: Lock
    retry: RetrySettings = DEFAULT_RETRY
    resends: frozenset[str] = frozenset()
    at_once: Mapping[str, int] = field(default_factory=dict)
    apart: Mapping[str, float] = field(default_factory=dict)
    not_before: dict[tuple[str, str], float] = field(default_factory=dict)
    config_hash: str = ""


@dataclass(frozen=True, kw_only=True)
class CleanupContext(StageContext):
    retention: RetentionSettings = field(default_factory=RetentionSettings)


@dataclass(frozen=True, kw_only=True)
class Runtime(IngestContext, ComposeContext, DeliverContext, CleanupContext):
    """Everything that has a lifetime, opened and closed by `monitor.wiring`: each stage's context.

    `dns` returns the texts at a name; `tokens` are those of a mail account without a password;
    `keys` sign the links that readers get, which begin with `public_url`.
    """

    synonyms: Synonyms = NO_SYNONYMS
    dns: Lookup = ask
    tokens: Tokens | None = None
    public_url: str = ""
    keys: KeyRing = field(default_factory=lambda: KeyRing(()))
