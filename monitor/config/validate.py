"""From the files to Settings: each piece is validated, and each fault recorded with its place."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from monitor.config.declared import fields_of, section_of
from monitor.config.files import Written
from monitor.config.messages import WrongQueryError, sentence
from monitor.config.settings import (
    EVERY_TOPIC,
    KINDS,
    NAMED,
    SECTIONS,
    TOP_LEVEL,
    General,
    Settings,
    SourceSettings,
    SubscriptionSettings,
    TopicSettings,
)
from monitor.config.warnings import doubt
from monitor.config.yaml_positions import Path as Where
from monitor.errors import UsageError, nearest
from monitor.model import Role
from monitor.model.delivery import NO_SUBSCRIPTION
from monitor.plugins import Kinds
from monitor.setting_types import SettingsContext, Variables, line, resolve_path
from monitor.sources.base import SourceOptions
from monitor.sources.files import fixed_folder, pattern_fault

M = TypeVar("M", bound=BaseModel)

# The queries, by name, of the topics that are active in a store (its URL).
ActiveQueries = Callable[[str], Mapping[str, str]]

# The lists that a topic may have instead of a query.
LISTS = ("any", "all", "none", "authors", "categories")

# A folder is read more often than a server.
EVERY_PATH = timedelta(minutes=1)
EVERY_URL = timedelta(hours=1)
# Of works that are asked about one by one.
EVERY_ABOUT = timedelta(days=7)

# In place of options with faults, so that the settings beside them are validated all the same.
_NO_OPTIONS = SourceOptions.model_construct()

# YAML's words for a switch, such as `web: on`: every value is still text.
_ON = ("on", "true", "yes")
_OFF = ("off", "false", "no")
# Names of sections in other programs, and ours.
_SECTIONS_ELSEWHERE = {"email": "smtp", "mail": "smtp", "mailer": "smtp", "feeds": "sources"}
_SMTP = ("smtp", *(name for name, ours in _SECTIONS_ELSEWHERE.items() if ours == "smtp"))
_EXAMPLES = {
    "topics": ", as in topics: {agents: {query: agent}}",
    "web": ", as in web: {listen: 127.0.0.1:8080}, or on",
    "look_up": ", as in look_up: [huggingface, arxiv]",
    "embeddings": ", as in embeddings: {url: http://localhost:11434/v1, model: all-minilm}",
    "smtp": ", as in smtp: {host: smtp.example.org, from: papers@example.org}",
}


def build(written: Written, active_queries: ActiveQueries | None = None) -> Settings | None:
    """Return the settings that are valid; the faults of all others are then in `written`.

    Where there are faults, nothing in the settings can send: they have no channels and no
    addresses, and what refers to something that is not valid does without it. None where the
    file has no valid `store:`.
    """
    validator = _Validator(written)
    general = validator.general()
    store = validator.store()
    usable = store and (general or store)
    if active_queries and store:
        validator.active_queries = cache(partial(active_queries, store.store))
    validator.timezone = general.timezone if general else "UTC"
    sections = {name: validator.section(name) for name in Settings.model_fields if name in SECTIONS}
    if usable is None:
        return None
    if written.faults:
        sections = _readable(sections)
    settings = Settings.model_construct(
        file=written.file.absolute(),
        **dict(usable),
        **{name: value for name, value in sections.items() if value is not None},
        as_written=written.as_written,
        variables=_variables(written, sections["sources"]),
        variables_of_services=_variables_of_services(written),
        places={name: written.place(("topics", name)) for name in sections["topics"]},
        parked=written.parked,
    )
    if not written.faults:
        doubt(settings, written)
    warnings = sorted(written.warnings, key=lambda f: (f.file, f.line))
    return settings.model_copy(update={"warnings": tuple(warnings)})


def _variables(written: Written, sources: Mapping[str, SourceSettings]) -> dict[str, Variables]:
    """Return what the addresses of sources read from the environment, by source."""
    values: dict[str, dict[str, str]] = {}
    for (section, *name), put_in in written.put_in.items():
        if section == "sources" and len(name) > 1 and name[0] in sources:
            setting = getattr(sources[str(name[0])].options, str(name[1]), None)
            if isinstance(setting, str) and "://" in setting:
                values.setdefault(str(name[0]), {}).update(put_in)
    return {name: Variables(of_source) for name, of_source in values.items()}


def _variables_of_services(written: Written) -> Variables:
    """Return what the addresses of services that are asked read from the environment."""
    values: dict[str, str] = {}
    for where, put_in in written.put_in.items():
        if where[0] in ("look_up", "embeddings") and where[-1] == "url":
            values.update(put_in)
    return Variables(values)


def _readable(sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections for commands that only read the store."""
    topics = (EVERY_TOPIC, *sections["topics"])
    subscriptions = {
        name: entry.model_copy(
            update={
                "topics": tuple(topic for topic in entry.topics if topic in topics),
                "channels": (),
                "email": (),
            }
        )
        for name, entry in sections["subscriptions"].items()
    }
    kept = {"sources": sections["sources"], "topics": sections["topics"]}
    return {**kept, "channels": {}, "subscriptions": subscriptions}


