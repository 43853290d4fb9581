"""The settings of a user, section by section: frozen, and refused where they are wrong.

The settings of mail, of Slack, of retries, and of each kind of source and channel are declared
with what uses them, and collected here in `SECTIONS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import date, timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializeAsAny,
    SkipValidation,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from monitor.channels.email.settings import SmtpSettings
from monitor.channels.retry_policy import RetrySettings
from monitor.channels.slack import SlackSettings
from monitor.config.messages import WrongQueryError
from monitor.config.web_settings import Keys, PublicUrl, WebSettings
from monitor.config.yaml_positions import Place
from monitor.digest.schedule import parse_schedule
from monitor.errors import Fault, QueryError, nearest
from monitor.match import Synonyms, parse_query
from monitor.match.language.lists import field_query, item_query, lists_query
from monitor.match.language.synonyms import NO_SYNONYMS, term
from monitor.model import ChangeKind, FirstRun, Role, Topic
from monitor.plugins import CHANNELS, SOURCES, Kinds
from monitor.setting_types import (
    SOME,
    Duration,
    ExistingFolder,
    Libraries,
    Line,
    OneOrMore,
    Recipients,
    Section,
    Variables,
    context_of,
    one_or_more,
    resolve_path,
    single_line,
)
from monitor.sources.base import SourceOptions

EVERY_TOPIC = "*"
DEFAULT_STORE = "sqlite:///data/monitor.db"
_SHORT_ZONE = re.compile(r"[A-Z]{2,5}|[^\d\n]*\d.*")


def _existing(what: Literal["source", "topic", "channel"]) -> AfterValidator:
    """Refuse a name that no entry of the file has."""

    def check(name: str, info: ValidationInfo) -> str:
        names: Collection[str] = getattr(context_of(info), f"{what}s")
        if name in names or (what == "topic" and name == EVERY_TOPIC):
            return name
        near = nearest(name, names) or f"; no {what} is configured"
        raise ValueError(f"there is no {what} “{name}”{near}")

    return AfterValidator(check)


def _store(url: str, info: ValidationInfo) -> str:
    """Make a relative SQLite path absolute; the messages never show the URL."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        path = rest.removeprefix("/")
        is_file = path not in ("", ":memory:") and not path.startswith("file:") and "?" not in path
        if not rest.startswith("/") or not is_file:
            raise ValueError("needs a file, as in sqlite:///data/monitor.db")
        return f"sqlite:///{resolve_path(context_of(info).folder, path)}"
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        with suppress(ValueError):
            parts = urlsplit(f"//{rest}")
            if parts.path.strip("/") and parts.port != 0:
                return f"postgresql+psycopg://{rest}"
    raise ValueError(f"should be {DEFAULT_STORE} or postgresql+psycopg://user@host/database")


def valid_zone(name: str) -> str:
    """Return the name of a time zone. Raises ValueError with what to write instead."""
    name = name.removeprefix(":")  # as TZ may have it (POSIX, 8.3)
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # An abbreviation or an offset is near to many, and not to the one that is meant.
        zones = () if _SHORT_ZONE.fullmatch(name.strip()) else sorted(available_timezones())
        hint = nearest(name, zones, "write a city of yours, as in Europe/Berlin")
        raise ValueError(f"“{name}” is not a time zone{hint}") from None
    return name


def _with_words(text: str) -> str:
    if not term(text).edges:
        raise ValueError(f"there is no word in “{text}”")
    return text


Zone = Annotated[str, AfterValidator(valid_zone)]
# The name of a topic, source or subscription in digests; by default its name in the file.
Title = Annotated[str, AfterValidator(single_line), Field(max_length=100)]


class General(Section):
    """The settings that stand at the top of the file by themselves."""

    store: Annotated[Line, AfterValidator(_store)] = Field(
        DEFAULT_STORE, repr=False, validate_default=True
    )
    timezone: Zone = "UTC"
    contact: Annotated[str, AfterValidator(single_line)] = ""
    synonyms: dict[
        Annotated[Line, AfterValidator(_with_words)],
        Annotated[OneOrMore[Annotated[Line, AfterValidator(_with_words)]], SOME],
    ] = Field(default_factory=dict)
    templates: ExistingFolder | None = None
    search: Literal["google-scholar", "arxiv"] = "google-scholar"
    public_url: PublicUrl | None = None
    secret_key: Keys = Field((), repr=False)


