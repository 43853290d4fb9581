"""What a user may set, section by section: frozen, and refused where it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

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

from monitor.channels.retry_policy import PATIENCE, TIMEOUTS
from monitor.config.messages import WrongQueryError, nearest
from monitor.config.types import (
    SOME,
    Address,
    Duration,
    HttpsUrl,
    Line,
    Mode,
    OneOrMore,
    Secret,
    SecretUrl,
    Sender,
    Span,
    Spans,
    Timeout,
    Zone,
    is_loopback,
    line,
    one_or_more,
    single_line,
)
from monitor.config.yaml_positions import Place
from monitor.digest.schedule import parse_schedule
from monitor.errors import Fault, QueryError
from monitor.match import Synonyms, parse_query
from monitor.match.list_syntax import item_query, labelled, lists_query
from monitor.match.synonyms import NO_SYNONYMS, term
from monitor.model import ChangeKind, FirstRun, Topic
from monitor.sources.base import SourceOptions

EVERY_TOPIC = "*"
DEFAULT_STORE = "sqlite:///data/monitor.db"
SLACK = "https://slack.com/api/"
DEFAULT_SCHEDULE = "daily 08:00"
_PORTS = {"starttls": 587, "implicit": 465, "none": 25}


@dataclass(frozen=True, slots=True)
class Known:
    """What else stands in the file: names that settings may refer to.

    With `unread` queries are taken as they are written, whatever is wrong with them.
    """

    folder: Path = Path()
    sources: Collection[str] = ()
    topics: Collection[str] = ()
    channels: Collection[str] = ()
    smtp: bool = False
    slack: bool = False
    unread: bool = False


class Section(BaseModel):
    """Settings with fixed names. They are validated with a `Known` as the context."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def _known(info: ValidationInfo) -> Known:
    assert isinstance(info.context, Known), "settings are validated with what else is in the file"
    return info.context


def _source_name(name: str, info: ValidationInfo) -> str:
    return _one_of("source", name, _known(info).sources)


def _topic_name(name: str, info: ValidationInfo) -> str:
    return name if name == EVERY_TOPIC else _one_of("topic", name, _known(info).topics)


def _channel_name(name: str, info: ValidationInfo) -> str:
    return _one_of("channel", name, _known(info).channels)


def _one_of(what: str, name: str, names: Collection[str]) -> str:
    if name not in names:
        near = nearest(name, names) or f"; no {what} is set up"
        raise ValueError(f"there is no {what} “{name}”{near}")
    return name


def _mailable(address: str, info: ValidationInfo) -> str:
    if not _known(info).smtp:
        raise ValueError("there is no smtp: section to send e-mail with")
    return address


def _query(text: str, info: ValidationInfo) -> str:
    if not _known(info).unread:
        _read_query(text, text, 0)
    return text


def _item(text: str, info: ValidationInfo) -> str:
    query = item_query(text)
    if not _known(info).unread:
        _read_query(query, text, int(query != text))
    return text


def _name_of(field: str) -> Callable[[str, ValidationInfo], str]:
    def check(text: str, info: ValidationInfo) -> str:
        if not _known(info).unread:
            _read_query(labelled(field, text), text, len(field) + 2)
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


def _inside(path: object, info: ValidationInfo) -> object:
    """Make a path absolute: it is relative to the file that names it."""
    return inside(_known(info).folder, line(path)) if isinstance(path, str) else path


def inside(folder: Path, path: str) -> Path:
    try:
        return folder / Path(path).expanduser()
    except RuntimeError:  # ~nobody: there is no such home
        return folder / path


