"""One section validated: unknown names, wrong values, each with its place in the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from monitor.config import suggestions
from monitor.config.files import Written
from monitor.config.messages import WrongQueryError, nearest, sentence
from monitor.config.section import Context, Section
from monitor.config.yaml_positions import Path as Where

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
    "web",
)


class SectionValidator:
    """Validates pieces of what is `written`, and records their faults there."""

    def __init__(self, written: Written) -> None:
        self.written = written
        self.values = written.values
        self.names = {section: self._names(section) for section in SECTIONS[:4]}
        self._contexts: dict[str, Context] = {}

    def _names(self, section: str) -> Collection[str]:
        entries = self.values.get(section)
        return entries.keys() if isinstance(entries, dict) else ()

    def context(self, where: Where) -> Context:
        """Return what else stands in the file, as settings of one file see it."""
        file = self.written.place(where).file
        if file not in self._contexts:
            self._contexts[file] = Context(
                folder=self.written.folder(where),
                sources=self.names["sources"],
                topics=self.names["topics"],
                channels=self.names["channels"],
                smtp=bool(self.values.get("smtp")),
                slack=bool(self.values.get("slack")),
                public_url=bool(self.values.get("public_url")),
            )
        return self._contexts[file]

    def piece(
        self, model: type[S], where: Where, raw: object, name: str | int | None = None
    ) -> S | None:
        if not isinstance(raw, dict):
            repaired = suggestions.entry(str(where[0]), str(where[-1]), raw)
            self.written.fault(where, f"should be settings (name: value){repaired}")
            return None
        self.unknown(where, raw, setting_names(model))
        named = {} if name is None else {"name": name}
        return self.validate(model, where, pick(raw, setting_names(model)) | named)

    def unknown(self, where: Where, raw: Mapping[str, Any], names: Collection[str]) -> None:
        for name in raw:
            if name not in names:
                known = nearest(name, names)
                self.written.fault((*where, name), f"“{name}” is not a setting here{known}")

    def validate(self, model: type[M], where: Where, raw: Mapping[str, Any]) -> M | None:
        try:
            return model.model_validate(raw, context=self.context(where))
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                path = (*where, *detail["loc"])
                if detail["type"] == "extra_forbidden":
                    *section, name = detail["loc"]
                    self.unknown(
                        path[:-1], {str(name): None}, setting_names(nested_section(model, section))
                    )
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


def setting_names(model: type[BaseModel]) -> list[str]:
    """Return the settings of a model as the file writes them."""
    ours = ("name", "options")
    return [field.alias or name for name, field in model.model_fields.items() if name not in ours]


def nested_section(model: type[BaseModel], where: Iterable[int | str]) -> type[BaseModel]:
    """Return the settings that stand at a place within others."""
    for name in where:
        annotation = model.model_fields[str(name)].annotation
        kinds = [one for one in (annotation, *get_args(annotation)) if isinstance(one, type)]
        [model] = [one for one in kinds if issubclass(one, BaseModel)]
    return model


def pick(raw: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name in names}


def list_choices(words: Collection[str]) -> str:
    *others, last = sorted(words)
    return f"{', '.join(others)} or {last}" if others else last