class SourceSettings(Section):
    """One source: where papers come from. `options` are those of its kind."""

    name: str
    kind: Line
    every: Duration
    role: Role = Role.NEWS
    first_run: FirstRun | None = None
    title: Title = ""
    options: SkipValidation[SerializeAsAny[SourceOptions]] = Field(repr=False)


class ChannelSettings(Section):
    """One channel. `options` are those of its kind; `name` is what subscriptions call it."""

    name: str
    kind: Line
    options: SkipValidation[SerializeAsAny[BaseModel]] = Field(repr=False)


@lru_cache(100_000)
def query_warnings(query: str, threshold: float) -> tuple[QueryError, ...]:
    """Parse a query once: its validators and its warnings ask. Raises QueryError."""
    return parse_query(query, threshold=threshold).warnings


def _parsed(to_query: Callable[[str], str]) -> AfterValidator:
    """Refuse a text where the query that it stands for is wrong."""

    def check(text: str, info: ValidationInfo) -> str:
        if context_of(info).unread:
            return text
        query = to_query(text)
        try:
            query_warnings(query, 0.0)
        except QueryError as fault:
            # The text is the query, or lies in it between a prefix and a bracket or a quote.
            before = max(len(query) - len(text) - 1, 0)
            at = min(max(fault.position - before, 0), len(text))
            raise WrongQueryError(text, QueryError(fault.message, at, fault.hint)) from None
        return text

    return AfterValidator(check)


_KINDS_OF_NEWS = {"enum": [kind.value for kind in ChangeKind]}
News = Annotated[
    frozenset[ChangeKind],
    BeforeValidator(one_or_more),
    PlainSerializer(sorted, return_type=list[str]),
    WithJsonSchema({"anyOf": [_KINDS_OF_NEWS, {"type": "array", "items": _KINDS_OF_NEWS}]}),
]
Items = OneOrMore[Annotated[str, _parsed(item_query)]]


class TopicSettings(Section):
    """One watch-topic; see docs/topics.md for the language of its query, and for its lists.

    Of the papers that a digest shows in full, a topic has a share by its `weight`, at most `max`.
    """

    name: str
    query: Annotated[str, _parsed(str)] = ""
    any: Items = ()
    all: Items = ()
    none: Items = ()
    authors: OneOrMore[Annotated[str, _parsed(partial(field_query, "author"))]] = ()
    categories: OneOrMore[Annotated[str, _parsed(partial(field_query, "category"))]] = ()
    threshold: float = Field(0, ge=0, allow_inf_nan=False)
    sources: OneOrMore[Annotated[str, _existing("source")]] = ()
    news: Annotated[News, SOME] = frozenset({ChangeKind.NEW})
    since: Duration = timedelta(days=7)
    title: Title = ""
    max: int | None = Field(None, ge=1, le=400)
    weight: float = Field(1, gt=0, le=100, allow_inf_nan=False)

    @property
    def written(self) -> str:
        """The query, or what the lists stand for, in the language of topics."""
        return self.query or lists_query(
            self.any, self.all, self.none, self.authors, self.categories
        )

    @model_validator(mode="after")
    def _check_terms(self, info: ValidationInfo) -> TopicSettings:
        if not context_of(info).unread:
            try:
                query_warnings(self.written, self.threshold)
            except QueryError as fault:
                raise WrongQueryError(self.written, fault) from None
        return self

    def topic(self, synonyms: Synonyms = NO_SYNONYMS) -> Topic:
        return Topic(
            name=self.name,
            query=self.written,
            sources=tuple(sorted(self.sources)),
            news=self.news,
            since=self.since,
            threshold=self.threshold,
            synonyms=synonyms.bearing_on(self.written) if synonyms.groups else (),
        )


class DestinationSettings(Section):
    """Destinations: e-mail addresses, channels, or both."""

    email: Recipients = ()
    channels: OneOrMore[Annotated[str, _existing("channel")]] = ()

    @model_validator(mode="after")
    def _check_destination(self) -> DestinationSettings:
        if not self.email and not self.channels:
            raise ValueError("has no destination; add email: or channels:")
        return self


class OperatorSettings(DestinationSettings):
    """Who is notified when an incident begins and ends."""


def _schedule(text: str) -> str:
    parse_schedule(text)
    return text


