"""Sources, topics, channels and subscriptions: each entry of a section becomes settings."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from monitor import plugins
from monitor.config import suggestions
from monitor.config.channel_settings import (
    ChannelSettings,
)
from monitor.config.files import Written
from monitor.config.kinds import channel_options, source_options
from monitor.config.section import EVERY_TOPIC, Section
from monitor.config.section_validator import (
    SECTIONS,
    SectionValidator,
    list_choices,
    pick,
    setting_names,
)
from monitor.config.settings import (
    General,
    Settings,
    SourceSettings,
    SubscriptionSettings,
    TopicSettings,
)
from monitor.config.web_settings import WebSettings, written_web
from monitor.config.yaml_positions import Path as Where
from monitor.config.zones import zone
from monitor.errors import UsageError
from monitor.setting_types import line, resolve_path
from monitor.sources.base import SourceOptions
from monitor.sources.files import pattern_fault

S = TypeVar("S", bound=Section)
M = TypeVar("M", bound=BaseModel)

# What a topic may have instead of a query.
LISTS = ("any", "all", "none", "authors", "categories")

TOP_LEVEL = (*General.model_fields, "include", *SECTIONS)
# A folder is looked at more often than somebody else's server.
EVERY_PATH = timedelta(minutes=1)
EVERY_URL = timedelta(hours=1)

# Stands for options with faults, so that the settings beside them are validated all the same.
_NOTHING = SourceOptions.model_construct()

# A subscription's own `email:` is a channel of this name.
_OWN_CHANNEL = "email"


class EntryValidator(SectionValidator):
    def __init__(self, written: Written, before: Settings | None = None) -> None:
        super().__init__(written)
        # Topics refer to sources: with others, each is read again.
        same_sources = before and before.sources.keys() == set(self.names["sources"])
        self.before = before if same_sources else None
        self.in_force: Callable[[], Mapping[str, str]] = dict

    def general(self, variables: Mapping[str, str]) -> General | None:
        raw = {name: value for name, value in self.values.items() if name not in SECTIONS}
        self.unknown((), raw, TOP_LEVEL)
        if "timezone" not in raw:
            raw["timezone"] = self._process_zone(variables)
        return self.validate(General, (), pick(raw, setting_names(General)))

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
        return self.validate(General, (), pick(self.values, ["store"]))

    def _process_zone(self, variables: Mapping[str, str]) -> str:
        name = variables.get("TZ", "").removeprefix(":") or "UTC"
        try:
            return zone(name)
        except ValueError as error:
            self.written.fault(
                ("timezone",), f"is not set, and the environment variable TZ is wrong: {error}"
            )
            return "UTC"

    def section(self, name: str, model: type[S]) -> S | None:
        raw = self.values.get(name)
        return None if raw is None else self.piece(model, (name,), raw)

    def web(self) -> WebSettings | None:
        """Return where pages are served, None for `web: off`."""
        raw = written_web(self.values.get("web"))
        return None if raw is None else self.piece(WebSettings, ("web",), raw)

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
                where, "this name is reserved for the email: of subscriptions; choose another"
            )

    def topic(self, where: Where, raw: object) -> TopicSettings | None:
        name = str(where[-1])
        before = self.before
        if before and before.raw_topics.get(name) == raw and name not in before.parked:
            return before.topics[name]
        found = len(self.written.faults)
        if isinstance(raw, dict):
            lists = next((name for name in LISTS if name in raw), None)
            if lists is None and "query" not in raw:
                self.piece(TopicSettings, where, {**raw, "query": "missing"}, name=where[-1])
                self.written.fault((*where, "query"), "is missing")
                return None
            if lists and "query" in raw:
                said = f"cannot be used together with {lists}:; keep one of them"
                self.written.fault((*where, "query"), said)
        return self.piece(TopicSettings, where, raw, name=name) or self._parked(where, raw, found)

    def _parked(self, where: Where, raw: object, found: int) -> TopicSettings | None:
        """Return a topic of which only the query is refused, when it is in force as it is.

        Older rules took it, and an upgrade stops no service. Its faults, those from `found` on,
        are then no faults of the configuration.
        """
        name, faults = str(where[-1]), self.written.faults[found:]
        if not faults or not isinstance(raw, dict) or raw.keys() - setting_names(TopicSettings):
            return None
        known = replace(self.context(where), unread=True)
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
            self._doubt_path(where, raw.get("path"))
        return self._of_kind(SourceSettings, where, raw, plugins.source_kinds, source_options)

    def _doubt_path(self, where: Where, path: object) -> None:
        """Warn of what names no file: the source fails, and the others go on."""
        if not isinstance(path, str) or not path.strip():
            return
        named = resolve_path(self.written.folder(where), path)
        if not glob.has_magic(path) and named.is_dir():
            within = f"{path.rstrip('/')}/*"
            message = f'is a folder, not a file; write path: "{within}" for all files in it'
            self.written.warn((*where, "path"), message)
        elif not named.is_file() and (fault := pattern_fault(path)):
            self.written.warn((*where, "path"), f"can match nothing: {fault}")

    def channel(self, where: Where, raw: object) -> ChannelSettings | None:
        return self._of_kind(ChannelSettings, where, raw, plugins.channel_kinds, channel_options)

    def _of_kind(
        self,
        model: type[S],
        where: Where,
        raw: object,
        kinds: Callable[[], Collection[str]],
        options_of: Callable[[str], type[BaseModel]],
    ) -> S | None:
        """Validate an entry whose kind says what else may stand in it."""
        if not isinstance(raw, dict):
            choices = list_choices(kinds())
            self.written.fault(where, f"should be settings, among them kind: {choices}")
            return None
        options = self._options(where, raw, setting_names(model), kinds, options_of)
        common = {name: raw[name] for name in setting_names(model) if name in raw} | {
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
        kinds: Callable[[], Collection[str]],
        options_of: Callable[[str], type[BaseModel]],
    ) -> BaseModel | None:
        kind = raw.get("kind")
        if not isinstance(kind, str):
            self.written.fault((*where, "kind"), f"is missing; write {list_choices(kinds())}")
            return None
        try:
            model = options_of(kind)
        except UsageError as error:
            known = suggestions.kind(kind)
            said = f"{error.message}; {known}" if known else str(error)
            self.written.fault((*where, "kind"), said)
            return None
        self.unknown(where, raw, [*common, *setting_names(model)])
        return self.validate(model, where, self._absolute(where, pick(raw, setting_names(model))))

    def _absolute(self, where: Where, raw: dict[str, Any]) -> dict[str, Any]:
        """Make the path: of a source or channel absolute; in a glob, its folder is no glob."""
        path = raw.get("path")
        if not isinstance(path, str) or not path.strip():
            return raw
        folder = self.written.folder(where)
        if glob.has_magic(path):
            folder = Path(glob.escape(str(folder)))
        return {**raw, "path": str(resolve_path(folder, path))}