def store_of(written: Written) -> str | None:
    """Return the store that a file names, whatever else is wrong in it; None for no valid one."""
    validator = _Validator(written)
    validator.refuse_unknown((), validator.values, TOP_LEVEL)
    general = validator.store()
    return general.store if general else None


class _Validator:
    """Validates pieces of what is `written`, and records their faults there."""

    def __init__(self, written: Written) -> None:
        self.written = written
        self.values = written.values
        self.names = {section: self._names(section) for section in NAMED}
        self.active_queries: Callable[[], Mapping[str, str]] = dict
        self.timezone = "UTC"
        self._contexts: dict[str, SettingsContext] = {}

    def _names(self, section: str) -> Collection[str]:
        entries = self.values.get(section)
        return entries.keys() if isinstance(entries, dict) else ()

    # ── the top of the file ─────────────────────────────────────────────────────────

    def general(self) -> General | None:
        raw = {name: value for name, value in self.values.items() if name not in SECTIONS}
        self.refuse_unknown((), raw, TOP_LEVEL)
        return self._validate(General, (), _pick(raw, General.model_fields))

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
        return self._validate(General, (), _pick(self.values, ["store"]))

    # ── sections ────────────────────────────────────────────────────────────────────

    def section(self, name: str) -> Any:
        """Return a section: its entries by name, or its settings; None where it has none."""
        raw = self.values.get(name)
        if name in NAMED:
            return self._entries(name, raw)
        if name == "web":
            if raw in _OFF:
                return None
            raw = {} if raw is None or raw in _ON else raw
        if name == "look_up" and isinstance(raw, (list, str)) and raw not in (*_ON, *_OFF):
            raw = {"services": raw}
        return None if raw is None else self._settings(SECTIONS[name], (name,), raw)

    def _entries(self, section: str, raw: object) -> dict[str, BaseModel]:
        if raw is not None and not isinstance(raw, dict):
            example = _EXAMPLES.get(section, "")
            self.written.fault((section,), f"should be names with their settings{example}")
        build: Callable[[Where, object], BaseModel | None] = {
            "topics": self._topic,
            "subscriptions": self._subscription,
        }.get(section, self._of_kind)
        built: dict[str, BaseModel] = {}
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
        if name != name.strip() or name[:1] in (NO_SUBSCRIPTION, ".", EVERY_TOPIC) or "/" in name:
            self.written.fault(
                where, "a name may not begin with @, * or a dot, nor hold a / or outer spaces"
            )
        if where == ("channels", "email"):
            self.written.fault(
                where, "this name is reserved for the email: of subscriptions; choose another"
            )

    def _subscription(self, where: Where, raw: object) -> SubscriptionSettings | None:
        defaulted = {"timezone": self.timezone, **raw} if isinstance(raw, dict) else raw
        return self._settings(SubscriptionSettings, where, defaulted)

    def _topic(self, where: Where, raw: object) -> TopicSettings | None:
        faults_before = len(self.written.faults)
        if isinstance(raw, dict):
            lists = next((name for name in LISTS if name in raw), None)
            if lists is None and "query" not in raw and "like" not in raw:
                self._settings(TopicSettings, where, {**raw, "query": "missing"})
                self.written.fault((*where, "query"), "is missing")
                return None
            if lists and "query" in raw:
                problem = f"cannot be used together with {lists}:; keep one of them"
                self.written.fault((*where, "query"), problem)
        return self._settings(TopicSettings, where, raw) or self._parked(where, raw, faults_before)

    def _parked(self, where: Where, raw: object, faults_before: int) -> TopicSettings | None:
        """Return a topic of which only the query is refused, when it is in force as it is.

        Older rules took it, and an upgrade stops no service. Its faults, those after the first
        `faults_before`, are then no faults of the configuration.
        """
        name = str(where[-1])
        faults = self.written.faults[faults_before:]
        if not faults or not isinstance(raw, dict) or raw.keys() - fields_of(TopicSettings):
            return None
        context = replace(self._context(where), unread=True)
        try:
            topic = TopicSettings.model_validate({**raw, "name": name}, context=context)
        except ValidationError:
            return None
        if not topic.written or self.active_queries().get(name) != topic.written:
            return None
        self.written.parked[name] = faults[0]
        del self.written.faults[faults_before:]
        return topic

    # ── sources and channels ────────────────────────────────────────────────────────

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
        elif not (folder := fixed_folder(named)).is_dir():
            beside = (each.name for each in islice(folder.parent.glob("*/"), 1_000))
            near = nearest(folder.name, beside, "create it or correct the path")
            self.written.warn((*where, "path"), f"there is no folder {folder}{near}")

    def _of_kind(self, where: Where, raw: object) -> BaseModel | None:
        """Validate an entry whose kind says what else may stand in it."""
        section = str(where[0])
        model = SECTIONS[section]
        kinds = KINDS[section]
        if not isinstance(raw, dict):
            choices = ", ".join(sorted(kinds.names()))
            self.written.fault(where, f"should be settings, among them kind: {choices}")
            return None
        if section == "sources":
            asked = EVERY_ABOUT if raw.get("about") else EVERY_URL
            raw = {"every": EVERY_PATH if raw.get("path") else asked, **raw}
            self._doubt_path(where, raw.get("path"))
        names = fields_of(model)
        options = self._options(where, raw, names, kinds)
        asks = not getattr(options, "reads_documents", True)
        if raw.get("about") and "role" in raw:
            self.written.fault((*where, "role"), "cannot be used together with about:")
        elif asks and raw.get("role") in (Role.LIBRARY, Role.REFERENCE):
            self.written.fault((*where, "role"), f"{raw['role']} needs `path:`")
        common = _pick(raw, names) | {
            "name": where[-1],
            "kind": raw.get("kind") or "?",
            "options": options or _NO_OPTIONS,
        }
        entry = self._validate(model, where, common)
        return entry if options is not None else None

    def _options(
        self, where: Where, raw: dict[str, Any], common: Collection[str], kinds: Kinds[Any]
    ) -> BaseModel | None:
        kind = raw.get("kind")
        if not isinstance(kind, str):
            choices = ", ".join(sorted(kinds.names()))
            self.written.fault((*where, "kind"), f"is missing; there are: {choices}")
            return None
        try:
            model: type[BaseModel] = kinds.load(kind).Options
        except UsageError as error:
            self.written.fault((*where, "kind"), f"{error.message}; {error.hint}")
            return None
        names = fields_of(model)
        instead = getattr(model, "instead", {})  # a plug-in's model need not be a Section
        self.refuse_unknown(where, raw, [*common, *names], instead)
        return self._validate(model, where, self._absolute(where, _pick(raw, names)))

    def _absolute(self, where: Where, raw: dict[str, Any]) -> dict[str, Any]:
        """Make the path: of a source or channel absolute; in a glob, its folder is no glob."""
        path = raw.get("path")
        if not isinstance(path, str) or not path.strip():
            return raw
        folder = self.written.folder(where)
        if glob.has_magic(path):
            folder = Path(glob.escape(str(folder)))
        return {**raw, "path": str(resolve_path(folder, path))}

    # ── one piece ───────────────────────────────────────────────────────────────────

    def _settings(self, model: type[M], where: Where, raw: object) -> M | None:
        if not isinstance(raw, dict):
            example = _EXAMPLES.get(str(where[0]), "")
            self.written.fault(where, f"should be settings (name: value){example}")
            return None
        names = fields_of(model)
        self.refuse_unknown(where, raw, names)
        named = {"name": where[-1]} if "name" in model.model_fields else {}
        return self._validate(model, where, _pick(raw, names) | named)

    def refuse_unknown(
        self,
        where: Where,
        raw: Iterable[str],
        names: Collection[str],
        instead: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        for name in raw:
            if name not in names:
                ours = _SECTIONS_ELSEWHERE.get(name) if names is TOP_LEVEL else None
                advice = f"write {ours}:" if ours else instead.get(name)
                near = f"; {advice}" if advice else nearest(name, names)
                self.written.fault((*where, name), f"“{name}” is not a setting here{near}")

    def _validate(self, model: type[M], where: Where, raw: Mapping[str, Any]) -> M | None:
        try:
            return model.model_validate(raw, context=self._context(where))
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                # Of a wrong name in a mapping, Pydantic adds that it is a key.
                path = (*where, *(part for part in detail["loc"] if part != "[key]"))
                if detail["type"] == "extra_forbidden":
                    names = fields_of(_nested_model(model, detail["loc"][:-1]))
                    self.refuse_unknown(path[:-1], [str(path[-1])], names)
                    continue
                cause = detail.get("ctx", {}).get("error")
                lines = cause.lines if isinstance(cause, WrongQueryError) else 0
                self.written.fault(path, sentence(detail), lines)
            return None

    def _context(self, where: Where) -> SettingsContext:
        file = self.written.place(where).file
        if file not in self._contexts:
            self._contexts[file] = SettingsContext(
                folder=self.written.folder(where),
                configuration=self.written.file.absolute().parent,
                sources=self.names["sources"],
                libraries=[name for name in self.names["sources"] if self._is_library(name)],
                topics=self.names["topics"],
                channels=self.names["channels"],
                smtp=any(self.values.get(name) for name in _SMTP),
                slack=bool(self.values.get("slack")),
                public_url=bool(self.values.get("public_url")),
                templates=self._templates(),
            )
        return self._contexts[file]

    def _templates(self) -> Path | None:
        path = self.values.get("templates")
        folder = self.written.folder(("templates",))
        return resolve_path(folder, path) if isinstance(path, str) and path else None

    def _is_library(self, name: str) -> bool:
        raw = self.values["sources"][name]
        return isinstance(raw, dict) and raw.get("role") == Role.LIBRARY


def _nested_model(model: type[BaseModel], path: Where) -> type[BaseModel]:
    names = iter(path)
    for part in names:
        field = model.model_fields.get(str(part))
        model = section_of(field) or BaseModel
        if field and get_origin(field.annotation) is dict:
            next(names, None)  # of an entry
    return model


def _pick(raw: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name in names}