class SubscriptionSettings(DestinationSettings):
    """Who receives which topics, how and when.

    `max` papers are shown in full, and `titles` more in a line each; messages show `at_most` of
    both, and the archive has the rest. Without `max`, each matched topic has a paper in full, also
    where these are more than 12. `order` is that of a topic's papers: as answers teach it, by the
    words found, the newest first, or by votes and lists. Papers in one of its `libraries` are
    marked or left out; `examples` says whether these teach the order, too.
    """

    name: str
    topics: Annotated[OneOrMore[Annotated[str, _existing("topic")]], SOME] = ()
    schedule: Annotated[Line, AfterValidator(_schedule)] = "daily 08:00"
    timezone: Zone = "UTC"
    max: int = Field(12, ge=1, le=400)
    titles: int = Field(40, ge=0, le=400)
    at_most: int | None = Field(None, ge=1, le=400)
    title: Title = ""
    quiet: Literal["skip", "send"] = "skip"
    pause_until: date | None = None
    order: Literal["learned", "words", "newest", "trending"] = "learned"
    libraries: Libraries = ()
    owned: Literal["skip", "mark"] = "mark"
    examples: bool = False
    guard: Libraries = ()

    @model_validator(mode="after")
    def _check_topics(self) -> SubscriptionSettings:
        if not self.topics and not self.guard:
            raise ValueError("has no topics; add topics: or guard:")
        return self


class RetentionSettings(Section):
    """How long what is known is kept; papers and pages for ever unless a limit is set."""

    papers: Duration | None = None
    count: int | None = Field(None, ge=1)
    pages: Duration | None = None
    matches: Duration = timedelta(days=180)
    bodies: Duration = timedelta(days=90)
    runs: Duration = timedelta(days=365)


SECTIONS: Mapping[str, type[Section]] = {
    "sources": SourceSettings,
    "topics": TopicSettings,
    "channels": ChannelSettings,
    "subscriptions": SubscriptionSettings,
    "operator": OperatorSettings,
    "retry": RetrySettings,
    "retention": RetentionSettings,
    "smtp": SmtpSettings,
    "slack": SlackSettings,
    "web": WebSettings,
}
# Those of many entries, each with a name.
NAMED = ("sources", "topics", "channels", "subscriptions")
TOP_LEVEL = (*General.model_fields, "include", *SECTIONS)
KINDS: Mapping[str, Kinds[Any]] = {"sources": SOURCES, "channels": CHANNELS}


class Settings(General):
    """The whole configuration, checked; paths in it are absolute.

    `warnings` are what is probably not intended; `as_written` holds, for values that read the
    environment, the text of the file, and `variables`, by source, what its address reads there;
    `places` is where each topic stands. `parked` are topics
    whose query is refused but active in the store: they are among `topics`, and find nothing until
    they are corrected.
    """

    model_config = ConfigDict(defer_build=True)

    file: Path
    sources: Mapping[str, SourceSettings]
    topics: Mapping[str, TopicSettings]
    channels: Mapping[str, ChannelSettings]
    subscriptions: Mapping[str, SubscriptionSettings]
    operator: OperatorSettings | None = None
    smtp: SmtpSettings | None = None
    slack: SlackSettings | None = None
    retry: RetrySettings = RetrySettings()
    retention: RetentionSettings = RetentionSettings()
    web: WebSettings | None = None
    warnings: tuple[Fault, ...] = ()
    as_written: Mapping[tuple[str | int, ...], str] = Field(default_factory=dict, repr=False)
    variables: Mapping[str, Variables] = Field(default_factory=dict)
    places: Mapping[str, Place] = Field(default_factory=dict, repr=False)
    parked: Mapping[str, Fault] = Field(default_factory=dict)

    @property
    def all_variables(self) -> Variables:
        """The variables in the addresses of all sources."""
        return Variables(dict(item for v in self.variables.values() for item in v.values.items()))

    @property
    def takes_slack_answers(self) -> bool:
        """Whether we receive what is chosen in a menu of Slack."""
        slack, has_page = self.slack, self.public_url and self.web
        return bool(slack and (slack.app_token or (slack.signing_secret and has_page)))


def synonyms_of(settings: Settings) -> Synonyms:
    """Return the words that mean the same in every topic."""
    return Synonyms((word, *others) for word, others in settings.synonyms.items())


def topics_of(settings: Settings, subscription: SubscriptionSettings) -> tuple[str, ...]:
    """Return the names of the topics a subscription has, `*` written out in the file's order."""
    if EVERY_TOPIC in subscription.topics:
        return tuple(settings.topics)
    return subscription.topics
