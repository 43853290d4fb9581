"""The JSON Schema of monitor.yaml, for editors, from the models of the settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from monitor.config.declared import Declared, declared
from monitor.config.settings import KINDS, NAMED, SECTIONS, General, Included, Settings
from monitor.look_up import SERVICES
from monitor.plugins import Kinds

Schema = dict[str, Any]


def schema(*, plugins: bool = False) -> Schema:
    """Return the schema of the file with all kinds that are built in; any other kind passes.

    With `plugins`, the settings of installed kinds are checked as well. Raises UsageError for a
    kind that cannot be loaded.
    """
    words = {setting.name: _description(setting) for setting in declared(Settings)}
    sections = {
        name: _section(name, plugins) | {"description": words[name]}
        for name in Settings.model_fields
        if name in SECTIONS
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Paper Monitor: monitor.yaml",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **_object(General)["properties"],
            **_object(Included)["properties"],
            **sections,
        },
    }


class _Described(GenerateJsonSchema):
    """Describes settings by their words, and writes their defaults as the file does."""

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        made: Schema = super().model_schema(schema)
        shown = made.get("properties", {})
        for setting in declared(schema["cls"]):
            if setting.name in shown:
                shown[setting.name]["description"] = _description(setting)
                if "default" in shown[setting.name]:
                    shown[setting.name]["default"] = setting.default
        return made


def _description(setting: Declared) -> str:
    """Return the words of a setting as sentences of plain text, with its default if it has words.

    A value at the beginning of a sentence stays as it is.
    """
    sentences = [setting.words]
    if setting.required_when:
        sentences.append(f"required {setting.required_when}")
    if setting.unset:
        sentences.append(f"default: {setting.unset}")
    texts = [re.sub(r"\[([^][]+)\]\([^()]+\)", r"\1", sentence) for sentence in sentences]
    return ". ".join(text[:1].upper() + text[1:] for text in texts).replace("`", "")


def _section(name: str, plugins: bool) -> Schema:
    settings = _object(SECTIONS[name])
    if name in KINDS:
        settings = {"anyOf": list(_kinds(settings["properties"], KINDS[name], plugins))}
    if name == "topics":  # a text may stand for the settings of `like`
        settings["properties"]["like"]["anyOf"].insert(0, {"type": "string"})
    if name in NAMED:  # it may stand empty
        return {"type": ["object", "null"], "additionalProperties": settings}
    if name == "web":
        return {"anyOf": [settings, {"enum": [False, "off"]}]}
    if name == "look_up":
        names = {"enum": list(SERVICES)}
        listed = {"type": "array", "items": names, "minItems": 1}
        entries = settings["properties"]["services"]
        entries["propertyNames"] = names
        settings["properties"]["services"] = {
            "anyOf": [entries, listed],
            "description": entries.pop("description"),
        }
        return {"anyOf": [settings, listed]}
    return settings


def _kinds(common: Schema, kinds: Kinds[Any], plugins: bool) -> Iterator[Schema]:
    names = sorted(kinds.names() if plugins else kinds.built_in)
    for kind in names:
        settings = _object(kinds.load(kind).Options)
        settings["properties"] = {**common, **settings["properties"]}
        settings["properties"]["kind"] = common["kind"] | {"const": kind}
        yield settings | {"required": ["kind", *settings.get("required", ())]}
    other = common["kind"] | {"not": {"enum": names}}
    yield {"type": "object", "required": ["kind"], "properties": {"kind": other}}


def _object(model: type[BaseModel]) -> Schema:
    """Return the settings of a model, with definitions written where they are used.

    Docstrings of models and enums are left out: they are for developers, and not in all packages.
    """
    whole = model.model_json_schema(schema_generator=_Described)
    definitions = whole.pop("$defs", {})
    for described in (whole, *definitions.values()):
        described.pop("description", None)
    made: Schema = _inline(whole, definitions)
    for ours in ("name", "options"):
        if made["properties"].pop(ours, None) and ours in made["required"]:
            made["required"].remove(ours)
    return made


def _inline(value: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inline(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        definition = definitions[value["$ref"].rpartition("/")[2]]
        value = definition | {key: other for key, other in value.items() if key != "$ref"}
    return {
        key: _inline(item, definitions)
        for key, item in value.items()
        if key != "title" or isinstance(item, dict)  # a setting of this name
    }