def _existing_file(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return path


def _existing_folder(path: Path) -> Path:
    if not path.is_dir():
        raise ValueError(f"there is no folder {path}")
    return path


FilePath = Annotated[Path, BeforeValidator(_inside)]
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


class SourceSettings(Section):
    """One source: where papers come from. `options` are those of its kind."""

    name: str
    kind: Line
    every: Duration
    first_run: FirstRun | None = None
    options: SkipValidation[SerializeAsAny[SourceOptions]] = Field(repr=False)


Items = OneOrMore[Annotated[str, AfterValidator(_item)]]


class TopicSettings(Section):
    """One watch-topic; see docs/topics.md for the language of its query, and for its lists."""

    name: str
    query: Annotated[str, AfterValidator(_query)] = ""
    any: Items = ()
    all: Items = ()
    none: Items = ()
    authors: OneOrMore[Annotated[str, AfterValidator(_name_of("author"))]] = ()
    categories: OneOrMore[Annotated[str, AfterValidator(_name_of("category"))]] = ()
    threshold: float = Field(0, ge=0, allow_inf_nan=False)
    sources: OneOrMore[Annotated[str, AfterValidator(_source_name)]] = ()
    news: Annotated[News, SOME] = frozenset({ChangeKind.NEW})
    since: Duration = timedelta(days=7)

    @property
    def written(self) -> str:
        """The query, or what the lists stand for, in the language of topics."""
        return self.query or lists_query(
            self.any, self.all, self.none, self.authors, self.categories
        )

    @model_validator(mode="after")
    def _can_be_met(self, info: ValidationInfo) -> TopicSettings:
        if not _known(info).unread and (not self.query or self.threshold):
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


class EmailOptions(Section):
    """A channel of kind `email`: addresses that several subscriptions share."""

    to: Annotated[OneOrMore[Annotated[Address, AfterValidator(_mailable)]], SOME]


class SlackOptions(Section):
    """A channel of kind `slack`: a channel that the bot is in, or an incoming webhook."""

    channel: Line | None = None
    webhook: SecretUrl | None = None

    @model_validator(mode="after")
    def _one_way(self, info: ValidationInfo) -> SlackOptions:
        if self.channel is None and "channel" in self.model_fields_set:
            raise ValueError('channel: is empty; # begins a comment, so write channel: "#papers"')
        if bool(self.channel) == bool(self.webhook):
            raise ValueError("needs either channel: or webhook:")
        if self.channel and not _known(info).slack:
            raise ValueError("channel: needs the token of a bot, in a slack: section")
        return self


class FileOptions(Section):
    """A channel of kind `file`: a folder of pages; `mode` says who may read those that are new."""

    path: FilePath
    mode: Mode | None = None


class ChannelSettings(Section):
    """One way out. `options` are those of its kind; `name` is what subscriptions call it."""

    name: str
    kind: Line
    options: SkipValidation[SerializeAsAny[BaseModel]] = Field(repr=False)


class _Ways(Section):
    """Ways to reach somebody: e-mail addresses, channels, or both."""

    email: OneOrMore[Annotated[Address, AfterValidator(_mailable)]] = ()
    channels: OneOrMore[Annotated[str, AfterValidator(_channel_name)]] = ()

    @model_validator(mode="after")
    def _some_way(self) -> _Ways:
        if not self.email and not self.channels:
            raise ValueError("names nowhere to send to; give it email: or channels:")
        return self


class SubscriptionSettings(_Ways):
    """Who is told of which topics, how, and when. `max` papers are shown in full."""

    name: str
    topics: Annotated[OneOrMore[Annotated[str, AfterValidator(_topic_name)]], SOME]
    schedule: Annotated[Line, AfterValidator(_schedule)] = DEFAULT_SCHEDULE
    timezone: Zone = "UTC"
    max: int = Field(25, ge=1, le=400)
    quiet: Literal["skip", "send"] = "skip"
    pause_until: date | None = None


class OperatorSettings(_Ways):
    """Who is told of incidents, and of their end."""


class TimeoutSettings(Section):
    """How long the mail server may take in each phase; `block` is for each 64 KB of the text."""

    connect: Timeout = timedelta(seconds=TIMEOUTS.connect)
    greeting: Timeout = timedelta(seconds=TIMEOUTS.greeting)
    mail: Timeout = timedelta(seconds=TIMEOUTS.mail)
    rcpt: Timeout = timedelta(seconds=TIMEOUTS.rcpt)
    data: Timeout = timedelta(seconds=TIMEOUTS.data)
    block: Timeout = timedelta(seconds=TIMEOUTS.block)
    final: Timeout = timedelta(seconds=TIMEOUTS.final)


class SmtpSettings(Section):
    """The mail server. `port` follows from `tls` unless it is set; `sender` is `from:`."""

    host: Line
    port: int = Field(587, ge=1, le=65535)
    tls: Literal["starttls", "implicit", "none"] = "starttls"
    username: Line | None = None
    password: Secret | None = None
    sender: Sender = Field(alias="from")
    ca_file: Annotated[FilePath, AfterValidator(_existing_file)] | None = None
    unknown: Literal["resend", "hold"] = "resend"
    connections: int = Field(1, ge=1, le=32)
    per_connection: int = Field(50, ge=1)
    per_minute: int | None = Field(None, ge=1)
    timeouts: TimeoutSettings = Field(default_factory=TimeoutSettings)
    insecure: bool = False

    @model_validator(mode="before")
    @classmethod
    def _usual_port(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and "port" not in raw:
            return {**raw, "port": _PORTS.get(str(raw.get("tls", "starttls")), 587)}
        return raw

    @model_validator(mode="after")
    def _protected(self) -> SmtpSettings:
        """RFC 8314: nothing in clear beyond this machine, and a password never."""
        if bool(self.username) != bool(self.password):
            raise ValueError("username: and password: go together; one of them is missing")
        if self.tls == "none" and not is_loopback(self.host):
            if self.password:
                raise ValueError("tls: none would send the password in clear; use starttls")
            if not self.insecure:
                raise ValueError(
                    f"tls: none would send mail in clear to {self.host}; "
                    "use starttls, or say insecure: true if you mean it"
                )
        return self


class SlackSettings(Section):
    """The bot that posts to channels."""

    base_url: HttpsUrl = SLACK
    token: Secret


class RetrySettings(Section):
    """When a delivery is tried again that was not taken, and how long a channel that is down rests.

    Of each wait the least and the most is told; the last one holds for all later ones.
    """

    waits: Annotated[Spans, SOME] = PATIENCE.waits
    give_up: Duration = PATIENCE.give_up
    rest: Span = PATIENCE.rest


class RetentionSettings(Section):
    """How long what is known is kept; papers are kept for ever unless an age or a number is set."""

    papers: Duration | None = None
    count: int | None = Field(None, ge=1)
    matches: Duration = timedelta(days=180)
    bodies: Duration = timedelta(days=90)
    runs: Duration = timedelta(days=365)


def _store(url: str, info: ValidationInfo) -> str:
    """Make a relative SQLite path absolute; the messages never show the URL."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        path = rest.removeprefix("/")
        if not rest.startswith("/") or path in ("", ":memory:") or path.startswith("file:"):
            raise ValueError("needs a file, as in sqlite:///data/monitor.db")
        return f"sqlite:///{inside(_known(info).folder, path)}"
    if scheme in ("postgresql", "postgres", "postgresql+psycopg") and _is_address(rest):
        return f"postgresql+psycopg://{rest}"
    raise ValueError(f"should be {DEFAULT_STORE} or postgresql+psycopg://user@host/database")


def _with_words(text: str) -> str:
    if not term(text).edges:
        raise ValueError(f"there is no word in “{text}”")
    return text


def _is_address(rest: str) -> bool:
    try:
        parts = urlsplit(f"//{rest}")
        return bool(parts.path.strip("/")) and parts.port != 0
    except ValueError:
        return False


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
    templates: Annotated[FilePath, AfterValidator(_existing_folder)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole configuration, checked; paths in it are absolute.

    `warnings` are what is legal but hardly meant; `as_written` holds, for values that read the
    environment, what stands in the file; `topics_told` what each topic was read from, and
    `places` where it stands. `parked` are topics whose query is refused, but is in force in the
    store: they are among `topics`, and find nothing until they are mended.
    """

    file: Path
    store: str = field(repr=False)
    timezone: str
    contact: str
    synonyms: Mapping[str, tuple[str, ...]]
    templates: Path | None
    sources: Mapping[str, SourceSettings]
    topics: Mapping[str, TopicSettings]
    channels: Mapping[str, ChannelSettings]
    subscriptions: Mapping[str, SubscriptionSettings]
    operator: OperatorSettings | None
    smtp: SmtpSettings | None
    slack: SlackSettings | None
    retry: RetrySettings
    retention: RetentionSettings
    warnings: tuple[Fault, ...] = ()
    as_written: Mapping[tuple[str | int, ...], str] = field(default_factory=dict, repr=False)
    topics_told: Mapping[str, Any] = field(default_factory=dict, repr=False)
    places: Mapping[str, Place] = field(default_factory=dict, repr=False)
    parked: Mapping[str, Fault] = field(default_factory=dict)


def synonyms_of(settings: Settings) -> Synonyms:
    """Return the words that mean the same in every topic."""
    return Synonyms((word, *others) for word, others in settings.synonyms.items())


def topics_of(settings: Settings, subscription: SubscriptionSettings) -> tuple[str, ...]:
    """Return the names of the topics a subscription has, `*` written out in the file's order."""
    if EVERY_TOPIC in subscription.topics:
        return tuple(settings.topics)
    return subscription.topics
