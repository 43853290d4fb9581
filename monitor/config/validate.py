"""What is written becomes Settings: every piece is validated, so that all faults are told."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from monitor import plugins
from monitor.config import suggestions
from monitor.config.files import Written
from monitor.config.messages import WrongQueryError, nearest, sentence
from monitor.config.settings import (
    EVERY_TOPIC,
    ChannelSettings,
    EmailOptions,
    FileOptions,
    General,
    Known,
    OperatorSettings,
    RetentionSettings,
    RetrySettings,
    Section,
    Settings,
    SlackOptions,
    SlackSettings,
    SmtpSettings,
    SourceSettings,
    SubscriptionSettings,
    TopicSettings,
    inside,
)
from monitor.config.types import line, zone
from monitor.config.warnings import doubt
from monitor.config.yaml_positions import Path as Where
from monitor.errors import UsageError
from monitor.sources.base import SourceOptions

S = TypeVar("S", bound=Section)
M = TypeVar("M", bound=BaseModel)

SECTIONS = (
    "sources",
    "topics",
    "channels",
    "subscriptions",
    "operator",
    "smtp",
    "slack",
    "retry",
    "retention",
)
TOP_LEVEL = (*General.model_fields, "include", *SECTIONS)
# What a topic may have instead of a query.
LISTS = ("any", "all", "none", "authors", "categories")
CHANNEL_OPTIONS: Mapping[str, type[BaseModel]] = {
    "email": EmailOptions,
    "slack": SlackOptions,
    "file": FileOptions,
}
# A folder is looked at more often than somebody else's server.
EVERY_PATH = timedelta(minutes=1)
EVERY_URL = timedelta(hours=1)

# Stands for options with faults, so that the settings beside them are validated all the same.
_NOTHING = SourceOptions.model_construct()

# A subscription's own `email:` is a channel of this name.
_OWN_CHANNEL = "email"


# The queries of the topics that a store has in force, by name.
InForce = Callable[[str], Mapping[str, str]]


def build(
    written: Written,
    variables: Mapping[str, str],
    before: Settings | None = None,
    in_force: InForce | None = None,
) -> Settings | None:
    """Validate all of it; None when there are faults, which are then in `written`."""
    builder = _Builder(written, before)
    general = builder.general(variables)
    if in_force and general:
        builder.in_force = cache(partial(in_force, general.store))
    sources = builder.entries("sources", builder.source)
    topics = builder.entries("topics", builder.topic)
    channels = builder.entries("channels", builder.channel)
    timezone = general.timezone if general else "UTC"
    subscriptions = builder.entries(
        "subscriptions", lambda where, raw: builder.subscription(where, raw, timezone)
    )
    operator = builder.section("operator", OperatorSettings)
    smtp = builder.section("smtp", SmtpSettings)
    slack = builder.section("slack", SlackSettings)
    retry = builder.section("retry", RetrySettings)
    retention = builder.section("retention", RetentionSettings)
    if written.faults or general is None:
        return None
    settings = Settings(
        file=written.file.absolute(),
        **{name: getattr(general, name) for name in General.model_fields},
        sources=sources,
        topics=topics,
        channels=channels,
        subscriptions=subscriptions,
        operator=operator,
        smtp=smtp,
        slack=slack,
        retry=retry or RetrySettings(),
        retention=retention or RetentionSettings(),
        as_written=written.as_written,
        topics_told=written.values.get("topics") or {},
        places={name: written.place(("topics", name)) for name in topics},
        parked=written.parked,
    )
    doubt(settings, written)
    return replace(
        settings, warnings=tuple(sorted(written.warnings, key=lambda f: (f.file, f.line)))
    )


def build_for_reading(
    written: Written, variables: Mapping[str, str], in_force: InForce | None = None
) -> Settings | None:
    """Return what is valid, for commands that only read the store; None without a valid `store:`.

    Nothing in it can send: channels and addresses are left out, and what refers to something
    that is not valid does without it.
    """
    builder = _Builder(written)
    store = builder.store()
    if store is None:
        return None
    general = builder.general(variables) or store
    if in_force:
        builder.in_force = cache(partial(in_force, store.store))
    topics = builder.entries("topics", builder.topic)
    subscriptions = builder.entries(
        "subscriptions", lambda where, raw: builder.subscription(where, raw, general.timezone)
    )
    return Settings(
        file=written.file.absolute(),
        **{name: getattr(general, name) for name in General.model_fields},
        sources=builder.entries("sources", builder.source),
        topics=topics,
        channels={},
        subscriptions={name: _unreachable(one, topics) for name, one in subscriptions.items()},
        operator=None,
        smtp=None,
        slack=None,
        retry=RetrySettings(),
        retention=RetentionSettings(),
        parked=written.parked,
    )


def _unreachable(
    subscription: SubscriptionSettings, topics: Collection[str]
) -> SubscriptionSettings:
    valid = tuple(name for name in subscription.topics if name in (EVERY_TOPIC, *topics))
    return subscription.model_copy(update={"topics": valid, "channels": (), "email": ()})


def store_of(written: Written) -> str | None:
    """Return the store that a file names, whatever else is wrong in it; None for no valid one."""
    builder = _Builder(written)
    builder.unknown((), builder.values, TOP_LEVEL)
    found = builder.store()
    return found.store if found else None


class _Builder:
    def __init__(self, written: Written, before: Settings | None = None) -> None:
        self.written = written
        self.values = written.values
        self.names = {section: self._names(section) for section in SECTIONS[:4]}
        self._known: dict[str, Known] = {}
        # Topics refer to sources: with others, each is read again.
        same_sources = before and before.sources.keys() == set(self.names["sources"])
        self.before = before if same_sources else None
        self.in_force: Callable[[], Mapping[str, str]] = dict

    def _names(self, section: str) -> Collection[str]:
        entries = self.values.get(section)
        return entries.keys() if isinstance(entries, dict) else ()

    def known(self, where: Where) -> Known:
        """Return what else stands in the file, as settings of one file see it."""
        file = self.written.place(where).file
        if file not in self._known:
            self._known[file] = Known(
                folder=self.written.folder(where),
                sources=self.names["sources"],
                topics=self.names["topics"],
                channels=self.names["channels"],
                smtp=bool(self.values.get("smtp")),
                slack=bool(self.values.get("slack")),
            )
        return self._known[file]

    # ── sections ────────────────────────────────────────────────────────────────────

    def general(self, variables: Mapping[str, str]) -> General | None:
        raw = {name: value for name, value in self.values.items() if name not in SECTIONS}
        self.unknown((), raw, TOP_LEVEL)
        if "timezone" not in raw:
            raw["timezone"] = self._process_zone(variables)
        return self.validate(General, (), _only(raw, _names(General)))

    def store(self) -> General | None:
        """Return the defaults with the `store:` of the file, whatever else is in it.

        None where it is not valid, or may stand there under a misspelt name.
        """
        others = [name for name in self.values if name not in TOP_LEVEL]
        similar = any(difflib.get_close_matches(name.casefold(), ["store"]) for name in others)
        faulty = any(fault.where == "store" for fault in self.written.faults)
        settled = ("store",) in self.written.settled
        if faulty or settled or ("store" not in self.values and similar):
            return None
        return self.validate(General, (), _only(self.values, ["store"]))

    def _process_zone(self, variables: Mapping[str, str]) -> str:
        name = variables.get("TZ", "").removeprefix(":") or "UTC"
        try:
            return zone(name)
        except ValueError as error:
            self.written.fault(("timezone",), f"is not set here, and TZ of the process: {error}")
            return "UTC"

    def section(self, name: str, model: type[S]) -> S | None:
        raw = self.values.get(name)
        return None if raw is None else self.piece(model, (name,), raw)

    def entries(self, section: str, build: Callable[[Where, Any], M | None]) -> dict[str, M]:
        raw = self.values.get(section)
        if raw is not None and not isinstance(raw, dict):
            repaired = suggestions.entries(section, raw)
            self.written.fault((section,), f"should be names with their settings{repaired}")
        built: dict[str, M] = {}
        for name in self.names[section]:
            where = (section, name)
            self._check_name(where, name)
            entry = build(where, self.values[section][name])
            if entry is not None:
                built[name] = entry
        return built

    def _check_name(self, where: Where, name: str) -> None:
        try:
            line(name)
        except ValueError as error:
            self.written.fault(where, f"this name {error}")
        if name != name.strip() or name[:1] in ("@", ".", EVERY_TOPIC) or "/" in name:
            self.written.fault(
                where, "a name may not begin with @, * or a dot, nor hold a / or outer spaces"
            )
        if where == ("channels", _OWN_CHANNEL):
            self.written.fault(
                where, "this name is taken by subscriptions' own email:; choose another"
            )

    # ── entries ─────────────────────────────────────────────────────────────────────

    def topic(self, where: Where, raw: object) -> TopicSettings | None:
        name = str(where[-1])
        before = self.before
        if before and before.topics_told.get(name) == raw and name not in before.parked:
            return before.topics[name]
        found = len(self.written.faults)
        if isinstance(raw, dict):
            lists = next((name for name in LISTS if name in raw), None)
            if lists is None and "query" not in raw:
                self.piece(TopicSettings, where, {**raw, "query": "missing"}, name=where[-1])
                self.written.fault((*where, "query"), "is missing")
                return None
            if lists and "query" in raw:
                said = f"stands beside {lists}:, which says it otherwise; keep one of them"
                self.written.fault((*where, "query"), said)
        return self.piece(TopicSettings, where, raw, name=name) or self._parked(where, raw, found)

    def _parked(self, where: Where, raw: object, found: int) -> TopicSettings | None:
        """Return a topic of which only the query is refused, when it is in force as it is.

        Older rules took it, and an upgrade stops no service. Its faults, those from `found` on,
        are then no faults of the configuration.
        """
        name, faults = str(where[-1]), self.written.faults[found:]
        if not faults or not isinstance(raw, dict) or raw.keys() - _names(TopicSettings):
            return None
        known = replace(self.known(where), unread=True)
        try:
            topic = TopicSettings.model_validate({**raw, "name": name}, context=known)
        except ValidationError:
            return None
        if self.in_force().get(name) != topic.written:
            return None
        self.written.parked[name] = faults[0]
        del self.written.faults[found:]
        return topic

    def subscription(self, where: Where, raw: object, timezone: str) -> SubscriptionSettings | None:
        if isinstance(raw, dict):
            raw = {"timezone": timezone, **raw}
        return self.piece(SubscriptionSettings, where, raw, name=where[-1])

    def source(self, where: Where, raw: object) -> SourceSettings | None:
        if isinstance(raw, dict):
            raw = {"every": EVERY_PATH if raw.get("path") else EVERY_URL, **raw}
            self._doubt_folder(where, raw.get("path"))
        return self._of_kind(SourceSettings, where, raw, plugins.source_kinds(), source_options)

    def _doubt_folder(self, where: Where, path: object) -> None:
        """Warn of a folder: a source reads files, so it fails, and the others go on."""
        if isinstance(path, str) and path.strip():
            found = inside(self.written.folder(where), path)
            if not glob.has_magic(path) and found.is_dir():
                within = f"{path.rstrip('/')}/*"
                said = f'is a folder, not a file; write path: "{within}" for all files in it'
                self.written.warn((*where, "path"), said)

    def channel(self, where: Where, raw: object) -> ChannelSettings | None:
        return self._of_kind(ChannelSettings, where, raw, plugins.channel_kinds(), channel_options)

    def _of_kind(
        self,
        model: type[S],
        where: Where,
        raw: object,
        kinds: Collection[str],
        options_of: Callable[[str], type[BaseModel]],
    ) -> S | None:
        """Validate an entry whose kind says what else may stand in it."""
        if not isinstance(raw, dict):
            self.written.fault(where, f"should be settings, among them kind: {_choice(kinds)}")
            return None
        options = self._options(where, raw, _names(model), kinds, options_of)
        common = {name: raw[name] for name in _names(model) if name in raw} | {
            "name": where[-1],
            "kind": raw.get("kind") or "?",
            "options": options or _NOTHING,
        }
        entry = self.validate(model, where, common)
        return entry if options is not None else None

    def _options(
        self,
        where: Where,
        raw: dict[str, Any],
        common: Collection[str],
        kinds: Collection[str],
        options_of: Callable[[str], type[BaseModel]],
    ) -> BaseModel | None:
        kind = raw.get("kind")
        if not isinstance(kind, str):
            self.written.fault((*where, "kind"), f"is missing; write {_choice(kinds)}")
            return None
        try:
            model = options_of(kind)
        except UsageError as error:
            known = suggestions.kind(kind)
            said = f"{error.message}; {known}" if known else str(error)
            self.written.fault((*where, "kind"), said)
            return None
        self.unknown(where, raw, [*common, *_names(model)])
        return self.validate(model, where, self._absolute(where, _only(raw, _names(model))))

    def _absolute(self, where: Where, raw: dict[str, Any]) -> dict[str, Any]:
        """Make the path: of a source or channel absolute; in a glob, its folder is no glob."""
        path = raw.get("path")
        if not isinstance(path, str) or not path.strip():
            return raw
        folder = self.written.folder(where)
        if glob.has_magic(path):
            folder = Path(glob.escape(str(folder)))
        return {**raw, "path": str(inside(folder, path))}

    # ── pieces ──────────────────────────────────────────────────────────────────────

    def piece(
        self, model: type[S], where: Where, raw: object, name: str | int | None = None
    ) -> S | None:
        if not isinstance(raw, dict):
            repaired = suggestions.entry(str(where[0]), str(where[-1]), raw)
            self.written.fault(where, f"should be settings (name: value){repaired}")
            return None
        self.unknown(where, raw, _names(model))
        named = {} if name is None else {"name": name}
        return self.validate(model, where, _only(raw, _names(model)) | named)

    def unknown(self, where: Where, raw: Mapping[str, Any], names: Collection[str]) -> None:
        for name in raw:
            if name not in names:
                known = nearest(name, names)
                self.written.fault((*where, name), f"“{name}” is not a setting here{known}")

    def validate(self, model: type[M], where: Where, raw: Mapping[str, Any]) -> M | None:
        try:
            return model.model_validate(raw, context=self.known(where))
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                path = (*where, *detail["loc"])
                if detail["type"] == "extra_forbidden":
                    *section, name = detail["loc"]
                    self.unknown(path[:-1], {str(name): None}, _names(_section(model, section)))
                    continue
                said = sentence(detail, self._as_written(path))
                cause = detail.get("ctx", {}).get("error")
                lines = cause.lines if isinstance(cause, WrongQueryError) else 0
                self.written.fault(path, said, lines)
            return None

    def _as_written(self, where: Where) -> str | None:
        """Return the text at a place as the file has it, with no variable put in."""
        value: Any = self.values
        for depth, part in enumerate(where):
            if isinstance(value, str):
                return self.written.as_written.get(where[:depth], value)
            if isinstance(value, list):
                value = value[part] if isinstance(part, int) else None
            else:
                value = value.get(part) if isinstance(value, dict) else None
        return self.written.as_written.get(where, value) if isinstance(value, str) else None


def source_options(kind: str) -> type[BaseModel]:
    """Return the settings of a kind of source; UsageError where there is no such kind."""
    return plugins.source_class(kind).Options


def channel_options(kind: str) -> type[BaseModel]:
    """Return the settings of a kind of channel; UsageError where there is no such kind."""
    if kind in CHANNEL_OPTIONS:
        return CHANNEL_OPTIONS[kind]
    options = getattr(plugins.channel_class(kind), "Options", None)
    if not (isinstance(options, type) and issubclass(options, BaseModel)):
        raise UsageError(f"the channel kind “{kind}” has no Options", "ask those who wrote it")
    return options


def _names(model: type[BaseModel]) -> list[str]:
    """Return the settings of a model as the file writes them."""
    ours = ("name", "options")
    return [field.alias or name for name, field in model.model_fields.items() if name not in ours]


def _section(model: type[BaseModel], where: Iterable[int | str]) -> type[BaseModel]:
    """Return the settings that stand at a place within others."""
    for name in where:
        inner = model.model_fields[str(name)].annotation
        assert isinstance(inner, type) and issubclass(inner, BaseModel)
        model = inner
    return model


def _only(raw: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name in names}


def _choice(words: Collection[str]) -> str:
    *others, last = sorted(words)
    return f"{', '.join(others)} or {last}" if others else last
