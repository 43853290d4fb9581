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
from monitor.embeddings.settings import EmbeddingSettings
from monitor.errors import Fault, QueryError, nearest
from monitor.identity.keys import identifiers_in
from monitor.look_up.settings import LookUpSettings
from monitor.match import Synonyms, learned_from_text
from monitor.match.language.lists import field_query, item_query, lists_query
from monitor.match.language.query import parse_once
from monitor.match.language.synonyms import NO_SYNONYMS, term
from monitor.match.like import MAX_TEXT, MOST_EXAMPLES
from monitor.model import ChangeKind, FirstRun, LikeText, Role, Topic
from monitor.plugins import CHANNELS, SOURCES, Kinds
from monitor.setting_types import (
    LONGEST_DISPLAY_NAME,
    SOME,
    Duration,
    ExistingFolder,
    Libraries,
    Line,
    OneOrMore,
    Recipients,
    Required,
    SecretWebUrl,
    Section,
    Unset,
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
        if what == "channel" and name.casefold() in ("email", "mail"):
            near = "; addresses are under email: of the subscription, as in email: ada@example.org"
        if what == "topic" and name.casefold() == "all":
            near = f'; for all topics write topics: ["{EVERY_TOPIC}"]'
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
# The name of a topic, source or subscription in digests.
Title = Annotated[
    str, AfterValidator(single_line), Field(max_length=LONGEST_DISPLAY_NAME), Unset("its name")
]


class General(Section):
    """The settings that stand at the top of the file by themselves."""

    store: Annotated[Line, AfterValidator(_store)] = Field(
        DEFAULT_STORE,
        repr=False,
        validate_default=True,
        description="the database for papers, digests and deliveries",
    )
    timezone: Annotated[Zone, Unset("`TZ`, else `UTC`")] = Field(
        "UTC", description="the zone of schedules, an IANA name such as `Europe/Berlin`"
    )
    contact: Annotated[str, AfterValidator(single_line)] = Field(
        "", description="an address or URL sent to servers (in the User-Agent)"
    )
    search: Literal["google-scholar", "arxiv"] = Field(
        "google-scholar",
        description="where titles of papers without a link lead: a search on `google-scholar` or "
        "`arxiv` (`huggingface-page`: on Hugging Face)",
    )
    public_url: PublicUrl | None = Field(
        None,
        description="what links in mails and feeds begin with: `https://papers.example.org`; see "
        "[Pages](pages.md#links-in-mails). Unset, mails have no links to pages",
    )
    secret_key: Annotated[Keys, Unset("made once, kept in the store")] = Field(
        (),
        repr=False,
        description="a secret, signs the links in mails and feeds; of a list, the first signs, "
        "all verify. At least 16 characters each",
    )
    ping_url: SecretWebUrl | None = Field(
        None,
        repr=False,
        description="an address that is requested every five minutes while all is well: "
        "[a dead-man's switch](operations.md#a-dead-mans-switch)",
    )
    templates: ExistingFolder | None = Field(
        None, description="an existing folder with [your templates](templates.md)"
    )
    synonyms: dict[
        Annotated[Line, AfterValidator(_with_words)],
        Annotated[OneOrMore[Annotated[Line, AfterValidator(_with_words)]], SOME],
    ] = Field(
        default_factory=dict,
        description="[words with the same meaning](topics.md#synonyms) in all topics: "
        "`{LLM: large language model}`",
    )


class Included(Section):
    """The setting that brings more files, which are read before all others are checked."""

    include: OneOrMore[str] = Field(
        (), description="[more files](#several-files): a path, a glob or a list"
    )


class SourceSettings(Section):
    """One source: where papers come from. `options` are those of its kind."""

    name: str
    kind: Line = Field(
        description="a built-in kind such as `feed` or `arxiv`, or one from a plug-in"
    )
    options: SkipValidation[SerializeAsAny[SourceOptions]] = Field(repr=False)
    every: Annotated[Duration, Unset("`1m` for `path`, `7d` with `about`, else `1h`")] = Field(
        description="how often to read"
    )
    title: Title = Field("", description="what digests call it")
    role: Role = Field(
        Role.NEWS,
        description="`library`: papers that you have; `reference`: a list that fills in links; "
        "neither makes a paper known or news",
    )
    first_run: Annotated[FirstRun | None, Unset("[by kind](sources.md)")] = Field(
        None,
        description="what to announce from the first reading: everything (`deliver`), nothing "
        "(`baseline`), or 7 days and the newest 20 undated entries (`recent`)",
    )


class ChannelSettings(Section):
    """One channel. `options` are those of its kind; `name` is what subscriptions call it."""

    name: str
    kind: Line = Field(
        description="`email`, `slack`, `ntfy`, `apprise`, `webhook`, `file`, or one of a plug-in"
    )
    options: SkipValidation[SerializeAsAny[BaseModel]] = Field(repr=False)


@lru_cache(100_000)
def query_warnings(query: str, threshold: float) -> tuple[QueryError, ...]:
    """Parse a query once: its validators and its warnings ask. Raises QueryError."""
    return parse_once(query, (), threshold).warnings


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


# The kinds of sources that read a file of examples, by its ending.
EXAMPLE_FILES = {".bib": "bibtex", ".ris": "ris", ".jsonl": "jsonl"}
_KINDS_OF_NEWS = {"enum": [kind.value for kind in ChangeKind]}
News = Annotated[
    frozenset[ChangeKind],
    BeforeValidator(one_or_more),
    PlainSerializer(sorted, return_type=list[str]),
    WithJsonSchema({"anyOf": [_KINDS_OF_NEWS, {"type": "array", "items": _KINDS_OF_NEWS}]}),
]
Items = OneOrMore[Annotated[str, _parsed(item_query)]]


def _text_alone(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


def _examples_file(path: str, info: ValidationInfo) -> str:
    context = context_of(info)
    folder = context.folder
    # Where the configuration lies is no part of a topic, whose words would else be learned again
    # once its folder is moved, or mounted elsewhere.
    if folder.is_relative_to(context.configuration):
        folder = folder.relative_to(context.configuration)
    named = resolve_path(folder, path)
    if named.suffix.lower() not in EXAMPLE_FILES:
        raise ValueError(f"“{path}” should end with {', '.join(EXAMPLE_FILES)}")
    return str(named)


def _identifier(name: str) -> str:
    if ":" not in name and not {"arxiv", "doi"} & dict(identifiers_in(name)).keys():
        raise ValueError(f"“{name}” is no identifier, as in arxiv:2307.13854 or doi:10.1000/182")
    return name


class LikeSettings(Section):
    """A text that the papers of a topic are like, examples, or both."""

    text: Annotated[str, Field(max_length=MAX_TEXT), Required("without `papers` and `file`")] = (
        Field("", description="a sentence, or an abstract")
    )
    papers: OneOrMore[Annotated[Line, AfterValidator(_identifier)]] = Field(
        (),
        max_length=MOST_EXAMPLES,
        description=f"stored papers as examples, at most {MOST_EXAMPLES}: arXiv ids, DOIs or "
        "PMIDs, as in `arxiv:2307.13854`",
    )
    file: Annotated[Line, AfterValidator(_examples_file)] | None = Field(
        None,
        description="a file of examples: `.bib`, `.ris` or `.jsonl`; "
        f"the last {MOST_EXAMPLES} papers of it",
    )
    at_least: Annotated[float | None, Unset("chosen when the words are learned")] = Field(
        None,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="the bar: how near a paper must be, from 0 to 1",
    )
    at_most: Annotated[int | None, Unset("10")] = Field(
        None,
        ge=1,
        le=1_000,
        description="papers a day that the bar is chosen for, by the newest stored papers",
    )

    @model_validator(mode="after")
    def _check_words(self, info: ValidationInfo) -> LikeSettings:
        if not (self.text or self.papers or self.file):
            raise ValueError("needs a text, papers or a file, as in like: agents that play games")
        if not (self.papers or self.file) and not context_of(info).unread:
            try:
                learned_from_text(self.like)
            except QueryError as fault:
                raise ValueError(f"{fault.message}; {fault.hint}") from None
        return self

    @property
    def like(self) -> LikeText:
        return LikeText(self.text, self.papers, self.file or "", self.at_least, self.at_most)


class TopicSettings(Section):
    """One watch-topic."""

    name: str
    query: Annotated[str, _parsed(str), Required("without lists and `like`")] = Field(
        "", description="what to look for, in the [topic language](topics.md)"
    )
    like: Annotated[LikeSettings | None, BeforeValidator(_text_alone)] = Field(
        None,
        description="papers near to a [sentence, an abstract or examples](topics.md#like-a-text): "
        "a text or settings; with `query` or lists both must match",
    )
    any: Items = Field(
        (), description="instead of `query`: one of these [words and phrases](topics.md#lists)"
    )
    all: Items = Field(
        (), description="instead of `query`: all of these [words and phrases](topics.md#lists)"
    )
    none: Items = Field(
        (), description="with other lists: none of these [words and phrases](topics.md#lists)"
    )
    authors: Annotated[
        OneOrMore[Annotated[str, _parsed(partial(field_query, "author"))]], Unset("all")
    ] = Field((), description="instead of `query`: one of these authors")
    categories: Annotated[
        OneOrMore[Annotated[str, _parsed(partial(field_query, "category"))]], Unset("all")
    ] = Field((), description="instead of `query`: one of these categories")
    threshold: float = Field(
        0,
        ge=0,
        allow_inf_nan=False,
        description="minimum total [weight](topics.md#weights-and-thresholds) of the matched terms",
    )
    sources: Annotated[OneOrMore[Annotated[str, _existing("source")]], Unset("all")] = Field(
        (), description="only papers from one of these sources"
    )
    news: Annotated[News, SOME] = Field(
        frozenset({ChangeKind.NEW}),
        description="which [kinds of news](topics.md#kinds-of-news) to announce, one or a list: "
        "`new`, `revised`, `withdrawn`, `older`",
    )
    since: Duration = Field(
        timedelta(days=7), description="how far back a new or changed topic searches stored papers"
    )
    title: Title = Field("", description="what digests call it")
    weight: float = Field(
        1,
        gt=0,
        le=100,
        allow_inf_nan=False,
        description="its share of the papers in full: 2 gets twice the places of 1; unused places "
        "go to other topics",
    )
    max: int | None = Field(
        None, ge=1, le=400, description="most papers to show in full (1 to 400)"
    )

    @property
    def written(self) -> str:
        """The query, or what the lists stand for, in the language of topics."""
        return self.query or lists_query(
            self.any, self.all, self.none, self.authors, self.categories
        )

    @model_validator(mode="after")
    def _check_terms(self, info: ValidationInfo) -> TopicSettings:
        if (self.written or not self.like) and not context_of(info).unread:
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
            like=self.like.like if self.like else None,
        )


class DestinationSettings(Section):
    """Destinations: e-mail addresses, channels, or both."""

    email: Annotated[Recipients, Required("without `channels`")] = Field(
        (), description="one address or a list; each gets a separate mail"
    )
    channels: Annotated[
        OneOrMore[Annotated[str, _existing("channel")]], Required("without `email`")
    ] = Field((), description="the name of a channel, or a list")

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

    Without `max`, each matched topic has a paper in full, also where these are more than 12.
    """

    name: str
    topics: Annotated[
        OneOrMore[Annotated[str, _existing("topic")]], SOME, Required("without `guard`")
    ] = Field((), description='names, or `["*"]` for all present and future topics')
    schedule: Annotated[Line, AfterValidator(_schedule)] = Field(
        "daily 08:00", description="when digests are due"
    )
    timezone: Annotated[Zone, Unset("that of the file")] = Field(
        "UTC", description="the zone of the schedule"
    )
    title: Title = Field("", description="what mails and pages call it")
    max: int = Field(
        12,
        ge=1,
        le=400,
        description="papers shown in full (1 to 400), "
        "[shared among the topics](channels.md#how-much-a-message-shows); the others by title",
    )
    titles: int = Field(
        40,
        ge=0,
        le=400,
        description="how many papers to list by title in the mail or page itself (0 to 400); the "
        "rest is attached, or on further pages",
    )
    at_most: int | None = Field(
        None,
        ge=1,
        le=400,
        description="the most papers that a mail or a digest in Slack shows (1 to 400); the "
        "archive has the others",
    )
    lead: int = Field(
        3,
        ge=0,
        le=3,
        description="how many papers head a digest of eight or more under "
        "[Read first](ranking.md#read-first) (0 to 3)",
    )
    lines: bool = Field(
        True,
        description="whether papers show a [line that a machine wrote](sources.md#lines) of them, "
        "where their source has one",
    )
    quiet: Literal["skip", "send"] = Field(
        "skip", description="without new papers: `skip` the digest, or `send` an empty one"
    )
    order: Literal["learned", "words", "newest", "trending"] = Field(
        "learned",
        description="within each topic: `learned` from [answers](ranking.md), by the `words` "
        "found, `newest` first, or `trending`: "
        "[votes, then lists, then rank](sources.md#lists-votes-and-ranks)",
    )
    libraries: Libraries = Field(
        (),
        description="sources with `role: library`: "
        "[papers that the readers have](sources.md#libraries)",
    )
    owned: Literal["skip", "mark"] = Field(
        "mark", description="papers of these libraries: `mark` them, or `skip` them"
    )
    examples: bool = Field(
        False,
        description="let the papers of these libraries teach the [order](ranking.md#examples), as "
        "if they were rated wanted",
    )
    guard: Libraries = Field(
        (),
        description="libraries whose papers are watched: "
        "[their changes](sources.md#your-references) head the digest",
    )
    pause_until: date | None = Field(
        None,
        description="no digest before this date; the next contains everything that waited",
    )

    @model_validator(mode="after")
    def _check_topics(self) -> SubscriptionSettings:
        if not self.topics and not self.guard:
            raise ValueError("has no topics; add topics: or guard:")
        return self


class RetentionSettings(Section):
    """How long what is known is kept; papers and pages for ever unless a limit is set."""

    papers: Annotated[Duration | None, Unset("never")] = Field(
        None,
        description="delete papers first seen longer ago, and undecided records read longer ago",
    )
    count: Annotated[int | None, Unset("no limit")] = Field(
        None, ge=1, description="delete the oldest papers beyond this number"
    )
    matches: Duration = Field(
        timedelta(days=180),
        description="delete older records of which topics a paper matched, for `explain`",
    )
    bodies: Duration = Field(
        timedelta(days=90),
        description="delete older messages and texts of digests; `preview` then shows the papers "
        "as they are now",
    )
    runs: Duration = Field(
        timedelta(days=365), description="delete older runs, except the last of each source"
    )
    pages: Annotated[Duration | None, Unset("never")] = Field(
        None,
        description="delete pages of [`file` channels](channels.md#file) that were delivered "
        "longer ago",
    )


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
    "look_up": LookUpSettings,
    "embeddings": EmbeddingSettings,
    "web": WebSettings,
}
# Those of many entries, each with a name.
NAMED = ("sources", "topics", "channels", "subscriptions")
TOP_LEVEL = (*General.model_fields, *Included.model_fields, *SECTIONS)
KINDS: Mapping[str, Kinds[Any]] = {"sources": SOURCES, "channels": CHANNELS}


class Settings(General):
    """The whole configuration, checked; paths in it are absolute, but those of `path_of_examples`.

    `warnings` are what is probably not intended; `as_written` holds, for values that read the
    environment, the text of the file, and `variables`, by source, what its address reads there;
    `variables_of_services` is what the addresses of `look_up:` and `embeddings:` read. `places` is
    where each topic stands. `parked` are topics
    whose query is refused but active in the store: they are among `topics`, and find nothing until
    they are corrected.
    """

    model_config = ConfigDict(defer_build=True)

    file: Path
    sources: Mapping[str, SourceSettings] = Field(
        default_factory=dict,
        description="where papers come from: names with [their settings](#sources)",
    )
    topics: Mapping[str, TopicSettings] = Field(
        default_factory=dict, description="what to look for: names with [their settings](#topics)"
    )
    channels: Mapping[str, ChannelSettings] = Field(
        default_factory=dict, description="where digests go: names with [their settings](#channels)"
    )
    subscriptions: Mapping[str, SubscriptionSettings] = Field(
        default_factory=dict,
        description="who receives which topics: names with [their settings](#subscriptions)",
    )
    operator: OperatorSettings | None = Field(
        None, description="[who is notified](#operator) of incidents"
    )
    smtp: SmtpSettings | None = Field(
        None, description="[the mail server](#mail); required for e-mail"
    )
    slack: SlackSettings | None = Field(
        None, description="[the Slack bot](#slack); required for Slack channels without a webhook"
    )
    retry: RetrySettings = Field(
        RetrySettings(), description="[when deliveries are retried](#trying-again)"
    )
    retention: Annotated[RetentionSettings, Unset("keep papers")] = Field(
        RetentionSettings(),
        description="what to delete and when: `papers`, `count`, `matches`, `bodies`, `runs`, "
        "`pages`; see [clean-up](operations.md#clean-up)",
    )
    look_up: LookUpSettings | None = Field(
        None,
        description="[which services are asked](#looking-up) what the records of papers do not "
        "say: they are sent titles",
    )
    embeddings: EmbeddingSettings | None = Field(
        None,
        description="[which model is asked](#embeddings) how near papers are to the texts of "
        "`like:` topics: it is sent both",
    )
    web: Annotated[WebSettings | None, Unset("on, this machine only")] = Field(
        None, description="[where pages are served](#pages); `web: off` serves none"
    )
    warnings: tuple[Fault, ...] = ()
    as_written: Mapping[tuple[str | int, ...], str] = Field(default_factory=dict, repr=False)
    variables: Mapping[str, Variables] = Field(default_factory=dict)
    variables_of_services: Variables = Field(default_factory=Variables)
    places: Mapping[str, Place] = Field(default_factory=dict, repr=False)
    parked: Mapping[str, Fault] = Field(default_factory=dict)

    @property
    def all_variables(self) -> Variables:
        """The variables in the addresses of all sources, and of services that are asked."""
        of_each = (*self.variables.values(), self.variables_of_services)
        return Variables(dict(item for v in of_each for item in v.values.items()))

    def path_of_examples(self, file: str) -> Path:
        """Return the path of the `file` of a `like:`, which may be relative to our folder."""
        return self.file.parent / file

    @property
    def may_repeat(self) -> tuple[str, ...]:
        """The channels whose messages may arrive twice in more cases than a mail."""
        return tuple(
            name
            for name, channel in self.channels.items()
            if getattr(channel.options, "may_repeat", False)
        )

    @property
    def takes_slack_answers(self) -> bool:
        """Whether we receive what is chosen in a menu of Slack."""
        slack = self.slack
        has_page = self.public_url and self.web
        return bool(slack and (slack.app_token or (slack.signing_secret and has_page)))


def synonyms_of(settings: Settings) -> Synonyms:
    """Return the words that mean the same in every topic."""
    return Synonyms((word, *others) for word, others in settings.synonyms.items())


def topics_of(settings: Settings, subscription: SubscriptionSettings) -> tuple[str, ...]:
    """Return the names of the topics a subscription has, `*` written out in the file's order."""
    if EVERY_TOPIC in subscription.topics:
        return tuple(settings.topics)
    return subscription.topics
