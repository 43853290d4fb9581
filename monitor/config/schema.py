"""The JSON Schema of monitor.yaml, for editors that complete and check while one types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from monitor.config.settings import KINDS, NAMED, SECTIONS, General
from monitor.plugins import Kinds

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(descriptions: Mapping[tuple[str, str], str] | None = None) -> Schema:
    """Return the schema of the file with the kinds that are built in; other kinds pass.

    `descriptions` say what a setting means, by its section and name.
    """
    texts = {"type": "array", "items": {"type": "string"}}
    properties = {
        **_object(General)["properties"],
        "include": {"anyOf": [{"type": "string"}, texts]},
        **{name: _section(name) for name in SECTIONS},
    }
    for (section, name), text in (descriptions or {}).items():
        if section:
            _describe(properties[section], name, text)
        elif name in properties:
            properties[name] |= {"description": text}
    return {
        "$schema": _DIALECT,
        "title": "Paper Monitor: monitor.yaml",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _describe(part: Any, name: str, text: str) -> None:
    """Describe each setting of this name in a part of the schema."""
    if isinstance(part, list):
        for item in part:
            _describe(item, name, text)
    elif isinstance(part, dict):
        if name in part.get("properties", {}):
            part["properties"][name] = part["properties"][name] | {"description": text}
        for value in part.values():
            _describe(value, name, text)


def _section(name: str) -> Schema:
    settings = _object(SECTIONS[name])
    if name in KINDS:
        settings = _kinds(SECTIONS[name], KINDS[name])
    if name in NAMED:  # it may stand empty
        return {"type": ["object", "null"], "additionalProperties": settings}
    return {"anyOf": [settings, {"enum": [False, "off"]}]} if name == "web" else settings


def _object(model: type[BaseModel]) -> Schema:
    """Return the settings of a model, with definitions written where they are used."""
    whole = model.model_json_schema()
    ours = ("name", "options")
    definitions = whole.get("$defs", {})
    properties = {
        name: _inline(value, definitions)
        for name, value in whole["properties"].items()
        if name not in ours
    }
    made = {"type": "object", "additionalProperties": False, "properties": properties}
    if "description" in whole:
        made["description"] = whole["description"]
    required = [name for name in whole.get("required", ()) if name != "name"]
    return made | ({"required": required} if required else {})


def _kinds(entry: type[BaseModel], kinds: Kinds[Any]) -> Schema:
    names = sorted(kinds.built_in)
    others = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string", "not": {"enum": names}}},
    }
    return {"anyOf": [*(_kind(entry, kind, kinds.load(kind).Options) for kind in names), others]}


def _kind(entry: type[BaseModel], kind: str, options: type[BaseModel]) -> Schema:
    made = _object(options)
    common = _object(entry)["properties"]
    properties = common | {"kind": {"const": kind}} | made["properties"]
    required = ["kind", *made.get("required", ())]
    return made | {"properties": properties, "required": required}


def _inline(value: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inline(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        definition = definitions[value["$ref"].rpartition("/")[2]]
        value = definition | {key: other for key, other in value.items() if key != "$ref"}
    return {key: _inline(item, definitions) for key, item in value.items() if key != "title"}
