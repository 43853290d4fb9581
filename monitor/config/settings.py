"""What a user may set, section by section: frozen, and refused where it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    SerializeAsAny,
    SkipValidation,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from monitor.config.channel_settings import (
    ChannelSettings,
    DestinationSettings,
    OperatorSettings,
    RetrySettings,
    SlackSettings,
    SmtpSettings,
)
from monitor.config.messages import WrongQueryError
from monitor.config.section import (
    EVERY_TOPIC,
    Section,
    context_of,
    existing_folder,
    existing_source,
    existing_topic,
)
from monitor.config.store_settings import DEFAULT_STORE, RetentionSettings, StoreUrl
from monitor.config.web_settings import Keys, PublicUrl, WebSettings
from monitor.config.yaml_positions import Place
from monitor.config.zones import Zone
from monitor.digest.schedule import parse_schedule
from monitor.errors import Fault, QueryError
from monitor.match import Synonyms, parse_query
from monitor.match.language.lists import field_query, item_query, lists_query
from monitor.match.language.synonyms import NO_SYNONYMS, term
from monitor.model import ChangeKind, FirstRun, Topic
from monitor.setting_types import (
    SOME,
    Duration,
    FilePath,
    Line,
    OneOrMore,
    Secret,
    one_or_more,
    single_line,
)
from monitor.sources.base import SourceOptions

DEFAULT_SCHEDULE = "daily 08:00"


def _query(text: str, info: ValidationInfo) -> str:
    if not context_of(info).unread:
        _read_query(text, text, 0)
    return text


def _item(text: str, info: ValidationInfo) -> str:
    query = item_query(text)
    if not context_of(info).unread:
        _read_query(query, text, int(query != text))
    return text


def _name_of(field: str) -> Callable[[str, ValidationInfo], str]:
    def check(text: str, info: ValidationInfo) -> str:
        if not context_of(info).unread:
            _read_query(field_query(field, text), text, len(field) + 2)
        return text

    return check


def _read_query(query: str, text: str, before: int) -> None:
    """Refuse a query where it is wrong; `before` are the characters that stand before `text`."""
    try:
        parse_query(query)
    except QueryError as fault:
        at = min(max(fault.position - before, 0), len(text))
        raise WrongQueryError(text, QueryError(fault.message, at, fault.hint)) from None


def _schedule(text: str) -> str:
    parse_schedule(text)
    return text


News = Annotated[
    frozenset[ChangeKind],
    BeforeValidator(one_or_more),
    PlainSerializer(sorted, return_type=list[str]),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [kind.value for kind in ChangeKind]},
                {"type": "array", "items": {"enum": [kind.value for kind in ChangeKind]}},
            ]
        }
    ),
]


# What people call a topic, a source or a subscription; its name in the file when it is not set.
Title = Annotated[str, AfterValidator(single_line), Field(max_length=100)]


class SourceSettings(Section):
    """One source: where papers come from. `options` are those of its kind."""

    name: str
    kind: Line
    every: Duration
    first_run: FirstRun | None = None
    title: Title = ""
    options: SkipValidation[SerializeAsAny[SourceOptions]] = Field(repr=False)


Items = OneOrMore[Annotated[str, AfterValidator(_item)]]


class TopicSettings(Section):
    """One watch-topic; see docs/topics.md for the language of its query, and for its lists.

    Of the papers that a digest shows in full, a topic has a share by its `weight`, at most `max`.
    """

    name: str
    query: Annotated[str, AfterValidator(_query)] = ""
    any: Items = ()
    all: Items = ()
    none: Items = ()
    authors: OneOrMore[Annotated[str, AfterValidator(_name_of("author"))]] = ()
    categories: OneOrMore[Annotated[str, AfterValidator(_name_of("category"))]] = ()
    threshold: float = Field(0, ge=0, allow_inf_nan=False)
    sources: OneOrMore[Annotated[str, AfterValidator(existing_source)]] = ()
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
        if not context_of(info).unread and (not self.query or self.threshold):
            try:
                parse_query(self.written, threshold=self.threshold)
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


class SubscriptionSettings(DestinationSettings):
    """Who receives which topics, how and when.

    `max` papers are shown in full, and `titles` more in a line each. `order` is that of a topic's
    papers: as answers teach it, by the words found, or the newest first.
    """

    name: str
    topics: Annotated[OneOrMore[Annotated[str, AfterValidator(existing_topic)]], SOME]
    schedule: Annotated[Line, AfterValidator(_schedule)] = DEFAULT_SCHEDULE
    timezone: Zone = "UTC"
    max: int = Field(25, ge=1, le=400)
    titles: int = Field(60, ge=0, le=400)
    title: Title = ""
    quiet: Literal["skip", "send"] = "skip"
    pause_until: date | None = None
    order: Literal["learned", "words", "newest"] = "learned"


def _with_words(text: str) -> str:
    if not term(text).edges:
        raise ValueError(f"there is no word in “{text}”")
    return text


class General(Section):
    """The settings that stand at the top of the file by themselves."""

    store: StoreUrl = Field(DEFAULT_STORE, repr=False, validate_default=True)
    timezone: Zone = "UTC"
    contact: Annotated[str, AfterValidator(single_line)] = ""
    synonyms: dict[
        Annotated[Line, AfterValidator(_with_words)],
        Annotated[OneOrMore[Annotated[Line, AfterValidator(_with_words)]], SOME],
    ] = Field(default_factory=dict)
    templates: Annotated[FilePath, AfterValidator(existing_folder)] | None = None
    search: Literal["google-scholar", "arxiv"] = "google-scholar"
    public_url: PublicUrl | None = None
    secret_key: Keys = Field((), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole configuration, checked; paths in it are absolute.

    `warnings` are what is probably not intended; `as_written` holds, for values that read the
    environment, what stands in the file; `raw_topics` what each topic was read from, and
    `places` where it stands. `parked` are topics whose query is refused, but is in force in the
    store: they are among `topics`, and find nothing until they are mended.
    """

    file: Path
    store: str = field(repr=False)
    timezone: str
    contact: str
    synonyms: Mapping[str, tuple[str, ...]]
    templates: Path | None
    search: str
    public_url: str | None
    secret_key: tuple[Secret, ...] = field(repr=False)
    sources: Mapping[str, SourceSettings]
    topics: Mapping[str, TopicSettings]
    channels: Mapping[str, ChannelSettings]
    subscriptions: Mapping[str, SubscriptionSettings]
    operator: OperatorSettings | None
    smtp: SmtpSettings | None
    slack: SlackSettings | None
    retry: RetrySettings
    retention: RetentionSettings
    web: WebSettings | None
    warnings: tuple[Fault, ...] = ()
    as_written: Mapping[tuple[str | int, ...], str] = field(default_factory=dict, repr=False)
    raw_topics: Mapping[str, Any] = field(default_factory=dict, repr=False)
    places: Mapping[str, Place] = field(default_factory=dict, repr=False)
    parked: Mapping[str, Fault] = field(default_factory=dict)

    @property
    def takes_slack_answers(self) -> bool:
        """Whether somebody hears what is chosen in a menu of Slack."""
        slack = self.slack
        if slack is None:
            return False
        return bool(slack.app_token or (slack.signing_secret and self.public_url and self.web))


def synonyms_of(settings: Settings) -> Synonyms:
    """Return the words that mean the same in every topic."""
    return Synonyms((word, *others) for word, others in settings.synonyms.items())


def topics_of(settings: Settings, subscription: SubscriptionSettings) -> tuple[str, ...]:
    """Return the names of the topics a subscription has, `*` written out in the file's order."""
    if EVERY_TOPIC in subscription.topics:
        return tuple(settings.topics)
    return subscription.topics
